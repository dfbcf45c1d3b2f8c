"""What a way to explain finds, and the forward passes that it takes by itself."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from benchmarks.ways import METHODS, Way
from textsobol.game import ClassifierGame
from textsobol.methods import Attribution
from textsobol.sobol.arrays import Array, Floats


class Memory:
    """Scores of masks that were asked for before, whoever asked, of one input and one label.

    A long design has its shorter ones as prefixes: with a memory they cost nothing more. Masks
    are known by their digests, so that even those of single pixels take no room.
    """

    def __init__(self) -> None:
        self._scores: dict[bytes, Floats] = {}

    def scores(self, keys: Sequence[bytes], masks: Array, ask: Callable[[Array], Floats]) -> Floats:
        """Scores ``(rows, labels)``; only masks that are not known are asked for.

        Args:
            keys: those of the masks; see `keys_of`.
            masks: ``(rows, features)``.
            ask: masks to scores.
        """
        rows = {key: row for row, key in enumerate(keys) if key not in self._scores}
        if rows:
            found = ask(masks[list(rows.values())])
            self._scores.update(zip(rows, found, strict=True))
        return np.stack([self._scores[key] for key in keys])


def keys_of(masks: Array) -> list[bytes]:
    """A short key for every mask: equal for equal masks, whether of truth values or of numbers.

    Example:
        >>> keys_of(np.array([[True, False]])) == keys_of(np.array([[1.0, 0.0]]))
        True
        >>> len(set(keys_of(np.array([[1.0, 0.0], [1.0, 0.5]]))))
        2
    """
    masks = np.ascontiguousarray(masks)
    is_binary = ((masks == 0) | (masks == 1)).all(axis=1)
    raw = (
        np.packbits(row.astype(bool)) if binary else row
        for row, binary in zip(masks, is_binary, strict=True)
    )
    return [hashlib.blake2b(row.tobytes(), digest_size=16).digest() for row in raw]


def explained(
    game: ClassifierGame,
    way: Way,
    seed: int,
    *,
    label: str | None = None,
    memory: Memory | None = None,
) -> tuple[Attribution, int]:
    """What the way finds for a label, and the forward passes that takes.

    Passes are those that it would make by itself: what other ways have asked for before may be
    known to the game or to the memory, but is counted all the same.

    Args:
        game: the input.
        way: what to do.
        seed: of the method.
        label: by default the predicted one.
        memory: of this input and label, shared by several ways.
    """
    looked_at = game.looked_at(label or game.prediction)
    seen = set(keys_of(np.ones((1, game.n_features), dtype=bool)))

    def counted(masks: Array) -> Floats:
        masks = np.asarray(masks)
        keys = keys_of(masks)
        seen.update(keys)
        if memory is None:
            return looked_at.scores(masks)
        return memory.scores(keys, masks, looked_at.scores)

    found = METHODS[way.method].attribute(
        replace(looked_at.for_methods(), black_box=counted),
        budget=way.budget(game.n_features),
        seed=seed,
        **way.options,
    )
    return found, len(seen) + found.passes


def scores_of(found: Attribution, kind: str | None) -> Floats:
    """Scores ``(features,)`` of one kind for the one label."""
    if kind in (None, "signed"):
        return found.scores[:, 0]
    if kind == "path":
        assert found.path is not None
        scores = found.scores[:, 0].copy()  # between -1 and 1, for what the path leaves
        scores[list(found.path.order)] = 1 + np.arange(len(found.path.order), 0, -1)
        return scores
    assert found.indices is not None
    return np.asarray(getattr(found.indices, str(kind))[:, 0])
