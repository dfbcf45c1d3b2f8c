"""How much the attacks try, and the browser that they look at pages with."""

import random

import pytest

from tests.render.conftest import browser, look  # noqa: F401  (fixtures)


@pytest.fixture(autouse=True)
def _no_settings_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HF_TOKEN", "HF_HUB_OFFLINE", "http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def attack_size(request: pytest.FixtureRequest) -> int:
    """Cases that a random attack tries: 60, or those of ``--attack-size``."""
    size: int = request.config.getoption("--attack-size")
    return size


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> random.Random:
    """The same cases every time, more of them in a longer run."""
    return random.Random(request.node.name)
