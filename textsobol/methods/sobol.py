"""Our own method: Sobol' indices by any of the core's estimators."""

from textsobol.methods.contract import Attribution, Game
from textsobol.sobol import sobol_indices


def sobol(
    game: Game,
    *,
    budget: int | None,
    seed: int,
    estimator: str = "auto",
    design: str | None = None,
    keep: float = 0.5,
    rows: int | None = None,
    sign: str | None = "mean",
    pairs: int | None = None,
) -> Attribution:
    """Signed total indices; see `textsobol.sobol_indices` for the options."""
    indices = sobol_indices(
        game.black_box,
        game.n_features,
        estimator=estimator,
        design=design,
        keep=keep,
        # One mask of the budget is the whole input, which is scored in any case.
        budget=None if budget is None else budget - 1,
        rows=rows,
        seed=seed,
        sign=sign,
        pairs=pairs,
    )
    made = indices.settings
    settings = {
        "estimator": made.estimator,
        "design": made.design,
        "keep": made.keep,
        "base_rows": made.rows,
        "sign": made.sign,
    }
    scores = indices.signed.reshape(game.n_features, -1)
    return Attribution(scores, settings=settings, indices=indices)
