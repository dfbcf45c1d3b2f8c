"""The path and the flip set of a text: what the model really says after each deletion."""

from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from tests.text.tiny import counting_bert, tokenizer
from textsobol import BlackBoxError, Sobol, TextExplainer, TextExplanation
from textsobol.errors import UnstableTopWarning
from textsobol.methods import Attribution
from textsobol.methods.contract import FoundPath
from textsobol.render.page import render_explanation
from textsobol.text.scores import make_path

WEIGHTS = {"good": 3.0, "fine": 2.0, "nice": 1.0, "bad": -2.0}
LABELS = ["no", "yes"]
TEXT = "a good and nice plot with a fine but bad end"


def sentiment(texts: list[str]) -> np.ndarray:
    odds = np.array([sum(WEIGHTS.get(word, 0.0) for word in text.split()) for text in texts])
    positive = 1 / (1 + np.exp(-odds))
    return np.stack([1 - positive, positive], axis=1)


def without(explanation: TextExplanation, numbers: Any) -> str:
    """The text without some words."""
    assert isinstance(explanation.text, str)
    words = [word.text for k, word in enumerate(explanation.words) if k not in set(numbers)]
    return " ".join(words)


@pytest.mark.parametrize("budget", [40, 200, None])
def test_every_step_says_what_the_model_says_of_what_is_left(budget: int | None) -> None:
    explanation = TextExplainer(sentiment, label_names=LABELS)(TEXT, budget=budget)
    path = explanation.path
    assert path is not None
    assert path.label == explanation.prediction == "yes"
    assert [step.text for step in path.steps[:3]] == ["good", "fine", "nice"]
    gone: list[int] = []
    for step in path.steps:
        gone += step.words
        (shares,) = sentiment([without(explanation, gone)])
        assert list(step.probabilities.values()) == pytest.approx(shares)
        assert step.prediction == LABELS[int(shares.argmax())]


def test_the_path_belongs_to_the_decision_whatever_label_is_explained() -> None:
    explainer = TextExplainer(sentiment, label_names=LABELS)
    plain, other, one = (
        explainer(TEXT, budget=100, **chosen)
        for chosen in ({}, {"target": "no"}, {"targets": ["no"]})
    )
    assert plain.path == other.path == plain.for_target("no").path
    assert one.path is not None
    assert plain.path is not None
    assert one.path.label == "yes"
    assert [s.words for s in one.path.steps] == [s.words for s in plain.path.steps]
    same = replace(plain.for_target("no"), cost=other.cost)
    assert same == other, "one question, one answer"


@pytest.mark.parametrize("text", [TEXT, "good " * 4 + "plot " * 30 + "bad", "fine bad nice plot"])
def test_no_word_of_the_flip_set_can_be_put_back(text: str) -> None:
    explanation = TextExplainer(sentiment, label_names=LABELS)(text)
    flip = explanation.flip
    assert flip is not None
    assert flip.is_irreducible
    (shares,) = sentiment([without(explanation, flip.words)])
    assert list(flip.probabilities.values()) == pytest.approx(shares)
    assert flip.prediction == LABELS[int(shares.argmax())] != explanation.prediction
    for back in flip.words:
        (shares,) = sentiment([without(explanation, set(flip.words) - {back})])
        assert LABELS[int(shares.argmax())] == explanation.prediction
    assert str(flip).startswith("without ")
    if flip.is_smallest:
        for fewer in combinations(range(len(explanation.words)), len(flip.words) - 1):
            (shares,) = sentiment([without(explanation, fewer)])
            assert LABELS[int(shares.argmax())] == explanation.prediction


def test_where_nothing_changes_the_prediction_there_is_no_flip_set() -> None:
    def sure(texts: list[str]) -> np.ndarray:
        share = np.array([0.9 + 0.01 * t.count("good") for t in texts])
        return np.stack([1 - share, share], axis=1)

    explanation = TextExplainer(sure, label_names=LABELS)("a good film " * 8)
    assert explanation.flip is None
    assert explanation.path is not None
    assert explanation.path.lowest is not None
    assert explanation.path.lowest.probabilities["yes"] == pytest.approx(0.9)
    assert "no deletions found that change the prediction; without 8 words" in str(explanation)
    few = TextExplainer(sure, label_names=LABELS)("a good film")
    assert "no deletion changes the prediction; without good still yes 0.90" in str(few)


def test_a_single_score_has_a_path_and_no_decision() -> None:
    explanation = TextExplainer(lambda texts: [t.count("good") for t in texts])("a good good film")
    assert explanation.flip is None
    assert explanation.path is not None
    assert [step.text for step in explanation.path.steps] == ["good (1)", "good (2)"]


def test_the_path_can_be_left_out_and_changes_no_score() -> None:
    explainer = TextExplainer(sentiment)
    text = "good " * 30 + "bad"
    plain, searched = (
        explainer(text, method=Sobol(base_masks=5, path=path)) for path in (False, True)
    )
    assert plain.path is None
    assert plain.flip is None
    assert plain.words == searched.words
    assert searched.path is not None
    assert plain.cost["forwarded"] < searched.cost["forwarded"]


def test_path_and_pairs_survive_a_round_trip() -> None:
    explainer = TextExplainer(sentiment)
    explanation = explainer("a good or bad film", method=Sobol(interactions=3))
    assert explanation.flip is not None
    assert len(explanation.pairs) == 3
    assert TextExplanation.from_dict(explanation.to_dict()) == explanation
    one_mask = explainer(
        "a good or bad film", method=Sobol(base_masks=1, estimator="flip", interactions=2)
    )
    assert TextExplanation.from_dict(one_mask.to_dict()) == one_mask


def test_a_classifier_that_fails_on_a_deletion_is_named_with_its_text() -> None:
    def broken(texts: list[str]) -> np.ndarray:
        if any(text == "bad end" for text in texts):
            raise RuntimeError("no")
        return sentiment(texts)

    with pytest.raises(BlackBoxError, match="bad end"):
        TextExplainer(broken)("good bad end")


def test_pairs_have_sign_and_interval() -> None:
    def negation(texts: list[str]) -> list[float]:
        return [2.0 * ("good" in t) - 3.0 * ("good" in t and "not" in t) for t in texts]

    exact = TextExplainer(negation, label_names=["score"])(
        "this is not a good film", method=Sobol(interactions=2)
    )
    (pair,) = exact.pairs
    assert [exact.words[k].text for k in pair.words] == ["not", "good"]
    score = pair.scores["score"]
    assert score.effect == pytest.approx(-3.0)
    assert (score.low, score.high) == pytest.approx((-3.0, -3.0))


@pytest.mark.parametrize("interactions", [-1, 1])
def test_interactions_need_two_words(interactions: int) -> None:
    with pytest.raises(ValueError, match="2 words"):
        TextExplainer(sentiment)("a good film", method=Sobol(interactions=interactions))


def test_interactions_are_part_of_the_budget() -> None:
    explainer = TextExplainer(sentiment)
    text = "film " * 38 + "good bad"
    with pytest.raises(ValueError, match="6 pairs need at least 48"):
        explainer(text, method=Sobol(interactions=4), budget=47)
    assert explainer(text, method=Sobol(interactions=4), budget=200).cost["forwarded"] <= 200


def test_words_that_only_work_together_are_found_within_the_budget() -> None:
    """The score falls by 3 where both are there; each alone lifts it a little."""
    filler = " ".join(f"w{k}" for k in range(60))

    def negated(texts: list[str]) -> list[float]:
        has = [set(text.split()) for text in texts]
        return [
            ("good" in one) - 0.5 * ("not" in one) - 3.0 * ({"not", "good"} <= one) for one in has
        ]

    explanation = TextExplainer(negated)(
        f"{filler} not good {filler}", method=Sobol(interactions=4)
    )

    def size(pair: Any) -> float:
        return max(abs(score.effect) for score in pair.scores.values())

    strongest = max(explanation.pairs, key=size)
    assert {explanation.words[k].text for k in strongest.words} == {"not", "good"}
    (together,) = strongest.scores.values()
    assert together.effect == pytest.approx(-3)
    assert together.low <= -3 <= together.high < 0
    assert explanation.cost["forwarded"] <= explanation.settings["budget"]


TWICE = "A gripping film that is not good: a dull ending and wooden jokes ruin it, sadly. " * 2


@pytest.mark.parametrize("budget", [12, 120, 400])
def test_a_stream_ends_with_the_explanation_and_costs_no_more(budget: int) -> None:
    explainer = TextExplainer()
    streamed = list(explainer.stream(TWICE, budget=budget, target="POSITIVE", seed=4))
    whole = explainer(TWICE, budget=budget, target="POSITIVE", seed=4)
    for one, other in zip(streamed[-1].words, whole.words, strict=True):
        # Batches of other sizes round otherwise.
        for label, own in one.scores.items():
            assert own.score == pytest.approx(other.scores[label].score, abs=1e-5)
            assert own.low == pytest.approx(other.scores[label].low, abs=1e-4, nan_ok=True)
    assert streamed[-1].settings == whole.settings
    assert str(streamed[-1].path) == str(whole.path)
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
        list(TextExplainer(fragile).stream(TWICE, budget=100))
    assert str(raised.value).count("the classifier failed") == 1


def test_a_long_text_is_opened_where_it_matters() -> None:
    sentence = "the story goes on and on with its many people and places here"
    sentences = [sentence] * 150
    sentences[17] += " wonderful"
    sentences[99] += " awful"
    text = ". ".join(sentences) + "."

    def praise(texts: list[str]) -> list[float]:
        return [2.0 * ("wonderful" in text) - 3.0 * ("awful" in text) for text in texts]

    explanation = TextExplainer(praise, label_names=["praise"])(text, budget=500)
    assert len(explanation.words) > 1900
    assert [each.word for each in explanation.top(2)] == ["awful", "wonderful"]
    assert [each.effect for each in explanation.top(2)] == pytest.approx([-3, 2], abs=1e-6)
    assert [each.score for each in explanation.top(2)] == pytest.approx([-9 / 13, 4 / 13], abs=1e-6)
    assert explanation.cost["forwarded"] <= 500
    by_name = {word.text: word for word in explanation.words}
    assert by_name["wonderful"].shared_by == 1
    assert sum(word.shared_by > 1 for word in explanation.words) > 1700
    merged = next(each for each in explanation.top(9999) if each.shared_by > 1)
    assert merged.word == text[merged.start : merged.end]
    assert len(explanation.top(9999)) < 500, "a group is listed once"


def test_words_that_are_ignored_are_in_no_group() -> None:
    explainer = TextExplainer(
        lambda texts: [float("bad" in text) for text in texts], ignore=["its"]
    )
    filler = "a long tale of a film and its many people. " * 9
    explanation = explainer(filler + "A bad film. " + filler, budget=60)
    assert explanation.cost["forwarded"] <= 60
    bad = next(word for word in explanation.words if word.text == "bad")
    assert explanation.score_of(bad).score == explanation.top(1)[0].score > 0
    assert all(word.shared_by == 1 for word in explanation.words if word.status == "ignored")


def test_settings_that_say_nothing_are_refused() -> None:
    explainer = TextExplainer(lambda texts: [len(text) for text in texts])
    with pytest.raises(ValueError, match="base_masks=0"):
        explainer("a good film", method=Sobol(base_masks=0))
    with pytest.raises(ValueError, match="give both"):
        explainer("a good film", method=Sobol(stable_top=3))


def test_precision_goes_on_until_the_top_is_stable() -> None:
    explainer = TextExplainer(lambda texts: [text.count("good") for text in texts])
    explanation = explainer("a good film " * 5, method=Sobol(precision=0.9, stable_top=5))
    assert explanation.settings["stable"] is True
    assert {each.word for each in explanation.top(5)} == {"good"}
    assert explanation.path is not None


def test_precision_keeps_to_the_budget_when_the_prediction_is_not_analysed() -> None:
    weights = [2, 1.9, 1.8, 1.7, 1.6, 1.5, 1.45]

    def model(texts: list[str]) -> np.ndarray:
        words = [text.split() for text in texts]
        sums = np.array(
            [sum(w for k, w in enumerate(weights) if f"w{k}" in own) for own in words]
        ) + [3.0 * (len(own) % 2) for own in words]
        return np.stack([100 + sums, sums], axis=1)

    explainer = TextExplainer(model, label_names=["A", "B"])
    text = " ".join(f"w{k}" for k in range(40))
    with pytest.warns(UnstableTopWarning):
        explanation = explainer(text, targets=["B"], method=Sobol(precision=0.95), budget=1000)
    assert explanation.cost["forwarded"] <= 1000
    assert explanation.path is not None
    assert explanation.path.label == "A"
    assert explanation.path.steps


@pytest.mark.parametrize("budget", [2, 3, 4])
def test_nothing_is_exact_or_smallest_of_words_that_were_masked_as_groups(budget: int) -> None:
    def model(texts: list[str]) -> list[list[float]]:
        return [[2.0 * ("w3" in text.split()) - 1, 0.0] for text in texts]

    text = " ".join(f"w{k}" for k in range(30))
    explanation = TextExplainer(model, label_names=["A", "B"])(text, budget=budget)
    assert explanation.settings["estimator"] == "exact", "all masks of the groups"
    assert not explanation.is_exact
    assert explanation.flip is not None
    assert len(explanation.flip.words) > 1
    assert not explanation.flip.is_smallest
    assert not explanation.flip.is_irreducible
    told = str(explanation)
    assert "exact" not in told
    assert "all masks of the groups" in told
    assert "(fewer words may be enough)" in told
    assert '"isExact": true' not in render_explanation(explanation)


def test_of_groups_a_flip_set_is_judged_by_its_words() -> None:
    """The text has units w0, w1 and a group; two words or the group change the prediction."""
    game = TextExplainer(
        lambda texts: [[1.5, 3.0 - ("w0" in t) - ("w1" in t) - ("w2" in t)] for t in texts],
        label_names=["A", "B"],
    ).masked("w0 w1 w2 w3 w4")
    units = np.array([0, 1, 2, 2, 2])

    def flip(order: tuple[int, ...], found: tuple[int, ...]) -> Any:
        path = FoundPath(order, found, is_irreducible=True, is_smallest=True)
        told = make_path(game, Attribution(np.zeros((5, 2)), path=path, units=units))
        assert told is not None
        assert told.flip is not None
        return told.flip.is_irreducible, told.flip.is_smallest

    assert flip((0, 1), (0, 1)) == (True, False), "one word of the group might do"
    assert flip((0, 2), (0, 2)) == (False, False)
    assert flip((0,), (0,)) == (True, True), "nothing is smaller than one word"


def test_a_tie_keeps_the_prediction_in_steps_and_flip_sets_alike() -> None:
    def praise(texts: list[str]) -> list[list[float]]:
        return [[0.0, 1.0 * ("good" in text)] for text in texts]

    tied = TextExplainer(praise, label_names=["neg", "pos"])("a good film")
    assert tied.path is not None
    assert [step.text for step in tied.path.steps] == ["good"]
    assert tied.path.steps[0].prediction == "pos"
    assert tied.flip is None

    def twice(texts: list[str]) -> list[list[float]]:
        return [[0.5, 1.0 * ("good" in text)] for text in texts]

    ahead = TextExplainer(twice, label_names=["neg", "pos"])("a good film")
    assert ahead.path is not None
    assert ahead.path.steps[0].prediction == "neg"
    assert ahead.flip is not None
    assert ahead.flip.prediction == "neg"


def with_sigmoid(function: Any) -> TextExplainer:
    """A function of one text whose outputs are log-odds, each of a label of its own."""
    explainer = TextExplainer(lambda texts: [function(text.split()) for text in texts])
    vars(explainer._classifier)["activation"] = "sigmoid"
    return explainer


@pytest.mark.parametrize("n_words", [3, 20])
def test_probabilities_that_rounding_makes_equal_are_a_tie(n_words: int) -> None:
    """Both labels are as sure as numbers can be, the second is further ahead in log-odds."""
    explainer = with_sigmoid(lambda words: [38.0 + 4 * ("good" in words), 50.0])
    explanation = explainer("good " + " ".join(f"w{k}" for k in range(n_words)))
    assert explanation.prediction == "0"
    assert explanation.path is not None
    assert [step.prediction for step in explanation.path.steps] == ["0"]
    assert explanation.flip is None


def test_of_a_no_the_lowest_step_is_the_one_nearest_to_a_yes() -> None:
    """A single output below one half says no; the path deletes what speaks against."""
    explainer = with_sigmoid(
        lambda words: [-1.0 - ("bad" in words) - 2.0 * ("awful" in words) + ("w1" in words) / 2]
    )
    explanation = explainer("w0 w1 bad awful")
    path = explanation.path
    assert path is not None
    assert path.flip is None
    assert path.rises
    assert path.lowest is not None
    shares = [step.probabilities["0"] for step in path.steps]
    assert path.lowest.probabilities["0"] == max(shares) > explanation.probabilities["0"]
    assert path.lowest == path.steps[-1]
    assert TextExplanation.from_dict(explanation.to_dict()).path == path


def test_a_group_across_a_pair_has_its_place_in_the_first_text() -> None:
    explainer = TextExplainer(counting_bert(tokenizer()), tokenizer())
    pair = ("a good good film with a plot", "the ending is bad")
    for budget in (2, 3, 5, 7):
        for each in explainer(pair, budget=budget).top(20):
            assert 0 <= each.start < each.end <= len(pair[each.part])
