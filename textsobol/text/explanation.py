"""An explanation: the words of a text and what each did to every label."""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, astuple, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

SCHEMA = 1
# What the first files of this schema did not hold yet.
_NOT_TOLD = dict.fromkeys(("total_low", "total_high", "first_low", "first_high"), math.nan)


@dataclass(frozen=True, eq=False)
class WordScore:
    """What one word did to one label.

    Attributes:
        score: ranks and colours the word: its total index, with a minus where the effect is
            negative (plus where effects cancel out); with ``method="focus"`` its mean effect along
            the path of deletions; with another method what that gives.
        error: standard error of the score; infinite where it is not known.
        low: lower end of the 95 % interval of the score.
        high: upper end of the 95 % interval of the score.
        total: share of the score's variance that the word has a part in.
        total_low: lower end of the 95 % interval of ``total``.
        total_high: upper end of it.
        first: share that it causes alone.
        first_low: lower end of the 95 % interval of ``first``.
        first_high: upper end of it.
        effect: mean change of the label's score when the word is present.
        stability: how often the word is among the top ten when base rows are resampled.
    """

    score: float = 0.0
    error: float = 0.0
    low: float = 0.0
    high: float = 0.0
    total: float = 0.0
    total_low: float = 0.0
    total_high: float = 0.0
    first: float = 0.0
    first_low: float = 0.0
    first_high: float = 0.0
    effect: float = 0.0
    stability: float = 0.0

    def __eq__(self, other: object) -> bool:
        # Two numbers that are both unknown are the same.
        return isinstance(other, WordScore) and self._told() == other._told()

    def __hash__(self) -> int:
        return hash(self._told())

    def _told(self) -> tuple[float | None, ...]:
        return tuple(None if math.isnan(value) else value for value in astuple(self))

    @classmethod
    def alone(cls, score: float) -> "WordScore":
        """Of a method that tells nothing but a score: all else is not known."""
        unknown = {field.name: math.nan for field in fields(cls)}
        return cls(**{**unknown, "score": score, "error": math.inf})


@dataclass(frozen=True)
class Word:
    """A word, where it stands and what it did.

    Attributes:
        text: the word as written.
        start: where it starts in the text.
        end: where it ends.
        status: ``scored``, ``ignored`` or ``outside`` (of what the model can see).
        scores: by label.
        part: 0, or 1 for words of the second text of a pair.
        shared_by: number of words that share its score equally, because there were too few forward
            passes to look at each.
    """

    text: str
    start: int
    end: int
    status: str = "scored"
    scores: Mapping[str, WordScore] = field(default_factory=dict)
    part: int = 0
    shared_by: int = 1


@dataclass(frozen=True)
class PairScore:
    """What two words do to a label together, beyond what each does alone.

    Attributes:
        effect: mean change of the label's score beyond the sum of the two: positive when they
            reinforce each other.
        low: lower end of the 95 % interval of the effect.
        high: upper end of it.
        total: share of the score's variance that needs both words.
    """

    effect: float
    low: float
    high: float
    total: float


@dataclass(frozen=True)
class WordPair:
    """Two words that were looked at together.

    Attributes:
        words: their numbers among the explanation's words.
        scores: by label.
    """

    words: tuple[int, int]
    scores: Mapping[str, PairScore]


@dataclass(frozen=True)
class Deletion:
    """What the classifier says after one more word is deleted.

    Attributes:
        word: number of the deleted word among the explanation's words.
        probability: what is left of the label's probability.
        prediction: the label that is now predicted.
    """

    word: int
    probability: float
    prediction: str


@dataclass(frozen=True, repr=False)
class TextExplanation:
    """Which words made a classifier decide as it did.

    Attributes:
        text: the text, or the two texts of a pair.
        words: all words in the order of the text.
        probabilities: what the classifier says of the whole text, by label.
        label: the label that is looked at: the predicted one, unless another was chosen.
        cost: rows, distinct rows, rows forwarded, padding share, seconds.
        settings: model, method and everything else that made this explanation.
        pairs: words that were looked at together, when ``interactions`` were asked for.
        whatif: by label, its strongest words deleted one after another, when asked for.
    """

    text: str | tuple[str, str]
    words: tuple[Word, ...]
    probabilities: Mapping[str, float]
    label: str
    cost: Mapping[str, float]
    settings: Mapping[str, Any]
    pairs: tuple[WordPair, ...] = ()
    whatif: Mapping[str, tuple[Deletion, ...]] = field(default_factory=dict)

    @property
    def texts(self) -> tuple[str, ...]:
        """The one or two texts."""
        return (self.text,) if isinstance(self.text, str) else tuple(self.text)

    @property
    def prediction(self) -> str:
        """The label with the highest probability."""
        return max(self.probabilities, key=lambda label: self.probabilities[label])

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels that were analysed."""
        scored = [word for word in self.words if word.status == "scored"]
        return tuple(scored[0].scores) if scored else ()

    def for_label(self, name: str) -> "TextExplanation":
        """The same explanation, looked at for another label."""
        from textsobol.labels import checked_label

        return replace(self, label=checked_label(name, self.labels, self.probabilities))

    def score_of(self, word: Word) -> WordScore:
        """What a word did to the label that is looked at."""
        return word.scores.get(self.label, WordScore())

    @property
    def ranking(self) -> list[int]:
        """Numbers of the scored words, the highest absolute score first."""
        scored = [k for k, word in enumerate(self.words) if word.status == "scored"]
        return sorted(scored, key=lambda k: -abs(self.score_of(self.words[k]).score))

    def top(self, k: int = 10) -> list[tuple[str, float, tuple[float, float]]]:
        """The k words with the highest absolute score: word, score, 95 % interval.

        The interval is that of the score; with ``method="focus"`` it is that of the word's share of
        the variation, ``total``.
        """
        found = self.strongest(k)
        if self.settings.get("method") == "focus":
            return [(word.text, own.score, (own.total_low, own.total_high)) for word, own in found]
        return [(word.text, own.score, (own.low, own.high)) for word, own in found]

    def strongest(self, k: int) -> list[tuple[Word, WordScore]]:
        """The k words with the highest absolute score, and all that is known of each."""
        words = [self.words[number] for number in self.ranking[:k]]
        return [(word, self.score_of(word)) for word in words]

    def to_dict(self) -> dict[str, Any]:
        """A dictionary of plain values, in the documented schema."""
        return {
            "schema": SCHEMA,
            "text": self.text if isinstance(self.text, str) else list(self.text),
            "prediction": {
                "label": self.prediction,
                "probabilities": dict(self.probabilities),
            },
            "label": self.label,
            "words": [_word_to_dict(word) for word in self.words],
            "pairs": [_pair_to_dict(pair) for pair in self.pairs],
            "whatif": {
                label: [asdict(step) for step in steps] for label, steps in self.whatif.items()
            },
            "cost": dict(self.cost),
            "settings": dict(self.settings),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "TextExplanation":
        """The explanation that `to_dict` was made of."""
        if data.get("schema") != SCHEMA:
            raise ValueError(
                f"schema {data.get('schema')!r} is not known to this version; it reads {SCHEMA}"
            )
        if "text" not in data:
            raise ValueError("this is no explanation of a text; ImageExplanation reads pictures")
        text = data["text"]
        return cls(
            text=text if isinstance(text, str) else (text[0], text[1]),
            words=tuple(_word_from_dict(word) for word in data["words"]),
            probabilities=dict(data["prediction"]["probabilities"]),
            label=data["label"],
            cost=dict(data["cost"]),
            settings=dict(data["settings"]),
            pairs=tuple(_pair_from_dict(pair) for pair in data.get("pairs", ())),
            whatif={
                label: tuple(Deletion(**step) for step in steps)
                for label, steps in data.get("whatif", {}).items()
            },
        )

    def save(self, path: str | Path) -> None:
        """Write the explanation to a file; the suffix says how.

        ``.json`` holds everything, and `load` reads it again. ``.html`` is a page to look at, on
        its own and without a network. ``.png`` and ``.svg`` are plots and need matplotlib.
        """
        path = Path(path)
        suffix = path.suffix.lower()
        if suffix == ".json":
            path.write_text(json.dumps(self.to_dict(), ensure_ascii=False), encoding="utf-8")
        elif suffix == ".html":
            from textsobol.render.page import explanation_html

            path.write_text(explanation_html(self), encoding="utf-8")
        elif suffix in (".png", ".svg"):
            from textsobol.render.plots import save_plot

            save_plot(self, path)
        else:
            known = ".json, .html, .png, .svg"
            raise ValueError(f"cannot save as {suffix or 'a file without suffix'}; known: {known}")

    @classmethod
    def load(cls, path: str | Path) -> "TextExplanation":
        """Read what `save` wrote as ``.json``."""
        try:
            data = json.loads(Path(path).read_text(encoding="utf-8"))
        except json.JSONDecodeError as error:
            raise ValueError(f"{path} is no explanation saved as .json: {error}") from error
        return cls.from_dict(data)

    def to_dataframe(self) -> Any:
        """A row for every word and label; needs pandas."""
        try:
            import pandas
        except ImportError as error:
            raise ImportError("to_dataframe needs pandas: pip install pandas") from error
        rows = [
            {"word": word.text, "start": word.start, "end": word.end, "part": word.part,
             "status": word.status, "shared_by": word.shared_by, "label": label,
             **asdict(word.scores.get(label, WordScore()))}
            for word in self.words
            for label in self.labels
        ]  # fmt: skip
        return pandas.DataFrame(rows)

    def show(self, top: int = 10) -> None:
        """Print the explanation, with colours where the output is a terminal."""
        from rich.console import Console

        from textsobol.render.terminal import show

        show(self, Console(), top=top)

    def plot(self, *, top: int = 15, axes: Any = None) -> Any:
        """Draw the strongest words with their intervals and, if there is one, the deletion curve.

        Args:
            top: number of words.
            axes: matplotlib axes to draw the bars into; by default a new figure.

        Returns:
            The axes that were drawn into; needs matplotlib.
        """
        from textsobol.render.plots import plot

        return plot(self, top=top, axes=axes)

    def __str__(self) -> str:
        from textsobol.render.terminal import as_text

        return as_text(self)

    def __repr__(self) -> str:
        n_scored = sum(word.status == "scored" for word in self.words)
        top = ", ".join(f"{text} {score:+.3f}" for text, score, _ in self.top(3))
        more = ", ..." if n_scored > 3 else ""
        return f"TextExplanation({self.label}: {top}{more}; {n_scored} words scored)"

    def _repr_html_(self) -> str:
        from textsobol.render.page import notebook_html

        return notebook_html(self)


def _word_to_dict(word: Word) -> dict[str, Any]:
    # JSON has neither infinity nor NaN: what is not known is null.
    scores = {
        label: {name: v if math.isfinite(v) else None for name, v in vars(score).items()}
        for label, score in word.scores.items()
    }
    return {**vars(word), "scores": scores}  # asdict copies every number, which takes long


def _word_from_dict(data: Mapping[str, Any]) -> Word:
    scores = {
        label: WordScore(
            **{
                name: _known(value, math.inf if name == "error" else math.nan)
                for name, value in {**_NOT_TOLD, **score}.items()
            }
        )
        for label, score in data["scores"].items()
    }
    return Word(**{**data, "scores": scores})


def _pair_to_dict(pair: WordPair) -> dict[str, Any]:
    data = asdict(pair)
    data["words"] = list(pair.words)
    for score in data["scores"].values():
        # One base row leaves the ends of an interval unknown.
        score.update({e: score[e] if math.isfinite(score[e]) else None for e in ("low", "high")})
    return data


def _pair_from_dict(data: Mapping[str, Any]) -> WordPair:
    one, other = data["words"]
    scores = {
        label: PairScore(
            effect=score["effect"],
            low=_known(score["low"], -math.inf),
            high=_known(score["high"], math.inf),
            total=score["total"],
        )
        for label, score in data["scores"].items()
    }
    return WordPair((one, other), scores)


def _known(value: float | None, otherwise: float) -> float:
    return otherwise if value is None else value
