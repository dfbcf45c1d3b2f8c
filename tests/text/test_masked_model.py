"""A text that is asked about answers as the classifier itself does on the masked strings."""

from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from transformers import TextClassificationPipeline

from tests.text.tiny import counting_bert, tokenizer
from textsobol import BlackBoxError, TextExplainer, WindowWarning
from textsobol.sobol.arrays import Array, Floats

# Of "Good film, bad end!" with and without each word; the first is the mask 0000.
STRINGS = {
    "0000": ", !", "0001": ", end!", "0010": ", bad !", "0011": ", bad end!",
    "0100": "film, !", "0101": "film, end!", "0110": "film, bad !", "0111": "film, bad end!",
    "1000": "Good , !", "1001": "Good , end!", "1010": "Good , bad !", "1011": "Good , bad end!",
    "1100": "Good film, !", "1101": "Good film, end!", "1110": "Good film, bad !",
    "1111": "Good film, bad end!",
}  # fmt: skip
TEXT = STRINGS["1111"]


def every_mask(n_features: int) -> Array:
    return np.array(list(product([False, True], repeat=n_features)))


def said(texts: list[str], model: Any = None) -> Floats:
    """What the model's own pipeline says: shares of all labels."""
    pipe = TextClassificationPipeline(model=model or counting_bert(tokenizer()),
                                      tokenizer=tokenizer())  # fmt: skip
    answers = [{a["label"]: a["score"] for a in pipe(text, top_k=None)} for text in texts]
    return np.array([[answer[label] for label in sorted(answer)] for answer in answers])


def odds(shares: Floats) -> Floats:
    return np.log(shares / (1 - shares))


@pytest.mark.parametrize("labels", [2, 3])
@pytest.mark.parametrize("score", ["logit", "probability"])
def test_masks_are_answered_as_the_masked_strings_are(labels: int, score: str) -> None:
    model = counting_bert(tokenizer(), labels=labels)
    game = TextExplainer(model, tokenizer(), score=score).masked(TEXT)
    expected = said(list(STRINGS.values()), model)
    assert ["".join(map(str, mask)) for mask in every_mask(4).astype(int)] == list(STRINGS)
    np.testing.assert_allclose(game.predict_masks(every_mask(4)), expected, atol=1e-6)
    analysed = odds(expected) if score == "logit" else expected
    np.testing.assert_allclose(game.score_masks(every_mask(4)), analysed, atol=1e-4)
    assert list(game.probabilities.values()) == pytest.approx(expected[-1], abs=1e-6)
    assert game.prediction == f"LABEL_{expected[-1].argmax()}"
    assert game.n_features == 4


def test_only_the_labels_asked_for_are_scored_but_all_are_shown() -> None:
    explainer = TextExplainer(counting_bert(tokenizer(), labels=3), tokenizer())
    every, some = explainer.masked(TEXT), explainer.masked(TEXT, targets=["LABEL_2", "LABEL_0"])
    masks = every_mask(4)
    assert some.labels == ["LABEL_2", "LABEL_0"]
    np.testing.assert_allclose(some.score_masks(masks), every.score_masks(masks)[:, [2, 0]])
    np.testing.assert_allclose(some.predict_masks(masks), every.predict_masks(masks))


def test_looking_at_one_label_shares_what_is_known() -> None:
    forwarded: list[str] = []

    def function(texts: list[str]) -> Floats:
        forwarded.extend(texts)
        return np.array([[len(text), text.count("o")] for text in texts], dtype=float)

    game = TextExplainer(function, label_names=["length", "o"]).masked(TEXT)
    masks = every_mask(4)
    both = game.score_masks(masks[:8])
    one = game.with_target("o")
    assert one.labels == ["o"]
    np.testing.assert_array_equal(one.score_masks(masks[:8]), both[:, 1:])
    assert len(forwarded) == 9, "the whole text, and eight masks"
    one.score_masks(masks)
    game.predict_masks(masks)
    game.with_target("length").score_masks(masks)
    assert sorted(forwarded) == sorted(STRINGS.values()), "no text twice"
    assert game.cost.passes == one.cost.passes == 16
    assert game.labels == ["length", "o"], "the game itself looks at both still"
    assert game.score_masks(masks).shape == (16, 2)


def test_no_row_is_forwarded_twice_by_a_model() -> None:
    model = counting_bert(tokenizer())
    rows: list[tuple[int, ...]] = []

    def spy(_: Any, __: Any, inputs: dict[str, torch.Tensor]) -> None:
        for ids, seen in zip(inputs["input_ids"], inputs["attention_mask"], strict=True):
            rows.append(tuple(ids[seen.bool()].tolist()))

    model.register_forward_pre_hook(spy, with_kwargs=True)
    game = TextExplainer(model, tokenizer()).masked("very very good film")
    for label in ("LABEL_0", "LABEL_1"):
        game.with_target(label).score_masks(every_mask(4))
    game.predict_masks(every_mask(4))
    # Either "very" leaves the same text: 3 * 2 * 2 are left of 16.
    assert len(rows) == len(set(rows)) == 12
    assert game.cost.passes == 12


def test_words_outside_the_window_are_no_columns() -> None:
    explainer = TextExplainer(counting_bert(tokenizer()), tokenizer())
    seen = "good " + "film " * 60 + "bad"
    with pytest.warns(WindowWarning, match="38 of 100 words"):
        game = explainer.masked(seen + " good" * 38)
    assert game.n_features == 62
    assert game.scored == list(range(62))
    assert [game.words[k].status for k in (61, 62)] == ["scored", "outside"]
    masks = np.ones((3, 62), dtype=bool)
    masks[1, 0], masks[2, 61] = False, False
    strings = [seen, "film " * 60 + "bad", "good " + "film " * 60]
    np.testing.assert_allclose(game.predict_masks(masks), said(strings), atol=1e-6)


def test_ignored_words_are_no_columns_and_stay() -> None:
    explainer = TextExplainer(counting_bert(tokenizer()), tokenizer(), ignore=["good", "the"])
    game = explainer.masked("the bad film is good")
    assert game.scored == [1, 2, 3]
    assert game.n_features == 3
    masks = np.array([[True, False, False], [False, True, True], [False, False, False]])
    expected = said(["the bad good", "the film is good", "the good"])
    np.testing.assert_allclose(game.predict_masks(masks), expected, atol=1e-6)
    with pytest.raises(ValueError, match="no word of the text can be left out"):
        explainer.masked("the good")


@pytest.mark.parametrize("perturbation", ["mask", "film"])
def test_words_can_be_replaced(perturbation: str) -> None:
    game = TextExplainer(
        counting_bert(tokenizer()), tokenizer(), perturbation=perturbation
    ).masked(TEXT)  # fmt: skip
    stand_in = "[MASK]" if perturbation == "mask" else "film"
    found = game.predict_masks(np.array([[False, True, True, True], [True, True, False, False]]))
    expected = said([f"{stand_in} film, bad end!", f"Good film, {stand_in} {stand_in}!"])
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_the_columns_of_a_pair_are_the_words_of_both_texts() -> None:
    model, tok = counting_bert(tokenizer()), tokenizer()
    with torch.no_grad():  # the second text counts in another way
        model.bert.embeddings.token_type_embeddings.weight[1, 2] = 1.0
    game = TextExplainer(model, tok).masked(("a good film", "bad end"))
    assert [game.words[k].part for k in game.scored] == [0, 0, 0, 1, 1]
    masks = np.array([[1, 1, 1, 1, 1], [1, 0, 1, 1, 1], [1, 1, 0, 0, 1], [0, 1, 0, 1, 0]], bool)
    pairs = [("a good film", "bad end"), ("a film", "bad end"), ("a good", "end"), ("good", "bad")]
    with torch.no_grad():
        logits = [model(**tok(*pair, return_tensors="pt")).logits[0].numpy() for pair in pairs]
    expected = torch.tensor(np.array(logits)).softmax(dim=1).numpy()
    np.testing.assert_allclose(game.predict_masks(masks), expected, atol=1e-6)
    turned = model(**tok("bad end", "a good film", return_tensors="pt")).logits[0]
    assert not np.allclose(turned.detach(), logits[0], atol=1e-3), "the order of a pair matters"


def test_a_mask_on_which_the_classifier_fails_is_named_by_its_text() -> None:
    def broken(texts: list[str]) -> list[float]:
        return [np.nan if "film" not in text else 1.0 for text in texts]

    game = TextExplainer(broken).masked(TEXT)
    with pytest.raises(BlackBoxError, match="'Good , bad end!'"):
        game.predict_masks(np.array([[True, False, True, True]]))
    assert game.predict_masks(np.ones((1, 4), dtype=bool)).tolist() == [[1.0]]
