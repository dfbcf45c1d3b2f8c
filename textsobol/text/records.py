"""The records of an explanation: words with their measures, pairs, path, sums."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields


@dataclass(frozen=True, eq=False)
class Measures:
    """The measures of one word for one label; NaN if unknown.

    Fields that end in ``low`` and ``high`` are the ends of 95 % intervals.

    Attributes:
        score: the signed total Sobol index: the word's share of the variation of the label's
            log-odds, with the sign of its effect (plus if the effects cancel out); for other
            attribution methods, their own score.
        low: lower end for the score; the interval spans 0 if the sign of the effect is unclear.
        total: the share without its sign: of the variation that involves the word, alone or with
            others.
        first: the share that the word causes alone.
        effect: mean change of the label's log-odds when the word is present; at keep rate 0.5 the
            Banzhaf value.
        stability: how often the word is among the top ten when base masks are resampled.
    """

    score: float = 0.0
    low: float = 0.0
    high: float = 0.0
    total: float = 0.0
    total_low: float = 0.0
    total_high: float = 0.0
    first: float = 0.0
    first_low: float = 0.0
    first_high: float = 0.0
    effect: float = 0.0
    effect_low: float = 0.0
    effect_high: float = 0.0
    stability: float = 0.0

    def __eq__(self, other: object) -> bool:
        # Two numbers that are both unknown are equal.
        return isinstance(other, Measures) and self._comparable() == other._comparable()

    def __hash__(self) -> int:
        return hash(self._comparable())

    def _comparable(self) -> tuple[object, ...]:
        values = vars(self).values()
        return tuple(None if isinstance(v, float) and math.isnan(v) else v for v in values)

    @property
    def is_clear(self) -> bool:
        """Whether the score is known to differ from 0: its interval excludes 0."""
        return self.low > 0 or self.high < 0

    @property
    def doubt(self) -> str:
        """What is unclear about the score: nothing, its direction, or whether it is 0."""
        if math.isnan(self.low) or self.is_clear or self.low == self.high:
            return ""
        if self.total_low == self.total_high:
            return "no direction on average"  # exact: the effects cancel out
        return "direction unclear" if self.total_low > 0 else "may be 0"

    @classmethod
    def of_score(cls, score: float) -> Measures:
        """Measures of an attribution method that gives only a score."""
        unknown = {field.name: math.nan for field in fields(cls)}
        return cls(**{**unknown, "score": score})


@dataclass(frozen=True)
class Word:
    """A word, its place in the text and its measures.

    Attributes:
        text: the word as written.
        start: where it starts in the text; ``end`` is where it ends.
        status: ``scored``, ``ignored`` or ``outside`` (of the model's window).
        scores: measures by label.
        part: 0, or 1 for words of the second text of a pair.
        shared_by: number of neighbouring words masked as one group because the budget was small;
            their measures are those of the group.
        screened_out: whether the word was not flipped, because gate gradients said that it hardly
            matters: its measures are predictions.
        name: of a part of a prompt, such as "document 2"; else empty.
    """

    text: str
    start: int
    end: int
    status: str = "scored"
    scores: Mapping[str, Measures] = field(default_factory=dict)
    part: int = 0
    shared_by: int = 1
    screened_out: bool = False
    name: str = ""


@dataclass(frozen=True, eq=False)
class WordScore(Measures):
    """A word of the ranking, with its place and its measures for one label; prints as one line.

    Attributes:
        word: the word as written, or the words of a group.
        name: the word with a number where it occurs several times: "very (2)".
        label: the label whose measures these are.

    The other fields are those of `Word`.
    """

    word: str = ""
    name: str = ""
    start: int = 0
    end: int = 0
    part: int = 0
    label: str = ""
    shared_by: int = 1
    screened_out: bool = False

    def __str__(self) -> str:
        has_width = not math.isnan(self.low) and self.low != self.high
        interval = (
            f" ({format_signed(self.low)} to {format_signed(self.high)})" if has_width else ""
        )
        effect = "" if math.isnan(self.effect) else f", effect {self.effect:+.2f}"
        return f"{self.name}: {format_signed(self.score)}{interval}{effect}"


@dataclass(frozen=True)
class PairScore:
    """The interaction of two words: their effect together, beyond each alone.

    Attributes:
        effect: mean change of the label's score beyond the sum of the two: positive if they
            reinforce each other.
        low: lower end of the 95 % interval of the effect; ``high`` is the upper one.
        total: share of the score's variance that needs both words.
    """

    effect: float
    low: float
    high: float
    total: float


@dataclass(frozen=True)
class WordPair:
    """Two words that were analysed together.

    Attributes:
        words: their numbers among the explanation's words.
        scores: by label.
    """

    words: tuple[int, int]
    scores: Mapping[str, PairScore]


@dataclass(frozen=True)
class Deletion:
    """One step of the path: the deleted words, and the prediction after this deletion.

    Attributes:
        words: numbers of the deleted words: one, or those of a group.
        text: the deleted words by name; see `name_words`.
        probabilities: by label, after this deletion and all before it.
        prediction: the label now predicted; a tie keeps that of the whole text.
    """

    words: tuple[int, ...]
    text: str
    probabilities: Mapping[str, float]
    prediction: str


@dataclass(frozen=True)
class FlipSet:
    """Words whose deletion changes the prediction.

    Attributes:
        words: their numbers among the explanation's words, in the order of the text.
        texts: their names; see `name_words`.
        probabilities: by label, without these words.
        prediction: the label predicted without them.
        is_irreducible: whether every word is needed: putting any one back restores the
            prediction. Also false if the budget ran out before this was checked, or if words were
            masked as a group.
        is_smallest: whether no smaller set exists; known if all masks were scored.
    """

    words: tuple[int, ...]
    texts: tuple[str, ...]
    probabilities: Mapping[str, float]
    prediction: str
    is_irreducible: bool = True
    is_smallest: bool = False

    def __str__(self) -> str:
        left = format_probability(self.probabilities[self.prediction])
        return f"without {join_words(self.texts)}: {self.prediction} {left}"


@dataclass(frozen=True)
class Path:
    """The order of deletions that a search found to change the prediction soonest.

    It has no scores and no intervals; another seed may find another path about as good.

    Attributes:
        label: the predicted label, whose probability the deletions lower.
        steps: the deletions, in order.
        flip: the smallest flip set found, or ``None``.
        rises: whether deletions raise the probability instead, because a single output below 0.5
            predicts "no".
    """

    label: str
    steps: tuple[Deletion, ...]
    flip: FlipSet | None = None
    rises: bool = False

    @property
    def lowest(self) -> Deletion | None:
        """The step with the lowest probability of the label, or the highest if it ``rises``."""
        sign = -1 if self.rises else 1
        return min(self.steps, key=lambda step: sign * step.probabilities[self.label], default=None)

    def __str__(self) -> str:
        return "\n".join(
            f"- {step.text}: {self.label} {step.probabilities[self.label]:.3f}"
            + ("" if step.prediction == self.label else f", now {step.prediction}")
            for step in self.steps
        )


@dataclass(frozen=True)
class Sums:
    """How a label's log-odds for this text add up: baseline + additive + remainder.

    Attributes:
        baseline: mean over all masks.
        additive: contribution of the words' effects: the sum of (1 - keep rate) x effect.
        remainder: contribution of interactions.
        additive_share: share of the variation that words cause alone: the sum of ``first``.
        screened: sum of ``total`` over the words that were screened out by gates, or over the
            groups whose words were only masked together.
        screened_high: upper end of its 95 % interval; of groups, the sum of their upper ends.
    """

    baseline: float
    additive: float
    remainder: float
    additive_share: float
    screened: float = 0.0
    screened_high: float = 0.0

    @property
    def value(self) -> float:
        """The label's log-odds for the whole text."""
        return self.baseline + self.additive + self.remainder


def format_signed(value: float, digits: int = 3) -> str:
    """The number with its sign; ``0`` if it rounds to 0.

    Example:
        >>> format_signed(0.25), format_signed(-0.25), format_signed(-0.0001)
        ('+0.250', '-0.250', '0')
    """
    shown = f"{value:+.{digits}f}"
    return shown if float(shown) else "0"


def format_probability(value: float) -> str:
    """Two digits, or three if two would read 0.50.

    Example:
        >>> format_probability(0.614), format_probability(0.504)
        ('0.61', '0.504')
    """
    return f"{value:.2f}" if f"{value:.2f}" != "0.50" else f"{value:.3f}"


def name_words(words: Sequence[Word]) -> list[str]:
    """All words as written, or by name; repeated ones with a number: "very (2)".

    Example:
        >>> name_words([Word("very", 0, 4), Word("very", 5, 9), Word("good", 10, 14)])
        ['very (1)', 'very (2)', 'good']
    """
    texts = [word.name or word.text for word in words]
    count = Counter(texts)
    seen: Counter[str] = Counter()
    names = []
    for text in texts:
        seen[text] += 1
        names.append(f"{text} ({seen[text]})" if count[text] > 1 else text)
    return names


def join_words(texts: Sequence[str]) -> str:
    """Join words with commas and "and".

    Example:
        >>> join_words(["dull", "long", "ruined"])
        'dull, long and ruined'
    """
    *others, last = texts
    return f"{', '.join(others)} and {last}" if others else last
