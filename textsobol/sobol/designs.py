"""Base rows: quasi-random points of the unit cube, as they are or thresholded to masks.

A design is drawn row by row and can always be continued: its first rows do not depend
on how many are asked for.
"""

import math
from collections.abc import Callable

import numpy as np

from textsobol.errors import AliasedDesignWarning, warn
from textsobol.sobol.arrays import Array, Floats, Integers

DESIGNS = ("latin", "sobol", "sobol-unscrambled", "halton", "random")


class Design:
    """An endless sequence of base rows that continues where it stopped.

    Args:
        name: one of ``latin``, ``sobol``, ``sobol-unscrambled``, ``halton``, ``random``.

            * ``latin``: independent blocks of a Latin hypercube. Within a block every
              column is balanced: at keep rate 0.5 each feature is present in exactly half
              of the rows. Blocks are independent of each other, which is what lets means
              be squared without bias.
            * ``sobol``: scrambled LP-tau sequence. Right for real-valued masks; aliased once
              it is thresholded (see `aliased_columns`).
            * ``sobol-unscrambled``: the plain sequence of the paper's code. The seed has no
              say in it, and its first row is all 0.
            * ``halton``: scrambled Halton sequence.
            * ``random``: independent rows.
        n_columns: number of columns of a row.
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
        self._block_rows = 1
        self._n_taken = 0
        self._left_over = np.empty((0, n_columns))
        self._draw: Callable[[int], Floats]
        if name == "latin":
            self._block_rows = latin_block_rows(keep)
            own = rng.spawn(1)[0]  # as scipy's engines do
            self._draw = lambda n: _latin_hypercube(n, n_columns, own)
        elif name == "random":
            self._draw = lambda n: rng.random((n, n_columns))
        else:
            self._start_sequence(name, n_columns, rng)

    def _start_sequence(self, name: str, n_columns: int, rng: np.random.Generator) -> None:
        """The sequences of scipy, whose import takes half a second."""
        from scipy.stats import qmc

        if name.startswith("sobol"):
            if n_columns > qmc.Sobol.MAXDIM:
                raise ValueError(
                    f"the sobol design has at most {qmc.Sobol.MAXDIM} columns, {n_columns} are "
                    f"needed; use design='latin'"
                )
            sequence = qmc.Sobol(n_columns, scramble=name == "sobol", rng=rng)
            # scipy warns when the first draw is not a power of two, although a later
            # one may be of any size: start with one point.
            self._left_over = sequence.random(1)
            self._draw = sequence.random
        else:
            self._draw = qmc.Halton(n_columns, rng=rng).random

    @property
    def block_rows(self) -> int:
        """Rows of a whole block."""
        return self._block_rows

    def take(self, n_rows: int) -> tuple[Array, Integers]:
        """The next rows ``(n_rows, columns)`` and the number of each row's block.

        Rows of different blocks are independent of each other (for ``sobol`` and
        ``halton``, as is customary, every row is treated as a block of its own).
        """
        pieces = [self._left_over]
        missing = n_rows - len(self._left_over)
        while missing > 0:
            size = self._block_rows if self._block_rows > 1 else missing
            pieces.append(self._draw(size))
            missing -= size
        points = np.concatenate(pieces)
        self._left_over = points[n_rows:]
        rows = points[:n_rows]
        blocks = np.arange(self._n_taken, self._n_taken + n_rows) // self._block_rows
        self._n_taken += n_rows
        return (rows if self._keep is None else rows >= 1 - self._keep), blocks


def check_keep(keep: float | None) -> None:
    """Refuse a keep rate that is none."""
    if keep is not None and not isinstance(keep, float | int | np.number):
        raise TypeError(f"keep={keep!r}: must be a number between 0 and 1, or None")
    if keep is not None and not 0 < keep < 1:
        raise ValueError(f"keep={keep}: the keep rate must lie between 0 and 1, both excluded")


def _latin_hypercube(n_rows: int, n_columns: int, rng: np.random.Generator) -> Floats:
    """One point in each of n strata of every column, in random order.

    What `scipy.stats.qmc.LatinHypercube` draws, bit for bit, without its import.
    """
    inside = rng.uniform(size=(n_rows, n_columns))
    strata = np.tile(np.arange(1, n_rows + 1), (n_columns, 1))
    for column in strata:
        rng.shuffle(column)
    return np.asarray((strata.T - inside) / n_rows)


def latin_block_rows(keep: float | None) -> int:
    """Enough rows that a column can be balanced, and no more: blocks give the errors.

    At least four: two rows would be each other's complement, and what is even in the
    mask would be measured once instead of twice.
    """
    rarest = 0.5 if keep is None else min(keep, 1 - keep)
    return min(max(4, math.ceil(1 / rarest - 1e-9)), 64)


def aliased_columns(masks: Array) -> int:
    """How many columns of ``masks (rows, columns)`` repeat an earlier one or its complement.

    Thresholding a Sobol' sequence at 0.5 keeps one bit of each coordinate, and scrambling
    only turns that bit over, so that columns coincide when rows are few. What two such
    features do cannot be told apart.

    Example:
        >>> aliased_columns(np.array([[1, 0, 1], [0, 0, 0]], dtype=bool))
        1
    """
    from_first_row = masks ^ masks[:1]
    n_different = len(np.unique(np.packbits(from_first_row.T, axis=1), axis=0))
    return int(masks.shape[1]) - n_different


def warn_if_aliased(masks: Array) -> None:
    """Warn when columns of a thresholded Sobol' design coincide."""
    repeats = aliased_columns(masks)
    if repeats:
        n_rows, n_columns = masks.shape
        warn(
            f"the thresholded sobol design has coinciding columns: {n_columns} columns, "
            f"{n_columns - repeats} different ones in {n_rows} rows. Features that share a "
            f"column cannot be told apart; use design='latin'",
            AliasedDesignWarning,
        )
