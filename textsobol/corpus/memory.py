"""Memory that a job no longer needs, given back to the system or not kept at all.

The C library keeps freed memory for later, between results that stay and scattered over a heap for
every thread that asked for some: a job of long texts would hold a gigabyte of it, and ever more.
"""

import ctypes
import os
from contextlib import suppress

_M_ARENA_MAX = -8  # of glibc's malloc.h
_SHAPES_KEPT = 8  # about those of one batch


def return_freed_memory() -> None:
    """Give back what is free, where the C library is one that keeps it (glibc)."""
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


def hold_little() -> None:
    """Let the libraries of this process keep little for later; for processes that are ours alone.

    Threads that are yet to come share a heap: those that explain texts run one at a time, and never
    wait for each other's. oneDNN, torch's library for CPUs, keeps what it compiled for the last few
    shapes of batches, not for 1,024: a corpus has more of them than come again, they hold hundreds
    of megabytes, and stand between blocks that are free. Whoever has decided otherwise in the
    environment is left alone.
    """
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", str(_SHAPES_KEPT))
    if "MALLOC_ARENA_MAX" in os.environ:
        return
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)
