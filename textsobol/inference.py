"""Run a torch model without changing it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def in_evaluation(model: Any) -> Iterator[None]:
    """Run the block in evaluation mode, then restore the mode of every module."""
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
