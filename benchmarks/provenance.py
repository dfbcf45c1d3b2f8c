"""What made results, for the record: weights, versions, the command."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from textsobol.provenance import digest_of, weights_of

__all__ = ["command_of", "digest_of", "versions_of", "weights_of", "without_out", "without_place"]


def versions_of(packages: Iterable[str]) -> dict[str, str | None]:
    """Versions of packages, ``None`` for those that are not installed."""
    return {package: _version(package) for package in packages}


def command_of(module: str) -> str:
    """The command that is running, with the names of files but not their places."""
    return f"python -m {module} {shlex.join(map(without_place, without_out(sys.argv[1:])))}"


def without_out(arguments: Sequence[str]) -> list[str]:
    """Arguments without ``--out``: where results are written does not make them.

    Example:
        >>> without_out(["run", "--out", "results", "--seed", "1"]), without_out(["--out=here"])
        (['run', '--seed', '1'], [])
    """
    return [
        argument
        for before, argument in zip(["", *arguments], arguments, strict=False)
        if "--out" not in (before, argument) and not argument.startswith("--out=")
    ]


def without_place(argument: str) -> str:
    """The name, not the place, of a file; anything else as it is.

    Example:
        >>> without_place("/somewhere/reviews.jsonl"), without_place("--out=/somewhere/results")
        ('reviews.jsonl', '--out=results')
        >>> without_place("stanfordnlp/imdb"), without_place("/somewhere/a=b/photos")
        ('stanfordnlp/imdb', 'photos')
    """
    option, is_option, value = (
        argument.partition("=") if argument.startswith("--") else ("", "", argument)
    )
    path = Path(value)
    is_file = value.startswith(("/", "./", "../", "~")) or ("/" in value and path.exists())
    return f"{option}{is_option}{path.name}" if is_file else argument


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
