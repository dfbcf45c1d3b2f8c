"""A bar appears on long work, on a terminal, and never otherwise."""

import io
from types import SimpleNamespace
from typing import Any

import pytest
import rich.console

from textsobol import progress
from textsobol.progress import LateProgress


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A terminal to look at and a clock to turn."""
    file = io.StringIO()
    real = rich.console.Console

    class Screen:
        now = 0.0
        is_terminal = True

        def text(self) -> str:
            return file.getvalue()

    state = Screen()
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: state.now))
    monkeypatch.setattr(
        rich.console,
        "Console",
        lambda stderr: real(file=file, force_terminal=state.is_terminal, width=80),
    )
    return state


def work(screen: Any, seconds: float, *, enabled: bool = True) -> str:
    with LateProgress(100, enabled=enabled) as bar:
        for _ in range(10):
            screen.now += seconds / 10
            bar.tick(10)
    return str(screen.text())


def test_long_work_shows_a_bar(screen: Any) -> None:
    assert "explaining" in work(screen, 20)


def test_short_work_shows_nothing(screen: Any) -> None:
    assert work(screen, 1.5) == ""


def test_it_can_be_switched_off(screen: Any) -> None:
    assert work(screen, 20, enabled=False) == ""


def test_a_pipe_shows_nothing(screen: Any) -> None:
    screen.is_terminal = False
    assert work(screen, 20) == ""


def test_long_work_says_first_what_it_costs(
    screen: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    screen.is_terminal = False
    for seconds, said in ((10, ""), (100, "1,000 passes, 100 s\n")):
        with LateProgress(0, enabled=True) as bar:
            bar.expect(1000, lambda seconds: f"1,000 passes, {seconds:.0f} s")
            for k in range(100):
                screen.now += seconds / 100
                bar.tick(10)
                assert k < 9 or capsys.readouterr().err == (said if k == 9 else "")
