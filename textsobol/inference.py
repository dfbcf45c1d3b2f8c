"""Run a torch model without changing it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def in_evaluation(model: Any) -> Iterator[None]:
    """Switch to evaluation mode, and restore every module's mode, also after an error."""
    training = [module for module in model.modules() if module.training]
    try:
        if training:
            model.eval()
        yield
    finally:
        for module in training:
            module.training = True


def is_out_of_memory(error: BaseException) -> bool:
    """Whether a smaller batch could help."""
    return isinstance(error, MemoryError) or "out of memory" in str(error).lower()
