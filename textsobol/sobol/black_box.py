"""A user's black box, as the driver sees a model: masks in batches to scores, checked."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from textsobol.errors import BlackBoxError
from textsobol.ledger import Ledger
from textsobol.sobol.arrays import Array, BlackBox, Floats
from textsobol.sobol.masks import piece_rows
from textsobol.steps import Forwarded, Tick

_WANTED = "one score a row, as an array of real numbers (rows,) or (rows, labels)"


class BlackBoxModel:
    """A function of masks, seen as a masked model.

    What it answers does not depend on ``batch_rows``.

    Args:
        black_box: masks ``(rows, features)`` to scores ``(rows,)`` or ``(rows, labels)``.
        n_features: number of columns of the masks.
        budget: forward passes allowed in all, or ``None``.
        batch_rows: most masks of one call; by default about a million cells.
    """

    def __init__(
        self,
        black_box: BlackBox,
        n_features: int,
        *,
        budget: int | None = None,
        batch_rows: int | None = None,
    ) -> None:
        if batch_rows is not None and batch_rows < 1:
            raise ValueError(f"batch_rows={batch_rows}: at least 1 is needed")
        self.n_features = n_features
        self.ledger = Ledger(budget=budget)
        self._black_box = black_box
        self._batch_rows = batch_rows or piece_rows(n_features)
        self._n_scored = 0
        self.is_scalar: bool | None = None
        """Whether the black box gives one score a row without a label axis."""
        self._n_labels: int | None = None

    def inputs(self, masks: Array) -> Sequence[Any]:
        """The masks themselves."""
        return list(masks)

    def keys(self, given: Sequence[Any], mask_keys: Sequence[bytes]) -> Sequence[Hashable]:
        """Those of the masks."""
        return mask_keys

    def name_error(self, error: BlackBoxError) -> BlackBoxError:
        """Its mask says it all."""
        return error

    def engine(self, masks: Sequence[Any], tick: Tick) -> Forwarded:
        """Scores of different masks, in batches."""
        rows = np.asarray(masks)
        scores = []
        for start in range(0, len(rows), self._batch_rows):
            scores.append(self._checked_scores(rows[start : start + self._batch_rows]))
            self._n_scored += len(scores[-1])
            tick(len(scores[-1]))
        return Forwarded(np.concatenate(scores))

    def answer(self, scores: Floats) -> Floats:
        """Scores with a label axis only where the black box gives one."""
        return scores[:, 0] if self.is_scalar else scores

    def _checked_scores(self, batch: Array) -> Floats:
        first = self._n_scored
        rows = f"rows {first} to {first + len(batch) - 1}"
        try:
            returned = self._black_box(batch)
        except BlackBoxError:
            raise  # of a model within this one, which has named the row
        except Exception as error:
            raise BlackBoxError(
                f"the black box failed on {rows}: {type(error).__name__}: {error}", batch[0]
            ) from error
        scores = _as_scores(returned, batch, rows)
        is_scalar = scores.ndim == 1
        scores = scores.reshape(len(batch), -1)
        if self.is_scalar is None:
            self.is_scalar, self._n_labels = is_scalar, scores.shape[1]
        elif is_scalar != self.is_scalar or scores.shape[1] != self._n_labels:
            raise BlackBoxError(
                f"the black box returned another number of labels for {rows} than before; "
                f"it must return {_WANTED}, always the same labels",
                batch[0],
            )
        if not np.isfinite(scores).all():
            row, label = np.argwhere(~np.isfinite(scores))[0]
            raise BlackBoxError(
                f"the black box returned {scores[row, label]} for row {first + row}, label {label} "
                f"({np.count_nonzero(batch[row])} of {batch.shape[1]} features present); "
                f"scores must be finite",
                batch[row],
            )
        return scores


def _as_scores(returned: Any, batch: Array, rows: str) -> Floats:
    """An array of floats ``(rows,)`` or ``(rows, labels)``."""
    try:
        scores = np.asarray(returned)
        is_real = np.issubdtype(scores.dtype, np.floating) or scores.dtype.kind in "biu"
    except ValueError:  # a ragged list
        is_real = False
    if not is_real:
        raise BlackBoxError(
            f"the black box returned {_kind_of(returned)} for {rows}; it must return {_WANTED}",
            batch[0],
        )
    scores = scores.astype(float)  # a copy: the black box may reuse its array
    if scores.ndim not in (1, 2) or len(scores) != len(batch) or scores.size == 0:
        raise BlackBoxError(
            f"the black box returned shape {scores.shape} for {len(batch)} masks ({rows}); "
            f"it must return {_WANTED}",
            batch[0],
        )
    return scores


def _kind_of(returned: object) -> str:
    """A few words on what a black box returned instead of numbers."""
    name = type(returned).__name__
    if isinstance(returned, list | tuple) and len(returned) > 0:
        return f"a {name} of {type(returned[0]).__name__}"
    return f"an array of {returned.dtype}" if isinstance(returned, np.ndarray) else f"a {name}"
