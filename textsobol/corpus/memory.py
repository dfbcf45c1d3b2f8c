"""Memory that a job has freed, given back to the system.

The C library keeps freed memory for later, between results that stay and scattered over a heap for
every thread that asked for some: a job of long texts would hold a gigabyte of it, and ever more.
"""

import ctypes
import os
from contextlib import suppress

_M_ARENA_MAX = -8  # of glibc's malloc.h


def return_freed_memory() -> None:
    """Give back what is free, where the C library is one that keeps it (glibc)."""
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


def use_one_heap() -> None:
    """Let threads that are yet to come share a heap; for processes that are ours alone.

    The threads that explain texts run one at a time, and never wait for each other's heap.
    """
    if "MALLOC_ARENA_MAX" in os.environ:  # then somebody has decided otherwise
        return
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)
