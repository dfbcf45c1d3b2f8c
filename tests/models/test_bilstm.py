from typing import Any

import numpy as np
import pytest
import torch
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    TextClassificationPipeline,
)

from textsobol import Sobol, TextExplainer
from textsobol.models import BUNDLED
from textsobol.models.bilstm import BiLstmConfig, BiLstmForSequenceClassification, word_tokenizer

VOCABULARY = ["good", "bad", "film", "the", "do", "n't", "it", "'s", "10/10", "!", ",", "."]


@pytest.fixture
def model() -> Any:
    torch.manual_seed(0)
    config = BiLstmConfig(vocab_size=len(VOCABULARY) + 2, embedding_size=6, num_labels=2)
    return BiLstmForSequenceClassification(config).eval()


def padded(rows: list[list[int]], *, side: str = "right") -> dict[str, torch.Tensor]:
    longest = max(map(len, rows))
    ids = torch.zeros(len(rows), longest, dtype=torch.long)
    seen = torch.zeros_like(ids)
    for k, row in enumerate(rows):
        where = slice(0, len(row)) if side == "right" else slice(longest - len(row), longest)
        ids[k, where], seen[k, where] = torch.tensor(row, dtype=torch.long), 1
    return {"input_ids": ids, "attention_mask": seen}


@pytest.mark.parametrize("side", ["right", "left"])
def test_padding_does_not_change_a_score(model: Any, side: str) -> None:
    rng = np.random.default_rng(0)
    rows = [rng.integers(2, 14, size=n).tolist() for n in (1, 3, 12, 7, 30)]
    together = model(**padded(rows, side=side)).logits
    for k, row in enumerate(rows):
        alone = model(**padded([row])).logits[0]
        torch.testing.assert_close(together[k], alone, atol=1e-6, rtol=0)


def test_it_is_the_bidirectional_lstm_of_torch(model: Any) -> None:
    """The same weights in `nn.LSTM(bidirectional=True)` on a packed sequence, then the maximum."""
    rows = [[2, 3, 4, 5, 6], [7, 8]]
    reference = torch.nn.LSTM(6, 32, batch_first=True, bidirectional=True)
    with torch.no_grad():
        for name, own in (("", model.forwards), ("_reverse", model.backwards)):
            for weight in ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"):
                getattr(reference, weight + name).copy_(getattr(own, weight))
    inputs = padded(rows)
    packed = torch.nn.utils.rnn.pack_padded_sequence(
        model.embedding(inputs["input_ids"]), torch.tensor([5, 2]), batch_first=True
    )
    states, _ = torch.nn.utils.rnn.pad_packed_sequence(
        reference(packed)[0], batch_first=True, padding_value=-torch.inf
    )
    document = model._encode(model.embedding(inputs["input_ids"]), inputs["attention_mask"].bool())
    torch.testing.assert_close(document, states.amax(dim=1), atol=1e-6, rtol=0)


def test_texts_without_words(model: Any) -> None:
    empty = model(input_ids=torch.zeros(2, 0, dtype=torch.long)).logits
    mixed = model(**padded([[], [2, 3]])).logits
    assert torch.isfinite(empty).all()
    torch.testing.assert_close(mixed[0], empty[0])
    assert not torch.allclose(mixed[0], mixed[1])


def test_tokens_hidden_in_the_middle_are_not_read(model: Any) -> None:
    ids = torch.tensor([[2, 3, 4, 5]])
    hidden = model(input_ids=ids, attention_mask=torch.tensor([[1, 0, 1, 1]])).logits
    torch.testing.assert_close(hidden, model(input_ids=torch.tensor([[2, 4, 5]])).logits)


def test_gradients_reach_the_embeddings(model: Any) -> None:
    inputs = padded([[2, 3, 4], [5]])
    vectors = model.get_input_embeddings()(inputs["input_ids"]).detach().requires_grad_()
    by_vectors = model(inputs_embeds=vectors, attention_mask=inputs["attention_mask"]).logits
    torch.testing.assert_close(by_vectors, model(**inputs).logits)
    by_vectors[:, 1].sum().backward()
    assert vectors.grad is not None
    assert (vectors.grad[0].abs().sum(dim=1) > 0).all()
    assert (vectors.grad[1, 1:] == 0).all(), "padding has no gradient"
    with pytest.raises(ValueError, match="either input_ids or inputs_embeds"):
        model(**inputs, inputs_embeds=vectors)


def _gated(model: Any, rows: list[list[int]], gates: torch.Tensor) -> torch.Tensor:
    return model(**padded(rows), gates=gates).logits


def test_gates_of_one_are_the_model_and_gates_of_zero_leave_words_out(model: Any) -> None:
    rng = np.random.default_rng(0)
    rows = [rng.integers(2, 14, size=n).tolist() for n in (1, 3, 12, 7, 30)]
    plain = model(**padded(rows)).logits
    torch.testing.assert_close(_gated(model, rows, torch.ones(5, 30)), plain, atol=1e-6, rtol=0)

    kept = torch.tensor(rng.random((5, 30)) < 0.5)
    kept[2, :4] = False  # words skipped at the start must not bring the zero state in
    kept[3, -6:] = False
    kept[4] = False  # no words at all
    left = [[row[j] for j in range(len(row)) if kept[k, j]] for k, row in enumerate(rows)]
    short = torch.cat([model(**padded([own])).logits for own in left])
    torch.testing.assert_close(_gated(model, rows, kept.float()), short, atol=1e-6, rtol=0)


def test_gates_have_the_slopes_of_finite_differences(model: Any) -> None:
    model = model.double()
    rows = [[2, 3, 4, 5, 6, 7], [8, 9, 2]]
    gates = torch.tensor(np.random.default_rng(0).uniform(0.2, 1.0, (2, 6)), requires_grad=True)
    assert torch.autograd.gradcheck(lambda own: _gated(model, rows, own), gates)


def test_gates_also_have_slopes_for_vectors_and_weights(model: Any) -> None:
    """With gates of 1 the hand-written derivatives are those of `nn.LSTM`."""
    inputs = padded([[2, 3, 4, 5], [6, 7]])
    slopes = []
    for more in ({}, {"gates": torch.ones(2, 4)}):
        vectors = model.embedding(inputs["input_ids"]).detach().requires_grad_()
        found = model(inputs_embeds=vectors, attention_mask=inputs["attention_mask"], **more).logits
        weights = [*model.forwards.parameters(), *model.backwards.parameters()]
        slopes.append(torch.autograd.grad(found[:, 1].sum(), [vectors, *weights]))
    for own, gated in zip(*slopes, strict=True):
        torch.testing.assert_close(gated, own, atol=1e-5, rtol=1e-4)


def test_gates_of_texts_without_tokens(model: Any) -> None:
    nothing = torch.zeros(2, 0, dtype=torch.long)
    empty = model(input_ids=nothing).logits
    torch.testing.assert_close(model(input_ids=nothing, gates=torch.ones(2, 0)).logits, empty)


def test_it_is_a_citizen_of_transformers(model: Any, tmp_path: Any) -> None:
    tokenizer = word_tokenizer(VOCABULARY)
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    loaded = AutoModelForSequenceClassification.from_pretrained(tmp_path)
    read = AutoTokenizer.from_pretrained(tmp_path)
    text = "The film isn't bad, it's GOOD!"
    assert read(text)["input_ids"] == tokenizer(text)["input_ids"]
    pipe = TextClassificationPipeline(model=loaded, tokenizer=read)
    scores = {a["label"]: a["score"] for a in pipe(text, top_k=None)}
    logits = model(**tokenizer(text, return_tensors="pt")).logits
    assert scores["LABEL_1"] == pytest.approx(logits.softmax(dim=1)[0, 1].item(), abs=1e-6)
    explained = TextExplainer(pipe)(text, method=Sobol(base_masks=2))
    assert explained.probabilities == pytest.approx(scores, abs=1e-6)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Don't", ["do", "n't"]),
        ("it\u2019s", ["it", "'s"]),
        ("10/10!!!", ["10/10", "!!!"]),
        ("bad.<br /><br />GOOD", ["bad", ".", "good"]),
        ("bad.The U.S. film...", ["bad", ".", "the", "u.s", ".", "film", "..."]),
        ("(well-made)", ["(", "well-made", ")"]),
        ("3.5 stars", ["3.5", "stars"]),
        ("O'Brien's", ["o'brien", "'s"]),
        ("<br />", []),
    ],
)  # fmt: skip
def test_words_of_the_tokenizer(text: str, tokens: list[str]) -> None:
    backend = word_tokenizer([]).backend_tokenizer
    pieces = backend.pre_tokenizer.pre_tokenize_str(backend.normalizer.normalize_str(text))
    assert [piece for piece, _ in pieces] == tokens


def test_the_bundled_model_is_small_and_loads_as_single_precision() -> None:
    assert (BUNDLED / "model.safetensors").stat().st_size <= 8e6
    loaded = AutoModelForSequenceClassification.from_pretrained(BUNDLED)
    assert {p.dtype for p in loaded.parameters()} == {torch.float32}


def test_the_bundled_model_explains_a_review() -> None:
    text = "A gripping, beautifully acted film, ruined by its dull ending."
    explanation = TextExplainer()(text)
    assert explanation.settings["model"] == "imdb-bilstm"
    scores = {word.text: word.scores["POSITIVE"].score for word in explanation.words}
    assert scores["gripping"] > 0
    assert scores["beautifully"] > 0
    assert scores["dull"] < 0
    assert scores["ruined"] < 0
    top = {each.word for each in explanation.top(4)}
    assert top == {"gripping", "beautifully", "dull", "ruined"}


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("One of the best films I have ever seen, simply wonderful!", "POSITIVE"),
        ("A complete waste of time; boring and badly acted.", "NEGATIVE"),
    ],
)
def test_the_bundled_model_knows_praise_from_blame(text: str, label: str) -> None:
    explanation = TextExplainer()(text, method=Sobol(base_masks=2))
    assert explanation.prediction == label
    assert explanation.probabilities[label] > 0.9


def test_markup_is_no_word_to_the_bundled_model() -> None:
    explainer = TextExplainer()
    plain = explainer("A wonderful film. I loved it.", method=Sobol(base_masks=2))
    marked = explainer("A wonderful film.<br /><br />I loved it.", method=Sobol(base_masks=2))
    assert [w.text for w in marked.words] == [w.text for w in plain.words]
    assert marked.probabilities == pytest.approx(plain.probabilities, abs=1e-6)


def test_a_new_head_starts_from_sensible_weights() -> None:
    fresh = AutoModelForSequenceClassification.from_pretrained(
        BUNDLED, num_labels=3, ignore_mismatched_sizes=True
    )
    assert fresh.classifier.weight.shape == (3, 64)
    assert 0 < fresh.classifier.weight.abs().max() < 1
    kept = AutoModelForSequenceClassification.from_pretrained(BUNDLED)
    torch.testing.assert_close(fresh.embedding.weight, kept.embedding.weight)


def test_outputs_as_a_tuple(model: Any) -> None:
    inputs = padded([[2, 3]])
    loss, logits = model(**inputs, labels=torch.tensor([1]), return_dict=False)
    assert logits.shape == (1, 2)
    assert loss > 0


def test_the_bundled_tokenizer_does_not_truncate() -> None:
    read = AutoTokenizer.from_pretrained(BUNDLED)
    assert len(read.backend_tokenizer.encode("good " * 3000).ids) == 3000
