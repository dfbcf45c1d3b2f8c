"""Models of spaCy, Keras and SetFit as functions of texts, recognised without importing them."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from dataclasses import dataclass
from types import MethodType
from typing import Any

import numpy as np

from textsobol.inference import in_evaluation
from textsobol.sobol.arrays import Floats
from textsobol.text.estimators import from_estimator, from_method
from textsobol.text.text_model import NamedFunction, from_text_model


def from_library(model: Any) -> NamedFunction | None:
    """The function of a model that takes texts; ``None`` if it is not one."""
    if isinstance(model, type):
        raise TypeError(f"cannot explain the class {model.__name__}; give an object of it")
    for recognise in (_from_spacy, _from_keras, from_method, from_estimator, _from_setfit):
        found = recognise(model)
        if found is not None:
            return found
    return from_text_model(model)


@dataclass(frozen=True)
class _SpacyCategories:
    nlp: Any
    labels: tuple[str, ...]

    def __call__(self, texts: list[Any]) -> Floats:
        # A batch of nothing but empty texts gets zeros from spaCy, and is not given to its model.
        stand_in = [] if any(texts) else ["."]
        docs = self.nlp.pipe([*texts, *stand_in], batch_size=len(texts) + 1)
        scores = [[doc.cats[label] for label in self.labels] for doc in docs]
        return np.array(scores[: len(texts)], dtype=float)


def _from_spacy(model: Any) -> NamedFunction | None:
    spacy = sys.modules.get("spacy")
    if spacy is None or not isinstance(model, spacy.language.Language):
        return None
    name = f"{model.meta['lang']}_{model.meta['name']}"
    found = [
        label
        for pipe_name, pipe in model.pipeline
        if model.get_pipe_meta(pipe_name).factory.startswith("textcat")
        for label in pipe.labels
    ]
    if not found:
        raise TypeError(
            f"not a classifier: the spaCy pipeline {name} has "
            f"{', '.join(model.pipe_names) or 'no components'}; train one with a textcat or "
            f"textcat_multilabel component"
        )
    labels = tuple(dict.fromkeys(found))
    return NamedFunction(_SpacyCategories(model, labels), name, labels, "probabilities")


@dataclass(frozen=True)
class _KerasPrediction:
    model: Any

    def __call__(self, texts: list[Any]) -> Any:
        # Keras takes a list for several inputs.
        return self.model.predict(np.array(texts, dtype=object), verbose=0)


def _from_keras(model: Any) -> NamedFunction | None:
    if isinstance(model, MethodType) and model.__name__ == "predict":
        model = model.__self__  # its own method takes no list of strings
    classes = [each for each in type(model).__mro__ if _is_of_keras(each)]
    if "Model" not in [each.__name__ for each in classes]:
        return None
    # Only of these two it is known that the last layer gives the output.
    has_order = any(each.__name__ in ("Sequential", "Functional") for each in classes)
    last = model.layers[-1] if has_order and model.layers else None
    activation = getattr(getattr(last, "activation", None), "__name__", type(last).__name__.lower())
    returns = "probabilities" if activation in ("softmax", "sigmoid") else "scores"
    return NamedFunction(_KerasPrediction(model), str(model.name), None, returns)


def _is_of_keras(kind: type) -> bool:
    return kind.__module__.split(".")[0] in ("keras", "tf_keras")


@dataclass(frozen=True)
class _SetFitProbabilities:
    model: Any

    def __call__(self, texts: list[Any]) -> Any:
        body = getattr(self.model, "model_body", None)
        with in_evaluation(body) if hasattr(body, "modules") else nullcontext():
            return self.model.predict_proba(texts)


def _from_setfit(model: Any) -> NamedFunction | None:
    """An encoder of texts with a head, as of SetFit: its ``predict`` gives labels."""
    if not callable(getattr(model, "predict_proba", None)):
        return None
    labels = getattr(model, "labels", None)
    classes = getattr(getattr(model, "model_head", None), "classes_", None)
    if classes is not None:
        is_numbered = all(isinstance(each, int | np.integer) for each in classes)
        labels = [labels[k] for k in classes] if labels and is_numbered else list(classes)
    names = None if labels is None else [str(label) for label in labels]
    name = str(getattr(model, "name", "") or type(model).__name__)
    return NamedFunction(_SetFitProbabilities(model), name, names, "probabilities")
