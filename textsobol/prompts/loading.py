"""From what a user gives as a language model to a classifier by prompt."""

from __future__ import annotations

from os import PathLike
from typing import Any

from textsobol.prompts.classifier import PromptClassifier
from textsobol.prompts.local import LocalScorer
from textsobol.prompts.prompt import Prompt
from textsobol.prompts.scoring import AnswerScorer
from textsobol.text.loading import count_positions, find_limit, get_name, load_pretrained
from textsobol.text.precision import check_dtype, convert, warn_if_slow

_GIVE = (
    "give a model that writes text and its tokenizer, such as those of "
    "AutoModelForCausalLM.from_pretrained, or a path or hub id"
)


def as_prompt_classifier(
    model: Any,
    tokenizer: Any,
    prompt: Prompt,
    *,
    batch_tokens: int | None = None,
    dtype: str | None = None,
    trust_remote_code: bool = False,
) -> PromptClassifier:
    """The classifier that a language model is with a prompt."""
    check_dtype(dtype)
    if not isinstance(prompt, Prompt):
        raise TypeError(f"prompt= must be a textsobol.Prompt, not {type(prompt).__name__}")
    if hasattr(model, "score_answers"):
        if tokenizer is not None or dtype is not None:
            raise ValueError("tokenizer= and dtype= go with a model of transformers")
        scorer: AnswerScorer = model
        return PromptClassifier(prompt, scorer)
    model, tokenizer = _find_parts(model, tokenizer, trust_remote_code=trust_remote_code)
    options: dict[str, Any] = {
        "name": get_name(model),
        "window": find_limit(tokenizer, count_positions(model)),
        "batch_tokens": batch_tokens,
    }
    own = LocalScorer(model, tokenizer, **options)
    if dtype is None:
        return PromptClassifier(prompt, own)
    warn_if_slow(model, dtype)
    copied = LocalScorer(convert(model, dtype), tokenizer, **options)
    copied.details = {**copied.details, "dtype": dtype}
    return PromptClassifier(prompt, copied, own)


def _find_parts(model: Any, tokenizer: Any, *, trust_remote_code: bool) -> tuple[Any, Any]:
    """A model that writes text, and its tokenizer."""
    if model is None:
        raise ValueError(f"prompt= needs a language model, and the bundled one is none: {_GIVE}")
    if isinstance(model, str | PathLike):
        model, own = _load(model, trust_remote_code=trust_remote_code)
        tokenizer = own if tokenizer is None else tokenizer
    elif isinstance(model, tuple) and len(model) == 2 and tokenizer is None:
        model, tokenizer = model
    elif tokenizer is None and hasattr(model, "_postprocess_params"):  # a pipeline
        model, tokenizer = model.model, model.tokenizer
    can_generate = getattr(model, "can_generate", None)
    if not callable(can_generate) or not can_generate():
        raise TypeError(f"prompt= cannot be given to a {type(model).__name__}: {_GIVE}")
    if tokenizer is None:
        raise ValueError("a model needs its tokenizer: TextExplainer(model, tokenizer, prompt=...)")
    return model, tokenizer


def _load(path: str | PathLike[str], *, trust_remote_code: bool) -> tuple[Any, Any]:
    import transformers

    def choose(config: Any) -> Any:
        if getattr(config, "is_encoder_decoder", False):
            return transformers.AutoModelForSeq2SeqLM
        return transformers.AutoModelForCausalLM

    return load_pretrained(path, "language model", choose, trust_remote_code=trust_remote_code)
