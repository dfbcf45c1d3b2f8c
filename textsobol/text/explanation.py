"""An explanation: the words of a text and what each did to every label."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from pathlib import Path as File
from typing import Any

import numpy as np

from textsobol.files import read_file, write_text
from textsobol.labels import choose_target
from textsobol.methods import Attribution
from textsobol.text import serialise
from textsobol.text.records import (
    FlipSet,
    Measures,
    Path,
    Sums,
    Word,
    WordPair,
    WordScore,
    name_words,
)
from textsobol.text.scores import advise_passes, compute_sums, make_word_records


@dataclass(frozen=True, repr=False)
class TextExplanation:
    """Which words made a classifier decide as it did.

    Attributes:
        text: the text, or the two texts of a pair.
        words: all words in the order of the text.
        probabilities: what the classifier says of the whole text, by label.
        target: the label that is explained: the predicted one, unless another was chosen.
        cost: masks, distinct masks, forward passes, share of padding, seconds.
        settings: model, method and everything else that made this explanation.
        pairs: words that were analysed together, if ``interactions`` were requested.
        path: the deletions that lower the prediction the soonest, as far as a search found.
        sums: by label, how its log-odds for this text add up.
        advised: by label, the forward passes that would settle which words are on top, where the
            masks leave that open, or ``None`` where they are too close to call; see `advice`.
        evidence: the scored masks, which `contrast` needs; not saved.
    """

    text: str | tuple[str, str]
    words: tuple[Word, ...]
    probabilities: Mapping[str, float]
    target: str
    cost: Mapping[str, float]
    settings: Mapping[str, Any]
    pairs: tuple[WordPair, ...] = ()
    path: Path | None = None
    sums: Mapping[str, Sums] = field(default_factory=dict)
    advised: Mapping[str, int | None] = field(default_factory=dict)
    evidence: Attribution | None = field(default=None, compare=False)

    @property
    def texts(self) -> tuple[str, ...]:
        """The one or two texts."""
        return (self.text,) if isinstance(self.text, str) else tuple(self.text)

    @property
    def prediction(self) -> str:
        """The label with the highest probability, or the answer that is explained."""
        if self.answer is not None:
            return self.answer
        return max(self.probabilities, key=lambda label: self.probabilities[label])

    @property
    def answer(self) -> str | None:
        """The answer of a language model that is explained; the other targets are parts of it."""
        return self.settings.get("answer")

    @property
    def targets(self) -> tuple[str, ...]:
        """The labels that were analysed."""
        scored = [word for word in self.words if word.status == "scored"]
        return tuple(scored[0].scores) if scored else ()

    @property
    def is_exact(self) -> bool:
        """Whether all masks of the words (not of groups) were scored: no sampling error."""
        return self.settings.get("estimator") == "exact" and not self.is_grouped

    @property
    def is_grouped(self) -> bool:
        """Whether some words were masked as one group, because the budget was too small."""
        return any(word.shared_by > 1 for word in self.words)

    @property
    def n_screened(self) -> int:
        """Number of words that were screened out: their scores are predictions."""
        return sum(word.screened_out for word in self.words)

    @property
    def flip(self) -> FlipSet | None:
        """The fewest words found whose deletion changes the prediction, or ``None``."""
        return None if self.path is None else self.path.flip

    @property
    def baseline(self) -> float:
        """Mean of the label's log-odds over all masks."""
        return self._sums.baseline

    @property
    def additive(self) -> float:
        """What the words' effects add to the baseline in this text."""
        return self._sums.additive

    @property
    def remainder(self) -> float:
        """What is left, from words together: baseline + additive + remainder = log-odds."""
        return self._sums.remainder

    @property
    def additive_share(self) -> float:
        """Share of the variation that words cause alone, the sum of ``first``."""
        return self._sums.additive_share

    @property
    def _sums(self) -> Sums:
        if self.target not in self.sums:
            raise ValueError(
                f"method {self.settings.get('method')!r} does not say how scores add up; "
                f"method='sobol' does"
            )
        return self.sums[self.target]

    @property
    def advice(self) -> str | None:
        """How to settle which words are the strongest, five at most, where that is open."""
        if self.target not in self.advised:
            return None
        passes = self.advised[self.target]
        if passes is None:
            return "which words are the strongest is too close to call, even with many more passes"
        if self.settings.get("estimator") == "gates":
            return "which words are the strongest is not settled yet: method='sobol' measures it"
        how = f"budget={passes}"
        if "precision" not in self.settings:
            how += ", or method=Sobol(precision=0.95)"
        return (
            f"which words are the strongest is not settled yet; about {passes:,} forward passes "
            f"should settle it, or come close ({how})"
        )

    def for_target(self, name: str) -> TextExplanation:
        """The same explanation for another label, from the same masks."""
        return replace(self, target=choose_target(name, self.targets, self.probabilities))

    def contrast(self, label: str, other: str) -> TextExplanation:
        """Why one label and not the other: scores of the difference of their log-odds.

        From the same masks, so that it costs no forward pass. For a model with two labels the
        scores are those of ``label``, and the effects are twice as large.

        Args:
            label: the label that a positive score supports.
            other: the label that a negative score supports.

        Example:
            >>> from textsobol import TextExplainer
            >>> def topics(texts):
            ...     return [[t.count("goal"), t.count("vote"), t.count("star")] for t in texts]
            >>> explainer = TextExplainer(topics, label_names=["sports", "politics", "film"])
            >>> why = explainer("A star goal, a vote").contrast("sports", "politics")
            >>> [(each.word, round(each.score, 2)) for each in why.top(2)]
            [('goal', 0.5), ('vote', -0.5)]
        """
        for name in (label, other):
            choose_target(name, self.targets, self.probabilities)
        if label == other:
            raise ValueError(f"contrast needs two different labels, not {label!r} twice")
        found = self.evidence
        if found is None or found.indices is None:
            raise ValueError(
                "contrast needs the scored masks, which only an explanation by method='sobol' has, "
                "and which are not saved: explain the text again"
            )
        indices = found.indices.contrast(self.targets.index(label), self.targets.index(other))
        found = replace(found, indices=indices)
        name = f"{label} rather than {other}"
        value = self.sums[label].value - self.sums[other].value
        bare = [replace(word, scores={}, shared_by=1) for word in self.words]
        passes = len(self.settings.get("candidate_labels", ())) or 1
        return replace(
            self,
            words=make_word_records(bare, [name], found),
            target=name,
            pairs=(),
            sums=compute_sums([name], found, np.array([value])),
            advised=advise_passes([name], found, passes=passes, budget=self.settings.get("budget")),
            evidence=None,
            settings={**self.settings, "contrast": [label, other]},
        )

    def score_of(self, word: Word) -> Measures:
        """What a word did to the label that is explained."""
        return word.scores.get(self.target, Measures())

    @property
    def ranking(self) -> list[int]:
        """Numbers of the scored words, the highest absolute score first."""
        scored = [k for k, word in enumerate(self.words) if word.status == "scored"]
        return sorted(scored, key=lambda k: -abs(self.score_of(self.words[k]).score))

    def top(self, k: int = 10) -> list[WordScore]:
        """The k words with the highest absolute score, with all that is known of each.

        Example:
            >>> from textsobol import TextExplainer
            >>> def shouting(texts):
            ...     return [text.count("!") + 2.0 * ("great" in text) for text in texts]
            >>> for each in TextExplainer(shouting)("A great film!!").top(2):
            ...     print(each)
            great: +0.500, effect +2.00
            !!: +0.500, effect +2.00
        """
        return list(islice(self._rank(), max(0, k)))

    def _rank(self) -> Iterator[WordScore]:
        """Words and groups of words, the highest absolute score first."""
        names, groups = self.names, self._group()
        done: set[int] = set()
        for number in self.ranking:
            if number in done:
                continue
            members = groups[number]
            done.update(members)
            first, last = self.words[members[0]], self.words[members[-1]]
            # A group that reaches into the second text of a pair has its place in the first.
            end = max(self.words[k].end for k in members if self.words[k].part == first.part)
            text, name = first.text, names[number]
            if len(members) > 1:
                whole = self.texts[first.part][first.start : end]
                name = text = whole if first.part == last.part else f"{first.text} ... {last.text}"
            yield WordScore(
                **vars(self.score_of(first)),
                word=text, name=name, start=first.start, end=end, part=first.part,
                label=self.target, shared_by=first.shared_by, screened_out=first.screened_out,
            )  # fmt: skip

    def _group(self) -> dict[int, list[int]]:
        """For every scored word the words that were masked together with it."""
        scored = [k for k, word in enumerate(self.words) if word.status == "scored"]
        groups: dict[int, list[int]] = {}
        for place, number in enumerate(scored):
            if number not in groups:
                members = scored[place : place + self.words[number].shared_by]
                groups.update(dict.fromkeys(members, members))
        return groups

    @property
    def names(self) -> list[str]:
        """All words by name: those that occur several times have a number."""
        return name_words(self.words)

    def to_dict(self) -> dict[str, Any]:
        """A dictionary of plain values, in the documented schema."""
        return serialise.to_dict(vars(self), self.prediction)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> TextExplanation:
        """The explanation from a dictionary that `to_dict` made.

        Raises:
            ValueError: that names the place, such as ``words[3].start``, for anything else.
        """
        return cls(**serialise.from_dict(data))

    def save(self, path: str | File) -> None:
        """Write the explanation to a file of the kind that its suffix names.

        ``.json`` holds everything, and `load` reads it again. ``.html`` is a page that needs no
        network. ``.png`` and ``.svg`` are plots and need matplotlib.
        """
        path = File(path)
        suffix = path.suffix.lower()
        if suffix == ".json":
            write_text(path, json.dumps(self.to_dict(), ensure_ascii=False))
        elif suffix == ".html":
            from textsobol.render.page import render_explanation

            write_text(path, render_explanation(self))
        elif suffix in (".png", ".svg"):
            from textsobol.render.plots import save_plot

            save_plot(self, path)
        else:
            known = ".json, .html, .png, .svg"
            raise ValueError(f"cannot save as {suffix or 'a file without suffix'}; known: {known}")

    @classmethod
    def load(cls, path: str | File) -> TextExplanation:
        """Read what `save` wrote as ``.json``.

        Raises:
            ValueError: that names the file and the place in it, for anything else.
        """
        from textsobol.schemas import MOST_BYTES
        from textsobol.validation import read_json

        content = read_file(path, MOST_BYTES)
        try:
            return cls.from_dict(read_json(content))
        except ValueError as error:
            raise ValueError(f"{path} is no explanation saved as .json: {error}") from error

    def to_dataframe(self) -> Any:
        """A row for every word and label, with the columns of `WordScore`; needs pandas."""
        try:
            import pandas
        except ImportError as error:
            raise ImportError("to_dataframe needs pandas: pip install pandas") from error
        rows = [
            {"word": word.text, "name": name, "start": word.start, "end": word.end,
             "part": word.part, "status": word.status, "shared_by": word.shared_by,
             "screened_out": word.screened_out,
             "label": label, **asdict(word.scores.get(label, Measures()))}
            for word, name in zip(self.words, self.names, strict=True)
            for label in self.targets
        ]  # fmt: skip
        return pandas.DataFrame(rows)

    def show(self, top: int = 10) -> None:
        """Print the explanation, with colours where the output is a terminal."""
        from rich.console import Console

        from textsobol.render.terminal import show

        show(self, Console(), top=top)

    def plot(self, *, top: int = 15, axes: Any = None) -> Any:
        """Draw the strongest words with their intervals and the path, if any; needs matplotlib.

        Args:
            top: number of words.
            axes: matplotlib axes to draw the bars into, and to return; by default a new figure.
        """
        from textsobol.render.plots import plot

        return plot(self, top=top, axes=axes)

    def __str__(self) -> str:
        from textsobol.render.terminal import as_text

        return as_text(self)

    def __repr__(self) -> str:
        n_scored = sum(word.status == "scored" for word in self.words)
        top = ", ".join(f"{each.name} {each.score:+.3f}" for each in self.top(3))
        more = ", ..." if n_scored > 3 else ""
        return f"TextExplanation({self.target}: {top}{more}; {n_scored} words scored)"

    def _repr_html_(self) -> str:
        from textsobol.render.page import render_notebook

        return render_notebook(self)
