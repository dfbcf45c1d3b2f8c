"""Running a torch model without changing it, and the account of what was run."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any


@dataclass
class Cost:
    """What was really forwarded."""

    rows: int = 0
    tokens: int = 0
    padding: int = 0

    @property
    def padding_share(self) -> float:
        """Share of the forwarded tokens that is padding."""
        return self.padding / self.tokens if self.tokens else 0.0

    def metadata(self) -> dict[str, float]:
        """What else an explanation reports."""
        return {}


@contextmanager
def in_evaluation(model: Any) -> Iterator[None]:
    """Evaluation mode; every module's mode is restored, also after an error."""
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
