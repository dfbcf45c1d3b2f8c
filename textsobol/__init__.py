"""Which words made a text classifier decide as it did, and how sure that answer is.

The names below are loaded on first use, so that importing the package stays cheap.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

__all__ = [
    "AliasedDesignWarning",
    "BlackBoxError",
    "BoundedScoreWarning",
    "CacheError",
    "ConstantScoreWarning",
    "DamagedFileWarning",
    "GatesError",
    "ImageExplainer",
    "ImageExplanation",
    "LabelMismatchError",
    "NoLogprobsError",
    "Prompt",
    "PunctuationWarning",
    "RemoteError",
    "SegmenterWarning",
    "SlowDtypeWarning",
    "Sobol",
    "SobolIndices",
    "TextExplainer",
    "TextExplanation",
    "TextModel",
    "TextsobolError",
    "TextsobolWarning",
    "UnknownWordsWarning",
    "UnstableTopWarning",
    "WindowWarning",
    "Windows",
    "WrongAnswerError",
    "__version__",
    "endpoint",
    "explain_corpus",
    "llm_endpoint",
    "read_explanations",
    "remote",
    "save_comparison",
    "save_report",
    "sobol_indices",
]

if TYPE_CHECKING:
    from textsobol.corpus.job import explain_corpus
    from textsobol.corpus.results import read_explanations
    from textsobol.endpoints.hub import endpoint
    from textsobol.endpoints.llm import llm_endpoint
    from textsobol.endpoints.model import remote
    from textsobol.errors import (
        AliasedDesignWarning,
        BlackBoxError,
        BoundedScoreWarning,
        CacheError,
        ConstantScoreWarning,
        DamagedFileWarning,
        GatesError,
        LabelMismatchError,
        NoLogprobsError,
        PunctuationWarning,
        RemoteError,
        SegmenterWarning,
        SlowDtypeWarning,
        TextsobolError,
        TextsobolWarning,
        UnknownWordsWarning,
        UnstableTopWarning,
        WindowWarning,
        WrongAnswerError,
    )
    from textsobol.image.explainer import ImageExplainer
    from textsobol.image.explanation import ImageExplanation
    from textsobol.methods import Sobol
    from textsobol.prompts.prompt import Prompt
    from textsobol.render.files import save_comparison, save_report
    from textsobol.sobol import SobolIndices, sobol_indices
    from textsobol.text.explainer import TextExplainer
    from textsobol.text.explanation import TextExplanation
    from textsobol.text.text_model import TextModel
    from textsobol.text.windows import Windows

_HOME_OF = {
    "ImageExplainer": "textsobol.image.explainer",
    "ImageExplanation": "textsobol.image.explanation",
    "endpoint": "textsobol.endpoints.hub",
    "llm_endpoint": "textsobol.endpoints.llm",
    "remote": "textsobol.endpoints.model",
    "explain_corpus": "textsobol.corpus.job",
    "Prompt": "textsobol.prompts.prompt",
    "read_explanations": "textsobol.corpus.results",
    "save_comparison": "textsobol.render.files",
    "save_report": "textsobol.render.files",
    "TextExplainer": "textsobol.text.explainer",
    "TextExplanation": "textsobol.text.explanation",
    "TextModel": "textsobol.text.text_model",
    "Windows": "textsobol.text.windows",
    "Sobol": "textsobol.methods",
    "SobolIndices": "textsobol.sobol",
    "sobol_indices": "textsobol.sobol",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'textsobol' has no attribute {name!r}")
    return getattr(import_module(_HOME_OF.get(name, "textsobol.errors")), name)


def __dir__() -> list[str]:
    return sorted(__all__)
