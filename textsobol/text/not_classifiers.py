"""Models that are no text classifiers, and how to get one from them."""

from __future__ import annotations

import re
from typing import Any

_CAUSAL = re.compile(r"(ForCausalLM|LMHeadModel|ForConditionalGeneration)$")
_OTHER_HEAD = re.compile(
    r"For(MaskedLM|PreTraining|TokenClassification|QuestionAnswering|MultipleChoice)$"
)
_ENCODER = re.compile(r"(?<!DoubleHeads)Model$")
_OTHER_PIPELINE = re.compile(
    r"(Text(2Text)?Generation|Summarization|Translation|FillMask|FeatureExtraction"
    r"|TokenClassification|QuestionAnswering)Pipeline$"
)

_FINE_TUNE = (
    "load it with AutoModelForSequenceClassification, and fine-tune the head that this adds"
)
_PROMPTS = (
    "to classify by a prompt, give TextExplainer(model, tokenizer, prompt=textsobol.Prompt(...)), "
    "or --prompt FILE"
)


def check_classifier(model: Any) -> None:
    """Raise an error for a model that is known to be something else."""
    kind = type(model)
    # Not of own subclasses, whatever they inherit from: they may well classify.
    if kind.__module__.split(".")[0] not in ("transformers", "sentence_transformers", "peft"):
        return
    reason = explain_architecture(kind.__name__)
    if reason is not None:
        raise TypeError(f"not a classifier: {kind.__name__} {reason}")


def explain_architecture(name: str) -> str | None:
    """Why a class of transformers is no classifier, and what to do; ``None`` if it may be one.

    Example:
        >>> print(explain_architecture("BertModel"))
        gives embeddings; load it with AutoModelForSequenceClassification, and fine-tune the head
        that this adds
        >>> explain_architecture("BertForSequenceClassification")
    """
    if name == "SentenceTransformer":
        return (
            "gives embeddings; fit a classifier on them, and give a function from a list of texts "
            "to head.predict_proba(encoder.encode(texts)), or a SetFit model"
        )
    if _CAUSAL.search(name):
        return f"writes text; {_FINE_TUNE}; {_PROMPTS}"
    if _OTHER_HEAD.search(name):
        return f"has another head; {_FINE_TUNE}"
    if _OTHER_PIPELINE.search(name):
        hint = f"; {_PROMPTS}" if "Generation" in name else ""
        return f"is another task; give a text-classification or zero-shot-classification one{hint}"
    return f"gives embeddings; {_FINE_TUNE}" if _ENCODER.search(name) else None
