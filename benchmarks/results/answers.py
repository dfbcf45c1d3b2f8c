"""What the raw lines of all benchmarks answer, by question, family of models and method."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.deletion import report as deletion
from benchmarks.deletion.run import BOUNDS
from benchmarks.models import MODELS, model_of
from benchmarks.reporting import Estimate, Results, mean_with_interval, read_results
from benchmarks.results.methods import METHODS, OUR_DEFAULTS, is_rival
from benchmarks.results.questions import PASSES, QUESTIONS, Question
from benchmarks.shortcuts import reading as shortcuts

_MOST_METHODS = 0.7  # of those that a text could have
_MOST_TEXTS = 0.9  # of those that the method with most of them has
_OWN_BUDGET = "our default its own number"
_LOWEST_R2 = -1.0  # so that one failure does not decide a mean

File = tuple[str, str, Results]
"""A model, the name of a file, and what is in it."""


@dataclass(frozen=True)
class Source:
    """Where values come from.

    Attributes:
        files: of raw lines.
        texts: by model, file and text: number of ``words``, and passes a word that were ``asked``.
        budget: what is to be said of passes beyond that.
    """

    files: Sequence[File]
    texts: pd.DataFrame
    budget: str = ""


@dataclass(frozen=True)
class Answer:
    """How methods answer a question on the models of a family, all on the same texts.

    Attributes:
        question: that is asked.
        family: of models.
        values: texts that all methods have seen, by model, file and text, in rows; methods in
            columns.
        source: of the values.
    """

    question: Question
    family: str
    values: pd.DataFrame
    source: Source

    @cached_property
    def estimates(self) -> Mapping[str, Estimate]:
        """Means of methods with their intervals."""
        return {str(name): mean_with_interval(self.values[name]) for name in self.values}

    @property
    def ours(self) -> str | None:
        """Our default, with the passes of its rivals if that was measured."""
        return next((name for name in OUR_DEFAULTS if name in self.values), None)

    @property
    def rivals(self) -> list[str]:
        """Attributions of others."""
        return [name for name in self.values if is_rival(name)]

    @property
    def best_rival(self) -> str | None:
        """The attribution of others with the best mean."""
        sign = 1.0 if self.question.higher_is_better else -1.0
        return max(self.rivals, key=lambda name: sign * self.estimates[name].mean, default=None)

    @property
    def models(self) -> list[str]:
        """Names of the models, in the order of the table of models."""
        names = dict.fromkeys(self.values.index.get_level_values("model"))
        order = list(MODELS)
        return sorted(names, key=lambda name: order.index(name) if name in order else len(order))

    @property
    def files(self) -> list[File]:
        """Those whose lines are among the values."""
        kept = set(zip(*map(self.values.index.get_level_values, (0, 1)), strict=True))
        return [each for each in self.source.files if each[:2] in kept]

    @property
    def texts(self) -> pd.DataFrame:
        """What is known of the texts, in the order of the values."""
        return self.source.texts.reindex(self.values.index)


def read_answers(root: Path) -> list[Answer]:
    """All that has been measured.

    Args:
        root: the directory with the benchmarks, each with its raw lines in ``results``.
    """
    return [answer for read in _READERS for answer in read(root)]


def common(values: pd.DataFrame) -> pd.DataFrame:
    """Only texts and methods that can be compared: every number of a column has the same texts.

    Texts that few methods have seen are left out, then methods that have seen fewer texts.
    """
    n_methods = values.count(axis=1)
    values = values[n_methods >= _MOST_METHODS * n_methods.max()]
    return values.loc[:, values.count() >= _MOST_TEXTS * values.count().max()].dropna()


def _answers(name: str, values: pd.DataFrame, source: Source) -> Iterator[Answer]:
    """An answer for every family of models."""
    question = QUESTIONS[name]
    values = values[[each for each in METHODS if each in values]]
    families = values.index.get_level_values("model").map(lambda each: model_of(each).family)
    for family in dict.fromkeys(families):
        found = common(values[families == family])
        if not found.empty:
            yield Answer(question, family, found, source)


def _table(lines: Sequence[Mapping[str, Any]], value: str) -> pd.DataFrame:
    """Values of lines that have a model, a file, a text and a method."""
    frame = pd.DataFrame(lines)
    if frame.empty or value not in frame or frame[value].isna().all():
        return pd.DataFrame(index=_index())
    frame = frame[frame["method"].isin(METHODS)].astype({value: float})
    return frame.pivot_table(
        index=["model", "file", "text"], columns="method", values=value, aggfunc="first"
    )


def _index() -> pd.MultiIndex:
    return pd.MultiIndex.from_arrays([[], [], []], names=["model", "file", "text"])


def _source(files: Sequence[File], lines: Sequence[Mapping[str, Any]], budget: str = "") -> Source:
    columns = ["model", "file", "text", "words", "asked"]
    frame = pd.DataFrame(lines, columns=columns).astype({"words": float, "asked": float})
    texts = frame.groupby(columns[:3])[columns[3:]].max()
    return Source(files, texts, budget)


def _paths(root: Path, part: str, pattern: str = "*.jsonl*") -> list[Path]:
    return sorted((root / part / "results").glob(pattern))


def _planted(root: Path) -> Iterator[Answer]:
    names = {"sobol-few": "default", "sobol-usual": "default-own", "sobol-scores-few": "scores"}
    lines, files = [], []
    for path in _paths(root, "shortcuts"):
        (found,) = shortcuts.load([path])
        if not found.is_used:
            continue
        model = str(found.settings["model"])
        files.append((model, path.name, Results(found.settings, [], found.commands)))
        for variant in found.measures:
            method = names.get(variant, variant.removesuffix("-few"))
            precision = found.found(variant, "precision")
            gap = found.of(variant, "gap") if found.plant.are_equal else {}
            words = found.of(variant, "words")
            lines += [
                {"model": model, "file": path.name, "text": text, "method": method,
                 "asked": PASSES, "words": words[text], "planted": value, "gap": gap.get(text)}
                for text, value in precision.items()
            ]  # fmt: skip
    source = _source(files, lines)
    for name in ("planted", "gap"):
        yield from _answers(name, _table(lines, name).dropna(how="all"), source)


def _heldout(root: Path) -> Iterator[Answer]:
    lines, files = [], []
    for path in _paths(root, "heldout"):
        results = read_results(path)
        files.append((str(results.settings["model"]), path.name, results))
        asked = (line for line in results.lines if line["asked"] in (PASSES, None))
        lines += [{**line, "file": path.name} for line in asked]
    source = _source(files, lines)
    for name, measure in (
        ("heldout", "r2 keep 0.5"), ("total", "rmse total"), ("banzhaf", "rmse banzhaf")
    ):  # fmt: skip
        values = _table(lines, measure)
        yield from _answers(name, values.clip(lower=_LOWEST_R2), source)


def _deletion(root: Path) -> Iterator[Answer]:
    lines, files = [], []
    for path in _paths(root, "deletion"):
        (run,) = deletion.load([path])
        files.append((run.model, path.name, run.results))
        asked = max(line["asked"] or 0 for line in run.results.lines)
        own = {"model": run.model, "file": path.name, "asked": asked}
        for line in run.measured.to_dict("records"):
            is_search = line["method"] == BOUNDS
            lines.append({**line, **own, "method": "greedy" if is_search else line["method"]})
    source = _source(files, lines)
    for name, measure in (("deletes", "hard comp"), ("suffices", "hard suff")):
        yield from _answers(name, _table(lines, measure), source)


def _league(root: Path) -> Iterator[Answer]:
    names = {"sobol": "flip", "shared": "default"}
    lines, files = [], []
    for path in _paths(root, "imdb", "league/*.jsonl*"):
        results = read_results(path)
        files.append((str(results.settings["model"]), "", results))
        for line in results.lines:
            is_usual = line.get("keep") in (None, 0.5) and not line["variant"].startswith("jansen")
            is_usual &= line["score"] in (None, "signed", "path")
            if is_usual and line["rows_per_word"] in (PASSES, None):
                method = names.get(line["method"], line["method"])
                mean = float(np.mean(line["deletion"]))
                own = {"file": "", "text": line["review"], "method": method, "league": mean}
                own |= {"words": line["words"], "asked": line["rows_per_word"]}
                lines.append({"model": line["model"], **own})
    source = _source(files, lines, "ours without gates")
    yield from _answers("league", _table(lines, "league"), source)


def _people(root: Path) -> Iterator[Answer]:
    names = {"sobol": "default-own", "flip-4": "flip"}
    for name, question in QUESTIONS.items():
        if question.task is None:
            continue
        lines, files = [], []
        for path in _paths(root, "people", f"{question.task}-*.jsonl*"):
            results = read_results(path)
            files.append((str(results.settings["model"]), path.name, results))
            lines += [
                {**line, "file": path.name, "words": line["n_words"], "asked": PASSES,
                 "method": names.get(line["variant"], line["variant"].removesuffix("-4"))}
                for line in results.lines
                if line["auprc"] is not None
            ]  # fmt: skip
        source = _source(files, lines, _OWN_BUDGET)
        yield from _answers(name, _table(lines, "auprc"), source)


def _seeds(root: Path) -> Iterator[Answer]:
    lines, files = [], []
    for path in _paths(root, "imdb", "seeds/*.seeds.jsonl*"):
        results = read_results(path)
        files.append((str(results.settings["model"]), path.name, results))
        lines += [
            {**line, "file": path.name, "text": line["review"], "method": "default-own"}
            for line in results.lines
        ]
    source = _source(files, lines, "our default's own number")
    yield from _answers("repeats", _table(lines, "correlation"), source)


def _costs(root: Path) -> Iterator[Answer]:
    names = {"sobol": "default-own", "flip-4": "flip"}
    lines, files = [], []
    for path in _paths(root, "gates"):
        results = read_results(path)
        if not results.lines or not {"review", "variant", "seconds"} <= results.lines[0].keys():
            continue
        files.append((str(results.settings["model"]), path.name, results))
        lines += [
            {**line, "file": path.name, "text": line["review"], "asked": PASSES,
             "per word": line["passes"] / line["words"],
             "method": names.get(line["variant"], line["variant"].removesuffix("-4"))}
            for line in results.lines
        ]  # fmt: skip
    source = _source(files, lines, f"{_OWN_BUDGET}; one thread")
    for name, value in (("passes", "per word"), ("seconds", "seconds")):
        yield from _answers(name, _table(lines, value), source)


_READERS = (_planted, _heldout, _deletion, _league, _people, _seeds, _costs)
