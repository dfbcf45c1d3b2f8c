"""Words over many texts: which of them push to which label."""

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import fmean

from textsobol.text.explanation import TextExplanation


@dataclass(frozen=True)
class CorpusWord:
    """What a word did to a label over all texts.

    Attributes:
        word: the word, in lower case.
        label: the label.
        texts: number of texts that have it.
        occurrences: number of times that it was scored.
        score: mean of its signed scores.
        effect: mean of its effects, where they are known.
    """

    word: str
    label: str
    texts: int
    occurrences: int
    score: float
    effect: float

    @property
    def weight(self) -> float:
        """Sum of the signed scores: high for words that are strong and frequent."""
        return self.score * self.occurrences


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
    texts: dict[tuple[str, str], set[int]] = defaultdict(set)
    scores: dict[tuple[str, str], list[float]] = defaultdict(list)
    effects: dict[tuple[str, str], list[float]] = defaultdict(list)
    for number, explanation in enumerate(explanations):
        for word in explanation.words:
            for label, score in word.scores.items():
                key = word.text.lower(), label
                texts[key].add(number)
                scores[key].append(score.score)
                if not math.isnan(score.effect):  # what a word does alone is not always known
                    effects[key].append(score.effect)
    found = [
        CorpusWord(
            word=word,
            label=label,
            texts=len(texts[word, label]),
            occurrences=len(own),
            score=sum(own) / len(own),
            effect=fmean(effects[word, label]) if effects[word, label] else math.nan,
        )
        for (word, label), own in scores.items()
    ]
    return sorted(found, key=lambda each: (-abs(each.weight), each.word, each.label))
