"""What the benchmark runs: methods, each with its settings and the scores that come of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.ways import METHODS, Way
from textsobol.methods import IntegratedGradients, SmoothGrad

PAPER_ROWS = (4, 8, 12, 16, 20, 24, 28, 32)  # base masks N of the paper's ablation
FLIP_ROWS = (4, 8, 16, 32)
_FEWEST_AND_MOST = (4, 32)  # base masks of which all scores are measured
_FLIP_SCORES = ("total", "first", "signed")
# As in the paper's tables, but cheap ones first.
NAMES = (
    "saliency",
    "guided_backprop",
    "deconvnet",
    "gradient_input",
    "integrated_gradients",
    "smoothgrad",
    "gradcam",
    "random",
    "occlusion",
    "rise",
    "jansen",
    "flip",
)
_GRADIENT_PASSES = {
    SmoothGrad.name: SmoothGrad.samples,
    IntegratedGradients.name: IntegratedGradients.n_steps,
}
_BACKWARD = 3  # a pass with its gradient takes about as long as so many without


@dataclass(frozen=True, kw_only=True)
class PictureWay(Way):
    """One way to explain a picture.

    Attributes:
        passes: forward passes that are asked for, where one can choose.
        designs: rows of each design that it scores, by the name of the design: a short design is
            the beginning of a long one.
    """

    passes: int | None = None
    designs: Mapping[str, int] = field(default_factory=dict)

    def budget(self, n_features: int) -> int | None:
        """Masks that may be scored; ``None`` where ``rows`` say so."""
        # RISE's passes are masks; the whole picture comes on top.
        return (
            1 + self.passes if self.method == "rise" and self.passes else super().budget(n_features)
        )


def ways(names: Iterable[str], n_cells: int, rise_masks: Sequence[int]) -> list[PictureWay]:
    """The ways of methods, those that share a design one after the other, the longest first.

    Between the fewest and the most base masks fewer kinds of score are measured: the paper's
    ablation has only the total index.

    Args:
        names: of methods in the registry; for ours ``jansen``, the paper's, and ``flip``.
        n_cells: of the grid.
        rise_masks: numbers of masks.

    Example:
        >>> [way.names for way in ways(["occlusion", "rise"], 121, [4000, 8000])]
        [('occlusion',), ('rise-8000',), ('rise-4000',)]
        >>> [way.names for way in ways(["flip"], 121, [])][1:3]
        [('flip-16-total', 'flip-16-signed'), ('flip-8-total', 'flip-8-signed')]
    """
    found: list[PictureWay] = []
    for name in names:
        if name == "jansen":
            for rows in sorted(PAPER_ROWS, reverse=True):
                if rows in _FEWEST_AND_MOST:
                    found += [jansen(rows, n_cells), signed_jansen(rows, n_cells)]
                else:
                    found.append(jansen(rows, n_cells, ("total",)))
        elif name == "flip":
            for rows in sorted(FLIP_ROWS, reverse=True):
                scores = _FLIP_SCORES if rows in _FEWEST_AND_MOST else ("total", "signed")
                found.append(flip(rows, n_cells, scores))
        elif name == "rise":
            found += [rise(masks) for masks in sorted(rise_masks, reverse=True)]
        elif name in NAMES:
            found.append(_other(name, n_cells))
        else:
            raise SystemExit(f"unknown method {name!r}; known: {', '.join(NAMES)}")
    return found


def jansen(rows: int, n_cells: int, scores: Sequence[str] = ("total", "first")) -> PictureWay:
    """The paper's: real-valued masks of a Sobol' sequence."""
    return _jansen(rows, n_cells, scores, None, {})


def signed_jansen(rows: int, n_cells: int) -> PictureWay:
    """The paper's, with the sign from occlusion, on top."""
    return _jansen(rows, n_cells, ("signed",), "occlusion", {"occlusion": 1 + n_cells})


def flip(rows: int, n_cells: int, scores: Sequence[str] = _FLIP_SCORES) -> PictureWay:
    """Ours."""
    passes = rows * (n_cells + 1)
    return PictureWay(
        **_sobol("flip", "flip", scores, rows, passes),
        keep=0.5,
        options={"estimator": "flip", "keep": 0.5, "path": False, "base_masks": rows},
        designs={"flip": passes},
    )


def rise(masks: int) -> PictureWay:
    """Smooth random masks, by the original's recipe."""
    title = METHODS["rise"].title
    return PictureWay(
        method="rise",
        names=(f"rise-{masks}",),
        titles=(title,),
        passes=masks,
        designs={"rise": masks},
    )


def planned(missing: Sequence[PictureWay], n_steps: int) -> list[int]:
    """About how many passes each of the ways makes, one after the other, for the progress bar.

    Args:
        missing: the ways, in their order.
        n_steps: of the curves of deletion and insertion.

    Example:
        >>> planned(ways(["rise"], 121, [4000, 8000]), 50)
        [8102, 102]
    """
    known: dict[str, int] = {}
    passes = []
    for way in missing:
        new = sum(max(0, rows - known.get(name, 0)) for name, rows in way.designs.items())
        known |= {name: max(rows, known.get(name, 0)) for name, rows in way.designs.items()}
        passes.append(new + 2 * (n_steps + 1) * len(way.scores))
    return passes


def _other(name: str, n_cells: int) -> PictureWay:
    method = METHODS[name]
    if method.kind == "white box":
        rows = _BACKWARD * _GRADIENT_PASSES.get(name, 1)
    else:
        rows = method.natural_masks(n_cells) or 0
    return PictureWay(method=name, names=(name,), titles=(method.title,), designs={name: rows})


def _jansen(
    rows: int, n_cells: int, scores: Sequence[str], sign: str | None, on_top: Mapping[str, int]
) -> PictureWay:
    passes = rows * (n_cells + 2)
    return PictureWay(
        **_sobol("jansen", "the paper's", scores, rows, passes),
        options={
            "estimator": "jansen",
            "design": "sobol",
            "keep": None,
            "path": False,
            "base_masks": rows,
            "sign": sign,
        },
        designs={"jansen": passes, **on_top},
    )


def _sobol(name: str, title: str, scores: Sequence[str], rows: int, passes: int) -> dict[str, Any]:
    return {
        "method": "sobol",
        "names": tuple(f"{name}-{rows}-{score}" for score in scores),
        "titles": tuple(f"Sobol {score}, {title}" for score in scores),
        "scores": scores,
        "passes": passes,
    }
