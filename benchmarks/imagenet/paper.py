"""The paper's ImageNet numbers (Fel et al. 2021) beside the same methods on our model."""

from collections.abc import Sequence

from benchmarks.imagenet.run import SCORE_IN_WORDS
from benchmarks.imagenet.ways import PAPER_ROWS
from benchmarks.reporting import Table
from benchmarks.summary import Run
from benchmarks.tables import beside_the_paper

N_IMAGES = 2000
EFFICIENTNET, RESNET = "paper, EfficientNet", "paper, ResNet50V2"
# Title, method, variant (None: any), deletion, insertion. The last two are not in the paper.
_METHODS = (
    ("Random", "random", None, 0.124, 0.115),
    ("Saliency", "saliency", None, 0.105, 0.229),
    ("Guided-Backprop", "guided_backprop", None, 0.105, 0.229),
    ("DeconvNet", "deconvnet", None, 0.105, 0.229),
    ("Gradient-Input", "gradient_input", None, 0.093, 0.098),
    ("Integrated gradients", "integrated_gradients", None, 0.091, 0.143),
    ("SmoothGrad", "smoothgrad", None, 0.094, 0.299),
    ("Grad-CAM", "gradcam", None, 0.130, 0.393),
    ("Occlusion", "occlusion", None, 0.252, 0.152),
    ("RISE, 8,000 masks", "rise", "rise-8000", 0.119, 0.439),
    ("Sobol total, 3,936 passes", "sobol", "jansen-32-total", 0.104, 0.309),
    ("Sobol signed, 3,936 passes", "sobol", "jansen-32-signed", 0.147, 0.204),
    ("Sobol total, flip", "sobol", "flip-32-total", None, None),
    ("Sobol signed, flip", "sobol", "flip-32-signed", None, None),
)
_ORDERS = (
    ("Sobol first", "sobol", "jansen-32-first", 0.129),
    ("Sobol total", "sobol", "jansen-32-total", 0.104),
    ("Sobol first, flip", "sobol", "flip-32-first", None),
    ("Sobol total, flip", "sobol", "flip-32-total", None),
)
# Deletion with 492, 984 ... 3,936 passes.
_ABLATION = (0.151, 0.140, 0.132, 0.123, 0.121, 0.120, 0.120, 0.121)
_GRID = (11, 11)
_CELLS = 121
_OTHER_MODEL = (
    "The model is not the paper's, nor are the images: the order can be compared, the height "
    "cannot. Random is not marked."
)


def paper_tables(runs: Sequence[Run]) -> list[Table]:
    """All of the paper's tables that have a counterpart here.

    Args:
        runs: on common inputs, or their figures could not be compared. Those of another grid than
            the paper's, whose passes are others, are left out.
    """
    runs = [run for run in runs if tuple(run.settings["grid"]) == _GRID]
    if not runs:
        return []
    return [
        _methods_table(runs, "deletion", "lower", [row[3] for row in _METHODS]),
        _methods_table(runs, "insertion", "higher", [row[4] for row in _METHODS]),
        beside_the_paper(
            "The paper's first order against total",
            f"Deletion, lower is better. {_ours(runs)}",
            [(title, method, name) for title, method, name, _ in _ORDERS],
            {EFFICIENTNET: [deletion for *_, deletion in _ORDERS]},
            runs,
            n=N_IMAGES,
        ),
        beside_the_paper(
            "The paper's ablation over forward passes",
            f"Deletion by Sobol total, lower is better. {_ours(runs)}",
            [
                (f"{rows * (_CELLS + 2):,} passes", "sobol", f"jansen-{rows}-total")
                for rows in PAPER_ROWS
            ],
            {RESNET: _ABLATION},
            runs,
            n=N_IMAGES,
        ),
    ]


def _ours(runs: Sequence[Run]) -> str:
    """What is not the paper's."""
    said = [
        f"{run.model}: analysed {SCORE_IN_WORDS[run.settings['score']]}, "
        f"on the {run.n_inputs:,} images that all have seen."
        for run in runs
    ]
    return " ".join([*said, _OTHER_MODEL])


def _methods_table(
    runs: Sequence[Run], metric: str, better: str, paper: Sequence[float | None]
) -> Table:
    return beside_the_paper(
        f"The paper's {metric}",
        f"{metric.capitalize()}, {better} is better. {_ours(runs)}",
        [(title, method, name) for title, method, name, _, _ in _METHODS],
        {EFFICIENTNET: paper},
        runs,
        metric=metric,
        n=N_IMAGES,
    )
