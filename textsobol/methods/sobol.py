"""Our own method: Sobol' indices by any of the core's estimators."""

from textsobol.methods.contract import Attribution, Game
from textsobol.sobol import sobol_indices


def n_pairs_among(interactions: int, n_features: int) -> int:
    """Number of pairs that so many features have; no more features than there are."""
    if interactions < 0 or interactions == 1:
        raise ValueError(f"interactions={interactions}: must be 0, or 2 words at least")
    k = min(interactions, n_features)
    return k * (k - 1) // 2


def sobol(
    game: Game,
    *,
    budget: int | None,
    seed: int,
    estimator: str = "auto",
    design: str | None = None,
    keep: float | None = 0.5,
    rows: int | None = None,
    sign: str | None = "mean",
    interactions: int = 0,
    precision: float | None = None,
    stable_top: int = 5,
) -> Attribution:
    """Signed total indices; see `textsobol.sobol_indices` for the options."""
    among = min(interactions, game.n_features)
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
        pairs=among if n_pairs_among(interactions, game.n_features) else None,
        precision=precision,
        stable_top=stable_top,
    )
    made = indices.settings
    settings = {
        "estimator": made.estimator,
        "design": made.design,
        "keep": made.keep,
        "base_rows": made.rows,
        "sign": made.sign,
    }
    if precision is not None:
        settings |= {"precision": precision, "stable_top": stable_top, "stable": indices.stable}
    scores = indices.signed.reshape(game.n_features, -1)
    # All masks include the whole input; other designs do not.
    n_rows = indices.n_rows + 1, indices.n_distinct + (made.estimator != "exact")
    return Attribution(scores, settings=settings, indices=indices, rows=n_rows)
