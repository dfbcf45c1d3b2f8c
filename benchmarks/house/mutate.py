"""Mutants of the estimators: change one operator or constant, and see whether a test fails.

All in a temporary copy of the tree. A mutant that no test of ``tests/sobol`` notices has
survived: either a test is missing, or the change makes no difference.
"""

from __future__ import annotations

import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
MUTATED = Path("textsobol/sobol")
_COPIED = ("benchmarks", "tests", "textsobol", "pyproject.toml")
_PYTEST = (sys.executable, "-m", "pytest", "-x", "-q", "tests/sobol", "-p", "no:cacheprovider")
_STAGES: tuple[tuple[str, ...], ...] = (("-m", "not slow"), ())  # quick tests first, then all
# Exit codes of pytest: tests failed, or could not even be collected.
_FAILED, _NOT_COLLECTED = 1, 2

_SWAPPED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.And: ast.Or,
    ast.Or: ast.And,
}


class Mutant(NamedTuple):
    """One change of one file.

    Attributes:
        file: the file, below the root of the tree.
        line: where the changed expression starts.
        before: its source.
        after: what it becomes.
        source: the whole file with the change.
    """

    file: Path
    line: int
    before: str
    after: str
    source: bytes

    def __str__(self) -> str:
        return f"{self.file.name}:{self.line}  {self.before}  ->  {self.after}"


class Outcome(NamedTuple):
    """What became of a mutant.

    Attributes:
        verdict: ``killed``, ``timed out`` (killed as well) or ``survived``.
        seconds: that its tests took.
    """

    verdict: str
    seconds: float

    @property
    def is_killed(self) -> bool:
        """Whether the tests noticed the change."""
        return self.verdict != "survived"


def find_mutants(root: Path = ROOT) -> list[Mutant]:
    """Every mutant of every file, in the order of the files."""
    paths = sorted((root / MUTATED).glob("*.py"))
    return [
        mutant for path in paths for mutant in mutate(path.read_bytes(), path.relative_to(root))
    ]


def mutate(source: bytes, file: Path) -> Iterator[Mutant]:
    """All mutants of one file: each swaps one operator, drops one ``not`` or changes one number."""
    lines = source.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    for node in _find_expressions(ast.parse(source)):
        start = starts[node.lineno - 1] + node.col_offset
        stop = starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
        before = ast.unparse(node)
        for changed in _change(node):
            after = ast.unparse(changed)
            text = f"({after})" if isinstance(changed, ast.expr) else after
            yield Mutant(
                file, node.lineno, before, after, source[:start] + text.encode() + source[stop:]
            )


def _find_expressions(node: ast.AST) -> Iterator[ast.expr | ast.AugAssign]:
    """Everything that computes: no annotations, no decorators, no f-strings."""
    if isinstance(node, ast.expr | ast.AugAssign):
        yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not isinstance(child, ast.JoinedStr):
                yield from _find_expressions(child)


def _change(node: ast.expr | ast.AugAssign) -> Iterator[ast.expr | ast.AugAssign]:
    """The node with one thing changed, in every way there is."""
    match node:
        case ast.Compare(ops=ops):
            for k, op in enumerate(ops):
                changed = deepcopy(node)
                changed.ops[k] = _swap(op)
                yield changed
        case ast.BinOp(op=op) | ast.AugAssign(op=op) | ast.BoolOp(op=op) if type(op) in _SWAPPED:
            copied = deepcopy(node)
            copied.op = _swap(op)
            yield copied
        case ast.UnaryOp(op=ast.Not() | ast.Invert(), operand=operand):
            yield operand
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield ast.Constant(value + 1)
        case ast.Constant(value=float(value)):
            yield ast.Constant(2 * value if value else 1.0)


def _swap(op: ast.AST) -> Any:
    return _SWAPPED[type(op)]()


def run_mutants(mutants: list[Mutant]) -> Iterator[tuple[Mutant, Outcome]]:
    """Test one mutant after another: the quick tests first, and all if those pass.

    Raises:
        RuntimeError: tests fail without any change.
    """
    with tempfile.TemporaryDirectory() as directory:
        copy = Path(directory)
        for name in _COPIED:
            if (ROOT / name).is_dir():
                ignored = shutil.ignore_patterns("__pycache__", "*.jsonl", "*.parquet")
                shutil.copytree(ROOT / name, copy / name, ignore=ignored)
            else:
                shutil.copy(ROOT / name, copy / name)
        stages = {stage: _measure(copy, stage) for stage in _STAGES}
        for mutant in mutants:
            original = (copy / mutant.file).read_bytes()
            (copy / mutant.file).write_bytes(mutant.source)
            yield mutant, _judge(copy, stages)
            (copy / mutant.file).write_bytes(original)


def _measure(copy: Path, arguments: tuple[str, ...]) -> float:
    """Seconds after which the tests of a mutant are stopped: far more than they take unchanged."""
    start = time.monotonic()
    if _test(copy, arguments, None) != 0:
        raise RuntimeError("tests/sobol fails without any change")
    return 60 + 4 * (time.monotonic() - start)


def _judge(copy: Path, stages: dict[tuple[str, ...], float]) -> Outcome:
    start = time.monotonic()
    verdict = "survived"
    for arguments, limit in stages.items():
        try:
            if _test(copy, arguments, limit) != 0:
                verdict = "killed"
                break
        except subprocess.TimeoutExpired:
            verdict = "timed out"
            break
    return Outcome(verdict, time.monotonic() - start)


def _test(copy: Path, arguments: tuple[str, ...], limit: float | None) -> int:
    """Exit code of pytest; no bytecode, for a mutant may be as long and as old as its original."""
    done = subprocess.run(
        [*_PYTEST, *arguments],
        cwd=copy,
        env={**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=limit,
        check=False,
    )
    if done.returncode not in (0, _FAILED, _NOT_COLLECTED):
        raise RuntimeError(f"pytest could not run: {done.stdout}{done.stderr}")
    return done.returncode


def sample_mutants(n: int, seed: int, only: str = "") -> list[Mutant]:
    """Mutants sampled at random, or those whose ``file:line  change`` contains ``only``."""
    mutants = [mutant for mutant in find_mutants() if only in str(mutant)]
    sampled = random.Random(seed).sample(mutants, min(n, len(mutants)))
    return sorted(sampled, key=lambda mutant: (mutant.file, mutant.line))
