"""What a user gave as a model, for the record."""

from __future__ import annotations

import sys
from importlib.metadata import PackageNotFoundError, version
from os import PathLike, fspath
from types import FunctionType, MethodType
from typing import Any

from textsobol.endpoints.language_server import LanguageServer
from textsobol.endpoints.model import Remote
from textsobol.text.estimators import describe_estimator

# Most special first: a model of SetFit or optimum is made of others.
_LIBRARIES = {
    "setfit": "setfit",
    "sentence_transformers": "sentence-transformers",
    "optimum": "optimum",
    "onnxruntime": "onnxruntime",
    "spacy": "spacy",
    "keras": "keras",
    "sklearn": "scikit-learn",
    "transformers": "transformers",
    "torch": "torch",
}

REMOTE_KINDS = ("remote model", "language model on a server")


def describe_given(model: Any) -> dict[str, str]:
    """Kind, name and version of what was given: of the library, or the model's own.

    Example:
        >>> describe_given(len)
        {'kind': 'function', 'name': 'len'}
        >>> describe_given("models/mine/")
        {'kind': 'path or hub id', 'name': 'mine'}
    """
    model = model[0] if isinstance(model, tuple) and model else model
    if model is None:
        return {"kind": "bundled model", "name": "imdb-bilstm"}
    if isinstance(model, str | PathLike):
        name = str(fspath(model)).replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]
        return {"kind": "path or hub id", "name": name}
    if isinstance(model, Remote):
        return {"kind": REMOTE_KINDS[0], "name": model.name}
    if isinstance(model, LanguageServer):
        return {"kind": REMOTE_KINDS[1], "name": model.name}
    if isinstance(model, MethodType) and (library := _find_library(model.__self__)):
        return _describe_object(model.__self__, library, suffix=f".{model.__name__}")
    library = _find_library(model)
    if library:
        return _describe_object(model, library)
    if isinstance(model, FunctionType) or hasattr(model, "__name__"):
        return {"kind": "function", "name": str(model.__name__)}
    return _describe_own(model)


def _describe_own(model: Any) -> dict[str, str]:
    kind = "TextModel" if hasattr(model, "predict") else "function"
    found = {"kind": kind, "name": str(getattr(model, "name", "") or type(model).__name__)}
    own = getattr(model, "version", None)
    return found if own is None else {**found, "version": str(own)}


def _describe_object(model: Any, library: str, *, suffix: str = "") -> dict[str, str]:
    name = describe_estimator(model) + suffix
    if library == "spacy" and hasattr(model, "meta"):
        name = f"{model.meta['lang']}_{model.meta['name']} {model.meta['version']}"
    found = {"kind": _LIBRARIES[library], "name": name}
    try:
        return {**found, "version": version(_LIBRARIES[library])}
    except PackageNotFoundError:
        own = getattr(sys.modules.get(library), "__version__", None)
        return found if own is None else {**found, "version": str(own)}


def _find_library(model: Any) -> str | None:
    """The library that an object's class is of, or inherits from."""
    tops = {each.__module__.partition(".")[0] for each in type(model).__mro__}
    return next((library for library in _LIBRARIES if library in tops), None)
