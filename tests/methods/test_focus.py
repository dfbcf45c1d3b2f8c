"""The focused method: honest indices from its first round, a better order from its second."""

from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest

from tests.sobol.test_focus import tangled
from textsobol import BlackBoxError, ImageExplainer, TextExplainer, sobol_indices
from textsobol.methods import Attribution, Game
from textsobol.methods.focus import focus
from textsobol.methods.perturbing import greedy
from textsobol.sobol.arrays import Array, Floats
from textsobol.text.explanation import WordPair

D = 40


def column(score: Callable[[Array], Floats]) -> Callable[[Array], Floats]:
    return lambda masks: score(masks)[:, None]


def deletion(score: Callable[[Array], Floats], scores: Floats) -> float:
    """Mean score while the strongest are deleted one after another."""
    masks = np.ones((21, D), dtype=bool)
    for step, feature in enumerate(np.argsort(-scores, kind="stable")[:20]):
        masks[step + 1 :, feature] = False
    return float(score(masks).mean())


def test_the_indices_are_those_of_the_first_round() -> None:
    score = column(tangled(D, 1))
    found = focus(Game(score, D), budget=1 + 6 * (D + 1), seed=3)
    alone = sobol_indices(score, D, rows=2, seed=3)
    assert found.indices is not None
    for name in ("total", "first", "effect", "total_error"):
        np.testing.assert_array_equal(getattr(found.indices, name), getattr(alone, name))
    assert found.settings["base_rows"] == 2


def test_base_rows_can_be_chosen() -> None:
    found = focus(Game(column(tangled(D, 1)), D), budget=400, seed=3, rows=1)
    assert found.settings["base_rows"] == 1


def test_it_comes_closer_to_greedy_search_than_the_indices_alone() -> None:
    budget = 1 + 6 * (D + 1)
    ways: dict[str, list[float]] = {"focus": [], "flip": [], "greedy": []}
    for seed in range(20):
        score = tangled(D, seed)
        game = Game(column(score), D)
        ways["focus"].append(deletion(score, focus(game, budget=budget, seed=0).scores[:, 0]))
        flip = sobol_indices(score, D, budget=budget, seed=0)
        ways["flip"].append(deletion(score, flip.effect))
        ways["greedy"].append(deletion(score, greedy(game, budget=10**6, seed=0).scores[:, 0]))
    means = {name: np.mean(values) for name, values in ways.items()}
    gap = means["flip"] - means["greedy"]
    assert gap > 0.1
    assert means["focus"] < means["flip"] - 0.5 * gap


def two_labels(seed: int) -> Callable[[Array], Floats]:
    first, second = tangled(D, seed), tangled(D, seed + 1)
    return lambda masks: np.stack([first(masks), -first(masks), second(masks)], axis=1)


@pytest.mark.parametrize("target", [0, 1, 2])
def test_the_label_that_is_looked_at_is_searched(target: int) -> None:
    score = two_labels(7)

    def found(black_box: Callable[[Array], Floats], target: int) -> Attribution:
        return focus(Game(black_box, D, target=target), budget=300, seed=0)

    alone = found(lambda masks: score(masks)[:, [target]], 0)
    whole = found(score, target)
    np.testing.assert_array_equal(whole.scores[:, target], alone.scores[:, 0])
    assert whole.indices is not None
    for other in {0, 1, 2} - {target}:
        # What speaks for one of two opposites speaks against the other.
        opposite = {target, other} == {0, 1}
        expected = -alone.scores[:, 0] if opposite else whole.indices.effect[:, other]
        np.testing.assert_array_equal(whole.scores[:, other], expected)


@pytest.mark.parametrize("keep", [0.2, 0.5, 0.9])
@pytest.mark.parametrize("design", ["latin", "random", "halton"])
@pytest.mark.parametrize("budget", [30, 42, 90, 300])
def test_no_setting_exceeds_the_budget(keep: float, design: str, budget: int) -> None:
    found = focus(Game(column(tangled(D, 5)), D), budget=budget, seed=1, keep=keep, design=design)
    assert found.rows is not None
    assert found.rows[1] <= budget
    assert np.isfinite(found.scores).all()


def test_rows_must_be_a_number() -> None:
    with pytest.raises(ValueError, match="rows=0: must be at least 1"):
        focus(Game(column(tangled(D, 5)), D), budget=300, seed=1, rows=0)


def test_words_that_are_ignored_share_no_score() -> None:
    explainer = TextExplainer(
        lambda texts: [float("bad" in text) for text in texts], ignore=["its"]
    )
    told = "a long tale of a film and its many people. " * 9
    explanation = explainer(told + "A bad film. " + told, method="focus", budget=60)
    assert explanation.cost["forwarded"] <= 60
    bad = next(word for word in explanation.words if word.text == "bad")
    assert explanation.score_of(bad).score == explanation.top(1)[0][1] > 0
    assert all(word.shared_by == 1 for word in explanation.words if word.status == "ignored")


def test_a_picture_is_not_seen_more_often_than_the_budget_allows() -> None:
    seen = 0

    def red(pictures: Floats) -> Floats:
        nonlocal seen
        seen += len(pictures)
        return pictures[..., 0].mean(axis=(1, 2))

    picture = np.random.default_rng(0).random((20, 20, 3))
    explanation = ImageExplainer(red, labels=["red"], grid=(5, 5))(
        picture, method="focus", budget=60
    )
    assert seen == explanation.cost["forwarded"] <= 60


def test_where_all_masks_are_scored_the_search_costs_nothing() -> None:
    score = tangled(8, 2)
    seen: set[bytes] = set()

    def spy(masks: Array) -> Floats:
        seen.update(mask.tobytes() for mask in masks)
        return score(masks)[:, None]

    found = focus(Game(spy, 8), budget=600, seed=0)
    assert found.settings["estimator"] == "exact"
    assert len(seen) == 2**8
    assert found.rows is not None
    assert found.rows[1] == 2**8
    assert found.focus is not None
    assert len(found.focus.order) > 0


def test_words_rank_by_focus_and_keep_their_indices() -> None:
    explainer, text = TextExplainer(), "A gripping film that a dull ending and bad music ruin." * 3
    focused = explainer(text, method="focus", budget=400, rows=3)
    plain = explainer(text, method="sobol", rows=3)
    of_words = zip(focused.words, plain.words, strict=True)
    for one, other in of_words:
        own, expected = focused.score_of(one), plain.score_of(other)
        assert (own.total, own.first, own.effect) == (
            expected.total,
            expected.first,
            expected.effect,
        )
        assert np.isnan(own.low)
        assert np.isnan(own.high)
    assert focused.cost["distinct"] == focused.cost["forwarded"] <= 400
    opposite = next(label for label in focused.labels if label != focused.label)
    for word in focused.words:
        assert word.scores[opposite].score == -word.scores[focused.label].score


@pytest.mark.parametrize("budget", [48, 60, 300, 1000])
def test_pairs_are_those_of_the_highest_with_base_rows_of_their_own(budget: int) -> None:
    score = column(tangled(D, 1))
    found = focus(Game(score, D), budget=budget, seed=3, interactions=4)
    assert found.indices is not None
    pairs = found.indices.pairs
    assert pairs is not None
    assert found.focus is not None
    seen = np.sqrt(4 * found.indices.total * found.indices.variance).ravel()
    most = np.argsort(-np.maximum(seen, found.focus.largest), kind="stable")[:4]
    assert pairs.pairs.tolist() == [list(pair) for pair in combinations(sorted(most), 2)]
    n_rows = found.settings["pair_rows"]
    assert n_rows >= {48: 1, 60: 1, 300: 8, 1000: 30}[budget]
    # All features flipped in as many rows say the same of pairs, and cost far more.
    same = [(one, other) for one, other in pairs.pairs.tolist()]
    alone = sobol_indices(score, D, rows=n_rows, seed=3, pairs=same)
    assert alone.pairs is not None
    np.testing.assert_allclose(pairs.effect, alone.pairs.effect, rtol=1e-9, atol=1e-12)
    for ends in zip(pairs.interval(of="effect"), alone.pairs.interval(of="effect"), strict=True):
        np.testing.assert_allclose(*ends, rtol=1e-9, atol=1e-12)
    # Their share is one of the same variance as those of single features, and never above 1.
    parts = alone.pairs.total * alone.variance
    wanted = parts / max(found.indices.variance[0], parts.max())
    np.testing.assert_allclose(pairs.total, wanted, rtol=1e-9, atol=1e-12)
    assert found.rows is not None
    assert found.rows[1] <= budget


def test_words_that_only_work_together_are_found_within_the_budget() -> None:
    """The score falls by 3 where both are there; each alone lifts it a little."""
    filler = " ".join(f"w{k}" for k in range(60))

    def negated(texts: list[str]) -> list[float]:
        has = [set(text.split()) for text in texts]
        return [
            ("good" in one) - 0.5 * ("not" in one) - 3.0 * ({"not", "good"} <= one) for one in has
        ]

    explanation = TextExplainer(negated)(f"{filler} not good {filler}", interactions=4)
    names = {explanation.words[k].text for k in max(explanation.pairs, key=_size).words}
    assert names == {"not", "good"}
    (together,) = max(explanation.pairs, key=_size).scores.values()
    assert together.effect == pytest.approx(-3)
    assert together.low <= -3 <= together.high < 0
    assert explanation.cost["forwarded"] <= explanation.settings["budget"]


@pytest.mark.parametrize("seed", range(4))
def test_two_that_do_nothing_alone_are_found_for_any_label(seed: int) -> None:
    """Once one of them is deleted, the other has nothing left to say."""
    slopes = np.random.default_rng(seed).normal(scale=0.05, size=D)

    def score(masks: Array) -> Floats:
        both = masks[:, 5] & masks[:, 17]
        return np.stack([masks @ slopes, 2.0 * both + masks @ slopes], axis=1)

    found = focus(Game(score, D), budget=1000, seed=seed, interactions=6)
    assert found.settings["base_rows"] >= 4, "balanced: each has met the other"
    assert found.indices is not None
    assert found.indices.pairs is not None
    (place,) = np.flatnonzero((found.indices.pairs.pairs == [5, 17]).all(axis=1))
    assert found.indices.pairs.effect[place] == pytest.approx([0, 2], abs=1e-9)


@pytest.mark.parametrize(("d", "budget", "k"), [(3, 8, 3), (5, 40, 3), (8, 257, 4)])
def test_pairs_are_exact_where_all_masks_fit(d: int, budget: int, k: int) -> None:
    def score(masks: Array) -> Floats:
        return (masks[:, [0]] & masks[:, [1]]) + 0.1 * masks[:, [2]]

    found = focus(Game(score, d), budget=budget, seed=0, interactions=k)
    assert found.settings["estimator"] == "exact"
    assert found.indices is not None
    assert found.indices.pairs is not None
    assert found.indices.pairs.effect[0] == pytest.approx(1)
    assert (found.indices.pairs.effect_error == 0).all()


@pytest.mark.parametrize("seed", [7, 8, 9])
def test_no_pair_has_more_than_all_of_the_variance(seed: int) -> None:
    def score(masks: Array) -> Floats:
        return 0.02 * masks.sum(axis=1, keepdims=True) + 3.0 * masks[:, :4].all(1, keepdims=True)

    found = focus(Game(score, D), budget=120, seed=seed, interactions=4)
    assert found.indices is not None
    assert found.indices.pairs is not None
    assert (found.indices.pairs.total <= 1 + 1e-12).all()


def test_what_pairs_have_seen_is_no_constant_score() -> None:
    def score(masks: Array) -> Floats:
        return masks[:, :3].max(axis=1, keepdims=True).astype(float)

    found = focus(Game(score, 30), budget=60, seed=1, rows=1, interactions=4)
    assert found.indices is not None
    assert found.indices.pairs is not None
    assert found.indices.pairs.effect.any()


def _size(pair: WordPair) -> float:
    return max(abs(score.effect) for score in pair.scores.values())


def test_pairs_need_a_look_at_every_word() -> None:
    with pytest.raises(ValueError, match="40 features and 6 pairs need at least 48"):
        focus(Game(column(tangled(D, 1)), D), budget=47, seed=0, interactions=4)


TEXT = "A gripping film that is not good: a dull ending and wooden jokes ruin it, sadly. " * 2


@pytest.mark.parametrize("budget", [12, 120, 400])
def test_a_stream_ends_with_the_explanation_and_costs_no_more(budget: int) -> None:
    explainer = TextExplainer()
    streamed = list(explainer.stream(TEXT, budget=budget, label="POSITIVE", seed=4))
    whole = explainer(TEXT, method="focus", budget=budget, label="POSITIVE", seed=4)
    assert streamed[-1].words == whole.words
    assert streamed[-1].settings == whole.settings
    costs = [explanation.cost["forwarded"] for explanation in streamed]
    assert costs == sorted(costs)
    assert costs[-1] == whole.cost["forwarded"] <= budget
    if budget > 100:
        assert len(streamed) > 5
        assert costs[0] < 0.6 * costs[-1], "the first answer comes early"


def test_an_error_in_a_stream_names_the_text() -> None:
    def fragile(texts: list[str]) -> list[float]:
        if any("dull" not in text for text in texts):
            raise RuntimeError("no")
        return [1.0] * len(texts)

    with pytest.raises(BlackBoxError, match="text: ") as raised:
        list(TextExplainer(fragile).stream(TEXT, budget=100))
    assert str(raised.value).count("the black box failed") == 1


@pytest.mark.parametrize("rows", [None, 1, 9])
@pytest.mark.parametrize("budget", [2, 3, 4, 7, 12, 20, 41])
def test_any_budget_will_do(budget: int, rows: int | None) -> None:
    seen: set[bytes] = set()

    def spy(masks: Array) -> Floats:
        seen.update(mask.tobytes() for mask in masks)
        return tangled(D, 3)(masks)[:, None]

    found = focus(Game(spy, D), budget=budget, seed=0, rows=rows)
    assert 0.6 * budget <= len(seen) <= budget
    assert found.scores.shape == (D, 1)
    assert found.units is not None
    assert len(np.unique(found.units)) == max(1, budget - 2)
    # Words that came and went together share what they did.
    for unit in np.unique(found.units):
        assert len(np.unique(found.scores[found.units == unit])) == 1


def test_a_long_text_is_opened_where_it_matters() -> None:
    sentence = "the story goes on and on with its many people and places here"
    sentences = [sentence] * 150
    sentences[17] += " wonderful"
    sentences[99] += " awful"
    text = ". ".join(sentences) + "."

    def praise(texts: list[str]) -> list[float]:
        return [2.0 * ("wonderful" in text) - 3.0 * ("awful" in text) for text in texts]

    explanation = TextExplainer(praise, labels=["praise"])(text, method="focus", budget=500)
    assert len(explanation.words) > 1900
    assert [word for word, *_ in explanation.top(2)] == ["awful", "wonderful"]
    assert [score for _, score, _ in explanation.top(2)] == pytest.approx([-3, 2], abs=1e-6)
    assert explanation.cost["forwarded"] <= 500
    by_name = {word.text: word for word in explanation.words}
    assert by_name["wonderful"].shared_by == 1
    assert sum(word.shared_by > 1 for word in explanation.words) > 1700
    told = [word for word in explanation.words if word.shared_by > 1]
    assert np.isnan(explanation.score_of(told[0]).total), "a word alone was not looked at"


@pytest.mark.parametrize("interactions", [0, 4])
@pytest.mark.parametrize("budget", [60, 100, 300])
def test_where_nothing_speaks_for_the_label_the_budget_holds(
    budget: int, interactions: int
) -> None:
    slopes = -np.random.default_rng(3).exponential(size=14)

    def score(masks: Array) -> Floats:
        return np.tanh(masks @ slopes + masks[:, 0] * masks[:, 1])[:, None]

    found = focus(Game(score, 14), budget=budget, seed=1, interactions=interactions)
    assert found.rows is not None
    assert found.rows[1] <= budget
    assert (found.scores < 0).any()


def test_a_word_alone_has_no_pairs() -> None:
    explanation = TextExplainer(lambda texts: [len(text) for text in texts])("good", interactions=4)
    assert explanation.pairs == ()
    assert explanation.top(1)[0][1] == 4


def test_labels_without_any_effect_mirror_nothing() -> None:
    def score(masks: Array) -> Floats:
        return np.stack([masks.all(axis=1), np.zeros(len(masks)), np.ones(len(masks))], axis=1)

    found = focus(Game(score, 30), budget=200, seed=0)
    assert (found.scores[:, 0] > 0).any(), "it takes all of them"
    assert (found.scores[:, 1:] == 0).all()


def test_settings_that_say_nothing_are_refused() -> None:
    explainer = TextExplainer(lambda texts: [len(text) for text in texts])
    with pytest.raises(ValueError, match="rows=0"):
        explainer("a good film", rows=0)
    with pytest.raises(ValueError, match="give both"):
        explainer("a good film", stable_top=3)


def test_precision_chooses_the_method_that_knows_it() -> None:
    explainer = TextExplainer(lambda texts: [text.count("good") for text in texts])
    explanation = explainer("a good film " * 5, precision=0.9, stable_top=5)
    assert explanation.settings["method"] == "sobol"
    assert explanation.settings["stable"] is True
    assert {word for word, _, _ in explanation.top(5)} == {"good"}
