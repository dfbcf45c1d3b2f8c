"""Our own method for ranking: Sobol' indices first, then a search along the path of deletions."""

import numpy as np

from textsobol.methods.contract import Attribution, Game
from textsobol.methods.sobol import sobol
from textsobol.sobol.arrays import Array, Floats
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

    Args:
        game: what is to be explained.
        budget: masks that may be scored, the whole input included.
        seed: of the first round.
        keep: keep rate of the first round.
        rows: base rows of the first round, where it should not take half of the budget.
        design: of the first round; see `textsobol.sobol_indices`.
    """
    evaluator = Evaluator(game.black_box, game.n_features, budget=budget)

    def scores(masks: Array) -> Floats:
        return evaluator([masks])

    first = sobol(
        Game(scores, game.n_features),
        budget=budget if rows else 1 + _half(budget, game.n_features),
        seed=seed,
        keep=keep,
        rows=rows,
        design=design,
    )
    assert first.indices is not None
    scores(np.ones((1, game.n_features), dtype=bool))
    effects = np.array(first.indices.effect)
    mirrored = np.isclose(effects, -effects[:, [game.target]], rtol=1e-6, atol=1e-9).all(axis=0)
    own = effects[:, game.target]
    # Masks that the first round has scored, all of them where it is exact, cost nothing here.
    left = 2**63 if first.settings["estimator"] == "exact" else budget - evaluator.n_distinct
    *_, found = follow(lambda masks: scores(masks)[:, game.target], own, rows=left)
    effects[:, mirrored] = -found.scores[:, None]
    effects[:, game.target] = found.scores
    return Attribution(
        effects,
        settings={**first.settings, "deletions": len(found.order)},
        indices=first.indices,
        rows=(evaluator.n_rows, evaluator.n_distinct),
        focus=found,
    )


def _half(budget: int, n_features: int) -> int:
    """Rows of the first round: half of the budget, but one base row at least.

    Example:
        >>> [_half(rows * 101, 100) // 101 for rows in (1, 2, 4, 6, 16)]
        [1, 1, 2, 3, 8]
    """
    return max(n_features + 1, budget // 2)
