"""A user's black box as a masked model: checks its scores and calls it in batches."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from textsobol.errors import BlackBoxError
from textsobol.ledger import Ledger
from textsobol.sobol.arrays import Array, BlackBox, Floats
from textsobol.sobol.masks import count_masks_per_piece
from textsobol.steps import PASSES_PER_GATES, Forwarded, Tick

_WANTED = "one score per mask, as an array of real numbers (masks,) or (masks, labels)"


class BlackBoxModel:
    """A function of masks as a masked model; ``batch_masks`` does not change the results.

    Args:
        black_box: masks ``(masks, features)`` to scores ``(masks,)`` or ``(masks, labels)``.
        n_features: number of columns of the masks.
        budget: forward passes allowed, or ``None``.
        batch_masks: most masks per call; by default about a million cells.
        slopes: gates ``(rows, features)`` to derivatives ``(rows, features, labels)``, if known.
    """

    def __init__(
        self,
        black_box: BlackBox,
        n_features: int,
        *,
        budget: int | None = None,
        batch_masks: int | None = None,
        slopes: Callable[[Floats], Floats] | None = None,
    ) -> None:
        if batch_masks is not None and batch_masks < 1:
            raise ValueError(f"batch_masks={batch_masks}: at least 1 is needed")
        self.n_features = n_features
        self.ledger = Ledger(budget=budget)
        self._black_box = black_box
        self._batch_masks = batch_masks or count_masks_per_piece(n_features)
        self._n_scored = 0
        self.is_scalar: bool | None = None
        """Whether the black box gives one score per mask, without a label axis."""
        self._n_labels: int | None = None
        self._slopes = slopes

    @property
    def takes_gates(self) -> bool:
        """Whether derivatives are known."""
        return self._slopes is not None

    @property
    def gates_refusal(self) -> str | None:
        """None: nobody expects a function of masks to have gates."""
        return None

    def passes_per_gates(self, *, is_decision: bool = False) -> int:
        """A forward and a backward pass, whatever they cost."""
        return PASSES_PER_GATES

    def slopes(self, gates: Floats, *, is_decision: bool = False) -> Floats:
        """Derivatives of the scores; the decision is that on the first label."""
        assert self._slopes is not None
        found = self._slopes(gates)
        return found[:, :, :1] if is_decision else found

    def inputs(self, masks: Array) -> Sequence[Any]:
        """The masks themselves."""
        return list(masks)

    def keys(self, given: Sequence[Any], mask_keys: Sequence[bytes]) -> Sequence[Hashable]:
        """The keys of the masks."""
        return mask_keys

    def name_error(self, error: BlackBoxError) -> BlackBoxError:
        """The error as it is: it has the mask."""
        return error

    def engine(self, masks: Sequence[Any], tick: Tick) -> Forwarded:
        """Scores of different masks, in batches."""
        every = np.asarray(masks)
        scores = []
        for start in range(0, len(every), self._batch_masks):
            scores.append(self._score_batch(every[start : start + self._batch_masks]))
            self._n_scored += len(scores[-1])
            tick(len(scores[-1]))
        return Forwarded(np.concatenate(scores))

    def answer(self, scores: Floats) -> Floats:
        """Drop the label axis if the black box has none."""
        return scores[:, 0] if self.is_scalar else scores

    def _score_batch(self, batch: Array) -> Floats:
        first = self._n_scored
        which = f"masks {first} to {first + len(batch) - 1}"
        try:
            returned = self._black_box(batch)
        except BlackBoxError:
            raise  # from a model inside this one; it has the mask
        except Exception as error:
            raise BlackBoxError(
                f"the black box failed on {which}: {type(error).__name__}: {error}", batch[0]
            ) from error
        scores = _as_scores(returned, batch, which)
        is_scalar = scores.ndim == 1
        scores = scores.reshape(len(batch), -1)
        if self.is_scalar is None:
            self.is_scalar, self._n_labels = is_scalar, scores.shape[1]
        elif is_scalar != self.is_scalar or scores.shape[1] != self._n_labels:
            raise BlackBoxError(
                f"the black box returned a different number of labels for {which} than before; "
                f"it must return {_WANTED}, always with the same labels",
                batch[0],
            )
        if not np.isfinite(scores).all():
            place, label = np.argwhere(~np.isfinite(scores))[0]
            raise BlackBoxError(
                f"the black box returned {scores[place, label]} for mask {first + place}, "
                f"label {label} ({np.count_nonzero(batch[place])} of {batch.shape[1]} features "
                f"present); scores must be finite",
                batch[place],
            )
        return scores


def _as_scores(returned: Any, batch: Array, which: str) -> Floats:
    """An array of floats ``(masks,)`` or ``(masks, labels)``."""
    try:
        scores = np.asarray(returned)
        is_real = np.issubdtype(scores.dtype, np.floating) or scores.dtype.kind in "biu"
    except ValueError:  # a ragged list
        is_real = False
    if not is_real:
        raise BlackBoxError(
            f"the black box returned {_describe_type(returned)} for {which}; "
            f"it must return {_WANTED}",
            batch[0],
        )
    scores = scores.astype(float)  # a copy: the black box may reuse its array
    if scores.ndim not in (1, 2) or len(scores) != len(batch) or scores.size == 0:
        raise BlackBoxError(
            f"the black box returned shape {scores.shape} for {len(batch)} masks ({which}); "
            f"it must return {_WANTED}",
            batch[0],
        )
    return scores


def _describe_type(returned: object) -> str:
    """Describe what a black box returned instead of numbers."""
    name = type(returned).__name__
    if isinstance(returned, list | tuple) and len(returned) > 0:
        return f"a {name} of {type(returned[0]).__name__}"
    return f"an array of {returned.dtype}" if isinstance(returned, np.ndarray) else f"a {name}"
