"""Return freed memory to the system, and limit what libraries keep.

The C library keeps freed memory for reuse, fragmented by results and spread over one heap per
thread: in a job of long texts it grows past a gigabyte.
"""

import ctypes
import os
from contextlib import suppress

_M_ARENA_MAX = -8  # of glibc's malloc.h
_SHAPES_KEPT = 8  # about as many as a batch of texts has


def return_freed_memory() -> None:
    """Return freed memory to the system, where the C library (glibc) keeps it."""
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


def limit_allocator_caches() -> None:
    """Limit what malloc and oneDNN keep for reuse; for processes that belong to the job alone.

    New threads share one heap: those that explain texts run one at a time and never wait for it.
    oneDNN, torch's library for CPUs, keeps compiled kernels of the last 8 batch shapes instead of
    1,024: most shapes of a corpus never repeat, and their kernels take hundreds of megabytes and
    fragment the heap. Limits already set in the environment are kept.
    """
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", str(_SHAPES_KEPT))
    if "MALLOC_ARENA_MAX" in os.environ:
        return
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)
