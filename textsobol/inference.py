"""Run a torch model without changing it, one thread at a time."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

_locks: WeakKeyDictionary[Any, threading.RLock] = WeakKeyDictionary()
_guard = threading.Lock()


def get_lock(owner: Any) -> threading.RLock:
    """The lock of a model or tokenizer whose settings are changed for a while and restored.

    Threads that share a model take turns: one must not restore its mode while another runs it.
    """
    with _guard:
        return _locks.setdefault(owner, threading.RLock())


@contextmanager
def in_evaluation(model: Any) -> Iterator[None]:
    """Switch to evaluation mode, and restore every module's mode, also after an error."""
    with get_lock(model):
        training = [module for module in model.modules() if module.training]
        try:
            if training:
                model.eval()
            yield
        finally:
            for module in training:
                module.training = True


def is_out_of_memory(error: BaseException) -> bool:
    """Whether the error is about memory, so that a smaller batch may work."""
    return isinstance(error, MemoryError) or "out of memory" in str(error).lower()
