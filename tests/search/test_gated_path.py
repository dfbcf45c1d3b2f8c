"""The path by gates: derivatives propose, real deletions decide."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.sobol.gated_games import GatedGame, additive, planted_pair
from textsobol.search.gated_path import count_gated_path_passes, search_gated_path
from textsobol.sobol.arrays import Array
from textsobol.steps import Gates

PLENTY = 10**6


class Answering:
    """Answers a search, and counts what it spends."""

    def __init__(self, game: GatedGame) -> None:
        self.game = game
        self.n_masks = self.n_gates = 0
        self.paths: list[list[int]] = []

    def run(self, **how: Any) -> list[int]:
        steps = search_gated_path(self.game.n_features, passes_per_gates=3, **how)
        answer: Any = None
        while True:
            try:
                asked = steps.send(answer)
            except StopIteration as end:
                return list(end.value)
            answer = self._answer(asked)

    def _answer(self, asked: Any) -> Any:
        if isinstance(asked, Gates):
            self.n_gates += len(asked.values)
            return self.game.slopes(asked.values)[:, :, 0]
        if isinstance(asked, np.ndarray):
            self.n_masks += len(asked)
            return self.game.score(asked)[:, 0]
        self.paths.append(asked)
        return None


WEIGHTS = np.array([0.5, -1.0, 3.0, 0.0, 2.0, 1.0])


def test_what_speaks_for_the_label_is_deleted_the_strongest_first() -> None:
    answering = Answering(additive(WEIGHTS))
    assert answering.run(passes=PLENTY) == [2, 4, 5, 0]
    assert answering.paths[1] == [2, 4]


def test_real_deletions_decide_not_the_derivatives() -> None:
    wrong = additive(WEIGHTS)
    misleading = GatedGame(6, wrong.score, lambda gates: np.tile(
        np.array([3.0, 1.0, 2.0, 0.5, 1.0, 0.9])[None, :, None], (len(gates), 1, 1)))  # fmt: skip
    assert Answering(misleading).run(passes=PLENTY)[:3] == [2, 4, 5]


def test_a_feature_that_only_matters_with_another_is_found() -> None:
    path = Answering(planted_pair(60)).run(passes=PLENTY)
    assert path[0] in (7, 41)


@pytest.mark.parametrize("passes", [0, 3, 4, 10, 31, 80, 150])
@pytest.mark.parametrize("n_features", [1, 2, 7, 60])
def test_the_passes_are_never_exceeded(passes: int, n_features: int) -> None:
    rng = np.random.default_rng(n_features)
    answering = Answering(additive(rng.uniform(0.1, 1, n_features)))
    path = answering.run(passes=passes)
    spent = answering.n_masks - 1 + 3 * answering.n_gates  # the whole input is known
    assert spent <= passes
    assert len(set(path)) == len(path) <= 20
    if passes >= 10:
        assert path


@pytest.mark.parametrize("is_thorough", [False, True])
def test_a_whole_path_costs_what_was_planned(is_thorough: bool) -> None:
    planned = count_gated_path_passes(60, is_thorough=is_thorough)
    answering = Answering(additive(np.linspace(1, 2, 60)))
    assert len(answering.run(passes=planned)) == 20
    assert answering.n_masks - 1 + 3 * answering.n_gates == planned


@pytest.mark.parametrize("sign", [0.0, -1.0])
def test_nothing_that_speaks_for_the_label_gives_no_path(sign: float) -> None:
    assert Answering(additive(sign * np.ones(8))).run(passes=PLENTY) == []


def test_derivatives_that_promise_in_vain_end_the_search() -> None:
    slopes: Callable[[Array], Any] = lambda gates: np.ones((len(gates), 5, 1))  # noqa: E731
    game = GatedGame(5, lambda masks: np.zeros((len(masks), 1)), slopes)
    assert Answering(game).run(passes=PLENTY) == []
