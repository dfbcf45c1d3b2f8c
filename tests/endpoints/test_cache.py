"""Answers on disk survive everything but a damaged file, and that is told."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.endpoints.server import Server
from textsobol import remote
from textsobol.endpoints.answers import Answer
from textsobol.endpoints.cache import AnswerCache, get_cache_path
from textsobol.errors import CacheError


def test_answers_come_back_as_they_were(tmp_path: Path) -> None:
    numbers = [0.1 + 0.2, 5e-324, -1.7976931348623157e308, 1 / 3]
    answers: dict[str, Answer] = {"a": numbers, "b": {"é \N{PILE OF POO}": 0.1, "": 0.9}}
    path = get_cache_path(tmp_path / "new" / "directory")
    AnswerCache(path, "m").keep(answers)
    assert AnswerCache(path, "m").get(["a", "b", "c"]) == answers
    AnswerCache(path, "m").forget("a")
    assert set(AnswerCache(path, "m").get(["a", "b"])) == {"b"}
    many = {str(k): [float(k)] for k in range(1700)}
    AnswerCache(path, "m").keep(many)
    assert AnswerCache(path, "m").get(many) == many


def test_keys_distinguish_models_and_texts(tmp_path: Path) -> None:
    path = tmp_path / "answers.sqlite"
    pairs = [("m", "a b"), ("m a", "b"), ("m", "a  b"), ("n", "a b"), ("m", ""), ("", "m")]
    pairs += [("m", "half of a pair: \ud83d"), ("m", "half of a pair: ?")]
    for k, (identity, text) in enumerate(pairs):
        assert AnswerCache(path, identity).get([text]) == {}
        AnswerCache(path, identity).keep({text: [float(k)]})
    found = [AnswerCache(path, identity).get([text])[text] for identity, text in pairs]
    assert found == [[float(k)] for k in range(len(pairs))]


def test_answers_of_version_0_1_are_found(tmp_path: Path) -> None:
    key = bytes.fromhex(
        "3e8ba4f69523845e6de30d7a0751fc68"
    )  # of the model "m" and the text "a good film"
    path = tmp_path / "answers.sqlite"
    AnswerCache(path, "m")
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("INSERT INTO answers VALUES (?, ?)", [key, '{"A": 0.25}'])
    assert AnswerCache(path, "m").get(["a good film"]) == {"a good film": {"A": 0.25}}


def test_a_file_or_a_directory(tmp_path: Path) -> None:
    assert get_cache_path(tmp_path / "mine.db") == tmp_path / "mine.db"
    (tmp_path / "v1.2").mkdir()
    assert get_cache_path(tmp_path / "v1.2") == tmp_path / "v1.2" / "answers.sqlite"
    assert get_cache_path(str(tmp_path / "new")) == tmp_path / "new" / "answers.sqlite"


def _garbage(path: Path) -> None:
    path.write_bytes(b"not a database, but long enough to be looked at" * 50)


def _cut(path: Path) -> None:
    AnswerCache(path, "m").keep({str(k): [float(k)] for k in range(2000)})
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    content = path.read_bytes()
    path.write_bytes(content[:4096] + os.urandom(len(content) - 4096))


def _of_others(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TABLE bills (amount INTEGER)")


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (_garbage, r"answers\.sqlite' is damaged \(.*not a database.*move it away, or give"),
        (_cut, r"answers\.sqlite' is damaged \(.*\); move it away, or give another cache="),
        (_of_others, r"is a database of something else.*give another cache="),
    ],
)
def test_a_damaged_file_is_told_and_left_alone(
    tmp_path: Path, spoil: Callable[[Path], None], message: str
) -> None:
    path = tmp_path / "answers.sqlite"
    spoil(path)
    before = path.read_bytes()
    model = remote(len, single=True, name="m", cache=path)
    with pytest.raises(CacheError, match=message):
        model([str(k) for k in range(50)])
    assert path.read_bytes() == before


def test_a_directory_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    model = remote(len, single=True, name="m", cache=tmp_path / "file" / "answers")
    with pytest.raises(CacheError, match="cannot make a directory for the answer cache"):
        model(["a"])


def test_a_full_disk_is_told(tmp_path: Path) -> None:
    cache = AnswerCache(tmp_path / "answers.sqlite", "m")
    cache._db.execute("PRAGMA max_page_count = 4")
    with pytest.raises(CacheError, match=r"cannot be used: database or disk is full"):
        cache.keep({str(k): [float(k)] for k in range(2000)})
    assert cache.get(["1"]) == {}, "all of it or nothing"


def test_many_processes_share_a_file(tmp_path: Path) -> None:
    """Each writes a hundred answers, in as many commits; none is lost."""
    code = (
        "import sys; from pathlib import Path;"
        "from textsobol.endpoints.cache import AnswerCache;"
        "cache = AnswerCache(Path(sys.argv[1]), sys.argv[2]);"
        "[cache.keep({str(k): [float(k)]}) for k in range(100)]"
    )
    path = tmp_path / "answers.sqlite"
    writers = [
        subprocess.Popen([sys.executable, "-c", code, str(path), name]) for name in ("a", "b", "c")
    ]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    for name in ("a", "b", "c"):
        assert len(AnswerCache(path, name).get(str(k) for k in range(100))) == 100


def test_threads_share_a_cache(tmp_path: Path) -> None:
    cache = AnswerCache(tmp_path / "answers.sqlite", "m")

    def write(name: str) -> None:
        for k in range(50):
            cache.keep({f"{name}{k}": [float(k)]})
            assert cache.get([f"{name}{k}"]) != {}

    threads = [threading.Thread(target=write, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(cache.get(f"{name}{k}" for name in "abcd" for k in range(50))) == 200


_JOB = """
import json, sys
from urllib.request import Request, urlopen
from textsobol import remote

def post(text):
    with urlopen(Request(sys.argv[1], json.dumps({"inputs": text}).encode())) as response:
        return json.load(response)[0]

model = remote(post, single=True, name="m", cache=sys.argv[2], concurrency=2)
print(len(model([f"text {k}" for k in range(40)])))
"""


def test_a_killed_run_goes_on_where_it_was(server: Server, tmp_path: Path) -> None:
    server.seconds = 0.01
    command = [sys.executable, "-c", _JOB, server.url, str(tmp_path)]
    for least in (10, 25):
        job = subprocess.Popen(command, stdout=subprocess.PIPE)
        while server.n_requests < least:
            assert job.poll() is None
            time.sleep(0.002)
        job.send_signal(signal.SIGKILL)
        job.communicate()
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "40\n"
    assert len(server.seen) == 40
    lost = server.n_requests - 40
    assert lost <= 2 * 2, "no more than was under way at the two ends"
    assert subprocess.run(command, capture_output=True, check=True).stdout == b"40\n"
    assert server.n_requests == 40 + lost, "then all is known"


def test_texts_cannot_be_read_from_the_file(tmp_path: Path) -> None:
    model = remote(len, single=True, name="m", cache=tmp_path / "answers.sqlite")
    model(["a secret diagnosis"])
    content = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"diagnosis" not in content
    assert json.dumps([18.0]).encode() in content
