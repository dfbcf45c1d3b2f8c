"""How good explanations are, and how much two of them agree."""

from textsobol.metrics.agreement import rank_correlation, spearman
from textsobol.metrics.consistency import convergence, randomise, stability
from textsobol.metrics.faithfulness import METRICS, Faithfulness, Metric, faithfulness
from textsobol.metrics.pixels import PixelFaithfulness, pixel_faithfulness, points_at

__all__ = [
    "METRICS",
    "Faithfulness",
    "Metric",
    "PixelFaithfulness",
    "convergence",
    "faithfulness",
    "pixel_faithfulness",
    "points_at",
    "randomise",
    "rank_correlation",
    "spearman",
    "stability",
]
