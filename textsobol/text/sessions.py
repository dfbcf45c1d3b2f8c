"""ONNX models, of ONNX Runtime or optimum, with a tokenizer: token rows in, logits out."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from textsobol.labels import rename_labels
from textsobol.sobol.arrays import Array, Floats, Integers
from textsobol.text.batches import LogitRunner, make_row_key
from textsobol.text.classifiers import HuggingFaceClassifier, Prepared
from textsobol.text.tokens import Row
from textsobol.text.words import Span

_INPUTS = ("input_ids", "attention_mask", "token_type_ids")
_BATCH_TOKENS = 4096


@dataclass(frozen=True)
class Session:
    """A function from token arrays to logits, and what it takes.

    Attributes:
        compute: from arrays ``(rows, tokens)`` by name to logits ``(rows, labels)``.
        inputs: the names of the arrays that it takes.
        name: the model's name in an explanation.
        config: of transformers, or something like it.
        labels: the model's own labels, or ``None``.
        is_alone: whether it takes one row at a time.
        width: the number of tokens of every row, or ``None`` if it may be any.
    """

    compute: Callable[[Mapping[str, Integers]], Floats]
    inputs: frozenset[str]
    name: str
    config: Any
    labels: Sequence[str] | None = None
    is_alone: bool = False
    width: int | None = None


class SessionRunner(LogitRunner):
    """Logits of a session, in batches of about equal length."""

    def __init__(self, session: Session, tokenizer: Any, batch_tokens: int | None) -> None:
        super().__init__(session, tokenizer, batch_tokens or _BATCH_TOKENS)
        self._session = session
        self._takes_types = "token_type_ids" in session.inputs
        self._pads_left = False
        # Without a mask, a model would take padding for a part of the text.
        self._is_alone = session.is_alone or "attention_mask" not in session.inputs

    @contextmanager
    def _inference(self) -> Iterator[None]:
        yield

    def _forward_once(self, rows: Sequence[Row], longest: int) -> Floats:
        return super()._forward_once(rows, self._session.width or longest)

    def _compute(self, inputs: Mapping[str, Integers]) -> Floats:
        return self._session.compute({k: v for k, v in inputs.items() if k in self._session.inputs})


class SessionClassifier:
    """A session with its tokenizer; see `Classifier`.

    Args:
        session: the model.
        tokenizer: its tokenizer.
        activation: how its logits are shown.
        max_length: most tokens of a text, or ``None`` if not known.
        batch_tokens: maximum tokens of a batch.
        label_names: names for labels that have none.
        token_path: see `HuggingFaceClassifier`.
    """

    passes = 1

    def __init__(
        self,
        session: Session,
        tokenizer: Any,
        activation: str,
        max_length: int | None,
        *,
        batch_tokens: int | None,
        label_names: Sequence[str] | None,
        token_path: bool = True,
    ) -> None:
        self._session = session
        self._batch_tokens = batch_tokens
        # It makes the rows; its own model, the session, is never run by it.
        self._rows = HuggingFaceClassifier(
            session, tokenizer, activation, session.name, max_length, batch_tokens, token_path,
            label_names=label_names,
        )  # fmt: skip
        self.name, self.tokenizer, self.activation = session.name, tokenizer, activation
        self.details = self._rows.details
        self.replacement, self.window = self._rows.replacement, self._rows.window
        self._given = label_names
        if session.labels is not None:
            rename_labels(session.labels, label_names)

    @cached_property
    def _runner(self) -> SessionRunner:
        return SessionRunner(self._session, self.tokenizer, self._batch_tokens)

    def prepare(
        self, texts: Sequence[str], spans: Sequence[Sequence[Span]], perturbation: str
    ) -> Prepared:
        """The token rows of masked texts."""
        return Prepared(
            self._rows.make_rows(texts, spans, perturbation), make_row_key, self._runner
        )

    def labels(self, n_outputs: int) -> list[str]:
        """The model's own names, those given, or numbers."""
        own = self._session.labels or [str(k) for k in range(n_outputs)]
        return rename_labels(own, self._given)


def find_session(model: Any) -> Session | None:
    """The session of an ONNX Runtime or optimum model; ``None`` for other objects."""
    runtime = sys.modules.get("onnxruntime")
    if runtime is not None and isinstance(model, runtime.InferenceSession):
        return _from_runtime(model)
    if is_optimum(model):
        return _from_optimum(model)
    return None


def is_optimum(model: Any) -> bool:
    """Whether it is a sequence classifier of optimum, or works like one."""
    name, config = type(model).__name__, getattr(model, "config", None)
    is_like_one = name.endswith("ForSequenceClassification") and callable(model)
    torch = sys.modules.get("torch")
    is_torch = torch is not None and isinstance(model, torch.nn.Module)
    return is_like_one and hasattr(config, "id2label") and not is_torch


def _from_runtime(model: Any) -> Session:
    shapes = {each.name: each.shape for each in model.get_inputs()}
    unknown = sorted(set(shapes) - set(_INPUTS))
    if unknown or "input_ids" not in shapes:
        raise ValueError(
            f"this ONNX model takes {', '.join(shapes)}; known are {', '.join(_INPUTS)}: give a "
            f"function from a list of texts to scores, which runs it"
        )
    n_rows, width = shapes["input_ids"]
    outputs = [each.name for each in model.get_outputs()]
    return Session(
        partial(_run, model, "logits" if "logits" in outputs else outputs[0]),
        frozenset(shapes),
        "ONNX model",
        # Rows are padded by the mask; the graph does not look for a pad token.
        SimpleNamespace(pad_token_id=0),
        is_alone=n_rows == 1,
        width=width if isinstance(width, int) else None,
    )


def _run(model: Any, output: str, arrays: Mapping[str, Integers]) -> Floats:
    kinds = {each.name: each.type for each in model.get_inputs()}
    given = {
        name: own.astype(np.int32) if "int32" in kinds[name] else own
        for name, own in arrays.items()
    }
    logits = np.asarray(model.run([output], given)[0], dtype=float)
    if logits.ndim != 2:
        raise ValueError(f"not a classifier: the ONNX model's {output} has shape {logits.shape}")
    if _look_like_shares(logits):
        raise ValueError(
            f"the ONNX model's {output} are probabilities, not logits; give a class with labels, "
            f"predict(texts) and returns = 'probabilities', which runs it"
        )
    return logits


def _look_like_shares(outputs: Array) -> bool:
    is_share = (outputs >= 0).all() and np.allclose(outputs.sum(axis=1), 1, atol=1e-5)
    return bool(outputs.shape[1] > 1 and is_share)


def _from_optimum(model: Any) -> Session:
    names = {int(k): str(name) for k, name in model.config.id2label.items()}
    inputs = getattr(model, "input_names", None) or ("input_ids", "attention_mask")
    path = str(getattr(model.config, "_name_or_path", "") or "")
    return Session(
        partial(_run_optimum, model),
        frozenset(inputs),
        path.rstrip("/").rsplit("/", 1)[-1] or type(model).__name__,
        SimpleNamespace(pad_token_id=0),
        [names[k] for k in sorted(names)],
    )


def _run_optimum(model: Any, arrays: Mapping[str, Integers]) -> Floats:
    import torch

    logits = model(**{name: torch.from_numpy(own) for name, own in arrays.items()}).logits
    return np.asarray(logits.float().cpu().numpy(), dtype=float)
