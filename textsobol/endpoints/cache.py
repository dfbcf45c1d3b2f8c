"""Answers on disk, so that later runs do not ask again."""

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
from textsobol.errors import CacheError

_APPLICATION_ID = 0x74536F62  # "tSob": distinguishes our files from other databases
_FORMAT = 1
_LOCK_TIMEOUT = 60.0  # seconds for other processes to finish writing


def get_cache_path(cache: str | PathLike[str]) -> Path:
    """The file itself, or the one in a directory.

    Example:
        >>> get_cache_path("answers").as_posix(), get_cache_path("mine.db").as_posix()
        ('answers/answers.sqlite', 'mine.db')
    """
    path = Path(cache).expanduser()
    return path if path.suffix and not path.is_dir() else path / "answers.sqlite"


class AnswerCache:
    """One model's answers by text, in an SQLite file that many processes and models may share.

    Answers are committed as soon as they are stored, so a killed process loses none. Keys are
    digests of model and text: neither can be read from the file.

    Args:
        path: the file; it is created with its directory if it does not exist.
        identity: distinguishes the model from others.
    """

    def __init__(self, path: Path, identity: str) -> None:
        self.path = path
        self._identity = identity
        self._lock = threading.Lock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise CacheError(f"cannot make a directory for the answer cache: {error}") from error
        with self._guard():
            self._db = sqlite3.connect(path, timeout=_LOCK_TIMEOUT, check_same_thread=False)
            # Closed when nothing uses the cache: a thread may still wait for an answer.
            weakref.finalize(self, self._db.close)
            self._create_table()
            # With a log beside the file an answer costs one write, and readers do not wait.
            self._db.execute("PRAGMA journal_mode = WAL").fetchone()
            self._db.execute("PRAGMA synchronous = NORMAL")

    def _create_table(self) -> None:
        with self._db:
            self._db.execute("BEGIN IMMEDIATE")  # two processes may open a new file at once
            (tables,) = self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()
            (owner,) = self._db.execute("PRAGMA application_id").fetchone()
            (version,) = self._db.execute("PRAGMA user_version").fetchone()
            if tables and (owner, version) != (_APPLICATION_ID, _FORMAT):
                raise CacheError(
                    f"{str(self.path)!r} is a database of something else, or of another version; "
                    f"give another cache="
                )
            if not tables:
                self._db.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
                self._db.execute(f"PRAGMA user_version = {_FORMAT}")
                self._db.execute(
                    "CREATE TABLE answers (key BLOB PRIMARY KEY, answer TEXT NOT NULL) "
                    "WITHOUT ROWID"
                )

    def get(self, texts: Iterable[str]) -> dict[str, Answer]:
        """The answers that are stored, by text."""
        query = "SELECT answer FROM answers WHERE key = ?"
        with self._guard():
            rows = ((text, self._db.execute(query, [self._key(text)]).fetchone()) for text in texts)
            return {text: json.loads(row[0]) for text, row in rows if row is not None}

    def keep(self, answers: Mapping[str, Answer]) -> None:
        """Store answers, by text."""
        rows = [(self._key(text), json.dumps(answer)) for text, answer in answers.items()]
        with self._guard(), self._db:
            self._db.executemany("INSERT OR REPLACE INTO answers VALUES (?, ?)", rows)

    def forget(self, text: str) -> None:
        """Delete the answer for a text."""
        with self._guard(), self._db:
            self._db.execute("DELETE FROM answers WHERE key = ?", [self._key(text)])

    def _key(self, text: str) -> bytes:
        pair = json.dumps([self._identity, text])
        return hashlib.blake2b(pair.encode(), digest_size=16).digest()

    @contextmanager
    def _guard(self) -> Iterator[None]:
        """One thread at a time, and errors that say what to do."""
        name = f"the answer cache {str(self.path)!r}"
        with self._lock:
            try:
                yield
            except sqlite3.OperationalError as error:  # locked, read-only, disk full ...
                raise CacheError(f"{name} cannot be used: {error}") from error
            except (sqlite3.DatabaseError, ValueError) as error:
                raise CacheError(
                    f"{name} is damaged ({error}); move it away, or give another cache="
                ) from error
