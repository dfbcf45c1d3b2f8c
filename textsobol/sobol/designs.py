"""Base masks: quasi-random points of the unit cube, as they are or thresholded to 0 and 1.

A design can always be continued: its first masks do not depend on how many are taken.
"""

import math
from collections.abc import Callable

import numpy as np

from textsobol.errors import AliasedDesignWarning, warn
from textsobol.sobol.arrays import Array, Floats, Integers

DESIGNS = ("latin", "sobol", "sobol-unscrambled", "halton", "random")


class Design:
    """An endless sequence of base masks that continues where it stopped.

    Args:
        name: one of ``latin``, ``sobol``, ``sobol-unscrambled``, ``halton``, ``random``.

            * ``latin``: independent blocks of a Latin hypercube. Within a block every
              column is balanced: at keep rate 0.5 each feature is present in exactly half
              of the masks. Blocks are independent of each other, so that the square of a mean
              can be estimated without bias.
            * ``sobol``: scrambled LP-tau sequence. Right for real-valued masks; aliased once
              it is thresholded (see `count_aliased_columns`).
            * ``sobol-unscrambled``: the plain sequence of the paper's code. The seed does
              not change it, and its first point is all 0.
            * ``halton``: scrambled Halton sequence.
            * ``random``: independent masks.
        n_columns: number of columns of a mask.
        keep: probability that an entry is 1, or ``None`` for real values in [0, 1).
        seed: seed of the random generator.

    Example:
        >>> design = Design("latin", 3, keep=0.5, seed=0)
        >>> first, _ = design.take(4)
        >>> first.sum(axis=0)
        array([2, 2, 2])
        >>> more, blocks = design.take(2)
        >>> blocks
        array([1, 1])
    """

    def __init__(self, name: str, n_columns: int, *, keep: float | None, seed: int) -> None:
        if name not in DESIGNS:
            raise ValueError(f"unknown design {name!r}; known designs: {', '.join(DESIGNS)}")
        check_keep(keep)
        rng = np.random.default_rng(seed)
        self._keep = keep
        self.block_size = 1
        """Masks per block."""
        self._n_taken = 0
        self._left_over = np.empty((0, n_columns))
        self._draw: Callable[[int], Floats]
        if name == "latin":
            self.block_size = choose_block_size(keep)
            own = rng.spawn(1)[0]  # as scipy's engines do
            self._draw = lambda n: _latin_hypercube(n, n_columns, own)
        elif name == "random":
            self._draw = lambda n: rng.random((n, n_columns))
        else:
            self._start_sequence(name, n_columns, rng)

    def _start_sequence(self, name: str, n_columns: int, rng: np.random.Generator) -> None:
        """Start one of scipy's sequences; importing them takes half a second."""
        from scipy.stats import qmc

        if name.startswith("sobol"):
            if n_columns > qmc.Sobol.MAXDIM:
                raise ValueError(
                    f"the sobol design has at most {qmc.Sobol.MAXDIM} columns, not {n_columns}; "
                    f"use design='latin'"
                )
            sequence = qmc.Sobol(n_columns, scramble=name == "sobol", rng=rng)
            # scipy warns if the first draw, but not a later one, is not a power of two.
            self._left_over = sequence.random(1)
            self._draw = sequence.random
        else:
            self._draw = qmc.Halton(n_columns, rng=rng).random

    def take(self, n_masks: int) -> tuple[Array, Integers]:
        """The next masks ``(n_masks, columns)`` and the number of each mask's block.

        Masks of different blocks are independent. For ``sobol`` and ``halton``, every mask counts
        as a block of its own, as is customary.
        """
        pieces = [self._left_over]
        missing = n_masks - len(self._left_over)
        while missing > 0:
            size = self.block_size if self.block_size > 1 else missing
            pieces.append(self._draw(size))
            missing -= size
        points = np.concatenate(pieces)
        self._left_over = points[n_masks:]
        blocks = np.arange(self._n_taken, self._n_taken + n_masks) // self.block_size
        self._n_taken += n_masks
        points = points[:n_masks]
        return (points if self._keep is None else points >= 1 - self._keep), blocks


def check_keep(keep: float | None) -> None:
    """Refuse a keep rate outside of (0, 1)."""
    if keep is not None and not isinstance(keep, float | int | np.number):
        raise TypeError(f"keep={keep!r}: must be a number between 0 and 1, or None")
    if keep is not None and not 0 < keep < 1:
        raise ValueError(f"keep={keep}: the keep rate must lie between 0 and 1, both excluded")


def _latin_hypercube(n_points: int, n_columns: int, rng: np.random.Generator) -> Floats:
    """One point in each of n strata of every column, in random order.

    The same points as `scipy.stats.qmc.LatinHypercube`, bit for bit, without its import.
    """
    inside = rng.uniform(size=(n_points, n_columns))
    strata = np.tile(np.arange(1, n_points + 1), (n_columns, 1))
    for column in strata:
        rng.shuffle(column)
    return np.asarray((strata.T - inside) / n_points)


def choose_block_size(keep: float | None) -> int:
    """The fewest masks in which a column can be balanced.

    At least four: two masks would be each other's complement, and would measure the part of a score
    that is equal for both only once.
    """
    rarest = 0.5 if keep is None else min(keep, 1 - keep)
    return min(max(4, math.ceil(1 / rarest - 1e-9)), 64)


def count_aliased_columns(masks: Array) -> int:
    """Count the columns that repeat an earlier one or its complement.

    Thresholding a Sobol' sequence at 0.5 keeps one bit of each coordinate, and scrambling
    only flips that bit, so that columns coincide if there are few masks. The effects of two such
    features cannot be separated.

    Example:
        >>> count_aliased_columns(np.array([[1, 0, 1], [0, 0, 0]], dtype=bool))
        1
    """
    from_first = masks ^ masks[:1]
    n_different = len(np.unique(np.packbits(from_first.T, axis=1), axis=0))
    return int(masks.shape[1]) - n_different


def warn_if_aliased(masks: Array) -> None:
    """Warn if columns of a thresholded Sobol' design coincide."""
    repeats = count_aliased_columns(masks)
    if repeats:
        n_masks, n_columns = masks.shape
        warn(
            f"the thresholded sobol design has coinciding columns: with {n_masks} masks, only "
            f"{n_columns - repeats} of {n_columns} differ. The effects of features with the same "
            f"column cannot be separated; use design='latin'",
            AliasedDesignWarning,
        )
