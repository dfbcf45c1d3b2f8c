"""Words and phrases over many texts: which of them push to which label.

Sums are kept for every word, and no text is: memory grows with the vocabulary only.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from textsobol.corpus.phrases import Candidates, phrases_in
from textsobol.sobol.arrays import Array, Floats, Integers
from textsobol.text.explanation import TextExplanation

MOST_WORDS = 3  # of a phrase
_LEVEL = 0.95
_TEXTS_WITHOUT_EFFECT = 10
_LEAST_TEXTS, _LEAST_SHARE = 2, 1000  # of a phrase: two texts, or one of a thousand


@dataclass(frozen=True)
class CorpusWord:
    """What a word, or a phrase, did to a label over all texts.

    Attributes:
        word: the word in lower case, or the words of a phrase with spaces between them.
        label: the label.
        texts: number of texts that have it.
        occurrences: number of times that it was scored.
        score: mean of its signed scores; that of a phrase is the sum of its words' scores.
        low: lower end of the 95 % interval of the mean, over texts; NaN where one text cannot tell.
        high: upper end of it.
        effect: mean of its effects, where they are known.
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
        """The score, as if ten more texts had the word without effect.

        High for words that are strong and not rare. A sum of scores would put words that stand
        in every text first, a mean those that stand in one.
        """
        return self.score * self.texts / (self.texts + _TEXTS_WITHOUT_EFFECT)


@dataclass(frozen=True)
class Occurrences:
    """The scored words of some texts, one after another.

    Attributes:
        documents: the text that each is in, by number ``(words,)``.
        words: each as it is written.
        follows: whether only white space is between it and the one before ``(words,)``.
        scores: by label, of each; NaN where the label was not analysed ``(words,)``.
        effects: the same; NaN where it is not known ``(words,)``.
    """

    documents: Integers
    words: Sequence[str]
    follows: Array
    scores: dict[str, Floats]
    effects: dict[str, Floats]


class WordTally:
    """Sums over texts, for every word and phrase and every label."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}
        self._names: list[str] = []
        self._words: dict[str, _Sums] = {}
        self._phrases: dict[tuple[str, int], _Sums] = {}
        self._phrase_names: dict[int, tuple[dict[bytes, int], list[str]]] = {}
        self._candidates = Candidates()
        self.n_texts = 0

    @property
    def least_texts(self) -> int:
        """Texts that a phrase must be in: two, or one of a thousand."""
        return max(_LEAST_TEXTS, -(-self.n_texts // _LEAST_SHARE))

    def add(self, found: Occurrences, n_texts: int) -> None:
        """Count words, and which phrases may be frequent; no text comes in two parts."""
        self.n_texts += n_texts
        codes = self._codes(found.words)
        for label, scores in found.scores.items():
            sums = self._words.setdefault(label, _Sums())
            sums.add(found.documents, codes, scores, found.effects[label])
        for _, places, documents, _ in phrases_in(codes, found, MOST_WORDS):
            self._candidates.count(documents, places)

    def add_phrases(self, found: Occurrences, least_texts: int) -> None:
        """Count phrases in a second pass over the same texts, those that may be frequent."""
        codes = self._codes(found.words)
        for length, places, documents, starts in phrases_in(codes, found, MOST_WORDS):
            likely = self._candidates.may_be_frequent(places, least_texts)
            if not likely.any():
                continue
            own, at = places[likely], starts[likely]
            numbers = self._phrase_numbers(length, own)
            for label, scores in found.scores.items():
                sums = self._phrases.setdefault((label, length), _Sums())
                values, effects = (
                    np.sum([each[at + k] for k in range(length)], axis=0)
                    for each in (scores, found.effects[label])
                )
                sums.add(documents[likely], numbers, values, effects)

    def words(self) -> list[CorpusWord]:
        """All words for every label, those with the most weight first."""
        found = (
            CorpusWord(self._names[place], label, *told)
            for label, sums in self._words.items()
            for place, told in sums.told()
        )
        return _ordered(found)

    def phrases(self, least_texts: int) -> list[CorpusWord]:
        """Phrases in at least so many texts, for every label, those with the most weight first."""
        found = (
            CorpusWord(self._phrase_names[length][1][place], label, *told, length)
            for (label, length), sums in self._phrases.items()
            for place, told in sums.told(least_texts)
        )
        return _ordered(found)

    def _codes(self, words: Sequence[str]) -> Integers:
        codes = np.empty(len(words), dtype=np.int64)
        for k, word in enumerate(words):
            name = word.lower()
            place = self._places.get(name)
            if place is None:
                place = self._places[name] = len(self._names)
                self._names.append(name)
            codes[k] = place
        return codes

    def _phrase_numbers(self, length: int, places: Integers) -> Integers:
        known, names = self._phrase_names.setdefault(length, ({}, []))
        distinct, inverse = np.unique(places, axis=0, return_inverse=True)
        numbers = np.empty(len(distinct), dtype=np.int64)
        for k, one in enumerate(distinct):
            key = one.tobytes()
            if key not in known:
                known[key] = len(names)
                names.append(" ".join(self._names[place] for place in one))
            numbers[k] = known[key]
        return numbers[inverse.ravel()]


class _Sums:
    """Of every key: texts, occurrences and what means and their errors are made of."""

    # texts, n, score, score², n·score, n² (of each text), effect, effects that are known
    _COLUMNS = 8

    def __init__(self) -> None:
        self._table = np.zeros((256, self._COLUMNS))

    def add(self, documents: Integers, codes: Integers, scores: Floats, effects: Floats) -> None:
        known = ~np.isnan(scores)
        documents, codes = documents[known], codes[known]
        scores, effects = scores[known], effects[known]
        if not len(codes):
            return
        distinct, local = np.unique(codes, return_inverse=True)
        size = len(distinct)
        pairs, inverse = np.unique(documents * size + local, return_inverse=True)
        of_pair = pairs % size
        times = np.bincount(inverse).astype(float)
        sums = np.bincount(inverse, weights=scores)
        told = ~np.isnan(effects)
        columns = [
            np.bincount(of_pair, weights=values, minlength=size)
            for values in (np.ones(len(pairs)), times, sums, sums**2, times * sums, times**2)
        ]
        columns.append(np.bincount(local[told], weights=effects[told], minlength=size))
        columns.append(np.bincount(local[told], minlength=size))
        while distinct[-1] >= len(self._table):
            self._table = np.concatenate([self._table, np.zeros_like(self._table)])
        self._table[distinct] += np.stack(columns, axis=1)

    def told(
        self, least_texts: int = 1
    ) -> Iterator[tuple[int, tuple[int, int, float, float, float, float]]]:
        """Place, texts, occurrences, mean score, its interval, mean effect."""
        places = np.flatnonzero(self._table[:, 0] >= least_texts)
        texts, times, sums, squares, products, times_squared, effects, n_effects = self._table[
            places
        ].T
        means = sums / times
        # The mean of all occurrences is a ratio of sums over texts; texts, not words, are drawn.
        residual = np.maximum(0, squares - 2 * means * products + means**2 * times_squared)
        several = np.where(texts > 1, texts, np.nan)
        error = np.sqrt(residual * several / (several - 1)) / times
        half = error * stdtrit(several - 1, 0.5 + _LEVEL / 2)
        effect = np.divide(
            effects, n_effects, out=np.full_like(effects, np.nan), where=n_effects > 0
        )
        columns = (texts.astype(int), times.astype(int), means, means - half, means + half, effect)
        yield from zip(
            places.tolist(), zip(*(c.tolist() for c in columns), strict=True), strict=True
        )


def corpus_words(explanations: Iterable[TextExplanation]) -> list[CorpusWord]:
    """All words of all texts for every label, those with the most weight first.

    Example:
        >>> from textsobol import TextExplainer
        >>> def praise(texts):
        ...     return [text.lower().count("good") + text.count("fine") for text in texts]
        >>> texts = ["a good film", "Good, fine music"]
        >>> found = corpus_words(TextExplainer(praise, labels=["praise"]).many(texts))
        >>> [(word.word, word.texts, word.effect) for word in found[:2]]
        [('good', 2, 1.0), ('fine', 1, 1.0)]
    """
    tally = WordTally()
    for explanation in explanations:
        tally.add(occurrences_of(explanation), 1)
    return tally.words()


def corpus_phrases(explanations: Sequence[TextExplanation]) -> list[CorpusWord]:
    """Neighbouring words that several texts have, for every label, the weightiest first.

    Example:
        >>> from textsobol import TextExplainer
        >>> def negated(texts):
        ...     return [-1.0 * ("not good" in text) for text in texts]
        >>> texts = ["it is not good", "not good, no"]
        >>> found = corpus_phrases(list(TextExplainer(negated, labels=["praise"]).many(texts)))
        >>> [(phrase.word, phrase.texts, phrase.effect) for phrase in found]
        [('not good', 2, -1.0)]
    """
    tally = WordTally()
    for explanation in explanations:
        tally.add(occurrences_of(explanation), 1)
    for explanation in explanations:
        tally.add_phrases(occurrences_of(explanation), tally.least_texts)
    return tally.phrases(tally.least_texts)


def occurrences_of(explanation: TextExplanation) -> Occurrences:
    """The words of one text that have scores of their own, not those of a group."""
    scored = [k for k, word in enumerate(explanation.words) if word.scores and word.shared_by == 1]
    words = [explanation.words[k] for k in scored]
    labels = list(dict.fromkeys(label for word in words for label in word.scores))
    follows = [False] * len(words)
    for place in range(1, len(words)):
        before, word = words[place - 1], words[place]
        gap = explanation.texts[word.part][before.end : word.start]
        is_next = scored[place] == scored[place - 1] + 1 and before.part == word.part
        follows[place] = is_next and not gap.strip()

    def values(label: str, name: str) -> Floats:
        found = (word.scores.get(label) for word in words)
        return np.array([math.nan if one is None else getattr(one, name) for one in found])

    return Occurrences(
        np.zeros(len(words), dtype=np.int64),
        [word.text for word in words],
        np.array(follows, dtype=bool),
        {label: values(label, "score") for label in labels},
        {label: values(label, "effect") for label in labels},
    )


def _ordered(found: Iterable[CorpusWord]) -> list[CorpusWord]:
    return sorted(found, key=lambda each: (-abs(each.weight), each.word, each.label))
