"""Texts that are explained together get what they would get alone, and fail alone."""

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from tests.corpus.samples import count, reviews, tiny_model
from textsobol import TextExplainer
from textsobol.text.sharing import run_together, together


def asks(items: list[int], rounds: int, seen: list[list[int]]) -> int:
    def work(given: list[Any]) -> list[int]:
        seen.append(list(given))
        return [2 * one for one in given]

    return sum(sum(together("work", items, work)) for _ in range(rounds))


def test_requests_of_a_round_are_worked_on_at_once_in_the_order_of_the_tasks() -> None:
    seen: list[list[int]] = []
    tasks: list[tuple[int, Callable[[], int]]] = [
        (1, partial(asks, [k, 10 * k], rounds, seen)) for k, rounds in ((1, 2), (2, 1), (3, 2))
    ]
    found = {o.number: o.value for o in run_together(tasks, most=3, most_size=99)}
    assert found == {0: 44, 1: 44, 2: 132}
    assert seen == [[1, 10, 2, 20, 3, 30], [1, 10, 3, 30]]


def test_no_more_run_at_a_time_than_allowed() -> None:
    seen: list[list[int]] = []
    tasks = [(size, partial(asks, [k], 1, seen)) for k, size in enumerate((3, 3, 9, 1, 1, 1))]
    assert len(list(run_together(tasks, most=2, most_size=6))) == 6
    assert seen == [[0, 1], [2], [3, 4], [5]], "the third is larger than allowed, and runs alone"


def test_who_asks_for_what_fails_is_the_only_one_to_fail() -> None:
    def work(items: list[Any]) -> list[float]:
        return [1 / item for item in items]

    tasks = [(1, partial(together, "work", [k], work)) for k in (2, 0, 4)]
    found = sorted(run_together(tasks, most=3, most_size=9), key=lambda o: o.number)
    assert [o.value for o in found] == [[0.5], None, [0.25]]
    assert isinstance(found[1].error, ZeroDivisionError)


def test_threads_end_when_nobody_waits_for_them() -> None:
    before = threading.active_count()
    tasks = [(1, partial(asks, [k], k + 1, [])) for k in range(5)]
    running = run_together(tasks, most=5, most_size=9)
    next(running)
    assert threading.active_count() == before + 4
    running.close()
    assert threading.active_count() == before


def test_an_exit_is_no_failure_of_a_text() -> None:
    def leave() -> None:
        raise SystemExit(4)

    with pytest.raises(SystemExit):
        list(run_together([(1, leave)], most=1, most_size=1))


@pytest.mark.parametrize("settings", [{}, {"path": False}, {"budget": 60}])
def test_explanations_are_those_of_texts_explained_alone(settings: dict[str, Any]) -> None:
    explainer, texts = tiny_model(), reviews(12)
    tasks = [(1, partial(explainer, text, **settings)) for text in texts]
    for outcome in run_together(tasks, most=5, most_size=99):
        together, alone = outcome.value, explainer(texts[outcome.number], **settings)
        assert together is not None
        assert together.probabilities == pytest.approx(alone.probabilities, abs=1e-6)
        assert together.cost["forwarded"] == alone.cost["forwarded"]
        for one, other in zip(together.words, alone.words, strict=True):
            for label, score in one.scores.items():
                assert score.score == pytest.approx(other.scores[label].score, abs=1e-5)


def test_functions_are_called_with_full_batches() -> None:
    sizes: list[int] = []

    def counting(texts: list[str]) -> list[list[float]]:
        assert len(set(texts)) == len(texts)
        sizes.append(len(texts))
        return count(texts)

    explainer = TextExplainer(counting, batch_texts=64, progress=False)
    texts = [f"good film {k} bad" for k in range(40)]
    alone = [explainer(text) for text in texts]
    n_alone, n_rows = len(sizes), sum(sizes)
    sizes.clear()
    found = run_together([(1, partial(explainer, text)) for text in texts], most=40, most_size=99)
    by_number = {outcome.number: outcome.value for outcome in found}
    assert [by_number[k].words for k in range(40)] == [one.words for one in alone]  # type: ignore[union-attr]
    assert n_alone == 80, "the whole text, then the design"
    assert len(sizes) < 15
    assert sum(sizes) <= n_rows, "what several texts have in common is asked for once"
