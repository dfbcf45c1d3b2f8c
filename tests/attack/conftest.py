"""How much the attacks try, and the browser that they look at pages with."""

import random

import pytest

from tests.render.conftest import browser, look  # noqa: F401  (fixtures)


@pytest.fixture
def attack_size(request: pytest.FixtureRequest) -> int:
    """Cases that a random attack tries: 60, or those of ``--attack-size``."""
    size: int = request.config.getoption("--attack-size")
    return size


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> random.Random:
    """The same cases every time, more of them in a longer run."""
    return random.Random(request.node.name)
