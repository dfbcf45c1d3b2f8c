"""From what a user has, a pipeline, a model, a path or a function, to a classifier."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from os import PathLike
from pathlib import Path
from typing import Any

from textsobol.endpoints.model import Remote
from textsobol.models import BUNDLED
from textsobol.text.classifiers import Classifier, HuggingFaceClassifier, ZeroShotClassifier
from textsobol.text.functions import FunctionClassifier
from textsobol.text.remote import RemoteClassifier

# tokenizers without a limit of their own say so with a huge number
_NO_LIMIT = 1_000_000


def as_classifier(
    model: Any,
    tokenizer: Any = None,
    *,
    labels: Sequence[str] | None = None,
    candidate_labels: Sequence[str] | None = None,
    batch_tokens: int | None,
    batch_texts: int,
    token_path: bool = True,
) -> Classifier:
    """The classifier that ``model`` is, or an error that says what it may be."""
    model = BUNDLED if model is None else model
    is_module = _is_torch_module(model)
    if tokenizer is not None and not is_module:
        raise ValueError("tokenizer= goes with a model; what was given has its own, or needs none")
    if isinstance(model, str | PathLike):
        model, tokenizer = _load(str(model))
    if isinstance(model, tuple) and len(model) == 2:
        model, tokenizer = model
    _check_labels(labels, "labels")
    _check_labels(candidate_labels, "candidate_labels")
    options = {"batch_tokens": batch_tokens, "token_path": token_path}
    if _is_pipeline(model, "ZeroShotClassificationPipeline"):
        return _from_zero_shot(model, candidate_labels, options)
    if candidate_labels is not None:
        raise ValueError("candidate_labels go with a zero-shot-classification pipeline")
    if _is_pipeline(model, "TextClassificationPipeline"):
        if _has_own_steps(model) or set(model._preprocess_params) - {"truncation", "max_length"}:
            return FunctionClassifier(
                lambda texts: model(texts, top_k=None), labels, _name_of(model.model), batch_texts
            )
        _refuse_labels(labels)
        return _from_pipeline(model, options)
    if _is_torch_module(model):
        _refuse_labels(labels)
        if not hasattr(model, "config"):
            raise ValueError(
                "a torch module without a transformers config: wrap it in a function from a list "
                "of texts to scores"
            )
        if tokenizer is None:
            raise ValueError("a model needs its tokenizer: TextExplainer(model, tokenizer)")
        return _from_model(model, tokenizer, _activation(model, None), None, options)
    if isinstance(model, Remote):
        return RemoteClassifier(model, labels)
    if callable(model):
        name = getattr(model, "__name__", type(model).__name__)
        return FunctionClassifier(model, labels, name, batch_texts)
    raise TypeError(
        f"cannot explain a {type(model).__name__}; give a text-classification pipeline, a model "
        f"and its tokenizer, a path or hub id, or a function from a list of texts to scores"
    )


def load_model(path: str | PathLike[str] | None = None) -> tuple[Any, Any]:
    """A model and its tokenizer from a directory or the hub; by default the bundled ones."""
    return _load(str(BUNDLED if path is None else path))


def _load(path: str) -> tuple[Any, Any]:
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    import textsobol.models.bilstm  # noqa: F401  (makes the Auto classes know it)

    if path.startswith(("/", ".", "~")) and not Path(path).expanduser().is_dir():
        raise ValueError(f"cannot load a text classifier from {path!r}: there is no such directory")
    try:
        tokenizer = AutoTokenizer.from_pretrained(path)
        with _no_bar() if Path(path).is_dir() else nullcontext():  # a download keeps its bar
            model, loaded = AutoModelForSequenceClassification.from_pretrained(
                path, output_loading_info=True
            )
    except (OSError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(
            f"cannot load a text classifier from {path!r}: {reason} Give a directory written by "
            f"save_pretrained, or the id of a model on the hub"
        ) from error
    missing = sorted(loaded["missing_keys"])
    if missing:
        raise ValueError(
            f"{path!r} is not a trained text classifier: it has no weights for "
            f"{', '.join(missing[:4])}"
        )
    return model, tokenizer


@contextmanager
def _no_bar() -> Iterator[None]:
    """Reading weights from a disk takes a moment: transformers' bar would only stay behind."""
    from transformers.utils import logging

    was_shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        if was_shown:
            logging.enable_progress_bar()  # type: ignore[no-untyped-call]


def _check_labels(labels: Sequence[str] | None, name: str) -> None:
    if labels is not None and (isinstance(labels, str) or len(set(labels)) < len(labels)):
        raise ValueError(f"{name} must be a list of different names, not {labels!r}")


def _refuse_labels(labels: Sequence[str] | None) -> None:
    if labels is not None:
        raise ValueError("labels= names the scores of a function; a model has labels of its own")


def _is_pipeline(model: Any, class_name: str) -> bool:
    """Without importing transformers: who has a pipeline has imported it."""
    transformers = sys.modules.get("transformers")
    return transformers is not None and isinstance(model, getattr(transformers, class_name))


def _has_own_steps(pipe: Any) -> bool:
    """Whether a subclass changes what happens to a text; then only the pipeline knows."""
    transformers = sys.modules["transformers"]
    plain = transformers.TextClassificationPipeline
    return any(
        getattr(type(pipe), step) is not getattr(plain, step)
        for step in ("preprocess", "_forward", "postprocess")
    )


def _is_torch_module(model: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(model, torch.nn.Module)


def _from_pipeline(pipe: Any, options: dict[str, Any]) -> HuggingFaceClassifier:
    asked = pipe._postprocess_params.get("function_to_apply")
    limit = pipe._preprocess_params.get("max_length")
    return _from_model(pipe.model, pipe.tokenizer, _activation(pipe.model, asked), limit, options)


def _from_model(
    model: Any, tokenizer: Any, activation: str, limit: int | None, options: dict[str, Any]
) -> HuggingFaceClassifier:
    limits = [tokenizer.model_max_length, _position_limit(model), limit]
    known = [number for number in limits if number is not None and number < _NO_LIMIT]
    return HuggingFaceClassifier(
        model=model,
        tokenizer=tokenizer,
        activation=activation,
        name=_name_of(model),
        max_length=min(known) if known else None,
        **options,
    )


def _position_limit(model: Any) -> int | None:
    """Number of tokens that the model has positions for."""
    positions = getattr(model.config, "max_position_embeddings", None)
    if not isinstance(positions, int) or positions <= 0:
        return None
    # RoBERTa and its kin count positions from behind the padding index.
    if "roberta" in str(getattr(model.config, "model_type", "")) or model.config.model_type in (
        "camembert", "longformer", "mpnet", "luke", "esm",
    ):  # fmt: skip
        return positions - int(model.config.pad_token_id or 0) - 1
    return positions


def _activation(model: Any, asked: Any) -> str:
    """How the text-classification pipeline turns logits into what it shows."""
    if asked is not None:
        name = str(getattr(asked, "value", asked)).lower()
        return name if name in ("softmax", "sigmoid") else "none"
    config = model.config
    if config.problem_type == "regression":
        return "none"
    if config.problem_type == "multi_label_classification" or config.num_labels == 1:
        return "sigmoid"
    return "softmax"


def _from_zero_shot(
    pipe: Any, candidate_labels: Sequence[str] | None, options: dict[str, Any]
) -> ZeroShotClassifier:
    if not candidate_labels:
        raise ValueError(
            "a zero-shot pipeline needs candidate_labels, a list such as ['sport', 'politics']"
        )
    if pipe.entailment_id == -1:
        raise ValueError("the zero-shot model's labels do not say which one is 'entailment'")
    return ZeroShotClassifier(
        inference=_from_model(pipe.model, pipe.tokenizer, "softmax", None, options),
        candidate_labels=list(candidate_labels),
        hypothesis=pipe._preprocess_params.get("hypothesis_template", "This example is {}."),
        # As in transformers: a single label is asked for itself.
        multi_label=pipe._postprocess_params.get("multi_label", False)
        or len(candidate_labels) == 1,
        entailment=pipe.entailment_id,
    )


def _name_of(model: Any) -> str:
    path = str(getattr(model.config, "_name_or_path", "") or "")
    return path.rstrip("/").rsplit("/", 1)[-1] or type(model).__name__
