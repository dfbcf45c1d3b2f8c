"""Models with scikit-learn's members: ``classes_``, ``predict_proba``, ``decision_function``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from types import MethodType
from typing import Any

import numpy as np

from textsobol.sobol.arrays import Floats
from textsobol.text.text_model import NamedFunction

_SCORING = ("predict_proba", "predict_log_proba", "decision_function")


def from_estimator(model: Any) -> NamedFunction | None:
    """The function of a fitted classifier or regressor of texts; ``None`` for other objects."""
    is_estimator = _is_of_sklearn(model)
    if not hasattr(model, "predict") or not (is_estimator or hasattr(model, "classes_")):
        return None
    if is_estimator:
        _check_fitted(model)
    if hasattr(model, "n_features_in_"):
        raise ValueError(
            f"this {describe_estimator(model)} was fitted on numbers, not on texts; give a "
            f"Pipeline that begins with what turns texts into numbers"
        )
    name = describe_estimator(model)
    if not hasattr(model, "classes_"):
        return NamedFunction(model.predict, name)  # a regressor
    return _from_classifier(model, name)


def from_method(method: Any) -> NamedFunction | None:
    """A bound method, such as ``pipe.predict_proba``, with the names of its object's classes."""
    if not isinstance(method, MethodType) or not hasattr(method.__self__, "classes_"):
        return None
    owner, name = method.__self__, method.__name__
    if name == "predict":
        raise ValueError(
            f"predict gives labels, not scores; give the {type(owner).__name__} itself, or its "
            f"predict_proba"
        )
    if name not in _SCORING:
        return None
    labels = _read_classes(owner)
    if name == "decision_function" and len(labels) == 2:
        labels = labels[1:]  # one score, which is high for the second class
    return NamedFunction(method, name, labels)


def describe_estimator(model: Any) -> str:
    """The name of an estimator's class, with its steps.

    Example:
        >>> class Pipeline:
        ...     steps = [("count", 1), ("classify", 2.5)]
        >>> describe_estimator(Pipeline())
        'Pipeline(int, float)'
    """
    name = type(model).__name__
    steps = getattr(model, "steps", None)
    if not isinstance(steps, list):
        return name
    return f"{name}({', '.join(type(step).__name__ for _, step in steps)})"


@dataclass(frozen=True)
class _LogOdds:
    """Logits from ``decision_function``: of two classes, it has only the log-odds of the second."""

    model: Any

    def __call__(self, texts: list[Any]) -> Floats:
        logits = np.asarray(self.model.decision_function(texts), dtype=float)
        return np.column_stack([np.zeros_like(logits), logits]) if logits.ndim == 1 else logits


@dataclass(frozen=True)
class _Margins:
    """Distances from the boundary, no probabilities; of two classes, for and against."""

    model: Any

    def __call__(self, texts: list[Any]) -> Floats:
        margins = np.asarray(self.model.decision_function(texts), dtype=float)
        return np.column_stack([-margins, margins]) if margins.ndim == 1 else margins


def _from_classifier(model: Any, name: str) -> NamedFunction:
    labels = _read_classes(model)
    final = _find_final(model)
    if _decides_by_log_odds(final, len(labels)):
        return NamedFunction(_LogOdds(model), name, labels, "logits")
    if hasattr(final, "predict_joint_log_proba"):  # naive Bayes, whose probabilities round to 1
        return NamedFunction(model.predict_log_proba, name, labels, "logits")
    if hasattr(model, "predict_proba"):
        return NamedFunction(model.predict_proba, name, labels, "probabilities")
    if hasattr(model, "decision_function"):
        return NamedFunction(_Margins(model), name, labels)
    raise ValueError(
        f"this {name} gives labels only; fit one with predict_proba or decision_function"
    )


def _read_classes(model: Any) -> list[str]:
    classes: Sequence[Any] = model.classes_
    if any(np.ndim(each) for each in classes):
        raise ValueError(
            f"this {type(model).__name__} has several outputs with classes of their own; give a "
            f"function from a list of texts to the scores of one of them"
        )
    return [str(each) for each in classes]


def _decides_by_log_odds(final: Any, n_classes: int) -> bool:
    """Whether softmax or sigmoid of ``decision_function`` are the classifier's probabilities.

    Not of support vector machines, and not where probabilities of one class against the rest are
    normalized.
    """
    if not _is_of_sklearn(final):
        return False
    names = {each.__name__ for each in type(final).__mro__}
    if "SGDClassifier" in names:
        return bool(final.loss == "log_loss" and n_classes == 2)
    if "LogisticRegression" not in names:
        return False
    # Before scikit-learn 1.8, this could ask for another way.
    asked = getattr(final, "multi_class", None)
    if n_classes == 2:
        return asked != "multinomial"
    return asked != "ovr" and final.solver != "liblinear"


def _find_final(model: Any) -> Any:
    """The estimator that decides, within pipelines and searches."""
    while True:
        if isinstance(getattr(model, "steps", None), list):
            model = model.steps[-1][1]
        elif hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        else:
            return model


def _is_of_sklearn(model: Any) -> bool:
    """Without importing scikit-learn: its objects exist only if it was imported before."""
    base = sys.modules.get("sklearn.base")
    return base is not None and isinstance(model, base.BaseEstimator)


def _check_fitted(model: Any) -> None:
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(model)
    except NotFittedError:
        raise ValueError(
            f"this {describe_estimator(model)} is not fitted: call fit(texts, labels) first"
        ) from None
