"""Sobol' indices of any black box on masks: exact where possible, with intervals.

Only numpy and scipy are needed here; nothing in this package knows of text, images or
torch. The modules read as the data flows: `plan`, `designs`, `rows`, `black_box`, then
`scores` with its estimators `flip` (in rounds: `racing`), `exact` and `pick_freeze`, their errors
(`moderated`, `uncertainty`), `indices`; `analysis` runs them.
"""

from textsobol.driver import BlackBoxError
from textsobol.sobol.analysis import sobol_indices, sobol_steps
from textsobol.sobol.designs import DESIGNS, AliasedDesignWarning, Design
from textsobol.sobol.exact import Hoeffding, hoeffding
from textsobol.sobol.indices import ConstantScoreWarning, PairIndices, Settings, SobolIndices
from textsobol.sobol.plan import ESTIMATORS
from textsobol.sobol.racing import UnstableTopWarning

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
