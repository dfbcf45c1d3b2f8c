"""Our own method for ranking: Sobol' indices first, then a search along the path of deletions."""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from textsobol.methods.contract import Attribution, Game
from textsobol.methods.sobol import n_pairs_among, sobol
from textsobol.sobol import ConstantScoreWarning, SobolIndices
from textsobol.sobol.arrays import Array, Floats, Integers
from textsobol.sobol.coarse import hierarchy, open_groups
from textsobol.sobol.designs import Design
from textsobol.sobol.evaluator import Evaluator
from textsobol.sobol.focus import DEPTH, Focus, beginning, follow
from textsobol.sobol.pairs import pair_indices
from textsobol.sobol.plan import MOST_EXACT_FEATURES

_LEAST_TO_SEARCH = 40  # masks
_ENOUGH_FOR_ERRORS = 6  # base rows
_MOST_ROWS_OF_PAIRS = 32  # base rows


def focus(game: Game, **settings: Any) -> Attribution:
    """Effects along the path of deletions, and the Sobol' indices of the first round.

    Both share the budget, with pairs where these are asked for; see `_n_base_rows` and
    `_rows_for_pairs`. The path is that of the label that is looked at;
    others have their mean effects from the first round, or the opposite where all that speaks for
    the one speaks against the other.

    A budget too small for one look at every feature goes to groups of them first, to find where
    it matters to look closer; see `textsobol.sobol.coarse`. Features of a group that was not
    opened share its score.

    Args:
        game: what is to be explained.
        settings: see `_stages`.
    """
    *_, last = _stages(game, only_last=True, **settings)
    return last()


def stages(game: Game, **settings: Any) -> Iterator[Attribution]:
    """What is known after 1, 2, 4, ... base rows of the first round and after every deletion.

    The last also has the pairs, where these are asked for.

    Args:
        game: what is to be explained.
        settings: see `_stages`.
    """
    for stage in _stages(game, only_last=False, **settings):
        yield stage()


def _stages(
    game: Game,
    *,
    only_last: bool,
    budget: int,
    seed: int,
    keep: float = 0.5,
    rows: int | None = None,
    design: str | None = None,
    interactions: int = 0,
) -> Iterator[Callable[[], Attribution]]:
    """Stages of an explanation, each to be called for what it knows.

    Args:
        game: what is to be explained.
        only_last: whether the stages before the last are of no use to anybody; then the first
            round is not cut in parts, so that its rows fill batches.
        budget: masks that may be scored, the whole input included.
        seed: of the first round.
        keep: keep rate of the first round.
        rows: base rows of the first round, where it should not take its usual share.
        design: of the first round; see `textsobol.sobol_indices`.
        interactions: also analyse all pairs of so many features, those that were seen to do most.
    """
    if rows is not None and rows < 1:
        raise ValueError(f"rows={rows}: must be at least 1")
    n_pairs = n_pairs_among(interactions, game.n_features)
    least = game.n_features + n_pairs + 2
    is_coarse = budget < least
    if is_coarse and n_pairs:
        raise ValueError(
            f"budget={budget}: {game.n_features} features and {n_pairs} pairs need at least {least}"
        )
    evaluator = Evaluator(game.black_box, game.n_features, budget=budget)
    evaluator([np.ones((1, game.n_features), dtype=bool)])

    def of_target(masks: Array) -> Floats:
        return evaluator([masks])[:, game.target]

    units = np.arange(game.n_features)
    if is_coarse:
        units = _units(of_target, game, budget, keep=keep, seed=seed)
    of_units = Game(lambda masks: evaluator([masks[:, units]]), int(units.max()) + 1)

    def attribution(first: Attribution, found: Focus) -> Attribution:
        return Attribution(
            (_effects(first, found, game.target) / np.bincount(units)[:, None])[units],
            settings={**first.settings, "deletions": len(found.order)},
            indices=first.indices,
            rows=(evaluator.n_distinct,) * 2,  # what stages ask for again is no part of a design
            focus=found,
            units=units if is_coarse else None,
        )

    left = budget - evaluator.n_distinct
    for_pairs = 0
    if n_pairs and not _fits_exactly(game.n_features, left):
        for_pairs = _rows_for_pairs(left, game.n_features, interactions, n_pairs)
    left = budget - for_pairs - evaluator.n_distinct
    settings = {"seed": seed, "keep": keep, "design": design}
    for first in _first_rounds(of_units, left, rows, interactions, only_last, **settings):
        assert first.indices is not None
        own = first.indices.effect[:, game.target]
        yield partial(attribution, first, beginning(own))
    assert first.indices is not None
    # Masks that the first round has scored, all of them where it is exact, cost nothing here.
    is_exact = first.settings["estimator"] == "exact"
    left = 2**63 if is_exact else budget - for_pairs - evaluator.n_distinct
    floor = float(first.indices.mean[game.target])  # less than a random part of the input has
    path = follow(lambda masks: of_target(masks[:, units]), own, rows=left, floor=floor)
    found = beginning(own)
    for found in islice(path, 1, None):
        yield partial(attribution, first, found)
    n_base = first.settings["base_rows"]
    more = (budget - for_pairs - evaluator.n_distinct) // (1 + of_units.n_features)
    if not (is_exact or found.order.size or rows is not None) and more > 0:
        # Nothing seems to speak for the label: what the search has left may tell what does.
        first = _unwarned(of_units, budget=None, estimator="flip", rows=n_base + more, **settings)
        assert first.indices is not None
        found = beginning(first.indices.effect[:, game.target])
        yield partial(attribution, first, found)
    if n_pairs and not is_exact:
        first = _with_pairs(first, found, evaluator, budget, interactions, n_pairs)
        yield partial(attribution, first, found)
    assert first.indices is not None
    pairs = first.indices.pairs
    seen = (first.indices.variance, found.estimates, *(() if pairs is None else (pairs.effect,)))
    if not any(values.any() for values in seen):
        warnings.warn(
            "the score is the same for every mask that was looked at: all scores are 0",
            ConstantScoreWarning,
            stacklevel=4,
        )


def _first_rounds(
    game: Game, left: int, rows: int | None, interactions: int, only_last: bool, **settings: Any
) -> Iterator[Attribution]:
    """Sobol' indices of ever more base rows, or those of all at once."""
    a_base_row = 1 + game.n_features
    # All masks, where they fit: the path then costs nothing.
    if _fits_exactly(game.n_features, left):
        yield _unwarned(game, budget=2 + left, interactions=interactions, **settings)
        return
    most = min(_n_base_rows(left, game, a_base_row) if rows is None else rows, left // a_base_row)
    flip = partial(_unwarned, game, budget=None, estimator="flip", **settings)
    for power in range(0 if only_last else most.bit_length()):
        if 2**power < most:
            yield flip(rows=2**power)
    yield flip(rows=most)


def _fits_exactly(n_features: int, left: int) -> bool:
    """Whether all masks fit; the whole input is known already."""
    return n_features <= MOST_EXACT_FEATURES and 1 << n_features <= left + 1


def _rows_for_pairs(left: int, n_features: int, interactions: int, n_pairs: int) -> int:
    """Masks that pairs get: a third of what is left, no more than 32 base rows need.

    A base row of the rest must fit beside them, and one mask for every pair.
    """
    a_base_row = 1 + min(interactions, n_features) + n_pairs
    affordable = min(left // 3, left - 1 - n_features)
    return max(n_pairs, min(_MOST_ROWS_OF_PAIRS * a_base_row, affordable))


def _most_seen(indices: SobolIndices, found: Focus) -> Floats:
    """What each feature can do: the most that was seen of it, for any label ``(features,)``.

    Not its score: of two that only work together, the search deletes one, and the other has
    nothing left to say.
    """
    assert indices.settings.keep is not None
    weight = indices.settings.keep * (1 - indices.settings.keep)
    effects = np.sqrt(indices.total * indices.variance / weight)  # root of E[D^2]
    return np.asarray(np.maximum(effects.max(axis=1), found.largest))


def _with_pairs(
    first: Attribution,
    found: Focus,
    evaluator: Evaluator,
    budget: int,
    interactions: int,
    n_pairs: int,
) -> Attribution:
    """The first round, with the pairs of the features that were seen to do most.

    Its own base rows come first again, whose flips are known; in further ones only these features
    are flipped.
    """
    assert first.indices is not None
    made, n_features = first.indices.settings, len(first.scores)
    assert made.design is not None
    assert made.keep is not None
    strongest = np.argsort(-_most_seen(first.indices, found), kind="stable")[:interactions]
    left = budget - evaluator.n_distinct
    rows = left // n_pairs
    if rows > made.rows:
        more = (left - made.rows * n_pairs) // (1 + len(strongest) + n_pairs)
        rows = min(made.rows + more, max(made.rows, _MOST_ROWS_OF_PAIRS))
    pairs = pair_indices(
        evaluator,
        Design(made.design, n_features, keep=made.keep, seed=made.seed),
        np.sort(strongest),
        rows=rows,
        keep=made.keep,
        variance=first.indices.variance,
    )
    settings = {**first.settings, "pair_rows": rows}
    return replace(first, settings=settings, indices=replace(first.indices, pairs=pairs))


def _unwarned(game: Game, **settings: Any) -> Attribution:
    """Sobol' indices; that few base rows see no change does not mean that there is none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConstantScoreWarning)
        return sobol(game, **settings)


def _n_base_rows(left: int, game: Game, a_base_row: int) -> int:
    """Base rows of the first round: few, for the search makes more of its rows.

    A quarter of what is left, but two wherever six would fit, for a single one cannot tell
    errors; and all that a search that looks at everything would not need.
    """
    affordable = left // a_base_row
    search = sum(range(game.n_features, game.n_features - min(DEPTH, game.n_features), -1))
    least = 2 if affordable >= _ENOUGH_FOR_ERRORS else 1
    return max(least, affordable // 4, (left - search) // a_base_row)


def _effects(first: Attribution, found: Focus, target: int) -> Floats:
    """Focused scores of the label that is looked at, mean effects of others ``(units, labels)``."""
    assert first.indices is not None
    effects = np.array(first.indices.effect)
    mirrored = np.isclose(effects, -effects[:, [target]], rtol=1e-6, atol=1e-9).all(axis=0)
    mirrored &= effects[:, target].any()  # what does nothing is nobody's opposite
    effects[:, mirrored] = 0.0 - found.scores[:, None]
    effects[:, target] = found.scores
    return effects


def _units(
    score: Callable[[Array], Floats], game: Game, budget: int, *, keep: float, seed: int
) -> Integers:
    """What comes and goes as one, so that a base row of it still fits the budget."""
    n_runs = max(1, budget - 2)
    if budget < _LEAST_TO_SEARCH or 2 * n_runs >= game.n_features:
        # Too few rows to look for what matters, or enough for neighbours two by two.
        return np.arange(game.n_features) * n_runs // game.n_features
    half = (budget - 1) // 2
    levels = hierarchy(game.n_features, game.levels)
    return open_groups(score, levels, rows=half, most_units=half - 1, keep=keep, seed=seed)
