"""Gate gradients as control variates of flips: does that pay at equal time?

A flip gives D_i(z_j), a backward pass gives derivatives C_i(z_j) of all features at once, split
into those of present and of absent features. With a mean of C over many masks, which is cheap,

    D'_ij = D_ij - sum_c b_jc (C_ijc - mean C_ic)

has the same expectation as D_ij and, if the two are correlated, less variance. The coefficients b_j
are fitted on the other base masks, and the mean is over masks that had no part in that fit, so that
for independent masks the mean of D' is unbiased whatever the coefficients are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.gates.data import length_of
from benchmarks.gates.run import values
from benchmarks.imdb.data import Review
from benchmarks.reporting import Line, decimal, interval, mean_with_interval, paired_difference
from benchmarks.runner import progress_bar, seed_of
from benchmarks.store import Store
from textsobol import Sobol, TextExplainer
from textsobol.metrics.agreement import spearman
from textsobol.sobol.arrays import Array, Floats
from textsobol.sobol.designs import Design
from textsobol.sobol.flip import flip_differences
from textsobol.sobol.gate_predictions import ABSENT, PRESENT
from textsobol.sobol.masks import base_and_flips

KEY = ("model", "estimator", "review", "replicate")
N_BASE, N_GATES, REPLICATES = 4, 16, 2
_MOST_BASE = 6  # of plain flips, to see what they make of the same time
FLIP_TIME, GATES_TIME = 0.5, 2.5  # of a flip and a row of gates, in passes of the whole text
ESTIMATORS = {
    "flip-4": "flip, 4 base masks",
    "control": f"the same with control variates, {N_GATES} rows of gates",
    "flip-equal": "flip for the same time as that",
    "product": "gates that choose flips (the default, without path) for the same time",
}
HEADER = (
    "estimator", "time (passes of the whole text)", "effects: rank correlation", "effects: RMSE",
    "mean squares: rank correlation", "mean squares: RMSE", "reviews x seeds",
)  # fmt: skip


def control(differences: Floats, slopes: Floats, masks: Array) -> Floats:
    """D' of the base masks ``(base masks, features)``.

    Args:
        differences: D of the base masks ``(base masks, features)``.
        slopes: derivatives ``(masks, features)``; the first masks are the base masks.
        masks: where they were taken ``(masks, features)``.

    Example:
        Derivatives that say it all leave nothing of the differences between masks:

        >>> masks = np.random.default_rng(0).random((8, 3)) < 0.5
        >>> slopes = np.random.default_rng(1).normal(size=(8, 3))
        >>> adjusted = control(2 * slopes[:6], slopes, masks)
        >>> bool(np.allclose(adjusted[0], 2 * slopes[[0, 6, 7]].mean(axis=0)))
        True
    """
    kinds = np.stack([slopes * masks, slopes * ~masks], axis=-1)
    n_base = len(differences)
    adjusted = np.empty_like(differences)
    for j in range(n_base):
        others = np.setdiff1d(np.arange(n_base), [j])
        unseen = [j, *range(n_base, len(masks))]
        x = kinds[others] - kinds[others].mean(axis=0)
        y = differences[others] - differences[others].mean(axis=0)
        coefficients, *_ = np.linalg.lstsq(x.reshape(-1, 2), y.ravel(), rcond=None)
        adjusted[j] = differences[j] - (kinds[j] - kinds[unseen].mean(axis=0)) @ coefficients
    return adjusted


def count_r2(differences: Floats, slopes: Floats, masks: Array) -> float:
    """How much of the variance of D within features present and absent derivatives explain."""
    n_base = len(differences)
    kinds = np.stack([slopes * masks, slopes * ~masks], axis=-1)[:n_base]
    x, y = kinds - kinds.mean(axis=0), differences - differences.mean(axis=0)
    coefficients, *_ = np.linalg.lstsq(x.reshape(-1, 2), y.ravel(), rcond=None)
    return float(1 - ((y - x @ coefficients) ** 2).sum() / (y**2).sum())


def run(
    explainer: TextExplainer,
    reviews: Sequence[Review],
    truths: Sequence[Line],
    store: Store,
    *,
    model: str,
    seed: int,
) -> None:
    """Fill the store: every estimator on every review that has a truth."""
    truth_of = {line["review"]: line for line in truths}
    cases = [(one, k) for k in range(REPLICATES) for one in reviews if one.id in truth_of]
    with progress_bar(len(cases), "reviews x seeds", model) as bar:
        for review, replicate in cases:
            names = {"model": model, "review": review.id, "replicate": replicate}
            keys = {name: {**names, "estimator": name} for name in ESTIMATORS}
            if any(store.key_of(key) not in store.done for key in keys.values()):
                own_seed = seed_of(review, seed + 100 + replicate)
                found = measure(explainer, review, truth_of[review.id], own_seed)
                for name, line in found.items():
                    if store.key_of(keys[name]) not in store.done:
                        store.add({**keys[name], "length": length_of(review.n_words).name, **line})
            bar.update()


def measure(
    explainer: TextExplainer, review: Review, truth: Line, seed: int
) -> dict[str, Mapping[str, Any]]:
    """Errors of all estimators on one review."""
    game = explainer.masked(review.text)
    game = game.with_target(game.prediction)
    n_features = game.n_features
    masks, _ = Design("latin", n_features, keep=0.5, seed=seed).take(N_GATES)
    scored = game.score_masks(np.concatenate(list(base_and_flips(masks[:_MOST_BASE]))))
    scored = scored.reshape(_MOST_BASE, 1 + n_features, 1)
    differences = flip_differences(masks[:_MOST_BASE], scored[:, 0], scored[:, 1:])[..., 0]
    slopes = game.slopes(np.where(masks, PRESENT, ABSENT), is_decision=False)[..., 0]
    known = np.array(truth["effect"], dtype=float), np.array(truth["total"], dtype=float)

    def errors(effects: Floats, squares: Floats) -> dict[str, float]:
        shares, wanted = squares / squares.sum(), known[1] / known[1].sum()
        return {
            "rho_effect": spearman(effects, known[0]),
            "rmse_effect": compute_rmse(effects, known[0]),
            "rho_square": spearman(squares, known[1]),
            "rmse_square": compute_rmse(shares, wanted),
        }

    def flips(n_base: int) -> dict[str, float]:
        return errors(differences[:n_base].mean(axis=0), (differences[:n_base] ** 2).mean(axis=0))

    own = differences[:N_BASE]
    flip_time = FLIP_TIME * N_BASE * (1 + n_features)
    time = flip_time + GATES_TIME * N_GATES
    affordable = time / (FLIP_TIME * (1 + n_features))
    below = min(int(affordable), _MOST_BASE - 1)
    part = min(affordable - below, 1.0)
    fewer, more = flips(below), flips(below + 1)
    adjusted = control(own, slopes, masks), control(own**2, slopes**2, masks)
    product = explainer(
        review.text, method=Sobol(path=False), seed=seed,
        budget=int((time - GATES_TIME * 12) / FLIP_TIME) + 3 * 12,
    )  # fmt: skip
    product_time = FLIP_TIME * (product.cost["forwarded"] - 1) + GATES_TIME * product.cost.get(
        "gates", 0
    )
    return {
        "flip-4": {"time": flip_time, **flips(N_BASE)},
        "control": {
            "time": time,
            **errors(adjusted[0].mean(axis=0), adjusted[1].mean(axis=0).clip(min=0)),
            "r2": count_r2(own, slopes, masks),
        },
        "flip-equal": {
            "time": time, **{name: (1 - part) * fewer[name] + part * more[name] for name in fewer}
        },
        "product": {
            "time": product_time,
            "has_gates": bool(product.settings.get("gates")),
            **errors(values(product, "effect"), values(product, "total")),
        },
    }  # fmt: skip


def rows(lines: Sequence[Line]) -> Iterator[list[str]]:
    """Rows of the table."""
    for name, title in ESTIMATORS.items():
        own = [line for line in lines if line["estimator"] == name]
        if own:
            yield [
                title,
                f"{np.mean([line['time'] for line in own]):.0f}",
                *(_shown(own, of) for of in ("rho_effect", "rmse_effect")),
                *(_shown(own, of) for of in ("rho_square", "rmse_square")),
                str(len(own)),
            ]


def differences(lines: Sequence[Line]) -> Iterator[list[str]]:
    """Rows of the table of paired differences to plain flips for the same time."""
    by_name: Callable[[str, str], dict[str, float]] = lambda name, of: {  # noqa: E731
        f"{line['review']} {line['replicate']}": line[of]
        for line in lines if line["estimator"] == name
    }  # fmt: skip
    for name in ("control", "product"):
        cells = []
        for of in ("rho_effect", "rmse_effect", "rho_square", "rmse_square"):
            found = paired_difference(by_name(name, of), by_name("flip-equal", of))
            cells.append(f"{decimal(found.mean, sign=True)} {interval(found, sign=True)}")
        yield [ESTIMATORS[name], *cells]


def _shown(lines: Sequence[Line], name: str) -> str:
    found = mean_with_interval([line[name] for line in lines])
    return f"{decimal(found.mean)} {interval(found)}"


def compute_rmse(found: Floats, wanted: Floats) -> float:
    """Root of the mean squared error.

    Example:
        >>> compute_rmse(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
        2.0
    """
    return float(np.sqrt(((found - wanted) ** 2).mean()))
