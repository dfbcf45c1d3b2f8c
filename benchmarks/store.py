"""Results as JSON lines that survive being killed: what is written is whole, and never twice."""

from __future__ import annotations

import json
import os
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any


class Store:
    """A file of results: a header with the settings, then one line for every result.

    A line that was cut off by a kill is dropped, and made again. Settings that differ from those
    of the file are refused, since their results would not belong together.

    Args:
        path: the file; made if it is not there.
        settings: what made the results. Those that begin with an underscore may differ.
        key: names of the values that tell results apart.
    """

    def __init__(self, path: Path, settings: Mapping[str, Any], key: tuple[str, ...]) -> None:
        self._key = key
        self.done: set[Hashable] = set()
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = _whole_lines(path)
        if lines:
            _refuse_other_settings(path, json.loads(lines[0])["settings"], settings)
            self.done = {self.key_of(json.loads(line)) for line in lines[1:]}
        self._file = path.open("a", encoding="utf-8")
        if not lines:
            self._append({"settings": dict(settings)})

    def key_of(self, result: Mapping[str, Any]) -> Hashable:
        """What tells a result from all others."""
        return tuple(result[name] for name in self._key)

    def add(self, result: Mapping[str, Any]) -> None:
        """Write a result, down to the disk."""
        key = self.key_of(result)
        if key in self.done:
            raise ValueError(f"there is a result for {key} already")
        self._append(result)
        self.done.add(key)

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def _append(self, line: Mapping[str, Any]) -> None:
        self._file.write(json.dumps(line, ensure_ascii=False) + "\n")
        self._file.flush()
        os.fsync(self._file.fileno())


def _whole_lines(path: Path) -> list[str]:
    """The lines of the file; what follows the last line end is cut off, also on the disk."""
    if not path.exists():
        return []
    content = path.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    if len(whole) < len(content):
        with path.open("r+b") as file:
            file.truncate(len(whole))
    return whole.decode("utf-8").splitlines()


def _refuse_other_settings(path: Path, old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    names = sorted(name for name in old.keys() | new.keys() if not name.startswith("_"))
    different = [
        f"{name}: {old.get(name)!r} there, {new.get(name)!r} here"
        for name in names
        if old.get(name) != new.get(name)
    ]
    if different:
        raise SystemExit(
            f"{path} holds results of other settings; give another --out, or the same settings:\n"
            + "\n".join(different)
        )
