"""Words and phrases over many texts: which of them push to which label.

Only sums per word are kept, no texts, so that memory grows with the vocabulary only. Uses numpy,
not pyarrow: a report of explanations in memory needs no extra.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import stdtrit

from textsobol.sobol.arrays import Array, Floats, Integers
from textsobol.text.explanation import TextExplanation

_MOST_WORDS = 3  # of a phrase
_LEVEL = 0.95
_TEXTS_WITHOUT_EFFECT = 10
_LEAST_TEXTS, _ONE_IN = 2, 1000  # a phrase must be in two texts, or in one of a thousand
_BUCKETS = 1 << 21
_MIX = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9], dtype=np.uint64)


@dataclass(frozen=True)
class CorpusWord:
    """The score of a word, or a phrase, for a label over all texts.

    Attributes:
        word: the word in lower case, or the words of a phrase with spaces between them.
        label: the label.
        texts: number of texts that contain it.
        occurrences: number of times it was scored.
        score: mean of its scores; the score of a phrase is the sum of its words' scores.
        low: lower end of the 95 % interval of the mean, over texts; NaN for a single text.
        high: upper end.
        effect: mean of its known effects.
        length: number of words.
    """

    word: str
    label: str
    texts: int
    occurrences: int
    score: float
    low: float
    high: float
    effect: float
    length: int = 1

    @property
    def weight(self) -> float:
        """The score, as if ten more texts contained the word with a score of 0.

        High for words with high scores that are not rare. A sum of scores would favour words that
        are in every text; a mean, words of a single text.
        """
        return self.score * self.texts / (self.texts + _TEXTS_WITHOUT_EFFECT)


@dataclass(frozen=True)
class Occurrences:
    """The scored words of some texts, one after another.

    Attributes:
        documents: number of each word's text ``(words,)``.
        words: in lower case.
        follows: whether only white space separates it from the one before ``(words,)``.
        scores: by label; NaN if the label was not analysed ``(words,)``.
        effects: by label; NaN if unknown ``(words,)``.
    """

    documents: Integers
    words: Sequence[str]
    follows: Array
    scores: dict[str, Floats]
    effects: dict[str, Floats]


class Candidates:
    """Upper bounds of how many texts contain a phrase; phrases share counters.

    The first pass over the texts counts here, in constant memory; the second counts exactly the
    phrases whose counter is high enough, and no others (Park, Chen and Yu 1995).
    """

    def __init__(self) -> None:
        self._counts = np.zeros(_BUCKETS, dtype=np.uint32)

    def count(self, documents: Integers, phrases: Integers) -> None:
        """Count phrases, each once per text.

        Args:
            documents: number of each phrase's text ``(phrases,)``.
            phrases: numbers of the words of each phrase ``(phrases, length)``.
        """
        pairs = np.unique(documents * _BUCKETS + self._hash(phrases))
        np.add.at(self._counts, pairs % _BUCKETS, 1)

    def may_be_frequent(self, phrases: Integers, least_texts: int) -> Array:
        """Whether phrases may be in at least ``least_texts`` texts ``(phrases,)``."""
        return np.asarray(self._counts[self._hash(phrases)] >= least_texts)

    @staticmethod
    def _hash(phrases: Integers) -> Integers:
        mixed = (phrases.astype(np.uint64) + np.uint64(1)) * _MIX[: phrases.shape[1]]
        mixed = np.bitwise_xor.reduce(mixed ^ (mixed >> np.uint64(29)), axis=1)
        return np.asarray((mixed >> np.uint64(20)) % np.uint64(_BUCKETS), dtype=np.int64)


class WordTally:
    """Sums over texts, for every word and phrase and every label.

    Args:
        least_texts: number of texts that must contain a phrase; by default two, or one of a
            thousand.
    """

    def __init__(self, least_texts: int | None = None) -> None:
        self._least_texts = least_texts
        self._words: dict[str, int] = {}  # numbered in the order of their first occurrence
        self._phrases: dict[tuple[int, ...], int] = {}  # numbers of their words, numbered likewise
        self._word_sums: dict[str, _Sums] = defaultdict(_Sums)  # by label
        self._phrase_sums: dict[str, _Sums] = defaultdict(_Sums)
        self._candidates = Candidates()
        self.n_texts = 0

    @property
    def least_texts(self) -> int:
        """Number of texts that must contain a phrase."""
        return self._least_texts or max(_LEAST_TEXTS, -(-self.n_texts // _ONE_IN))

    def add(self, found: Occurrences, n_texts: int) -> None:
        """Count words, and find candidates for frequent phrases; a text must not be split."""
        self.n_texts += n_texts
        codes = _number(found.words, self._words)
        for label, scores in found.scores.items():
            self._word_sums[label].add(found.documents, codes, scores, found.effects[label])
        for starts, phrases in _find_phrases(codes, found.follows):
            self._candidates.count(found.documents[starts], phrases)

    def add_phrases(self, found: Occurrences) -> None:
        """Count the phrases that may be frequent, in a second pass over the same texts."""
        codes = _number(found.words, self._words)
        for starts, phrases in _find_phrases(codes, found.follows):
            is_likely = self._candidates.may_be_frequent(phrases, self.least_texts)
            starts, phrases = starts[is_likely], phrases[is_likely]
            numbers = _number(map(tuple, phrases.tolist()), self._phrases)
            words = starts + np.arange(phrases.shape[1])[:, None]
            for label, scores in found.scores.items():
                values, effects = (each[words].sum(0) for each in (scores, found.effects[label]))
                documents = found.documents[starts]
                self._phrase_sums[label].add(documents, numbers, values, effects)

    def words(self) -> list[CorpusWord]:
        """All words for every label, highest weight first."""
        return _list_words(self._word_sums, [(word,) for word in self._words], 1)

    def phrases(self) -> list[CorpusWord]:
        """Phrases of enough texts for every label, highest weight first."""
        words = list(self._words)
        names = [tuple(words[code] for code in phrase) for phrase in self._phrases]
        return _list_words(self._phrase_sums, names, self.least_texts)


def _list_words(
    sums: Mapping[str, _Sums], names: Sequence[tuple[str, ...]], least_texts: int
) -> list[CorpusWord]:
    found = [
        CorpusWord(" ".join(names[number]), label, *means, length=len(names[number]))
        for label, own in sums.items()
        for number, means in own.means(least_texts)
    ]
    return sorted(found, key=lambda each: (-abs(each.weight), each.word, each.label))


def _number(names: Iterable[Any], known: dict[Any, int]) -> Integers:
    """Numbers of names; new names are added to ``known``."""
    return np.array([known.setdefault(name, len(known)) for name in names], dtype=np.int64)


def _find_phrases(codes: Integers, follows: Array) -> Iterator[tuple[Integers, Integers]]:
    """Phrases of two words, then of three: their first words, and the codes of all their words."""
    starts = np.arange(len(codes))
    for length in range(2, _MOST_WORDS + 1):
        starts = starts[starts + length <= len(codes)]
        starts = starts[follows[starts + length - 1]]
        if len(starts):
            yield starts, codes[starts[:, None] + np.arange(length)]


class _Sums:
    """Sums per word, from which its mean and the mean's error are computed."""

    # texts, n, score, score², n·score, n² (of each text), effect, number of known effects
    _COLUMNS = 8

    def __init__(self) -> None:
        self._table = np.zeros((256, self._COLUMNS))

    def add(self, documents: Integers, codes: Integers, scores: Floats, effects: Floats) -> None:
        known = ~np.isnan(scores)
        if not known.any():
            return
        documents, codes = documents[known], codes[known]
        scores, effects = scores[known], effects[known]
        distinct, word = np.unique(codes, return_inverse=True)
        pairs, pair = np.unique(documents * len(distinct) + word, return_inverse=True)
        n, total = np.bincount(pair).astype(float), np.bincount(pair, weights=scores)
        per_text = (np.ones_like(n), n, total, total**2, n * total, n**2)
        columns = [np.bincount(pairs % len(distinct), weights=values) for values in per_text]
        has_effect = ~np.isnan(effects)
        per_word = (np.where(has_effect, effects, 0.0), has_effect)
        columns += [np.bincount(word, weights=values) for values in per_word]
        while distinct[-1] >= len(self._table):
            self._table = np.concatenate([self._table, np.zeros_like(self._table)])
        self._table[distinct] += np.stack(columns, axis=1)

    def means(
        self, least_texts: int
    ) -> Iterator[tuple[int, tuple[int, int, float, float, float, float]]]:
        """Each word's number; its texts, occurrences, mean score, interval and mean effect."""
        numbers = np.flatnonzero(self._table[:, 0] >= least_texts)
        texts, n, total, squares, products, n_squared, effects, n_effects = self._table[numbers].T
        mean = total / n
        # The mean of all occurrences is a ratio of sums over texts: texts are the sample.
        residual = np.maximum(0, squares - 2 * mean * products + mean**2 * n_squared)
        several = np.where(texts > 1, texts, np.nan)
        error = np.sqrt(residual * several / (several - 1)) / n
        half = error * stdtrit(several - 1, 0.5 + _LEVEL / 2)
        effect = effects / np.where(n_effects > 0, n_effects, np.nan)
        columns = (texts.astype(int), n.astype(int), mean, mean - half, mean + half, effect)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        yield from zip(numbers.tolist(), rows, strict=True)


def tally_words(explanations: Iterable[TextExplanation]) -> WordTally:
    """Count the words and phrases of explanations in memory.

    Example:
        >>> from textsobol import TextExplainer
        >>> def praise(texts):
        ...     return [text.lower().count("good") - 2.0 * ("not good" in text) for text in texts]
        >>> texts = ["it is not good", "Good music", "not good, no"]
        >>> tally = tally_words(TextExplainer(praise, label_names=["praise"]).many(texts))
        >>> [(word.word, word.texts) for word in tally.words()[:2]]
        [('not', 2), ('good', 3)]
        >>> [(phrase.word, phrase.texts, phrase.effect) for phrase in tally.phrases()]
        [('not good', 2, -1.0)]
    """
    tally, found = WordTally(), [_find_words(explanation) for explanation in explanations]
    for each in found:
        tally.add(each, 1)
    for each in found:
        tally.add_phrases(each)
    return tally


def _find_words(explanation: TextExplanation) -> Occurrences:
    """The words of one text that were not masked as part of a group."""
    scored = [k for k, word in enumerate(explanation.words) if word.scores and word.shared_by == 1]
    words = [explanation.words[k] for k in scored]
    labels = list(dict.fromkeys(label for word in words for label in word.scores))
    documents = np.zeros(len(words), dtype=np.int64)
    spans = np.array([(word.part, word.start, word.end) for word in words], dtype=np.int64)
    texts = [[text] for text in explanation.texts]

    def values(label: str, name: str) -> Floats:
        found = (word.scores.get(label) for word in words)
        return np.array([math.nan if one is None else getattr(one, name) for one in found])

    return Occurrences(
        documents,
        [word.text.lower() for word in words],
        find_neighbours(texts, documents, np.array(scored, dtype=np.int64), spans.reshape(-1, 3)),
        {label: values(label, "score") for label in labels},
        {label: values(label, "effect") for label in labels},
    )


def find_neighbours(
    texts: Sequence[Sequence[str]], documents: Integers, numbers: Integers, spans: Integers
) -> Array:
    """Whether only white space separates a scored word from the one before ``(words,)``.

    Args:
        texts: by part (0 or 1) and document.
        documents: number of each word's text ``(words,)``.
        numbers: number of each word among all words, scored or not ``(words,)``.
        spans: part, start and end of the words ``(words, 3)``.
    """
    part, start, end = spans.T
    follows = np.zeros(len(numbers), dtype=bool)
    follows[1:] = (np.diff(numbers) == 1) & (np.diff(documents) == 0) & (np.diff(part) == 0)
    for k in np.flatnonzero(follows).tolist():
        follows[k] = not texts[part[k]][documents[k]][end[k - 1] : start[k]].strip()
    return follows
