"""How good an explanation is, and how much two of them agree."""

from textsobol.metrics.agreement import rank_correlation, spearman
from textsobol.metrics.consistency import convergence, randomised, stability
from textsobol.metrics.faithfulness import METRICS, Faithfulness, Metric, faithfulness

__all__ = [
    "METRICS",
    "Faithfulness",
    "Metric",
    "convergence",
    "faithfulness",
    "randomised",
    "rank_correlation",
    "spearman",
    "stability",
]
