"""Results as JSON lines that survive being killed: what is written is whole, and never twice."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any


class Store:
    """A file of results: headers with the settings, and one line for every result.

    A line that was cut off by a kill is dropped, and made again. Settings that differ from those
    of the file are refused, since their results would not belong together; so is a second run on
    the same file at the same time.

    Args:
        path: the file; made if it is not there.
        settings: what made the results. Those that begin with an underscore may differ from one
            start to the next; each start leaves a header with its own.
        key: names of the values that tell results apart.
    """

    def __init__(self, path: Path, settings: Mapping[str, Any], key: tuple[str, ...]) -> None:
        self._key = key
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("a+b")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._file.close()
            raise SystemExit(f"{path} is being written to by another run") from None
        try:
            lines = [json.loads(line) for line in self._whole_lines()]
            # As JSON has them: a tuple becomes a list.
            settings = json.loads(json.dumps(settings))
            for line in lines:
                if "settings" in line:
                    _refuse_other_settings(path, line["settings"], settings)
        except BaseException:
            self._file.close()
            raise
        self.done: set[Hashable] = {self.key_of(line) for line in lines if "settings" not in line}
        self._append({"settings": settings})

    def key_of(self, result: Mapping[str, Any]) -> Hashable:
        """What tells a result from all others."""
        return json.dumps([result[name] for name in self._key])

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

    def _whole_lines(self) -> list[bytes]:
        """The lines of the file; what follows the last line end is cut off, also on the disk."""
        self._file.seek(0)
        content = self._file.read()
        whole = content[: content.rfind(b"\n") + 1]
        if len(whole) < len(content):
            self._file.truncate(len(whole))
        return whole.split(b"\n")[:-1]

    def _append(self, line: Mapping[str, Any]) -> None:
        text = json.dumps(line, ensure_ascii=False, allow_nan=False) + "\n"
        self._file.write(text.encode())
        self._file.flush()
        os.fsync(self._file.fileno())


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
