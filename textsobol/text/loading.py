"""From a pipeline, a model, a path or a function to a classifier."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

from textsobol.endpoints.model import Remote
from textsobol.models import BUNDLED
from textsobol.text.classifiers import Classifier, HuggingFaceClassifier, ZeroShotClassifier
from textsobol.text.functions import FunctionClassifier
from textsobol.text.precision import check_dtype, warn_if_slow
from textsobol.text.remote import RemoteClassifier

_NO_LIMIT = 1_000_000  # tokenizers without a limit have a larger number


def as_classifier(
    model: Any,
    tokenizer: Any = None,
    *,
    label_names: Sequence[str] | None = None,
    candidate_labels: Sequence[str] | None = None,
    batch_tokens: int | None,
    batch_texts: int,
    token_path: bool = True,
    trust_remote_code: bool = False,
    score: str | None = None,
    dtype: str | None = None,
) -> Classifier:
    """The classifier that ``model`` is, or an error that says what it may be."""
    check_dtype(dtype)
    model = BUNDLED if model is None else model
    if tokenizer is not None and not _is_torch_module(model):
        raise ValueError("tokenizer= goes with a model; what was given has its own, or needs none")
    if isinstance(model, str | PathLike):
        model = load_model(model, trust_remote_code=trust_remote_code)
    if isinstance(model, tuple) and len(model) == 2:
        model, tokenizer = model
    _check_names(label_names=label_names, candidate_labels=candidate_labels)
    options = {"batch_tokens": batch_tokens, "token_path": token_path, "dtype": dtype}
    if _is_pipeline(model, "ZeroShotClassificationPipeline"):
        return _from_zero_shot(model, candidate_labels, options)
    if candidate_labels is not None:
        raise ValueError("candidate_labels go with a zero-shot-classification pipeline")
    is_pipeline = _is_pipeline(model, "TextClassificationPipeline")
    has_own_steps = is_pipeline and _has_own_steps(model)
    runs_here = _is_torch_module(model) or (is_pipeline and not has_own_steps)
    if dtype is not None and not runs_here:
        raise ValueError(
            "dtype= goes with a transformers model; a function, an endpoint or a pipeline with "
            "steps of its own runs as it is"
        )
    if has_own_steps:
        is_probability = (
            _get_activation(model.model, model._postprocess_params.get("function_to_apply"))
            != "none"
        )
        return FunctionClassifier(
            partial(model, top_k=None), label_names, _get_name(model.model), batch_texts,
            is_probability=is_probability and score != "output",
        )  # fmt: skip
    if runs_here:
        if label_names is not None:
            raise ValueError(
                "label_names= names the scores of a function; a model has labels of its own"
            )
        return _from_pipeline_or_model(model, tokenizer, options)
    if isinstance(model, Remote):
        return RemoteClassifier(model, label_names)
    if callable(model):
        name = getattr(model, "__name__", type(model).__name__)
        is_probability = score in ("logit", "probability")
        return FunctionClassifier(
            model, label_names, name, batch_texts, is_probability=is_probability
        )
    raise TypeError(
        f"cannot explain a {type(model).__name__}; give a text-classification pipeline, a model "
        f"and its tokenizer, a path or hub id, or a function from a list of texts to scores"
    )


def load_model(
    path: str | PathLike[str] | None = None, *, trust_remote_code: bool = False
) -> tuple[Any, Any]:
    """A model and its tokenizer from a directory or the hub; by default the bundled ones.

    Code that comes with a model is run only with ``trust_remote_code=True``.
    """
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    import textsobol.models.bilstm  # noqa: F401  (registers the bundled model)

    path = str(BUNDLED if path is None else path)
    if path.startswith(("/", ".", "~")) and not Path(path).expanduser().is_dir():
        raise ValueError(f"cannot load a text classifier from {path!r}: there is no such directory")
    try:
        trusted = {"trust_remote_code": trust_remote_code}  # unset, transformers would ask
        tokenizer = AutoTokenizer.from_pretrained(path, **trusted)
        with _hide_bar() if Path(path).is_dir() else nullcontext():  # a download keeps its bar
            model, info = AutoModelForSequenceClassification.from_pretrained(
                path, output_loading_info=True, **trusted
            )
    except (OSError, ValueError) as error:
        reason = str(error).splitlines()[0]
        if "trust_remote_code" in str(error):
            raise ValueError(
                f"{path!r} comes with Python code of its own, which is not run. If you trust it, "
                f"give trust_remote_code=True (--trust-remote-code)"
            ) from error
        raise ValueError(
            f"cannot load a text classifier from {path!r}: {reason} Give a directory written by "
            f"save_pretrained, or the id of a model on the hub"
        ) from error
    missing = sorted(info["missing_keys"])
    if missing:
        raise ValueError(
            f"{path!r} is not a trained text classifier: it has no weights for "
            f"{', '.join(missing[:4])}"
        )
    return model, tokenizer


@contextmanager
def _hide_bar() -> Iterator[None]:
    """Hide transformers' progress bar: weights on a disk load in a moment."""
    from transformers.utils import logging

    was_shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        if was_shown:
            logging.enable_progress_bar()  # type: ignore[no-untyped-call]


def _check_names(**given: Sequence[str] | None) -> None:
    for argument, names in given.items():
        if names is not None and (isinstance(names, str) or len(set(names)) < len(names)):
            raise ValueError(f"{argument} must be a list of different names, not {names!r}")


def _is_pipeline(model: Any, class_name: str) -> bool:
    """Without importing transformers: a pipeline exists only if it was imported before."""
    transformers = sys.modules.get("transformers")
    return transformers is not None and isinstance(model, getattr(transformers, class_name))


def _has_own_steps(pipe: Any) -> bool:
    """Whether a subclass or parameters change what happens to a text: only the pipeline can."""
    plain = sys.modules["transformers"].TextClassificationPipeline
    steps = ("preprocess", "_forward", "postprocess")
    return bool(set(pipe._preprocess_params) - _HARMLESS) or any(
        getattr(type(pipe), step) is not getattr(plain, step) for step in steps
    )


# Parameters of a pipeline's call that change how it runs, but not what it says of a text.
_HARMLESS = {"truncation", "max_length", "padding", "return_all_scores", "return_tensors"}


def _is_torch_module(model: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(model, torch.nn.Module)


def _from_pipeline_or_model(
    model: Any, tokenizer: Any, options: dict[str, Any]
) -> HuggingFaceClassifier:
    asked, limit = None, None
    if not _is_torch_module(model):
        asked = model._postprocess_params.get("function_to_apply")
        limit = model._preprocess_params.get("max_length")
        model, tokenizer = model.model, model.tokenizer
    elif not hasattr(model, "config"):
        raise ValueError(
            "a torch module without a transformers config: wrap it in a function from a list "
            "of texts to scores"
        )
    elif tokenizer is None:
        raise ValueError("a model needs its tokenizer: TextExplainer(model, tokenizer)")
    return _from_model(model, tokenizer, _get_activation(model, asked), limit, options)


def _from_model(
    model: Any, tokenizer: Any, activation: str, limit: int | None, options: dict[str, Any]
) -> HuggingFaceClassifier:
    limits = [tokenizer.model_max_length, _count_positions(model), limit]
    known = [number for number in limits if number is not None and number < _NO_LIMIT]
    most = min(known, default=None)
    if options.get("dtype") is not None:
        warn_if_slow(model, options["dtype"])
    return HuggingFaceClassifier(model, tokenizer, activation, _get_name(model), most, **options)


def _count_positions(model: Any) -> int | None:
    """Number of tokens that the model has positions for."""
    positions = getattr(model.config, "max_position_embeddings", None)
    if not isinstance(positions, int) or positions <= 0:
        return None
    # RoBERTa and its relatives start to count after the padding index.
    kind = str(getattr(model.config, "model_type", ""))
    if "roberta" in kind or kind in ("camembert", "longformer", "mpnet", "luke", "esm"):
        return positions - int(model.config.pad_token_id or 0) - 1
    return positions


def _get_activation(model: Any, asked: Any) -> str:
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
    is_multi_label = pipe._postprocess_params.get("multi_label", False)
    return ZeroShotClassifier(
        _from_model(pipe.model, pipe.tokenizer, "softmax", None, options),
        candidate_labels,
        pipe._preprocess_params.get("hypothesis_template", "This example is {}."),
        # As in transformers: a single label is scored by itself.
        is_multi_label=is_multi_label or len(candidate_labels) == 1,
        entailment=pipe.entailment_id,
    )


def _get_name(model: Any) -> str:
    path = str(getattr(model.config, "_name_or_path", "") or "")
    return path.rstrip("/").rsplit("/", 1)[-1] or type(model).__name__
