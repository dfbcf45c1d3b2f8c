"""A benchmark that is killed in the middle, and started again."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

Lines = list[dict[str, Any]]


def whole_and_killed(
    arguments: Callable[[Path], Sequence[str]], folder: Path, name: str
) -> tuple[Lines, Lines]:
    """Results of a run, and of the same run that was killed twice and started again.

    Args:
        arguments: a directory for results to a module of a benchmark and what it is given.
        folder: to work in.
        name: of the file of results.
    """
    _run(arguments(folder / "whole"))
    wanted = lines(folder / "whole" / name)
    path = folder / "killed" / name
    for kill in (1, 2):
        process = subprocess.Popen(
            [sys.executable, "-m", *arguments(folder / "killed")],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + 300
        # Killed in the middle: after some results, before all of them.
        while process.poll() is None and time.monotonic() < deadline:
            if path.exists() and path.read_bytes().count(b"\n") > kill * len(wanted) // 3:
                os.kill(process.pid, signal.SIGKILL)
                break
            time.sleep(0.002)
        process.wait()
        n_lines = len(path.read_text(errors="replace").splitlines())
        assert n_lines < len(wanted), "it was killed too late"
    _run(arguments(folder / "killed"))
    return wanted[1:], [line for line in lines(path) if "settings" not in line]


def cut_last_line(path: Path) -> None:
    """Leave a file of results as a kill does that comes while a result is written."""
    written = path.read_bytes().splitlines(keepends=True)
    while written[-1].startswith(b'{"settings"'):  # of a run that had nothing to do
        written.pop()
    path.write_bytes(b"".join(written)[:-20])


def lines(path: Path) -> Lines:
    return [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]


def _run(arguments: Sequence[str]) -> None:
    """Run in this process, whose imports are done."""
    module, *given = arguments
    done = CliRunner().invoke(import_module(f"{module}.__main__").app, given)
    assert done.exit_code == 0, done.output
