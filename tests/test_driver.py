"""The driver: every input once, within the budget; generators served alone, in turn, and apart."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pytest

from tests.corpus.samples import count, reviews, tiny_model
from textsobol import Sobol, TextExplainer
from textsobol.driver import Outcome, run, run_together, stream
from textsobol.errors import BlackBoxError
from textsobol.sobol.arrays import Array, Floats
from textsobol.sobol.black_box import BlackBoxModel
from textsobol.steps import Ask, AskGates, Call, Steps, ask, translate


class Shared:
    """Black boxes that share one engine, which remembers what it was given at a time."""

    def __init__(self) -> None:
        self.seen: list[int] = []

    def model(self, failing: bool = False) -> Any:
        shared = self

        class Model(BlackBoxModel):
            @property
            def engine(self) -> Any:
                return shared.forward

            def inputs(self, masks: Array) -> Sequence[Any]:
                return [None if failing else mask for mask in masks]

        return Model(lambda masks: masks, 3)

    def forward(self, masks: Sequence[Any], tick: Any) -> Any:
        self.seen.append(len(masks))
        if any(mask is None for mask in masks):
            raise OSError("no")
        return BlackBoxModel(lambda rows: rows.sum(axis=1), 3).engine(masks, tick)


def asking(model: Any, rounds: int) -> Steps[float]:
    """Asks for two new masks every time."""
    total = 0.0
    for k in range(rounds):
        scores = yield Ask(model, np.array([[k == 0, k == 1, False], [k == 0, k == 1, True]]))
        yield "on the way"
        total += float(scores.sum())
    return total


def together(walks: Iterable[Steps[Any]], sizes: Sequence[int] | None = None, **how: Any) -> Any:
    walks = list(walks)
    return run_together(zip(sizes or [1] * len(walks), walks, strict=True), **how)


def by_number(outcomes: Iterable[Outcome[Any]]) -> list[Outcome[Any]]:
    return sorted(outcomes, key=lambda outcome: outcome.number)


def test_what_generators_ask_for_is_forwarded_at_once() -> None:
    shared = Shared()
    walks = [asking(shared.model(), rounds) for rounds in (2, 1, 2)]
    found = by_number(together(walks, max_live=3, max_size=9))
    assert [outcome.value for outcome in found] == [6, 3, 6]
    assert shared.seen == [6, 4]


def test_no_more_run_at_a_time_than_allowed() -> None:
    shared = Shared()
    walks = [asking(shared.model(), 1) for _ in range(6)]
    found = list(together(walks, sizes=(3, 3, 9, 1, 1, 1), max_live=2, max_size=6))
    assert len(found) == 6
    assert shared.seen == [4, 2, 4, 2], "the third is larger than allowed, and runs alone"


def test_who_asks_for_what_fails_is_the_only_one_to_fail() -> None:
    shared = Shared()
    walks = [asking(shared.model(failing=k == 1), 1) for k in range(3)]
    found = by_number(together(walks, max_live=3, max_size=9))
    assert [outcome.value for outcome in found] == [3, None, 3]
    assert "OSError: no" in str(found[1].error)


def test_generators_are_closed_when_nobody_waits_for_them() -> None:
    closed: list[int] = []

    def walk(number: int) -> Steps[None]:
        try:
            yield from asking(Shared().model(), number + 1)
        finally:
            closed.append(number)

    running = together([walk(k) for k in range(4)], max_live=4, max_size=9)
    next(running)
    running.close()
    assert sorted(closed) == [0, 1, 2, 3]


def test_an_exit_is_no_failure_of_a_text() -> None:
    def leave() -> Steps[None]:
        yield from ()
        raise SystemExit(4)

    with pytest.raises(SystemExit):
        list(together([leave()], max_live=1, max_size=1))


def test_a_stream_has_what_is_known_on_the_way_and_can_be_closed() -> None:
    shared = Shared()
    assert list(stream(asking(shared.model(), 2))) == ["on the way", "on the way", 6]
    streaming = stream(asking(shared.model(), 2))
    next(streaming)
    n_asked = len(shared.seen)
    streaming.close()
    assert len(shared.seen) == n_asked


def test_nothing_is_forwarded_twice_and_the_whole_input_not_again() -> None:
    seen: list[Array] = []

    def box(masks: Array) -> Array:
        seen.extend(masks.copy())
        return masks.sum(axis=1)

    model = BlackBoxModel(box, 3)
    whole = np.ones((1, 3), dtype=bool)

    def steps() -> Steps[Any]:
        first = yield Ask(model, whole)
        again = yield Ask(model, np.concatenate([whole, ~whole, whole]))
        called = yield Call(model, lambda outputs: outputs(np.concatenate([~whole, whole])))
        return first.ravel().tolist(), again.ravel().tolist(), called.ravel().tolist()

    assert run(steps()) == ([3], [3, 0, 3], [0, 3])
    assert len(seen) == 2
    assert (model.ledger.n_asked, model.ledger.n_distinct, model.ledger.cost.passes) == (6, 2, 2)


def test_pieces_are_asked_for_together() -> None:
    asked: list[int] = []

    def box(masks: Array) -> Array:
        asked.append(len(masks))
        return masks[:, 0]

    model = BlackBoxModel(box, 2)
    pieces = [np.array([[True, False]]), np.array([[False, False], [True, True]])]
    scores = run(translate(ask(pieces), lambda masks: Ask(model, masks)))
    assert scores.ravel().tolist() == [1, 0, 1]
    assert asked == [3]


@pytest.mark.parametrize(
    "settings", [{}, {"method": Sobol(path=False)}, {"budget": 60}, {"method": "lime"}]
)
def test_explanations_are_those_of_texts_explained_alone(settings: dict[str, Any]) -> None:
    if settings.get("method") == "lime":
        pytest.importorskip("lime")
    explainer, texts = tiny_model(), reviews(12)
    walks = [explainer.walk(text, **settings) for text in texts]
    for outcome in together(walks, max_live=5, max_size=99):
        assert outcome.error is None
        shared, alone = outcome.value, explainer(texts[outcome.number], **settings)
        assert shared.probabilities == pytest.approx(alone.probabilities, abs=1e-6)
        assert shared.cost["forwarded"] == alone.cost["forwarded"]
        for one, other in zip(shared.words, alone.words, strict=True):
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
    found = by_number(together([explainer.walk(t) for t in texts], max_live=40, max_size=99))
    values: list[Any] = [outcome.value for outcome in found]
    assert [value.words for value in values] == [one.words for one in alone]
    assert n_alone == 80, "the whole text, then the design"
    assert len(sizes) < 15
    assert sum(sizes) <= n_rows, "what several texts have in common is asked for once"


def _gated_model(*, failing: bool = False) -> BlackBoxModel:
    def slopes(gates: Floats) -> Floats:
        if failing:
            raise OSError("no memory for gradients")
        return np.repeat(gates[:, :, None] * 2.0, 1, axis=2)

    return BlackBoxModel(lambda masks: masks.sum(axis=1), 3, slopes=slopes)


def gating(model: BlackBoxModel, n_rows: int) -> Steps[Floats]:
    slopes: Floats = yield AskGates(model, np.full((n_rows, 3), 0.5))
    return slopes


def test_gates_count_against_the_budget() -> None:
    model = _gated_model()
    model.ledger.budget = 7
    np.testing.assert_array_equal(run(gating(model, 2)), np.ones((2, 3, 1)))
    assert model.ledger.n_spent == 6
    assert model.ledger.cost.gates == 2
    with pytest.raises(RuntimeError, match="exceeded its budget of 7"):
        run(gating(model, 1))
    run(asking(model, 0))
    model.ledger.restart()
    assert model.ledger.n_spent == 0


def test_gradients_that_fail_name_the_model() -> None:
    with pytest.raises(BlackBoxError, match="gradients of the classifier failed: OSError: no mem"):
        run(gating(_gated_model(failing=True), 1))
    infinite = BlackBoxModel(
        lambda masks: masks.sum(axis=1), 3, slopes=lambda gates: np.full((len(gates), 3, 1), np.inf)
    )
    with pytest.raises(BlackBoxError, match="gradients are not finite"):
        run(gating(infinite, 1))


def test_generators_that_ask_for_gates_run_beside_others() -> None:
    walks = [gating(_gated_model(), 2), gating(_gated_model(failing=True), 2)]
    good, bad = by_number(together(walks, max_live=2, max_size=9))
    assert good.value is not None
    assert good.value.shape == (2, 3, 1)
    assert isinstance(bad.error, BlackBoxError)
