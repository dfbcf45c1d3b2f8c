"""The paper's word-deletion numbers (Fel et al. 2021) beside the same methods on our models."""

from collections.abc import Sequence

from benchmarks.reporting import Table
from benchmarks.summary import Run
from benchmarks.tables import beside_the_paper

# Table 3: title, method, variant (None: any), BERT, LSTM.
_METHODS = (
    ("Saliency", "saliency", None, 0.684, 0.541),
    ("Gradient-Input", "gradient_input", None, 0.682, 0.529),
    ("SmoothGrad", "smoothgrad", None, 0.682, 0.541),
    ("Integrated gradients", "integrated_gradients", None, 0.689, 0.538),
    ("Occlusion", "occlusion", None, 0.531, 0.440),
    ("Sobol total", "sobol", "jansen-total", 0.662, 0.523),
    ("Sobol signed", "sobol", "jansen-signed", 0.598, 0.461),
)
# The appendix, "Word Deletion": title, method, variant, BERT.
_THRESHOLDS = (
    ("Sobol signed, 50 % kept", "sobol", "jansen-signed", 0.598),
    ("Sobol signed, 90 % kept", "sobol", "jansen-signed-0.9", 0.553),
    ("Sobol signed, 95 % kept", "sobol", "jansen-signed-0.95", 0.527),
    ("Occlusion", "occlusion", None, 0.531),
)
_OTHER_MODELS = (
    "Word deletion, lower is better. The models and reviews are not the paper's: the order can be "
    "compared, the height cannot."
)


def paper_table(runs: Sequence[Run]) -> Table:
    """The paper's table 3 beside the same methods on our models."""
    return beside_the_paper(
        "The paper's table 3",
        _OTHER_MODELS,
        [(title, method, name) for title, method, name, _, _ in _METHODS],
        {
            "paper, BERT": [bert for *_, bert, _ in _METHODS],
            "paper, LSTM": [lstm for *_, lstm in _METHODS],
        },
        runs,
    )


def paper_threshold_table(runs: Sequence[Run]) -> Table:
    """The paper's table of how many words stay, beside the same on our models."""
    return beside_the_paper(
        "The paper's thresholds",
        _OTHER_MODELS,
        [(title, method, name) for title, method, name, _ in _THRESHOLDS],
        {"paper, BERT": [bert for *_, bert in _THRESHOLDS]},
        runs,
    )
