"""Faithfulness, against what a function says of texts cut by hand."""

import numpy as np
import pytest

from tests.text.tiny import counting_bert, tokenizer
from textsobol import TextExplainer
from textsobol.metrics.faithfulness import FRACTIONS, METRICS, STEPS, faithfulness, make_prefixes
from textsobol.sobol.arrays import Array, Floats

WEIGHTS = {"good": 3.0, "fine": 1.0, "bad": -2.5, "not": -1.0}


def sentiment(texts: list[str]) -> Floats:
    odds = np.array([sum(WEIGHTS.get(word, 0.0) for word in text.split()) for text in texts])
    positive = 1 / (1 + np.exp(-odds))
    return np.stack([1 - positive, positive], axis=1)


EXPLAINER = TextExplainer(sentiment, label_names=["no", "yes"])
TEXT = "good plot fine but bad end"
SCORES = np.array([3.0, 0.1, 1.0, 0.0, -2.5, 0.2])
# Highest first: good, fine, end, plot, but, bad.
LEFT = ["good plot fine but bad end", "plot fine but bad end", "plot but bad end",
        "plot but bad", "but bad", "bad", ""]  # fmt: skip
COMING = ["", "good", "good fine", "good fine end", "good plot fine end",
          "good plot fine but end", "good plot fine but bad end"]  # fmt: skip


def test_curves_are_what_the_function_says_of_the_cut_texts() -> None:
    found = faithfulness(EXPLAINER.masked(TEXT), SCORES, "yes", steps=4)
    np.testing.assert_allclose(found.deletion_curve, sentiment(LEFT[:5])[:, 1])
    np.testing.assert_allclose(found.insertion_curve, sentiment(COMING[:5])[:, 1])
    assert found.deletion == pytest.approx(sentiment(LEFT[:5])[:, 1].mean())
    assert found.insertion == pytest.approx(sentiment(COMING[:5])[:, 1].mean())
    # good + fine - bad = 1.5, fine - bad = -1.5, and then only what is bad is left.
    odds = np.array([1.5, -1.5, -2.5, -2.5, -2.5])
    np.testing.assert_allclose(found.deletion_curve, 1 / (1 + np.exp(-odds)))
    assert found.predictions.tolist() == [1, 0, 0, 0, 0]
    assert found.correct(1).tolist() == [True, False, False, False, False]
    assert found.correct(0).tolist() == [False, True, True, True, True]


def test_the_other_label_is_followed_by_its_own_share() -> None:
    found = faithfulness(EXPLAINER.masked(TEXT), -SCORES, "no", steps=2)
    left = ["good plot fine but bad end", "good plot fine but end", "good plot fine end"]
    np.testing.assert_allclose(found.deletion_curve, sentiment(left)[:, 0])
    assert found.predictions.tolist() == [1, 1, 1], "of both labels, whichever is followed"


def test_comprehensiveness_and_sufficiency_are_means_over_shares_of_the_words() -> None:
    found = faithfulness(EXPLAINER.masked(TEXT), SCORES, "yes")
    # 1, 5, 10, 20 and 50 % of six words: at least one, and three of them.
    without = sentiment([LEFT[1]] * 4 + [LEFT[3]])[:, 1]
    only = sentiment([COMING[1]] * 4 + [COMING[3]])[:, 1]
    whole = sentiment([TEXT])[0, 1]
    assert found.comprehensiveness == pytest.approx((whole - without).mean())
    assert found.sufficiency == pytest.approx((whole - only).mean())


def test_shares_of_a_long_text() -> None:
    words = [f"w{k}" for k in range(200)]

    def share(texts: list[str]) -> Floats:
        return np.array([len(text.split()) / 200 for text in texts])[:, None]

    game = TextExplainer(share, label_names=["length"]).masked(" ".join(words))
    found = faithfulness(game, np.arange(200.0), "length")
    assert found.comprehensiveness == pytest.approx(np.mean(FRACTIONS))
    assert found.sufficiency == pytest.approx(1 - np.mean(FRACTIONS))
    assert found.deletion_curve.tolist() == pytest.approx([1 - k / 200 for k in range(STEPS + 1)])
    assert found.deletion == pytest.approx(1 - STEPS / 400)
    assert found.insertion == pytest.approx(STEPS / 400)


def test_fewer_words_than_steps() -> None:
    found = faithfulness(EXPLAINER.masked(TEXT), SCORES, "yes", steps=50)
    np.testing.assert_allclose(found.deletion_curve, sentiment(LEFT)[:, 1])
    np.testing.assert_allclose(found.insertion_curve, sentiment(COMING)[:, 1])
    assert len(found.predictions) == 7
    one = faithfulness(EXPLAINER.masked("good"), np.array([1.0]), "yes")
    np.testing.assert_allclose(one.deletion_curve, sentiment(["good", ""])[:, 1])


def test_of_equal_scores_the_first_word_goes_first() -> None:
    asked: list[str] = []

    def spy(texts: list[str]) -> Floats:
        asked.extend(texts)
        return sentiment(texts)

    game = TextExplainer(spy, label_names=["no", "yes"]).masked("a b c d")
    asked.clear()
    faithfulness(game, np.array([0, 1, 0, 1]), "yes", steps=4)
    assert {"a c d", "a c", "c"} <= set(asked)
    assert {"b", "b d", "a b d"} <= set(asked)
    assert not {"a b c", "a", "a b", "d"} & set(asked)


def test_a_better_order_has_better_metrics() -> None:
    game = EXPLAINER.masked(TEXT)
    true, turned = (faithfulness(game, sign * SCORES, "yes") for sign in (1, -1))
    for name in ("deletion", "insertion", "comprehensiveness", "sufficiency"):
        one, other = getattr(true, name), getattr(turned, name)
        better = one > other if METRICS[name].higher_is_better else one < other
        assert better, name
    accuracies = [found.correct(1).mean() for found in (true, turned)]
    assert not METRICS["accuracy"].higher_is_better
    assert accuracies[0] < accuracies[1]


def test_all_metrics_have_a_direction() -> None:
    directions = {name: metric.higher_is_better for name, metric in METRICS.items()}
    assert directions == {
        "deletion": False, "accuracy": False, "insertion": True, "comprehensiveness": True,
        "sufficiency": False, "rank_correlation": True, "stability": True,
        "pixel_deletion": False, "pixel_insertion": True, "pointing_game": True,
    }  # fmt: skip
    assert len({metric.title for metric in METRICS.values()}) == len(METRICS)


def test_all_masks_are_asked_for_at_once() -> None:
    inner = EXPLAINER.masked(TEXT)
    asked: list[Array] = []

    class Spy:
        n_features = 6
        probabilities = inner.probabilities

        def predict_masks(self, masks: Array) -> Floats:
            asked.append(masks)
            return inner.predict_masks(masks)

    found = faithfulness(Spy(), SCORES, "yes")
    assert len(asked) == 1
    np.testing.assert_allclose(found.deletion_curve, sentiment(LEFT)[:, 1])


def test_a_model_of_transformers_is_followed_too() -> None:
    explainer = TextExplainer(counting_bert(tokenizer()), tokenizer())
    explanation = explainer("the plot is good but the ending is bad", method="occlusion")
    scores = np.array([word.scores["LABEL_1"].score for word in explanation.words])
    game = explainer.masked("the plot is good but the ending is bad")
    found = faithfulness(game, scores, "LABEL_1", steps=1)
    left = explainer.masked("the plot is but the ending is bad").probabilities["LABEL_1"]
    only = explainer.masked("good").probabilities["LABEL_1"]
    assert found.deletion_curve[1] == pytest.approx(left, abs=1e-6)
    assert found.insertion_curve[1] == pytest.approx(only, abs=1e-6)


def test_prefixes_are_nested() -> None:
    order = np.random.default_rng(0).permutation(9)
    masks = make_prefixes(order, range(10))
    for count, mask in enumerate(masks):
        assert set(np.flatnonzero(mask).tolist()) == set(order[:count].tolist())
