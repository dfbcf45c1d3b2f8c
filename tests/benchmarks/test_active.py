"""Intervals of the words that act: a small run."""

import pytest

pytest.importorskip("pandas")

from benchmarks.estimators.active import GAMES, held


@pytest.mark.parametrize("name", GAMES)
def test_every_game_is_measured(name: str) -> None:
    assert 0 < held(name, 0.5, n_words=20, n_seeds=2) <= 1


def test_an_additive_score_is_always_held() -> None:
    assert held("4 a + 3 b + 2 c + d", 0.8, n_words=20, n_seeds=5) == 1
