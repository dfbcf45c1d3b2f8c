"""Answers become outputs whose softmax, or sigmoid, is what was answered."""

import numpy as np
import pytest
from scipy.special import expit, softmax

from textsobol.endpoints.answers import AnswerReader
from textsobol.errors import LabelMismatchError, WrongAnswerError
from textsobol.outputs import compute_scores


def test_softmax_gives_log_odds_to_analyse_and_probabilities_to_show() -> None:
    reader = AnswerReader(None, "softmax")
    p = np.array([0.2, 0.7, 0.1])
    outputs = reader.outputs({"a": 0.2, "b": 0.7, "c": 0.1}, "text")[None]
    np.testing.assert_allclose(softmax(outputs[0]), p)
    odds = compute_scores(outputs, "softmax", "logit", [0, 1, 2])[0]
    np.testing.assert_allclose(odds, np.log(p / (1 - p)))
    assert reader.names == ["a", "b", "c"]


def test_sigmoid_looks_at_each_label_for_itself() -> None:
    outputs = AnswerReader(None, "sigmoid").outputs({"a": 0.9, "b": 0.8}, "text")
    np.testing.assert_allclose(expit(outputs), [0.9, 0.8])


@pytest.mark.parametrize("activation", ["softmax", "sigmoid"])
def test_log_odds_end_where_single_precision_does(activation: str) -> None:
    """A server that rounds to 0 and 1 does not make a word infinitely strong."""
    sure = AnswerReader(None, activation).outputs({"a": 0.0, "b": 1.0}, "text")[None]
    surer = AnswerReader(None, activation).outputs({"a": 1e-30, "b": 1.0}, "text")[None]
    odds = compute_scores(sure, activation, "logit", [0, 1])[0]
    np.testing.assert_allclose(odds, [np.log(1e-7), -np.log(1e-7)], atol=1e-6)
    np.testing.assert_array_equal(sure, surer)
    nearly = AnswerReader(None, activation).outputs({"a": 1e-6, "b": 1 - 1e-6}, "text")[None]
    expected = np.log(1e-6 / (1 - 1e-6))
    assert compute_scores(nearly, activation, "logit", [0])[0, 0] == pytest.approx(expected)


def test_scores_without_activation_stay_as_they_are() -> None:
    reader = AnswerReader(["up", "down"], "none")
    np.testing.assert_array_equal(reader.outputs([7.0, -3.0], "text"), [7.0, -3.0])
    by_name = AnswerReader(["up", "down"], "none").outputs({"down": -3.0, "up": 7.0}, "text")
    np.testing.assert_array_equal(by_name, [7.0, -3.0])


def test_a_missing_label_has_what_the_others_leave() -> None:
    reader = AnswerReader(["a", "b", "c"], "softmax")
    np.testing.assert_allclose(np.exp(reader.outputs({"b": 0.6, "a": 0.3}, "t")), [0.3, 0.6, 0.1])
    nothing_left = np.exp(reader.outputs({"b": 1.0}, "t"))
    np.testing.assert_allclose(nothing_left, [1e-7, 1.0, 1e-7])
    with pytest.raises(WrongAnswerError, match="no score of the labels a, c"):
        reader.outputs({"b": 0.6}, "t")
    for activation in ("sigmoid", "none"):
        with pytest.raises(WrongAnswerError, match="no score of the labels b"):
            AnswerReader(["a", "b"], activation).outputs({"a": 0.6}, "t")


def test_labels_of_the_first_answer_hold_for_all() -> None:
    reader = AnswerReader(None, "softmax")
    with pytest.raises(WrongAnswerError, match=r"sum is 0\.9, not 1.*Name all"):
        reader.outputs({"a": 0.9}, "cut off")
    reader.outputs({"a": 0.9, "b": 0.1}, "first")  # a wrong answer fixed nothing
    with pytest.raises(LabelMismatchError, match="the labels a, c, expected a, b"):
        reader.outputs({"a": 0.9, "c": 0.1}, "second")
    with pytest.raises(LabelMismatchError, match="3 scores, expected 2"):
        reader.outputs([0.2, 0.2, 0.6], "third")
    assert reader.reset() == "first"
    reader.outputs([0.2, 0.2, 0.6], "third")
    with pytest.raises(LabelMismatchError, match="by label, earlier ones had none"):
        reader.outputs({"a": 0.9, "b": 0.1}, "fourth")


def test_the_advice_stays_in_a_message_of_many_labels() -> None:
    reader = AnswerReader(None, "softmax")
    first, second = ({f"label {k}": 0.001 for k in range(a, a + 1000)} for a in (0, 500))
    reader.outputs(first, "a")
    with pytest.raises(LabelMismatchError, match="name them: TextExplainer") as caught:
        reader.outputs(second, "b")
    assert len(str(caught.value)) < 600
