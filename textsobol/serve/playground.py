"""What the page shows: predictions, explanations step by step, contrasts, files to save.

All of it runs in the worker's thread, so that nothing here needs a lock. The last text of each page
is kept in memory, because words can be taken out of it and it can be saved; nothing is written.
"""

from __future__ import annotations

import json
import time
import warnings
from collections import OrderedDict
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from textsobol.driver import run, stream
from textsobol.errors import name_warnings
from textsobol.labels import disambiguate
from textsobol.methods import METHODS, find_method
from textsobol.render import view
from textsobol.render.page import render_comparison, render_explanation
from textsobol.serve.limits import Limits
from textsobol.serve.messages import AskExplain, AskPredict, AskSave, Choice
from textsobol.serve.sides import (
    Side,
    contrast_labels,
    describe,
    describe_text,
    make_bare,
    mask_without,
)
from textsobol.serve.work import Job
from textsobol.text.explanation import TextExplanation
from textsobol.text.given import REMOTE_KINDS

if TYPE_CHECKING:
    from textsobol.text.explainer import TextExplainer

# Ours first; baselines and searches that explain nothing by themselves are left out.
OFFERED = [
    name for name, own in METHODS.items() if own.kind != "baseline" and not own.is_for_pictures
]
_QUICK = "gates"
_BETWEEN = 0.25  # seconds between two results of a side, so that the page can keep up


@dataclass
class Tab:
    """What a page shows.

    Attributes:
        sides: one explanation, or two to compare.
        contrast: two labels: why the first and not the second.
    """

    sides: list[Side] = field(default_factory=list)
    contrast: tuple[str, str] | None = None


class Playground:
    """Explains texts for the page.

    Args:
        explainers: the models to choose from.
        limits: of texts.
    """

    def __init__(self, explainers: Sequence[TextExplainer], limits: Limits) -> None:
        self._explainers = list(explainers)
        self._limits = limits
        self._tabs: OrderedDict[str, Tab] = OrderedDict()
        self.names = disambiguate([view.clean(each.name) for each in explainers])
        # Models that texts are sent to.
        self.remote = [
            name
            for name, each in zip(self.names, explainers, strict=True)
            if each.settings["given"]["kind"] in REMOTE_KINDS
        ]

    def check(self, asked: AskExplain) -> None:
        """Refuse what cannot be explained, before anything is queued."""
        if len(asked.text) > self._limits.characters:
            raise ValueError(
                f"the text has {len(asked.text):,} characters; at most "
                f"{self._limits.characters:,} are explained here"
            )
        for choice in asked.sides:
            if choice.model >= len(self._explainers):
                raise ValueError(f"there is no model number {choice.model}")
            find_method(choice.method).for_texts()

    def forget(self, tab: str) -> None:
        """Drop what a page showed."""
        self._tabs.pop(tab, None)

    def open(self, name: str, sides: Sequence[Side]) -> Tab:
        """Begin a new text on a page; the pages used least recently are forgotten."""
        self._tabs.pop(name, None)
        tab = self._tabs[name] = Tab(list(sides))
        while len(self._tabs) > self._limits.tabs:
            self._tabs.popitem(last=False)
        return tab

    def _find(self, name: str) -> Tab:
        if name not in self._tabs:
            raise ValueError("this text is no longer in memory: change it, or reload the page")
        return self._tabs[name]

    def predict_whole(self, job: Job, asked: AskExplain) -> None:
        """Say what the models make of a new text, and cut it into words."""
        names = self._name_sides(asked.sides)
        tab = self.open(
            job.tab, [Side(name, own) for name, own in zip(names, asked.sides, strict=True)]
        )
        tab.contrast = None if asked.contrast is None else (asked.contrast[0], asked.contrast[1])
        with _report_warnings(job):
            for number, choice in enumerate(asked.sides):
                side, explainer = tab.sides[number], self._explainers[choice.model]
                side.masked, side.score = explainer.masked(asked.text), explainer.settings["score"]
            for number, side in enumerate(tab.sides):
                job.send("prediction", {"side": number, **describe_text(side)})

    def explain(self, job: Job, asked: AskExplain) -> None:
        """Explain the text: at once, roughly, and then better and better."""
        tab = self._find(job.tab)
        with _report_warnings(job), ExitStack() as stack:
            for number, (side, choice) in enumerate(zip(tab.sides, asked.sides, strict=True)):
                assert side.masked is not None
                if choice.method == "sobol" and side.masked.takes_gates:
                    for quick in self._stream(job, tab, number, asked.text, _QUICK):
                        self._send(job, tab, number, quick, "quick")
            live = {
                number: stack.enter_context(
                    closing(self._stream(job, tab, number, asked.text, choice.method))
                )
                for number, choice in enumerate(asked.sides)
            }
            self._finish(job, tab, live)

    def _finish(self, job: Job, tab: Tab, live: dict[int, Generator[TextExplanation]]) -> None:
        """Run the sides in turn, so that both get better together."""
        while live:
            for number, results in list(live.items()):
                found = next(results, None)
                if found is None:
                    del live[number]
                    self._send(job, tab, number, tab.sides[number].explanation, "done")
                else:
                    self._send(job, tab, number, found, "better")

    def _stream(
        self, job: Job, tab: Tab, number: int, text: str, method: str
    ) -> Generator[TextExplanation]:
        """Results of a side, no faster than the page can show; the last one is always made."""
        side, progress = tab.sides[number], _Progress(job, number)
        assert side.choice is not None
        steps = self._explainers[side.choice.model].walk(
            text, target=_choose_target(tab, number), method=method, is_streamed=True,
            expect=progress.expect,
        )  # fmt: skip
        with closing(stream(steps, progress.tick)) as results:
            last = float("-inf")
            for found in results:
                job.pulse(0)
                is_last = isinstance(found, TextExplanation)
                if not is_last and time.monotonic() - last < _BETWEEN:
                    continue
                last = time.monotonic()
                made: TextExplanation = found if is_last else found()
                side.explanation = made
                yield made

    def _send(
        self, job: Job, tab: Tab, number: int, found: TextExplanation | None, stage: str
    ) -> None:
        assert found is not None
        shown = _contrast(found, tab.contrast, job)
        job.send("explanation", {"side": number, "stage": stage, **describe(shown)})

    def predict(self, job: Job, asked: AskPredict) -> None:
        """Say what the models make of the text without some words."""
        sides = self._find(job.tab).sides
        found = []
        for side in sides:
            masked = side.masked
            if masked is None:
                raise ValueError("a text of the corpus is shown as it was explained; edit it first")
            masks = np.stack([mask_without(masked, sides[0], words) for words in asked.removed])
            found.append({
                "labels": [view.clean(label) for label in masked.probabilities],
                "values": masked.predict_masks(masks).tolist(),
                "isOutput": not view.shows_probabilities(make_bare(side)),
            })  # fmt: skip
        job.send("answer", {"sides": found})

    def contrast(self, job: Job, pair: Sequence[str] | None) -> None:
        """Show why one label and not the other; what is still to come is shown so, too."""
        tab = self._find(job.tab)
        asked = None if pair is None else (pair[0], pair[1])
        shown = []
        for side in tab.sides:
            if side.explanation is None:
                continue
            found = side.explanation if asked is None else contrast_labels(side.explanation, asked)
            shown.append(describe(found))
        tab.contrast = asked
        job.send("answer", {"sides": shown})

    def save(self, job: Job, asked: AskSave) -> None:
        """Make the file of what is seen."""
        tab = self._find(job.tab)
        shown = {}
        for side in tab.sides:
            if side.explanation is None:
                raise ValueError("there is no explanation yet")
            found = side.explanation
            if tab.contrast is not None:
                found = contrast_labels(found, tab.contrast)
            else:
                names = {view.clean(label): label for label in found.targets}
                found = found.for_target(names[asked.label]) if asked.label in names else found
            shown[side.name] = found
        found = list(shown.values())[min(asked.side, len(shown) - 1)]
        if asked.kind == "json":
            content = json.dumps(found.to_dict(), ensure_ascii=False)
        elif len(shown) > 1:
            content = render_comparison(shown)
        else:
            content = render_explanation(found)
        job.send("answer", {"name": f"textsobol.{asked.kind}", "content": content})

    def show_saved(self, job: Job, explanation: TextExplanation, name: str) -> None:
        """Show an explanation that was made before."""
        side = Side(view.clean(name), None, explanation=explanation)
        self.open(job.tab, [side])
        job.send("answer", {
            "prediction": {"side": 0, **describe_text(side)},
            "explanation": {"side": 0, "stage": "saved", **describe(explanation)},
            "text": explanation.text if isinstance(explanation.text, str) else None,
        })  # fmt: skip

    def warm_up(self, job: Job) -> None:
        """Run every model once, so that the first text does not wait for it."""
        for explainer in self._explainers:
            if explainer.model is not None:  # a function may count its calls, or be paid for
                run(
                    explainer.walk(
                        "A short text, with more than eight words, to begin with.", method=_QUICK
                    )
                )

    def _name_sides(self, choices: Sequence[Choice]) -> list[str]:
        """Names of the sides: what they differ in."""
        models = [self.names[choice.model] for choice in choices]
        methods = [choice.method for choice in choices]
        if len(set(methods)) == 1:
            return disambiguate(models)
        if len(set(models)) == 1:
            return methods
        return [f"{model}, {method}" for model, method in zip(models, methods, strict=True)]


class _Progress:
    """Tells the page how many masks are done, and gives way between batches."""

    def __init__(self, job: Job, side: int) -> None:
        self._job, self._side = job, side
        self._done = self._total = 0
        self._last = time.monotonic()

    def expect(self, n_masks: int, announce: object) -> None:
        self._total += n_masks

    def tick(self, n_masks: int) -> None:
        self._job.pulse(n_masks)
        self._done += n_masks
        if time.monotonic() - self._last >= _BETWEEN:
            self._last = time.monotonic()
            made = {"side": self._side, "done": self._done, "total": self._total}
            self._job.send("progress", made)


@contextmanager
def _report_warnings(job: Job) -> Iterator[None]:
    """Send our own warnings to the page, each once."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for message in name_warnings(caught):
        job.send("note", {"message": view.clean(message)})


def _choose_target(tab: Tab, number: int) -> str | None:
    """The prediction of the first side, which the second explains too if it has that label."""
    first, own = tab.sides[0].masked, tab.sides[number].masked
    assert first is not None
    assert own is not None
    return first.prediction if first.prediction in own.probabilities else None


def _contrast(found: TextExplanation, pair: tuple[str, str] | None, job: Job) -> TextExplanation:
    """The contrast that the page asked for, or the labels with a note why there is none."""
    if pair is None:
        return found
    try:
        return contrast_labels(found, pair)
    except ValueError as error:
        job.send("note", {"message": view.clean(str(error))})
        return found
