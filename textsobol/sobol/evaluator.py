"""Scoring masks: every distinct mask once, in batches, within the budget, checked."""

import hashlib
from collections.abc import Callable, Iterable

import numpy as np

from textsobol.sobol.arrays import Array, BlackBox, Floats
from textsobol.sobol.rows import piece_rows

Progress = Callable[[int, int], None]
"""Called with the rows done so far and the rows planned."""

# A long key is replaced by its 128-bit digest: a quarter of the memory at d = 1,000.
_LONGEST_PLAIN_KEY = 32


class BlackBoxError(RuntimeError):
    """The black box raised, or returned something that cannot be a score.

    Attributes:
        mask: the offending mask ``(features,)``; the first one of the batch when the
            black box raised or returned a wrong shape and no single row is to blame.
    """

    def __init__(self, message: str, mask: Array) -> None:
        super().__init__(message)
        self.mask = mask


class Evaluator:
    """Scores masks with a black box and keeps account of what that costs.

    A mask that was scored before, in this call or an earlier one, is never scored again.
    What is returned does not depend on ``batch_rows``.

    Args:
        black_box: masks ``(rows, features)`` to scores ``(rows,)`` or ``(rows, labels)``.
        n_features: number of columns of the masks that the black box is given.
        expand: from the rows that are asked for to those masks, when they differ.
        budget: forward passes allowed in all, or ``None``.
        batch_rows: most rows given to the black box in one call; by default about a
            million cells.
        planned: number of rows that will be asked for, for ``progress``.
        progress: called after every batch with (rows done, rows planned).

    Example:
        >>> evaluator = Evaluator(lambda masks: masks.sum(axis=1), 2)
        >>> evaluator([np.array([[True, False], [True, True], [True, False]])]).ravel()
        array([1., 2., 1.])
        >>> evaluator.n_rows, evaluator.n_distinct
        (3, 2)
    """

    def __init__(
        self,
        black_box: BlackBox,
        n_features: int,
        *,
        expand: Callable[[Array], Array] | None = None,
        budget: int | None = None,
        batch_rows: int | None = None,
        planned: int = 0,
        progress: Progress | None = None,
    ) -> None:
        if batch_rows is not None and batch_rows < 1:
            raise ValueError(f"batch_rows={batch_rows}: at least 1 is needed")
        self._black_box = black_box
        self._expand = expand
        self._budget = budget
        self._batch_rows = batch_rows or piece_rows(n_features)
        self._planned = planned
        self._progress = progress
        self._place_of: dict[bytes, int] = {}
        self._scores: list[Floats] = []
        self._n_scored = 0
        self.n_rows = 0
        self.is_scalar: bool | None = None
        """Whether the black box gives one score a row without a label axis."""

    @property
    def n_distinct(self) -> int:
        """Number of distinct masks, which is the number of forward passes."""
        return len(self._place_of)

    def __call__(self, pieces: Iterable[Array]) -> Floats:
        """Scores ``(rows, labels)`` of all rows of ``pieces``, in their order.

        After an error the evaluator is as it was, but for the batches that were scored.
        """
        n_rows_before = self.n_rows
        try:
            places = self._score_all(pieces)
        except BaseException:
            self.n_rows = n_rows_before
            self._place_of = {k: p for k, p in self._place_of.items() if p < self._n_scored}
            raise
        self._report()
        scores = np.concatenate(self._scores) if self._scores else np.empty((0, 1))
        self._scores = [scores]
        return scores[places]

    def _score_all(self, pieces: Iterable[Array]) -> list[int]:
        """Each row's place among the distinct rows, all of which are then scored."""
        places: list[int] = []
        waiting: list[Array] = []
        n_waiting = 0
        for masks in pieces:
            is_new = self._register(masks, places)
            if is_new.any():
                waiting.append(masks[is_new])
                n_waiting += len(waiting[-1])
            self.n_rows += len(masks)
            if n_waiting >= self._batch_rows:
                queue = np.concatenate(waiting)
                n_whole = len(queue) - len(queue) % self._batch_rows
                self._score(queue[:n_whole])
                waiting, n_waiting = [queue[n_whole:]], len(queue) - n_whole
        if n_waiting:
            self._score(np.concatenate(waiting))
        return places

    def _register(self, masks: Array, places: list[int]) -> Array:
        """Append each row's place among the distinct rows; say which rows are new."""
        is_new = np.zeros(len(masks), dtype=bool)
        for row, key in enumerate(_keys(masks)):
            place = self._place_of.get(key)
            if place is None:
                place = self._place_of[key] = len(self._place_of)
                is_new[row] = True
            places.append(place)
        if self._budget is not None and self.n_distinct > self._budget:
            raise RuntimeError(f"more than the budget of {self._budget} forward passes asked for")
        return is_new

    def _score(self, masks: Array) -> None:
        for start in range(0, len(masks), self._batch_rows):
            batch = masks[start : start + self._batch_rows]
            if self._expand is not None:
                batch = self._expand(batch)
            self._scores.append(self._checked_scores(batch))
            self._n_scored += len(batch)
            self._report()

    def _report(self) -> None:
        if self._progress is not None and self.n_rows:
            n_repeats = self.n_rows - self.n_distinct
            self._progress(self._n_scored + n_repeats, max(self._planned, self.n_rows))

    def _checked_scores(self, batch: Array) -> Floats:
        first = self._n_scored
        rows = f"rows {first} to {first + len(batch) - 1}"
        try:
            returned = self._black_box(batch)
        except BlackBoxError:
            raise  # of an evaluator within this one, which has named the row
        except Exception as error:
            raise BlackBoxError(
                f"the black box failed on {rows}: {type(error).__name__}: {error}", batch[0]
            ) from error
        wanted = "one score a row, as an array of real numbers (rows,) or (rows, labels)"
        try:
            scores = np.asarray(returned)
            is_real = np.issubdtype(scores.dtype, np.floating) or scores.dtype.kind in "biu"
        except ValueError:  # a ragged list
            is_real = False
        if not is_real:
            raise BlackBoxError(
                f"the black box returned {_kind_of(returned)} for {rows}; it must return {wanted}",
                batch[0],
            )
        scores = scores.astype(float)  # a copy: the black box may reuse its array
        if scores.ndim not in (1, 2) or len(scores) != len(batch) or scores.size == 0:
            raise BlackBoxError(
                f"the black box returned shape {scores.shape} for {len(batch)} masks ({rows}); "
                f"it must return {wanted}",
                batch[0],
            )
        is_scalar = scores.ndim == 1
        scores = scores.reshape(len(batch), -1)
        if self.is_scalar is None:
            self.is_scalar = is_scalar
        elif is_scalar != self.is_scalar or scores.shape[1] != self._scores[0].shape[1]:
            raise BlackBoxError(
                f"the black box returned another number of labels for {rows} than before; "
                f"it must return {wanted}, always the same labels",
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


def _kind_of(returned: object) -> str:
    """A few words on what a black box returned instead of numbers."""
    name = type(returned).__name__
    if isinstance(returned, list | tuple) and len(returned) > 0:
        return f"a {name} of {type(returned[0]).__name__}"
    return f"an array of {returned.dtype}" if isinstance(returned, np.ndarray) else f"a {name}"


def _keys(masks: Array) -> list[bytes]:
    """A key for every row, equal for equal rows only."""
    packed = np.packbits(masks, axis=1) if masks.dtype == bool else masks
    raw = np.ascontiguousarray(packed)
    keys: list[bytes] = raw.view(f"V{raw.shape[1] * raw.itemsize}").ravel().tolist()
    if not keys or len(keys[0]) <= _LONGEST_PLAIN_KEY:
        return keys
    return [hashlib.blake2b(key, digest_size=16).digest() for key in keys]
