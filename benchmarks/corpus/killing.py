"""Jobs as processes of their own: their memory, and what is left of those that are killed."""

import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
from pyarrow import parquet


@dataclass(frozen=True)
class Run:
    """A job that ended by itself.

    Attributes:
        seconds: on the clock.
        cpu_seconds: of the processor.
        megabytes: peak of its memory.
    """

    seconds: float
    cpu_seconds: float
    megabytes: float


def command(table: Path, out: Path, *options: str) -> list[str]:
    """A job on a table with ids; files are as large for few texts as for many."""
    job = ["corpus", str(table), "--id-column", "id", "--out", str(out), "--quiet"]
    return [sys.executable, "-m", "textsobol", *job, "--shard-size", "128", *options]


def run(arguments: list[str]) -> Run:
    """Run a job to its end."""
    start = time.perf_counter()
    process = subprocess.Popen(arguments, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 3):
        raise RuntimeError(f"the job ended with {process.returncode}")
    return Run(time.perf_counter() - start, *_used(used))


def _used(used: resource.struct_rusage) -> tuple[float, float]:
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def run_killed(
    arguments: list[str], *, kills: int, within: float, seed: int
) -> list[tuple[float, int]]:
    """Kill a job at random moments, so many times, then let it finish.

    Args:
        arguments: of the job; see `command`.
        kills: how often it is killed.
        within: seconds after its start in which it is killed.
        seed: of the moments.

    Returns:
        The moments, and the texts that were done then.
    """
    chance = random.Random(seed)
    found: list[tuple[float, int]] = []
    for _ in range(kills):
        process = subprocess.Popen(arguments, stderr=subprocess.DEVNULL)
        moment = chance.uniform(0, within)
        time.sleep(moment)
        process.send_signal(signal.SIGKILL)
        if process.wait() != -signal.SIGKILL:
            raise RuntimeError("the job was done before it could be killed")
        found.append((moment, texts_done(Path(arguments[arguments.index("--out") + 1]))))
    run(arguments)
    return found


def run_with_killed_actors(
    arguments: list[str], out: Path, *, kills: int, wait: float
) -> Iterator[int]:
    """Run a job on Ray and kill actors in the middle; yields the texts that were done then.

    Args:
        arguments: of the job; see `command`.
        out: its directory.
        kills: actors to kill.
        wait: seconds between them.
    """
    process = subprocess.Popen(arguments, stderr=subprocess.DEVNULL)
    killed = 0
    while process.poll() is None and killed < kills:
        time.sleep(wait)
        family = psutil.Process(process.pid).children(recursive=True)
        actors = [each for each in family if "MapWorker" in " ".join(each.cmdline())]
        if actors:
            actors[0].kill()
            killed += 1
            yield texts_done(out)
    if process.wait() not in (0, 3):
        raise RuntimeError(f"the job ended with {process.returncode}")
    if killed < kills:
        raise RuntimeError(f"the job was done before {kills} actors could be killed")


def texts_done(out: Path) -> int:
    """Texts in the whole shards of a job."""
    return sum(parquet.read_metadata(path).num_rows for path in out.glob("*.parquet"))


def same_files(one: Path, other: Path) -> bool:
    """Whether two jobs have left the same bytes, and the same table when sorted by id."""
    tables = [parquet.read_table(path).sort_by("id") for path in (one, other)]
    files = [{p.name: p.read_bytes() for p in path.glob("*.parquet")} for path in (one, other)]
    return files[0] == files[1] and tables[0].equals(tables[1])
