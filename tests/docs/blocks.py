"""The code blocks of a Markdown page, and what it takes to run them as a reader would.

All blocks of a page run one after the other in one directory and one namespace. A block that cannot
run says why in the line above it: ``<!-- not run: it needs a GPU -->``.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import json
import re
import shlex
import sys
import textwrap
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from textsobol.cli import app

_FENCE = re.compile(r"^ *```(\w*)[^\n]*\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
_NOT_RUN = re.compile(r"<!-- not run: (.+?) -->\s*$")
_RUN_ELSEWHERE = ("python3 -m venv", ". .venv", "pip install", "pytest")
"""Commands that set up an environment: `.ci/run` runs them."""
_NUMBER = re.compile(r"(?<![\w.])[+-]?\d[\d,]*(?:\.\d+)?(?![\w])")


@dataclass(frozen=True)
class Block:
    """A code block of a page; ``shown`` is the output that the page shows below it."""

    page: Path
    line: int
    language: str
    source: str
    reason: str | None
    shown: str | None

    @property
    def name(self) -> str:
        return f"{self.page.name}:{self.line}"


def read_blocks(page: Path) -> list[Block]:
    """All code blocks; a ``text`` block is the output of the one right above it."""
    content = page.read_text(encoding="utf-8")
    found: list[Block] = []
    end_of_last = -1
    for match in _FENCE.finditer(content):
        language, source = match[1], textwrap.dedent(match[2])
        line = content.count("\n", 0, match.start()) + 1
        reason = _NOT_RUN.search(content[: match.start()])
        is_output = language == "text" and not content[end_of_last : match.start()].strip()
        if is_output and found:
            found[-1] = replace(found[-1], shown=source)
        else:
            found.append(Block(page, line, language, source, reason and reason[1], None))
        end_of_last = match.end()
    return found


def run_page(page: Path, servers: Mapping[str, str]) -> None:
    """Run the blocks of a page in the current directory.

    ``servers`` has for addresses that the page names those of servers of the tests.
    """
    module = sys.modules["page"] = types.ModuleType("page")  # dataclasses look theirs up
    try:
        for block in read_blocks(page):
            if block.reason is None:
                source = block.source
                for named, ours in servers.items():
                    source = source.replace(named, ours)
                _run_named(replace(block, source=source), vars(module))
    finally:
        del sys.modules["page"]


def _run_named(block: Block, namespace: dict[str, Any]) -> None:
    try:
        run_block(block, namespace)
    except Exception as error:
        raise AssertionError(f"{block.name}: {type(error).__name__}: {error}") from error


def run_block(block: Block, namespace: dict[str, Any]) -> None:
    """Run a block, and compare what it prints with what the page shows."""
    if block.language == "json":
        json.loads(block.source)
    elif block.language == "python" and ">>>" in block.source:
        _run_doctest(block, namespace)
    elif block.language == "python":
        code = compile(block.source, block.name, "exec")
        printed = _capture(lambda: exec(code, namespace))
        _check(block.shown, printed)
    elif block.language == "sh":
        printed = "".join(_run_command(line) for line in _read_commands(block.source))
        _check(block.shown, printed)
    elif block.language == "console":
        for command, shown in _read_session(block.source):
            _check(shown, _run_command(command))
    else:
        raise AssertionError(f"a block of {block.language or 'no language'} cannot be run")


def _check(shown: str | None, printed: str) -> None:
    if shown is not None:
        assert is_same(shown, printed), f"the page shows\n{shown}\nbut it printed\n{printed}"


def is_same(shown: str, printed: str) -> bool:
    """Whether the output is what a page shows, but for spaces, bars and the last digits.

    ``...`` stands for anything. Times may differ, since machines do.
    """
    pattern, numbers = "", []
    for part in re.split(r"(\.\.\.|\s+|[+-]{2,}|\d+\.\d s\b)", shown.strip()):
        if part == "...":
            pattern += ".*?"
        elif not part.strip():
            pattern += r"\s+" if part else ""
        elif re.fullmatch(r"[+-]{2,}", part):
            pattern += r"[+-]+"
        elif re.fullmatch(r"\d+\.\d s", part):
            pattern += r"\d+\.\d s"
        else:
            last = 0
            for match in _NUMBER.finditer(part):
                pattern += re.escape(part[last : match.start()]) + r"([+-]?\d[\d,]*(?:\.\d+)?)"
                numbers.append(match[0])
                last = match.end()
            pattern += re.escape(part[last:])
    found = re.fullmatch(pattern, printed.strip(), re.DOTALL)
    if found is None:
        return False
    pairs = zip(map(_read_number, numbers), map(_read_number, found.groups()), strict=True)
    return all(abs(one - other) <= max(0.02, 0.05 * abs(one)) for one, other in pairs)


def _read_number(text: str) -> float:
    return float(text.replace(",", ""))


def _run_doctest(block: Block, namespace: dict[str, Any]) -> None:
    test = doctest.DocTestParser().get_doctest(
        block.source, namespace, block.name, str(block.page), block.line
    )
    report = io.StringIO()
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    failed = runner.run(test, out=report.write, clear_globs=False).failed
    namespace.update(test.globs)
    assert not failed, report.getvalue()


def _read_commands(source: str) -> Iterator[str]:
    yield from filter(None, source.replace("\\\n", " ").splitlines())


def _read_session(source: str) -> Iterator[tuple[str, str]]:
    """Commands, after ``$``, and the output below each."""
    _, *entries = re.split(r"^\$ ", source, flags=re.MULTILINE)
    for entry in entries:
        command, _, shown = entry.partition("\n")
        yield command, shown


def _run_command(line: str) -> str:
    """Run one line of a shell: textsobol in this process, with ``cat FILE |`` and ``> FILE``."""
    line = line.strip()
    if line.startswith(_RUN_ELSEWHERE) or line.startswith("#"):
        return ""
    words = shlex.split(line, comments=True)
    given, written = "", None
    if words[0] == "cat" and words[2] == "|":
        given, words = Path(words[1]).read_text(encoding="utf-8"), words[3:]
    if len(words) > 2 and words[-2] == ">":
        words, written = words[:-2], Path(words[-1])
    assert words[0] == "textsobol", f"only textsobol is run here, not {line!r}"
    printed = _capture(lambda: app(words[1:], standalone_mode=False), given)
    if written is not None:
        written.write_text(printed, encoding="utf-8")
        return ""
    return printed


def _capture(run: Any, given: str = "") -> str:
    """What a function prints, with ``given`` as its standard input."""
    printed, before = io.StringIO(), sys.stdin
    sys.stdin = io.TextIOWrapper(io.BytesIO(given.encode()), encoding="utf-8")
    try:
        with contextlib.redirect_stdout(printed):
            code = run()
    finally:
        sys.stdin = before
    assert not code, f"exit code {code}"
    return printed.getvalue()
