"""Texts beyond the model's window: all their words are scored, by windows that slide over them."""

import json
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch

from tests.text.tiny import FAMILIES, counting_bert, random_model, tokenizer
from textsobol import Sobol, TextExplainer, TextExplanation, Windows
from textsobol.text.windows import find_windows

WORDS = ["the", "plot", "is", "good", "but", "ending", "bad", "and", "long", "film", "not", "why"]


def write(n_words: int, seed: int = 0) -> str:
    return " ".join(np.random.default_rng(seed).choice(WORDS, size=n_words).tolist())


def cut_slowly(tok: Any, words: list[str], room: int, stride: int) -> list[tuple[int, int]]:
    """Windows (first word, word after the last), one word at a time."""

    def size(start: int, stop: int) -> int:
        return len(tok(" ".join(words[start:stop]), add_special_tokens=False)["input_ids"])

    windows, start = [], 0
    while True:
        stop = start + 1
        while stop < len(words) and size(start, stop + 1) <= room:
            stop += 1
        windows.append((start, stop))
        if stop == len(words):
            return windows
        start += 1
        while size(start, stop) > stride:
            start += 1


def run_slowly(
    model: Any, tok: Any, text: str, masks: Any, *, room: int, stride: int, aggregate: str
) -> Any:
    """Logits of masked texts: strings are built, and the model is called for each window."""
    words = text.split(" ")
    windows = cut_slowly(tok, words, room, stride)
    assert len(windows) > 2
    found = []
    for mask in masks:
        logits = []
        for start, stop in windows:
            kept = " ".join(words[k] for k in range(start, stop) if mask[k])
            inputs = tok(kept, return_tensors="pt")
            if not inputs["input_ids"].numel():  # no special tokens, and nothing left
                inputs = tok(tok.eos_token, return_tensors="pt")
            with torch.no_grad():
                logits.append(model(**inputs).logits[0].double().numpy())
        found.append(np.mean(logits, axis=0) if aggregate == "mean" else np.max(logits, axis=0))
    return np.array(found)


@pytest.mark.parametrize("aggregate", ["mean", "max"])
@pytest.mark.parametrize("family", ["wordpiece uncased", "byte bpe, roberta", "unigram, always"])
def test_logits_are_those_of_windows_run_one_by_one(family: str, aggregate: str) -> None:
    tok = tokenizer(family)
    model = random_model("bert", tok, max_position_embeddings=64)
    text = write(150)
    explainer = TextExplainer(
        model, tok, long=Windows(aggregate, stride=10), score="output", progress=False
    )
    masked = explainer.masked(text)
    rng = np.random.default_rng(1)
    masks = rng.random((12, 150)) < np.linspace(0, 1, 12)[:, None]
    special = len(tok("")["input_ids"])
    wanted = run_slowly(model, tok, text, masks, room=64 - special, stride=10, aggregate=aggregate)
    np.testing.assert_allclose(masked.score_masks(masks), wanted, atol=1e-5)
    # In another order, when windows are known, and nothing but windows.
    np.testing.assert_allclose(masked.score_masks(masks[::-1]), wanted[::-1], atol=1e-5)


def test_windows_cover_the_text_and_share_what_they_may() -> None:
    def count(text: str) -> int:
        return sum(-(-len(run) // 3) for run in text.split())

    rng = np.random.default_rng(0)
    letters = np.array(list("abc 的\n\u3000\x1c\u200b"))
    for trial in range(200):
        weights = rng.dirichlet(np.ones(len(letters)))
        text = "".join(rng.choice(letters, size=rng.integers(1, 120), p=weights))
        if not text.strip():
            continue
        words = [(k, k + 1) for k, letter in enumerate(text) if letter == "的"]
        room = int(rng.integers(2, 12))
        stride = int(rng.integers(0, room // 2 + 1))
        cut = find_windows(text, words, room=room, stride=stride, count_tokens=count)
        seen = {k for start, end in cut for k in range(start, end)}
        assert {k for k, letter in enumerate(text) if not letter.isspace()} <= seen, trial
        assert all(count(text[start:end]) <= room for start, end in cut)
        for (_, end), (start, later) in pairwise(cut):
            assert count(text[start:end]) <= stride
            assert later > end


def test_a_mask_runs_only_the_windows_whose_words_it_leaves_out() -> None:
    tok = tokenizer()
    model = counting_bert(tok)
    rows: list[int] = []
    model.register_forward_pre_hook(
        lambda module, args, kwargs: rows.append(len(kwargs["input_ids"])), with_kwargs=True
    )
    masked = TextExplainer(model, tok, long=Windows(stride=0), progress=False).masked(write(150))
    n_windows = masked.details["windows"]
    assert n_windows == sum(rows) >= 3
    masks = np.ones((3, 150), dtype=bool)
    masks[0, 1], masks[1, 149], masks[2, [1, 149]] = False, False, False
    masked.score_masks(masks)
    assert sum(rows) == n_windows + 2, "the first and the last window; the third mask has both"
    assert masked.cost.metadata()["windows"] == n_windows + 2
    assert masked.cost.passes == 4, "masked texts"


def explain(text: Any, method: Any = "sobol", **options: Any) -> TextExplanation:
    settings = {name: options.pop(name) for name in ("budget", "target") if name in options}
    tok = tokenizer()
    options = {"long": "window", "progress": False, **options}
    return TextExplainer(counting_bert(tok), tok, **options)(text, method=method, **settings)


def test_every_word_is_scored_and_settings_say_how(recwarn: pytest.WarningsRecorder) -> None:
    found = explain(write(200), "occlusion", target="LABEL_1")
    assert not recwarn.list
    assert all(word.status == "scored" for word in found.words)
    scores: dict[str, set[float]] = {}
    for record in found.top(200):
        scores.setdefault(record.word, set()).add(record.score)
    assert min(scores["good"]) > 0 > max(scores["bad"])
    own = {name: found.settings[name] for name in ("long", "window", "windows", "stride")}
    assert own == {"long": "window", "window": 64, "windows": 4, "stride": 15}
    assert found.settings["aggregate"] == "mean"
    assert 150 < found.cost["forwarded"] <= 201, "the same without either of two equal neighbours"
    assert found.cost["forwarded"] < found.cost["windows"] < 2 * found.cost["forwarded"]
    again = TextExplanation.from_dict(json.loads(json.dumps(found.to_dict())))
    assert (again.settings, again.cost) == (found.settings, found.cost)


METHODS = [
    "sobol", Sobol(path=False, gates=False), Sobol(interactions=3), "gates", "occlusion", "lime",
    "kernel_shap", "partition_shap", "rise", "greedy", "random",
]  # fmt: skip


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_every_method_sees_the_whole_text(method: Any) -> None:
    if "shap" in str(method) or method == "lime":
        pytest.importorskip(str(method).rpartition("_")[2])
    # One decisive word beyond the first window, in a text without others.
    text = " ".join(["the film is long"] * 30 + ["good"] + ["the plot is long"] * 2)
    options = {"budget": 300} if "shap" in str(method) or method == "lime" else {}
    found = explain(text, method, target="LABEL_1", **options)
    assert found.settings["windows"] == 3
    assert {word.status for word in found.words} == {"scored"}
    if method != "random":
        assert found.top(1)[0].word == "good"


def test_gradient_methods_say_that_they_see_one_window() -> None:
    pytest.importorskip("captum")
    with pytest.raises(ValueError, match="gradient methods see one window of the model"):
        explain(write(200), "saliency")
    assert explain("A good film", "saliency").words


@pytest.mark.parametrize("aggregate", ["mean", "max"])
def test_gate_gradients_are_those_of_all_windows(aggregate: str) -> None:
    """Against differences of logits at two gates, in double precision."""
    tok = tokenizer()
    model = random_model("bert", tok, max_position_embeddings=64).double()
    explainer = TextExplainer(model, tok, long=Windows(aggregate), progress=False)
    masked = explainer.masked(write(120))
    assert masked.takes_gates
    gates = np.random.default_rng(0).uniform(0.3, 0.9, size=(2, 120))
    slopes = masked.slopes(gates, is_decision=False)

    def score(own: Any) -> Any:
        logits = torch.cat([
            text.forward(torch.tensor(own[None, columns])) for text, columns in masked._gated
        ])  # fmt: skip
        whole = logits.mean(dim=0) if aggregate == "mean" else logits.amax(dim=0)
        return (whole[1] - whole[0]).item()

    for word in (0, 40, 50, 119):
        step = np.zeros(120)
        step[word] = 1e-5
        wanted = [(score(row + step) - score(row - step)) / 2e-5 for row in gates]
        np.testing.assert_allclose(slopes[:, word, 1], wanted, rtol=1e-4, atol=1e-7)


def test_a_text_that_fits_is_explained_as_ever() -> None:
    text = write(40)
    own, usual = explain(text), explain(text, long="outside")
    assert own.top(40) == usual.top(40)
    assert own.settings["windows"] == 1
    assert "long" not in usual.settings
    assert "windows" not in own.cost


def test_a_model_without_a_window_is_given_all_of_the_text() -> None:
    def count(texts: list[str]) -> list[float]:
        return [text.count("good") for text in texts]

    found = TextExplainer(count, long="window", progress=False)(write(300), method="occlusion")
    assert found.settings["windows"] == 1
    assert {each.score for each in found.top(300) if each.word == "good"} == {1.0}


def test_the_longer_text_of_a_pair_is_cut() -> None:
    tok = tokenizer()
    model = random_model("bert", tok, max_position_embeddings=64)
    explainer = TextExplainer(model, tok, long=Windows(stride=0), score="output", progress=False)
    question, text = write(10, seed=3), write(90)
    masked = explainer.masked((question, text))
    masks = np.random.default_rng(0).random((4, 100)) < 0.6
    wanted = []
    words = text.split(" ")
    for mask in masks:
        logits = []
        for start, stop in cut_slowly(tok, words, 64 - 3 - 10, 0):
            parts = (
                " ".join(w for w, kept in zip(own, is_kept, strict=True) if kept)
                for own, is_kept in (
                    (question.split(" "), mask[:10]),
                    (words[start:stop], mask[10 + start : 10 + stop]),
                )
            )
            with torch.no_grad():
                logits.append(model(**tok(*parts, return_tensors="pt")).logits[0].numpy())
        wanted.append(np.mean(logits, axis=0))
    np.testing.assert_allclose(masked.score_masks(masks), wanted, atol=1e-5)
    with pytest.raises(ValueError, match="the other may have 30 tokens at most, not 40"):
        explainer((write(40), text))


def test_zero_shot_labels_share_the_windows_of_a_text() -> None:
    tok = tokenizer()
    model = random_model("bert", tok, max_position_embeddings=64, num_labels=3)
    model.config.id2label = {0: "contradiction", 1: "neutral", 2: "entailment"}
    model.config.label2id = {name: k for k, name in model.config.id2label.items()}
    from transformers import pipeline

    pipe = pipeline("zero-shot-classification", model=model, tokenizer=tok)
    explainer = TextExplainer(
        pipe, candidate_labels=["good film", "bad film"], long="window", score="output",
        progress=False,
    )  # fmt: skip
    masked = explainer.masked(write(150))
    windows = [
        explainer.masked(text).score_masks(np.ones((1, len(text.split())), dtype=bool))[0]
        for (text,), _, _ in masked._classifier.cut(masked._seen, masked._spans)  # type: ignore[attr-defined]
    ]
    assert len(windows) > 2
    found = masked.score_masks(np.ones((1, 150), dtype=bool))[0]
    np.testing.assert_allclose(found, np.mean(windows, axis=0), atol=1e-5)
    assert masked.cost.passes == 2


def test_units_may_lie_in_several_windows() -> None:
    sentence = "The plot is good but the ending is bad and long. "
    found = explain(sentence * 20, "occlusion", unit="sentence")
    assert len(found.words) == 20
    assert all(word.status == "scored" for word in found.words)
    assert found.settings["windows"] > 3


def test_a_copy_in_another_dtype_is_compared_on_all_windows() -> None:
    found = explain(write(150), Sobol(path=False, gates=False), budget=160, dtype="bfloat16")
    plain = explain(write(150), Sobol(path=False, gates=False), budget=160)
    assert 0 < found.settings["precision_difference"] < 0.2
    assert found.cost["windows"] == plain.cost["windows"]


def test_wrong_options_are_refused() -> None:
    with pytest.raises(ValueError, match="unknown long='windows'; known: 'outside', 'window'"):
        explain("A film", long="windows")
    with pytest.raises(ValueError, match="unknown aggregate 'sum'; known: mean, max"):
        Windows(aggregate="sum")
    with pytest.raises(ValueError, match="stride=-1: must be 0 or more"):
        Windows(stride=-1)
    with pytest.raises(ValueError, match="stride=40: windows of 62 tokens can share at most 31"):
        explain(write(100), long=Windows(stride=40))


def test_families_of_tokenizers_agree_on_fast_and_slow_tokens() -> None:
    for family in FAMILIES:
        tok = tokenizer(family)
        model = random_model("bert", tok, max_position_embeddings=64)
        masks = np.random.default_rng(2).random((6, 120)) < 0.5
        one, other = (
            TextExplainer(model, tok, long="window", progress=False, _token_path=path)
            .masked(write(120))
            .score_masks(masks)
            for path in (True, False)
        )
        np.testing.assert_allclose(one, other, atol=1e-5)
