"""Versions of what makes an explanation."""

from functools import cache
from importlib.metadata import PackageNotFoundError, version

from textsobol import __version__


def versions() -> dict[str, str]:
    """Of this package and those that it works with."""
    return dict(_found())


@cache  # to look them up takes longer than to explain a short text
def _found() -> dict[str, str]:
    found = {"textsobol": __version__}
    for package in ("numpy", "scipy", "torch", "transformers", "tokenizers"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
