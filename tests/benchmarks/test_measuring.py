"""Memory of a piece of work, whatever was held before."""

import pytest

from benchmarks.measuring import forget_peak, megabytes_added

_MEGABYTES = 2**20


def held(megabytes: int) -> int:
    """Takes as much memory, and gives it back."""
    return len(b"x" * (megabytes * _MEGABYTES))


def test_memory_is_counted_below_an_earlier_peak() -> None:
    if not forget_peak():
        pytest.skip("this system cannot forget the peak of the memory")
    held(300)
    assert megabytes_added(lambda: held(100)) == pytest.approx(100, abs=20)
    assert megabytes_added(lambda: held(1)) < 20
