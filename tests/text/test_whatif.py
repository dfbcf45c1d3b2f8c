from typing import Any

import numpy as np
import pytest

from textsobol import BlackBoxError, TextExplainer, TextExplanation
from textsobol.text.whatif import MOST_DELETIONS, MOST_LABELS

WEIGHTS = {"good": 3.0, "fine": 2.0, "nice": 1.0, "bad": -2.0}


def sentiment(texts: list[str]) -> np.ndarray:
    odds = np.array([sum(WEIGHTS.get(word, 0.0) for word in text.split()) for text in texts])
    positive = 1 / (1 + np.exp(-odds))
    return np.stack([1 - positive, positive], axis=1)


def test_the_words_for_a_label_go_first_and_the_others_stay() -> None:
    text = "a good and nice plot with a fine but bad end"
    explanation = TextExplainer(sentiment, labels=["no", "yes"])(text, whatif=True)
    steps = explanation.whatif["yes"][:3]
    assert [explanation.words[step.word].text for step in steps] == ["good", "fine", "nice"]
    # What is left of the text, given to the classifier itself.
    left = [
        "a and nice plot with a fine but bad end",
        "a and nice plot with a but bad end",
        "a and plot with a but bad end",
    ]
    shares = sentiment(left)
    assert [step.probability for step in steps] == pytest.approx(shares[:, 1])
    assert [step.prediction for step in steps] == [["no", "yes"][k] for k in shares.argmax(axis=1)]
    against = explanation.whatif["no"]
    assert [explanation.words[step.word].text for step in against[:1]] == ["bad"]
    assert all(explanation.words[step.word].scores["no"].score > 0 for step in against)


def test_it_costs_nothing_unless_asked_for_and_changes_no_score() -> None:
    explainer = TextExplainer(sentiment)
    text = "good " * 30 + "bad"
    settings: dict[str, Any] = {"budget": 100, "method": "sobol"}
    plain, asked = explainer(text, **settings), explainer(text, **settings, whatif=True)
    assert plain.whatif == {}
    assert plain.words == asked.words
    assert plain.cost["forwarded"] <= 100
    more = asked.cost["forwarded"] - plain.cost["forwarded"]
    assert 0 < more <= 2 * MOST_DELETIONS
    assert len(asked.whatif["1"]) == MOST_DELETIONS


def test_of_many_labels_the_likeliest_have_curves() -> None:
    def many(texts: list[str]) -> np.ndarray:
        return np.array([[k * len(text.split()) for k in range(1, 13)] for text in texts], float)

    explanation = TextExplainer(many)("one two three", whatif=True)
    assert list(explanation.whatif) == [str(k) for k in range(11, 11 - MOST_LABELS, -1)]


def test_curves_and_pairs_survive_a_round_trip() -> None:
    explainer = TextExplainer(sentiment)
    explanation = explainer("a good or bad film", whatif=True, interactions=3)
    assert explanation.whatif
    assert len(explanation.pairs) == 3
    assert TextExplanation.from_dict(explanation.to_dict()) == explanation
    one_row = explainer("a good or bad film", rows=1, estimator="flip", interactions=2)
    assert TextExplanation.from_dict(one_row.to_dict()) == one_row


def test_a_classifier_that_fails_on_a_deletion_is_named_with_its_text() -> None:
    def broken(texts: list[str]) -> np.ndarray:
        if any(text == "bad end" for text in texts):
            raise RuntimeError("no")
        return sentiment(texts)

    with pytest.raises(BlackBoxError, match="bad end"):
        TextExplainer(broken)("good bad end", whatif=True)


def test_pairs_have_sign_and_interval() -> None:
    def negation(texts: list[str]) -> list[float]:
        return [2.0 * ("good" in t) - 3.0 * ("good" in t and "not" in t) for t in texts]

    exact = TextExplainer(negation, labels=["score"])("this is not a good film", interactions=2)
    (pair,) = exact.pairs
    assert [exact.words[k].text for k in pair.words] == ["not", "good"]
    score = pair.scores["score"]
    assert score.effect == pytest.approx(-3.0)
    assert (score.low, score.high) == pytest.approx((-3.0, -3.0))


@pytest.mark.parametrize("interactions", [-1, 1])
def test_interactions_need_two_words(interactions: int) -> None:
    with pytest.raises(ValueError, match="2 words"):
        TextExplainer(sentiment)("a good film", interactions=interactions)


def test_interactions_are_part_of_the_budget() -> None:
    explainer = TextExplainer(sentiment)
    text = "film " * 38 + "good bad"
    with pytest.raises(ValueError, match="6 pairs need at least 48"):
        explainer(text, interactions=4, budget=47)
    assert explainer(text, interactions=4, budget=200).cost["forwarded"] <= 200
