"""What one request may ask for, and how many may come."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Limits of the playground.

    Attributes:
        characters: longest text.
        seconds: longest time that the work for one request may take.
        requests: most requests per minute from one address.
        waiting: most texts that wait for their turn.
        tabs: pages whose last text is kept in memory.
    """

    characters: int = 20_000
    seconds: float = 120.0
    requests: int = 600
    waiting: int = 8
    tabs: int = 16

    @property
    def body(self) -> int:
        """Most bytes of a request: a character of JSON takes up to 12, as an escaped pair."""
        return 12 * self.characters + 16_384


class RateLimiter:
    """Counts the requests of every address within a sliding minute.

    Args:
        most: requests per minute.
        now: the clock.

    Example:
        >>> limiter = RateLimiter(2, now=lambda: 0.0)
        >>> [limiter.allows("a"), limiter.allows("a"), limiter.allows("a"), limiter.allows("b")]
        [True, True, False, True]
    """

    _MOST_ADDRESSES = 1000

    def __init__(self, most: int, *, now: Callable[[], float] = time.monotonic) -> None:
        self._most, self._now = most, now
        # Address: what is left of its allowance, and when that was. It refills evenly.
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def allows(self, address: str) -> bool:
        """Count a request, unless it is one too many."""
        now = self._now()
        left, last = self._left.pop(address, (float(self._most), now))
        left = min(float(self._most), left + (now - last) * self._most / 60)
        is_allowed = left >= 1
        self._left[address] = (left - is_allowed, now)
        while len(self._left) > self._MOST_ADDRESSES:
            self._left.popitem(last=False)
        return is_allowed
