"""Lines by package, the walk of one explanation through the code, and import cycles."""

from __future__ import annotations

import ast
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import textsobol

ROOT = Path(textsobol.__file__).parent
TEXT = "A gripping, beautifully acted film, ruined by its dull ending."


class Walk(NamedTuple):
    """What one explanation goes through.

    Attributes:
        functions: functions of the package that are entered.
        files: files that they are in.
        changes: how often the file changes, in the order in which functions are first entered.
    """

    functions: int
    files: int
    changes: int


def trace_walk() -> Walk:
    """Follow ``TextExplainer()(text).save("x.html")`` through the package."""
    entered: dict[tuple[str, str, int], None] = {}

    def watch(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and (here := _function(frame)) is not None:
            entered.setdefault(here)

    with tempfile.TemporaryDirectory() as directory:
        page = Path(directory) / "x.html"
        textsobol.TextExplainer()(TEXT).save(page)  # imports are no part of the walk
        sys.setprofile(watch)
        try:
            textsobol.TextExplainer()(TEXT).save(page)
        finally:
            sys.setprofile(None)
    files = [file for file, *_ in entered]
    changes = sum(one != next_one for one, next_one in pairwise(files))
    return Walk(len(entered), len(set(files)), changes)


def _function(frame: FrameType) -> tuple[str, str, int] | None:
    """File, name and line of a named function of the package; ``None`` for anything else."""
    code = frame.f_code
    is_ours = code.co_filename.startswith(str(ROOT)) and not code.co_name.startswith("<")
    return (code.co_filename, code.co_name, code.co_firstlineno) if is_ours else None


def count_lines(root: Path = ROOT) -> dict[str, int]:
    """Lines of Python by subpackage, and in all."""
    lines: Counter[str] = Counter()
    for path in root.rglob("*.py"):
        n_lines = len(path.read_text(encoding="utf-8").splitlines())
        inner = path.relative_to(root).parts
        lines[inner[0] if len(inner) > 1 else "(top)"] += n_lines
        lines["in all"] += n_lines
    return dict(sorted(lines.items(), key=lambda item: item[1]))


def find_import_cycles() -> list[list[str]]:
    """Modules that import each other, whether at once or lazily within a function.

    Imports for type checkers only do not count.
    """
    imports = {_module(path): set(_imports(path)) for path in ROOT.rglob("*.py")}
    known = {
        name: {target for one in own for target in _targets(one, imports)} - {name}
        for name, own in imports.items()
    }
    return [sorted(group) for group in _strong_components(known) if len(group) > 1]


def _module(path: Path) -> str:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imports(path: Path) -> Iterator[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            continue
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("textsobol"):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (a.name for a in node.names if a.name.startswith("textsobol"))
        pending += ast.iter_child_nodes(node)


def _targets(name: str, modules: dict[str, set[str]]) -> Iterator[str]:
    """The module that a name is in; the top of the package only where it is meant itself."""
    if name in modules:
        yield name
    elif (parent := name.rpartition(".")[0]) in modules and parent != "textsobol":
        yield parent


def _strong_components(graph: dict[str, set[str]]) -> list[list[str]]:
    """Groups of nodes that reach each other (Kosaraju's algorithm)."""
    order: list[str] = []
    seen: set[str] = set()

    def visit(node: str, edges: dict[str, set[str]], into: list[str]) -> None:
        seen.add(node)
        for other in sorted(edges.get(node, ())):
            if other not in seen:
                visit(other, edges, into)
        into.append(node)

    for node in sorted(graph):
        if node not in seen:
            visit(node, graph, order)
    backward: dict[str, set[str]] = {node: set() for node in graph}
    for node, others in graph.items():
        for other in others:
            backward[other].add(node)
    seen.clear()
    groups: list[list[str]] = []
    for node in reversed(order):
        if node not in seen:
            groups.append([])
            visit(node, backward, groups[-1])
    return groups
