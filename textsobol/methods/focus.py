"""Our own method for ranking: Sobol' indices first, then a search along the path of deletions."""

from collections.abc import Callable

import numpy as np

from textsobol.methods.contract import Attribution, Game
from textsobol.methods.sobol import sobol
from textsobol.sobol.arrays import Array, Floats, Integers
from textsobol.sobol.coarse import MOST_PARTS, hierarchy, open_groups
from textsobol.sobol.evaluator import Evaluator
from textsobol.sobol.focus import follow


def focus(
    game: Game,
    *,
    budget: int,
    seed: int,
    keep: float = 0.5,
    rows: int | None = None,
    design: str | None = None,
) -> Attribution:
    """Effects along the path of deletions, and the Sobol' indices of the first round.

    Half of the budget goes to each. The path is that of the label that is looked at; others have
    their mean effects from the first round, or the opposite where all that speaks for the one
    speaks against the other.

    A budget too small for one look at every feature goes to groups of them first, to find where
    it matters to look closer; see `textsobol.sobol.coarse`. Features of a group that was not
    opened share its score.

    Args:
        game: what is to be explained.
        budget: masks that may be scored, the whole input included.
        seed: of the first round.
        keep: keep rate of the first round.
        rows: base rows of the first round, where it should not take half of the budget.
        design: of the first round; see `textsobol.sobol_indices`.
    """
    evaluator = Evaluator(game.black_box, game.n_features, budget=budget)
    evaluator([np.ones((1, game.n_features), dtype=bool)])

    def of_target(masks: Array) -> Floats:
        return evaluator([masks])[:, game.target]

    is_coarse = budget < game.n_features + 2
    units = np.arange(game.n_features)
    if is_coarse:
        units = _units(of_target, game, rows=(budget - 1) // 2, keep=keep, seed=seed)
    n_units = int(units.max()) + 1
    left = budget - evaluator.n_distinct
    first = sobol(
        Game(lambda masks: evaluator([masks[:, units]]), n_units),
        budget=1 + (left if rows else max(n_units + 1, left // 2)),
        seed=seed,
        keep=keep,
        rows=rows,
        design=design,
    )
    assert first.indices is not None
    effects = np.array(first.indices.effect)
    own = effects[:, game.target]
    mirrored = np.isclose(effects, -own[:, None], rtol=1e-6, atol=1e-9).all(axis=0)
    # Masks that the first round has scored, all of them where it is exact, cost nothing here.
    is_exact = first.settings["estimator"] == "exact"
    left = 2**63 if is_exact else budget - evaluator.n_distinct
    *_, found = follow(lambda masks: of_target(masks[:, units]), own, rows=left)
    effects[:, mirrored] = -found.scores[:, None]
    effects[:, game.target] = found.scores
    return Attribution(
        (effects / np.bincount(units)[:, None])[units],
        settings={**first.settings, "deletions": len(found.order)},
        indices=first.indices,
        rows=(evaluator.n_rows, evaluator.n_distinct),
        focus=found,
        units=units if is_coarse else None,
    )


def _units(
    score: Callable[[Array], Floats], game: Game, *, rows: int, keep: float, seed: int
) -> Integers:
    """What comes and goes as one, so few units that as many rows again can look at each twice."""
    most = rows // 2 - 1
    if most < 2:
        return np.zeros(game.n_features, dtype=np.int64)
    levels = hierarchy(game.n_features, game.levels, most=min(most, MOST_PARTS))
    return open_groups(score, levels, rows=rows, most_units=most, keep=keep, seed=seed)
