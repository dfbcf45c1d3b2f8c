"""Sobol' indices of any black box on masks: exact where possible, with intervals.

Only numpy and scipy are needed here; nothing in this package knows of text, images or
torch. The modules read as the data flows: `config`, `designs`, `masks`, `black_box`, then
`scores` with its estimators `flip` (in rounds: `stopping`), `exact` and `pick_freeze`, their errors
(`moderated`, `uncertainty`), `indices`; `api` runs them.
"""

from textsobol.sobol.api import sobol_indices, sobol_steps
from textsobol.sobol.config import ESTIMATORS
from textsobol.sobol.designs import DESIGNS, Design
from textsobol.sobol.exact import Hoeffding, hoeffding
from textsobol.sobol.indices import PairIndices, Settings, SobolIndices

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
