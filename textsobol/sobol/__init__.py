"""Sobol' indices of any black box on masks: exact where possible, with intervals.

Needs only numpy and scipy, and knows nothing of text, images or torch. `api` is the entry point. In
the order of the data: `config`, `designs`, `masks`, `black_box`; the estimators `flip`, `exact` and
`pick_freeze` with their errors (`uncertainty`, `moderated`), run by `estimators` (in rounds:
`stopping`); `scores`, `result`.
"""

from textsobol.sobol.api import sobol_indices, sobol_steps
from textsobol.sobol.config import ESTIMATORS
from textsobol.sobol.designs import DESIGNS, Design
from textsobol.sobol.exact import Hoeffding, hoeffding
from textsobol.sobol.index_table import PairIndices
from textsobol.sobol.result import Settings, SobolIndices

__all__ = [
    "DESIGNS",
    "ESTIMATORS",
    "Design",
    "Hoeffding",
    "PairIndices",
    "Settings",
    "SobolIndices",
    "hoeffding",
    "sobol_indices",
    "sobol_steps",
]
