"""The words of many texts: sums that can be done by hand, the same from files as from memory."""

import csv
import math
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("datasets")

import datasets
import numpy as np
from pyarrow import parquet
from scipy import stats

from tests.corpus.samples import counting, reviews, tiny_model
from textsobol import TextExplainer, explain_corpus, read_explanations
from textsobol.corpus.view import corpus_view, read_sample, save_words
from textsobol.corpus.words import Candidates, CorpusWord, tally_words
from textsobol.text.explanation import TextExplanation
from textsobol.text.records import Measures, Word


def explained(text: str, scores: list[float], parts: str = "") -> TextExplanation:
    """A text with a score for every word; a word without one is NaN."""
    words, start = [], 0
    for word, score in zip(text.split(), scores, strict=True):
        start = text.index(word, start)
        own = {} if math.isnan(score) else {"+": Measures(score=score, effect=2 * score)}
        plain = word.strip(",.")
        words.append(Word(plain, start, start + len(plain), "scored" if own else "ignored", own))
        start += len(word)
    return TextExplanation(text, tuple(words), {"+": 1.0}, "+", {}, {})


def by_word(found: list[CorpusWord]) -> dict[str, CorpusWord]:
    return {word.word: word for word in found}


def test_means_are_over_occurrences_and_intervals_over_texts() -> None:
    """One text says it three times: that is not three times as sure."""
    texts = [
        explained("good good good", [0.9, 0.7, 0.8]),
        explained("Good film", [0.1, 0.0]),
        explained("so good", [0.0, 0.5]),
    ]
    word = by_word(tally_words(texts).words())["good"]
    assert (word.texts, word.occurrences) == (3, 5)
    assert word.score == pytest.approx(0.6)
    assert word.effect == pytest.approx(1.2)
    # Residuals of the texts' sums from what their numbers of words would give.
    residuals = np.array([2.4 - 3 * 0.6, 0.1 - 0.6, 0.5 - 0.6])
    half = stats.t.ppf(0.975, 2) * math.sqrt(3 / 2 * (residuals**2).sum()) / 5
    assert (word.low, word.high) == pytest.approx((0.6 - half, 0.6 + half))


def test_intervals_hold_the_mean_of_all_texts() -> None:
    """Of 400 samples of 30 texts, about 95 % of intervals hold what all texts would give."""
    rng = np.random.default_rng(0)
    hits = 0
    for _ in range(400):
        texts = []
        for _ in range(30):
            own = rng.normal(0.3, 0.2)  # words of a text are alike
            n_words = int(rng.integers(1, 4))
            scores = (own + rng.normal(0, 0.05, n_words)).tolist()
            texts.append(explained("good " * n_words, scores))
        (word,) = tally_words(texts).words()
        hits += word.low <= 0.3 <= word.high
    assert 0.91 <= hits / 400 <= 0.985


def test_strong_words_come_first_unless_they_are_rare() -> None:
    """Not those of every text, which have the greatest sum, nor one that a single text has."""
    texts = [explained("the worst film", [0.1, 2.0, 0.0]) for _ in range(20)]
    texts += [explained("the film", [0.1, 0.0]) for _ in range(980)]
    texts += [explained("abysmal", [3.0])]
    found = tally_words(texts).words()
    assert [word.word for word in found] == ["worst", "abysmal", "the", "film"]
    assert found[0].weight == pytest.approx(2.0 * 20 / 30)


def test_one_text_cannot_tell_how_sure_it_is() -> None:
    (word,) = tally_words([explained("good good", [0.1, 0.3])]).words()
    assert word.score == pytest.approx(0.2)
    assert math.isnan(word.low)
    assert math.isnan(word.high)


def test_phrases_are_neighbours_without_anything_between() -> None:
    nan = math.nan
    texts = [
        explained("not good, film", [-0.5, 0.2, 0.1]),
        explained("Not good film", [-0.4, 0.1, 0.1]),
        explained("not very good film", [-0.5, nan, 0.2, 0.0]),
    ]
    found = by_word(tally_words(texts).phrases())
    assert set(found) == {"not good", "good film"}, "the comma and the ignored word part others"
    assert (found["not good"].texts, found["not good"].length) == (2, 2)
    assert found["not good"].score == pytest.approx(-0.3)
    assert found["good film"].score == pytest.approx(0.2)
    assert found["good film"].effect == pytest.approx(0.4)


def test_counters_never_say_less_than_there_is() -> None:
    rng = np.random.default_rng(1)
    candidates = Candidates()
    true: dict[tuple[int, int], set[int]] = {}
    for number in range(50):
        places = rng.integers(0, 20, size=(40, 2))
        candidates.count(np.full(40, number), places)
        for one, other in places.tolist():
            true.setdefault((one, other), set()).add(number)
    pairs = np.array(list(true))
    for least in (2, 5, 8):
        may_be = candidates.may_be_frequent(pairs, least)
        frequent = np.array([len(texts) >= least for texts in true.values()])
        assert may_be[frequent].all()
        assert may_be.sum() <= 1.1 * frequent.sum() + 3, "few others share a counter"


def test_words_of_files_are_those_of_memory(tmp_path: Path) -> None:
    texts = [*reviews(30), "", "good, bad film\n\ngood film"]
    data = datasets.Dataset.from_dict({"text": texts})
    explainer = TextExplainer(tiny_model().model, tiny_model()._classifier.tokenizer, ignore=["is"])
    found = explain_corpus(explainer, data, out=tmp_path, shard_size=7, budget=120)
    view = corpus_view(found)
    assert (view.texts, view.failed, sum(view.predicted.values())) == (31, 1, 31)
    explanations = list(found)
    for read, wanted in (
        (view.words, tally_words(explanations).words()),
        (view.phrases, tally_words(explanations).phrases()),
    ):
        there = {(word.word, word.label): word for word in read}
        assert len(there) == len(read) == len(wanted) >= 20
        for word in wanted:
            same = there[word.word, word.label]
            assert (same.texts, same.occurrences) == (word.texts, word.occurrences)
            numbers = [(w.score, w.low, w.high, w.effect) for w in (same, word)]
            assert numbers[0] == pytest.approx(numbers[1], abs=1e-12, nan_ok=True)
    assert not any(" is" in phrase.word for phrase in view.phrases)


def test_pairs_and_unknown_effects_are_read(tmp_path: Path) -> None:
    data = datasets.Dataset.from_dict({"a": ["good film"] * 2, "b": ["not bad"] * 2})
    found = explain_corpus(
        tiny_model(), data, out=tmp_path, column="a", pair_column="b", method="occlusion"
    )
    view = corpus_view(found)
    assert {p.word for p in view.phrases} == {"good film", "not bad"}, "not across the two texts"
    assert all(math.isnan(word.effect) for word in view.words)


def test_tables_hold_all_words(tmp_path: Path) -> None:
    data = datasets.Dataset.from_dict({"text": ["good film", "bad film", "good film, so long"]})
    view = corpus_view(explain_corpus(counting(), data, out=tmp_path / "out"))
    every = [*view.words, *view.phrases]
    save_words(every, tmp_path / "words.csv")
    save_words(every, tmp_path / "words.parquet")
    rows = parquet.read_table(tmp_path / "words.parquet").to_pylist()
    assert len(rows) == len(every) == 2 * (5 + 1)
    good = next(row for row in rows if (row["word"], row["label"]) == ("good", "good"))
    assert (good["texts"], good["occurrences"], good["score"], good["length"]) == (2, 2, 1, 1)
    assert next(row for row in rows if row["word"] == "long")["low"] is None
    with (tmp_path / "words.csv").open() as file:
        lines = list(csv.DictReader(file))
    assert [line["word"] for line in lines] == [row["word"] for row in rows]
    assert next(line for line in lines if line["word"] == "long")["low"] == ""
    with pytest.raises(ValueError, match=r"known: .csv, .parquet"):
        save_words(every, tmp_path / "words.xlsx")


def test_texts_are_drawn_by_their_ids(tmp_path: Path) -> None:
    rows = [{"id": f"r{k}", "text": text} for k, text in enumerate(reviews(30))]
    drawn = []
    for name, own, size in (("a", rows, 4), ("b", rows[::-1], 9)):
        data = datasets.Dataset.from_list(own)
        explain_corpus(counting(), data, out=tmp_path / name, id_column="id", shard_size=size)
        found = read_explanations(tmp_path / name)
        texts = [one.text for one in read_sample(found, corpus_view(found, sample=6))]
        order = [row["text"] for row in own]
        assert texts == sorted(texts, key=lambda text: order.index(str(text))), (
            "in the order of the input"
        )
        drawn.append(set(texts))
    assert drawn[0] == drawn[1]
    assert len(drawn[0]) == 6
