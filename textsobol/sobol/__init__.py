"""Sobol' indices of any black box on masks: exact where possible, with intervals.

Only numpy and scipy are needed here; nothing in this package knows of text, images or
torch. The modules read as the data flows: `config`, `designs`, `masks`, `black_box`; the
estimators `flip`, `exact` and `pick_freeze` with their errors (`uncertainty`, `moderated`), which
`estimators` runs (in rounds: `stopping`); `scores`, `result`; `api` is the way in.
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
