"""How often and how long a call that failed is waited for."""

import random
from dataclasses import dataclass


@dataclass(frozen=True)
class Patience:
    """Exponential back-off with jitter, which keeps callers from coming back all at once.

    Attributes:
        retries: calls after the first one, at most.
        backoff: seconds before the first of them; twice as long before every further one.
        longest_wait: most seconds of one wait. A server that asks for more is given up.
    """

    retries: int = 6
    backoff: float = 0.5
    longest_wait: float = 120.0

    def __post_init__(self) -> None:
        if self.retries < 0 or not (self.backoff >= 0 and self.longest_wait >= 0):
            raise ValueError("retries, backoff and longest_wait must not be negative")

    def wait(self, failures: int, asked: float | None) -> float:
        """Seconds before the next call, after so many failures.

        Args:
            failures: 1 after the first one.
            asked: seconds that the server asks for; never less.

        Example:
            >>> waits = [Patience(backoff=1.0).wait(n, None) for n in (1, 2, 3)]
            >>> [low <= wait <= 2 * low for low, wait in zip((0.5, 1.0, 2.0), waits)]
            [True, True, True]
            >>> Patience(backoff=1.0).wait(1, 30.0) >= 30.0
            True
        """
        own: float = min(self.longest_wait, self.backoff * 2.0 ** min(failures - 1, 60))
        jittered = own * random.uniform(0.5, 1.0)
        return jittered if asked is None else max(jittered, asked + self.backoff * random.random())
