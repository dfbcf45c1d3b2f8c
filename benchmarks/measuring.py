"""Time and memory of a piece of work."""

import resource
import time
from collections.abc import Callable
from pathlib import Path

_PROCESS = Path("/proc/self")


def seconds(work: Callable[[], object]) -> float:
    """Time of one call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def peak_megabytes() -> float:
    """Peak resident memory of this process so far, or since it was forgotten."""
    try:
        status = (_PROCESS / "status").read_text()
    except OSError:  # not Linux
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    (peak,) = (line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(peak) / 1024


def forget_peak() -> bool:
    """Begin the peak of the memory anew; returns whether the system can do so (Linux)."""
    try:
        (_PROCESS / "clear_refs").write_text("5")
    except OSError:
        return False
    return True


def megabytes_added(work: Callable[[], object]) -> float:
    """How far one call raises resident memory above what is held before it.

    Where the peak cannot be forgotten, above all that was ever held: call it before anything else
    takes much.
    """
    forget_peak()
    before = peak_megabytes()
    work()
    return peak_megabytes() - before
