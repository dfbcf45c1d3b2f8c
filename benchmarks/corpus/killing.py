"""Jobs as processes of their own: their memory, and what is left of those that are killed."""

import os
import random
import resource
import signal
import subprocess
import sys
import time
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
    """A job on a table with ids."""
    job = ["explain", str(table), "--id-column", "id", "--out", str(out), "--quiet"]
    return [sys.executable, "-m", "textsobol", *job, *options]


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


def run_killed(arguments: list[str], *, kills: int, within: float, seed: int) -> list[float]:
    """Kill a job at random moments, so many times, then let it finish; returns the moments.

    Args:
        arguments: of the job.
        kills: how often it is killed.
        within: seconds after its start in which it is killed.
        seed: of the moments.
    """
    chance = random.Random(seed)
    moments: list[float] = []
    for _ in range(kills):
        process = subprocess.Popen(arguments, stderr=subprocess.DEVNULL)
        moments.append(chance.uniform(0, within))
        time.sleep(moments[-1])
        process.send_signal(signal.SIGKILL)
        if process.wait() != -signal.SIGKILL:
            raise RuntimeError("the job was done before it could be killed")
    run(arguments)
    return moments


def run_with_killed_actors(arguments: list[str], *, kills: int, wait: float) -> int:
    """Run a job on Ray and kill actors in the middle; returns how many were killed.

    Args:
        arguments: of the job.
        kills: actors to kill.
        wait: seconds between them.
    """
    process = subprocess.Popen(arguments, stderr=subprocess.DEVNULL)
    killed = 0
    while process.poll() is None and killed < kills:
        time.sleep(wait)
        actors = [
            each
            for each in psutil.Process(process.pid).children(recursive=True)
            if "MapWorker" in " ".join(each.cmdline())
        ]
        if actors:
            actors[0].kill()
            killed += 1
    if process.wait() not in (0, 3):
        raise RuntimeError(f"the job ended with {process.returncode}")
    return killed


def same_files(one: Path, other: Path) -> bool:
    """Whether two jobs have left the same bytes, and the same table when sorted by id."""
    tables = [parquet.read_table(path).sort_by("id") for path in (one, other)]
    files = [{p.name: p.read_bytes() for p in path.glob("*.parquet")} for path in (one, other)]
    return files[0] == files[1] and tables[0].equals(tables[1])
