"""The figures of the documentation, drawn for light and for dark pages.

python docs/figures.py DIRECTORY     # writes them; the site makes its own
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from textsobol import Sobol, TextExplainer, sobol_indices
from textsobol.methods.gated_run import MOST_GATED_PASSES
from textsobol.methods.sobol_run import MOST_USUAL_PASSES
from textsobol.sobol.designs import Design
from textsobol.text.inputs import default_budget

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FOR, AGAINST, OTHER = "#3f87d6", "#d9772b", "#8a8f98"
_INK = {"": "#24292f", "-light": "#24292f", "-dark": "#d5dae0"}
_REVIEW = (
    "The cast is wonderful and the first hour is gripping, but the ending is so dull and so "
    "predictable, the music so loud and the last joke so cheap, that I left disappointed."
)


@cache
def _explainer() -> TextExplainer:
    return TextExplainer(progress=False)


def draw_four_words(axes: Axes) -> None:
    """Total and first-order indices of "not a good film", worked by hand on the page."""
    words = ["not", "a", "good", "film"]

    def score(masks: Any) -> Any:
        has = dict(zip(words, masks.T, strict=True))
        return 2.0 * has["good"] - 3.0 * (has["not"] & has["good"])

    found = sobol_indices(score, len(words), estimator="exact")
    places = np.arange(len(words))[::-1]
    axes.barh(places + 0.2, found.total, height=0.36, color=FOR, label="total: has a part in it")
    axes.barh(places - 0.2, found.first, height=0.36, color=OTHER, label="first: causes it alone")
    axes.set_yticks(places, words)
    axes.set_xlim(0, 1)
    axes.set_xlabel("share of the variation")
    axes.legend(frameon=False, loc="lower right")


def draw_intervals(axes: Axes) -> None:
    """The interval of one word by the number of base masks, and what it is an interval of."""
    counts = [5, 8, 12, 20, 32, 48, 64]

    def measure(n_masks: int, seed: int) -> Any:
        method = Sobol("flip", base_masks=n_masks, path=False)
        found = _explainer()(_REVIEW, method=method, seed=seed)
        (place,) = (k for k, name in enumerate(found.names) if name == "dull")
        return found.score_of(found.words[place])

    truth = measure(400, seed=1).score
    own = [measure(n_masks, seed=0) for n_masks in counts]
    scores = np.array([each.score for each in own])
    ends = np.array([[each.score - each.low, each.high - each.score] for each in own]).T
    axes.errorbar(range(len(counts)), scores, ends, fmt="o", color=FOR, capsize=3)
    axes.axhline(truth, color=OTHER, linestyle="--", label="from 400 base masks")
    axes.set_xticks(range(len(counts)), [str(count) for count in counts])
    axes.set_ylim(0, None)
    axes.set_xlabel("base masks")
    axes.set_ylabel("score of “dull”")
    axes.legend(frameon=False)


def draw_designs(axes: Axes) -> None:
    """A base mask with its flips, and with words redrawn: repeated masks are hollow."""
    n_words = 8
    base = Design("latin", n_words, keep=0.5, seed=3).take(1)[0][0]
    redrawn = Design("random", n_words, keep=0.5, seed=5).take(1)[0][0]
    for left, other, title in ((0, ~base, "flip: turned over"), (11, redrawn, "Jansen: redrawn")):
        axes.text(left + n_words / 2 - 0.5, -1.2, title, ha="center")
        for row in range(n_words + 1):
            mask = base.copy()
            if row:
                mask[row - 1] = other[row - 1]
            is_repeated = row > 0 and mask[row - 1] == base[row - 1]
            for word, present in enumerate(mask):
                is_changed = row > 0 and word == row - 1
                colour = AGAINST if is_changed and not is_repeated else FOR
                face = colour if present else "none"
                alpha = 0.25 if is_repeated else 1.0
                axes.scatter(
                    left + word, row, s=95, marker="s", facecolor=face, edgecolor=colour,
                    alpha=alpha,
                )  # fmt: skip
    axes.text(-0.9, 0, "base mask", ha="right", va="center")
    axes.text(-0.9, 1, "first word", ha="right", va="center")
    axes.text(-0.9, 8, "eighth word", ha="right", va="center")
    axes.set(xlim=(-4.2, 19), ylim=(8.8, -2))
    axes.axis("off")


def draw_passes(axes: Axes) -> None:
    """Forward passes of the default by the length of a text."""
    words = np.arange(5, 601)
    usual = np.array([default_budget(int(n)) for n in words])
    axes.plot(words, usual, color=OTHER, linestyle=":", label="8 for every word")
    axes.plot(words, np.minimum(usual, MOST_USUAL_PASSES), color=AGAINST, label="without gates")
    axes.plot(words, np.minimum(usual, MOST_GATED_PASSES), color=FOR, label="with gates")
    axes.set(xlabel="words", ylabel="forward passes, at most", ylim=(0, 3200))
    axes.legend(frameon=False)


def draw_path(axes: Axes) -> None:
    """What the probability does along the path, in the order of scores, and at random."""
    found = _explainer()(_REVIEW)
    assert found.path is not None
    model = _explainer().masked(_REVIEW)
    column = list(model.probabilities).index(found.prediction)
    by_score = sorted(range(len(found.words)), key=lambda k: -found.score_of(found.words[k]).score)
    along = [word for step in found.path.steps for word in step.words]
    rng = np.random.default_rng(0)
    n_steps = 8

    def follow(order: Any) -> Any:
        masks = np.ones((n_steps + 1, len(found.words)), dtype=bool)
        for step, word in enumerate(order[:n_steps], start=1):
            masks[step:, word] = False
        return model.predict_masks(masks)[:, column]

    at_random = np.mean([follow(rng.permutation(len(found.words))) for _ in range(40)], axis=0)
    axes.plot(at_random, color=OTHER, linestyle=":", marker=".", label="at random, mean of 40")
    axes.plot(
        follow(by_score), color=AGAINST, linestyle="--", marker="s", label="highest score first"
    )
    axes.plot(follow(along), color=FOR, marker="o", label="along the path")
    axes.axhline(0.5, color=OTHER, linewidth=0.8)
    axes.set(xlabel="words deleted", ylabel=f"probability of {found.prediction}", ylim=(0, 1.02))
    axes.legend(frameon=False, loc="center right", bbox_to_anchor=(1, 0.65))


FIGURES: dict[str, tuple[Callable[[Any], None], tuple[float, float]]] = {
    "four-words": (draw_four_words, (6.4, 2.6)),
    "intervals": (draw_intervals, (6.4, 3.0)),
    "designs": (draw_designs, (7.2, 3.4)),
    "passes": (draw_passes, (6.4, 3.0)),
    "path": (draw_path, (6.4, 3.2)),
}


def draw_all() -> dict[str, bytes]:
    """Every figure, as SVG: on white by its name, transparent with ``-light`` or ``-dark``."""
    return {
        f"{name}{theme}": _draw(draw, size, ink, is_transparent=bool(theme))
        for name, (draw, size) in FIGURES.items()
        for theme, ink in _INK.items()
    }


def _draw(
    draw: Callable[[Any], None], size: tuple[float, float], ink: str, *, is_transparent: bool
) -> bytes:
    import matplotlib as mpl
    from matplotlib.figure import Figure

    colours: dict[Any, Any] = dict.fromkeys(
        ("text.color", "axes.labelcolor", "xtick.color", "ytick.color", "axes.edgecolor"), ink
    )
    style: dict[Any, Any] = {
        "axes.spines.top": False,
        "axes.spines.right": False,
        "svg.hashsalt": "textsobol",
    }
    with mpl.rc_context({**colours, **style}):
        figure = Figure(figsize=size, layout="constrained")
        draw(figure.subplots())
        drawn = io.BytesIO()
        figure.savefig(drawn, format="svg", transparent=is_transparent, metadata={"Date": None})
    return drawn.getvalue()


def main(directory: str) -> None:
    """Write the figures into a directory."""
    Path(directory).mkdir(parents=True, exist_ok=True)
    for name, drawn in draw_all().items():
        (Path(directory) / f"{name}.svg").write_bytes(drawn)


if __name__ == "__main__":
    main(*sys.argv[1:])
