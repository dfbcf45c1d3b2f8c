"""Sobol' indices of any black box on masks: exact where possible, with intervals.

Only numpy and scipy are needed here; nothing in this package knows of text, images or
torch. The modules read as the data flows: `config`, `designs`, `masks`, `black_box`, then
`scores` with its estimators `flip` (in rounds: `stopping`), `exact` and `pick_freeze`, their errors
(`moderated`, `uncertainty`), `indices`; `api` runs them.
"""

from textsobol.driver import BlackBoxError
from textsobol.sobol.api import sobol_indices, sobol_steps
from textsobol.sobol.config import ESTIMATORS
from textsobol.sobol.designs import DESIGNS, AliasedDesignWarning, Design
from textsobol.sobol.exact import Hoeffding, hoeffding
from textsobol.sobol.indices import ConstantScoreWarning, PairIndices, Settings, SobolIndices
from textsobol.sobol.stopping import UnstableTopWarning

__all__ = [
    "DESIGNS",
    "ESTIMATORS",
    "AliasedDesignWarning",
    "BlackBoxError",
    "ConstantScoreWarning",
    "Design",
    "Hoeffding",
    "PairIndices",
    "Settings",
    "SobolIndices",
    "UnstableTopWarning",
    "hoeffding",
    "sobol_indices",
    "sobol_steps",
]
