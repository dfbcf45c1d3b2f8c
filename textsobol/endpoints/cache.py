"""Answers on disk: what was paid for once is known to every later run."""

import hashlib
import json
import sqlite3
import threading
import weakref
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from os import PathLike
from pathlib import Path

from textsobol.endpoints.answers import Answer

_OURS = 0x74536F62  # "tSob": tells our files from other databases
_FORMAT = 1
_FILE = "answers.sqlite"
_PATIENCE = 60.0  # seconds for other processes to finish writing
_AT_ONCE = 500  # keys of one query


class CacheError(RuntimeError):
    """The cache cannot be read or written; the message says what to do."""


def key_of(identity: str, text: str) -> bytes:
    """Digest of a model's identity and a text: neither can be read from the cache."""
    told = json.dumps([identity, text])
    return hashlib.blake2b(told.encode(), digest_size=16).digest()


def cache_file(cache: str | PathLike[str]) -> Path:
    """The file itself, or the one in a directory.

    Example:
        >>> cache_file("answers").as_posix(), cache_file("mine.db").as_posix()
        ('answers/answers.sqlite', 'mine.db')
    """
    path = Path(cache).expanduser()
    return path if path.suffix and not path.is_dir() else path / _FILE


class AnswerCache:
    """Answers by key in an SQLite file, which many processes may share.

    Every answer is on disk as soon as it is kept; a process that is killed loses none.

    Args:
        path: the file; it is made with its directory when there is none.

    Raises:
        CacheError: when the file is damaged, or of something else.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise CacheError(f"cannot make a directory for the answer cache: {error}") from error
        with self._told():
            self._db = sqlite3.connect(path, timeout=_PATIENCE, check_same_thread=False)
        # When nobody needs it any more, threads that still wait for an answer included.
        weakref.finalize(self, self._db.close)
        self._prepare()

    def _prepare(self) -> None:
        with self._told(), self._db:
            self._db.execute("BEGIN IMMEDIATE")  # two processes may come to a new file at once
            tables = self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
            (ours,) = self._db.execute("PRAGMA application_id").fetchone()
            (form,) = self._db.execute("PRAGMA user_version").fetchone()
            if tables and (ours, form) != (_OURS, _FORMAT):
                raise CacheError(
                    f"{str(self.path)!r} is a database of something else, or of another version; "
                    f"give another cache="
                )
            if not tables:
                self._db.execute(f"PRAGMA application_id = {_OURS}")
                self._db.execute(f"PRAGMA user_version = {_FORMAT}")
                self._db.execute(
                    "CREATE TABLE answers (key BLOB PRIMARY KEY, answer TEXT NOT NULL) "
                    "WITHOUT ROWID"
                )
        with self._told():
            # A log beside the file: an answer costs one write, and readers need not wait.
            self._db.execute("PRAGMA journal_mode = WAL").fetchone()
            self._db.execute("PRAGMA synchronous = NORMAL")

    def get(self, keys: Iterable[bytes]) -> dict[bytes, Answer]:
        """The answers that are known."""
        asked, found = list(keys), {}
        with self._told():
            for start in range(0, len(asked), _AT_ONCE):
                some = asked[start : start + _AT_ONCE]
                places = ",".join("?" * len(some))
                rows = self._db.execute(
                    f"SELECT key, answer FROM answers WHERE key IN ({places})", some
                )
                found.update({bytes(key): json.loads(answer) for key, answer in rows})
        return found

    def keep(self, answers: Mapping[bytes, Answer]) -> None:
        """Put answers on disk."""
        rows = [(key, json.dumps(answer)) for key, answer in answers.items()]
        with self._told(), self._db:
            self._db.executemany("INSERT OR REPLACE INTO answers VALUES (?, ?)", rows)

    def forget(self, key: bytes) -> None:
        """Take an answer out."""
        with self._told(), self._db:
            self._db.execute("DELETE FROM answers WHERE key = ?", [key])

    @contextmanager
    def _told(self) -> Iterator[None]:
        """One thread at a time, and errors that say what to do."""
        with self._lock:
            try:
                yield
            except (sqlite3.DatabaseError, ValueError) as error:
                raise CacheError(self._advice(error)) from error

    def _advice(self, error: Exception) -> str:
        trouble = f"the answer cache {str(self.path)!r}"
        if isinstance(error, sqlite3.OperationalError):  # locked, read-only, disk full ...
            return f"{trouble} cannot be used: {error}"
        return f"{trouble} is damaged ({error}); move it away, or give another cache="
