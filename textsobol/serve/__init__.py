"""A local page to try texts on: ``textsobol serve``, or `serve` with explainers of your own."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = ["Limits", "make_app", "serve"]

if TYPE_CHECKING:
    from textsobol.serve.app import make_app
    from textsobol.serve.limits import Limits
    from textsobol.serve.server import serve

_HOME_OF = {
    "Limits": "textsobol.serve.limits",
    "make_app": "textsobol.serve.app",
    "serve": "textsobol.serve.server",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'textsobol.serve' has no attribute {name!r}")
    return getattr(import_module(_HOME_OF[name]), name)
