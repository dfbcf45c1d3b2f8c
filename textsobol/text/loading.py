"""From a pipeline, a model, a path or a function to a classifier."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

from textsobol.endpoints.language_server import LanguageServer
from textsobol.endpoints.model import Remote
from textsobol.labels import rename_labels
from textsobol.models import BUNDLED
from textsobol.text.classifiers import Classifier, HuggingFaceClassifier, ZeroShotClassifier
from textsobol.text.functions import FunctionClassifier
from textsobol.text.inputs import Text
from textsobol.text.libraries import from_library
from textsobol.text.not_classifiers import check_classifier, explain_architecture
from textsobol.text.precision import check_dtype, warn_if_slow
from textsobol.text.remote import RemoteClassifier
from textsobol.text.sessions import Session, SessionClassifier, find_session
from textsobol.text.text_model import NamedFunction

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
    if isinstance(model, LanguageServer):
        raise ValueError(
            "a language model needs a prompt to classify: TextExplainer(llm_endpoint(...), "
            "prompt=textsobol.Prompt(...))"
        )
    model, tokenizer = _find_parts(model, tokenizer, trust_remote_code=trust_remote_code)
    check_classifier(model)
    _check_names(label_names=label_names, candidate_labels=candidate_labels)
    options: dict[str, Any] = {"batch_tokens": batch_tokens, "token_path": token_path}
    if _is_pipeline(model, "ZeroShotClassificationPipeline"):
        if label_names is not None:
            raise ValueError("a zero-shot pipeline's labels are its candidate_labels")
        return _from_zero_shot(model, candidate_labels, {**options, "dtype": dtype})
    if candidate_labels is not None:
        raise ValueError("candidate_labels go with a zero-shot-classification pipeline")
    options["label_names"] = label_names
    is_pipeline = _is_pipeline(model, "TextClassificationPipeline")
    has_own_steps = is_pipeline and _has_own_steps(model)
    inner = model.model if is_pipeline and not has_own_steps else model
    if _is_torch_module(inner):
        return _from_pipeline_or_model(model, tokenizer, {**options, "dtype": dtype})
    if dtype is not None:
        raise ValueError(
            "dtype= goes with a transformers model; a function, an endpoint or a pipeline with "
            "steps of its own runs as it is"
        )
    session = find_session(inner)
    if session is not None:
        return _from_session(session, model, tokenizer, options)
    if isinstance(model, Remote):
        return RemoteClassifier(model, label_names)
    function = _from_own_steps(model) if has_own_steps else from_library(model)
    if function is None and callable(model):
        function = NamedFunction(model, getattr(model, "__name__", type(model).__name__))
    if function is None:
        raise TypeError(
            f"cannot explain an object of type {type(model).__name__}; give a text-classification "
            f"pipeline, a model and its tokenizer, a path or hub id, a scikit-learn, spaCy, "
            f"Keras or SetFit model, a function from a list of texts to scores, or any object "
            f"with labels and predict(texts): see textsobol.TextModel"
        )
    return FunctionClassifier(_apply_score(function, score), label_names, batch_texts)


def _find_parts(model: Any, tokenizer: Any, *, trust_remote_code: bool) -> tuple[Any, Any]:
    """A model that is loaded, and its tokenizer or ``None``."""
    model = BUNDLED if model is None else model
    is_pair = isinstance(model, tuple) and len(model) == 2
    if is_pair and tokenizer is None:
        model, tokenizer = model
    if type(model).__name__ == "CrossEncoder" and tokenizer is None:  # of sentence-transformers
        model, tokenizer = model.model, model.tokenizer
    if tokenizer is not None and not (_is_torch_module(model) or find_session(model) is not None):
        raise ValueError("tokenizer= goes with a model; what was given has its own, or needs none")
    if isinstance(model, str | PathLike):
        return load_model(model, trust_remote_code=trust_remote_code)
    return model, tokenizer


def _apply_score(function: NamedFunction, score: str | None) -> NamedFunction:
    """``score`` says what a function's scores are, if nothing else does."""
    if function.returns == "scores" and score in ("logit", "probability"):
        return replace(function, returns="probabilities")
    if function.returns == "probabilities" and score == "output":
        return replace(function, returns="scores")
    return function


def _from_own_steps(pipe: Any) -> NamedFunction:
    """A pipeline that only itself can run."""
    asked = pipe._postprocess_params.get("function_to_apply")
    is_probability = _get_activation(pipe.model, asked) != "none"
    returns = "probabilities" if is_probability else "scores"
    return NamedFunction(partial(_call_pipeline, pipe), get_name(pipe.model), None, returns)


def _call_pipeline(pipe: Any, texts: list[Text]) -> Any:
    pairs = [t if isinstance(t, str) else dict(zip(("text", "text_pair"), t, strict=True))
             for t in texts]  # fmt: skip
    return pipe(pairs, top_k=None)


def _from_session(
    session: Session, given: Any, tokenizer: Any, options: dict[str, Any]
) -> SessionClassifier:
    asked, limit = None, None
    if _is_pipeline(given, "TextClassificationPipeline"):
        asked = given._postprocess_params.get("function_to_apply")
        limit = given._preprocess_params.get("max_length")
        given, tokenizer = given.model, given.tokenizer
    if tokenizer is None:
        raise ValueError("a model needs its tokenizer: TextExplainer(model, tokenizer)")
    # What is known only of a session is that it gives logits.
    activation = _get_activation(given, asked) if hasattr(given, "config") else "softmax"
    limits = [session.width, limit, count_positions(given) if hasattr(given, "config") else None]
    return SessionClassifier(
        session, tokenizer, activation, find_limit(tokenizer, *limits), **options
    )


def load_model(
    path: str | PathLike[str] | None = None, *, trust_remote_code: bool = False
) -> tuple[Any, Any]:
    """A model and its tokenizer from a directory or the hub; by default the bundled ones.

    Code that comes with a model is run only with ``trust_remote_code=True``.
    """
    import textsobol.models.bilstm  # noqa: F401  (registers the bundled model)

    def choose(config: Any) -> Any:
        from transformers import AutoModelForSequenceClassification

        return AutoModelForSequenceClassification

    path = BUNDLED if path is None else path
    return load_pretrained(path, "text classifier", choose, trust_remote_code=trust_remote_code)


def load_pretrained(
    path: str | PathLike[str],
    kind: str,
    choose: Callable[[Any], Any],
    *,
    trust_remote_code: bool,
) -> tuple[Any, Any]:
    """A model of some kind and its tokenizer.

    Args:
        path: a directory, or an id on the hub.
        kind: what it must be, for errors.
        choose: from the model's configuration to the class of transformers that loads it.
        trust_remote_code: whether code that comes with the model may be run.
    """
    from transformers import AutoConfig, AutoTokenizer

    path = str(path)
    if path.startswith(("/", ".", "~")) and not Path(path).expanduser().is_dir():
        raise ValueError(f"cannot load a {kind} from {path!r}: there is no such directory")
    if Path(path).is_dir() and not (Path(path) / "config.json").exists():
        raise ValueError(
            f"cannot load a {kind} from {path!r}: it holds no config.json. Give a "
            f"directory written by save_pretrained, or the id of a model on the hub"
        )
    try:
        trusted = {"trust_remote_code": trust_remote_code}  # unset, transformers would ask
        tokenizer = AutoTokenizer.from_pretrained(path, **trusted)
        maker = choose(AutoConfig.from_pretrained(path, **trusted))
        with _hide_bar() if Path(path).is_dir() else nullcontext():  # a download keeps its bar
            model, info = maker.from_pretrained(path, output_loading_info=True, **trusted)
    except (OSError, ValueError) as error:
        reason = str(error).splitlines()[0]
        if "trust_remote_code" in str(error):
            raise ValueError(
                f"{path!r} comes with Python code of its own, which is not run. If you trust it, "
                f"give trust_remote_code=True (--trust-remote-code)"
            ) from error
        raise ValueError(
            f"cannot load a {kind} from {path!r}: {reason} Give a directory written by "
            f"save_pretrained, or the id of a model on the hub"
        ) from error
    missing = sorted(info["missing_keys"])
    if missing:
        trained = str(next(iter(getattr(model.config, "architectures", None) or ()), ""))
        advice = explain_architecture(trained) if kind == "text classifier" else None
        raise ValueError(
            f"{path!r} is not a trained {kind}: it has no weights for "
            f"{', '.join(missing[:4])}; "
            + (f"its {trained} {advice}" if advice else "give one that was trained")
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
    most = find_limit(tokenizer, count_positions(model), limit)
    if options.get("dtype") is not None:
        warn_if_slow(model, options["dtype"])
    if options.get("label_names") is not None:
        names = getattr(model.config, "id2label", None) or {}
        rename_labels([str(names.get(k, k)) for k in sorted(names)], options["label_names"])
    return HuggingFaceClassifier(model, tokenizer, activation, get_name(model), most, **options)


def find_limit(tokenizer: Any, *limits: int | None) -> int | None:
    """The most tokens of a text: the smallest limit that is known."""
    every = (tokenizer.model_max_length, *limits)
    return min((each for each in every if each is not None and each < _NO_LIMIT), default=None)


def count_positions(model: Any) -> int | None:
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


def get_name(model: Any) -> str:
    """The name of a model of transformers: the end of its path or hub id, or its class."""
    path = str(getattr(model.config, "_name_or_path", "") or "")
    return path.rstrip("/").rsplit("/", 1)[-1] or type(model).__name__
