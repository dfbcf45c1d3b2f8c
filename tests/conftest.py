"""Settings for all tests, and which of them the quick set leaves out."""

from pathlib import Path

import pytest

try:
    from hypothesis import settings
except ImportError:  # then the tests that need it are skipped
    pass
else:
    # The same examples every time: a test that fails by chance on one machine helps nobody.
    settings.register_profile("repeatable", derandomize=True, deadline=None)
    settings.load_profile("repeatable")

_HERE = Path(__file__).parent
# What takes long by its nature: whole benchmarks, examples, pages, kills. Single tests mark
# themselves.
_SLOW = ("benchmarks", "corpus", "docs", "test_examples.py")


def pytest_addoption(parser: pytest.Parser) -> None:
    """How many cases the random attacks in tests/attack try."""
    parser.addoption("--attack-size", type=int, default=60, help="cases of a random attack")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests by where they are and by what they need."""
    for item in items:
        if not item.path.is_relative_to(_HERE):
            continue
        place = item.path.relative_to(_HERE).as_posix()
        marks = {
            "browser": "browser" in getattr(item, "fixturenames", ()),
            "ray": place == "corpus/test_ray.py",
        }
        marks["slow"] = place.startswith(_SLOW) or any(marks.values())
        for name, is_marked in marks.items():
            if is_marked:
                item.add_marker(name)
