"""One shard: its texts are explained together, and become a table."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from textsobol.corpus.memory import return_freed_memory
from textsobol.corpus.reading import Item, Plan
from textsobol.corpus.schema import row_of, table_of
from textsobol.driver import run_together
from textsobol.errors import TextsobolWarning
from textsobol.steps import Steps
from textsobol.text.explanation import TextExplanation
from textsobol.text.inputs import default_budget
from textsobol.text.serialise import SCHEMA

if TYPE_CHECKING:
    import pyarrow

    from textsobol.text.explainer import TextExplainer

# At a time: enough to fill batches with texts of up to 110 words. Longer ones fill them alone, and
# their rows take memory.
_MOST_TEXTS = 128
_MOST_WORK = 12_800_000  # passes times words
_TEXTS_BETWEEN_RETURNS = 16  # of memory


def text_seed(seed: int, name: str) -> int:
    """The seed of a text, whatever the order and the machine.

    Args:
        seed: of the job.
        name: id of the text.

    Example:
        >>> text_seed(0, "review-17") == text_seed(0, "review-17") != text_seed(0, "review-18")
        True
    """
    told = hashlib.blake2b(f"{seed} {name}".encode("utf-8", "replace"), digest_size=4)
    return int.from_bytes(told.digest(), "big")


def passes_of(item: Item, *, budget: int | None) -> int:
    """About how many rows of a text are forwarded, as the default does with words."""
    return budget or default_budget(item.n_words)


def work_of(item: Item, *, budget: int | None) -> int:
    """What it takes to explain a text: passes times words.

    The number of passes grows with the words unless a budget is given, so that of two long texts
    one twice as long takes four times as long.
    """
    return max(1, passes_of(item, budget=budget) * item.n_words)


def explain_shard(
    explainer: TextExplainer,
    items: Sequence[Item],
    plan: Plan,
    *,
    settings: Mapping[str, Any],
    job: str,
    done: Callable[[Item], None] = lambda _: None,
    forwarded: Callable[[Item, int], None] = lambda item, n_rows: None,
) -> pyarrow.Table:
    """A table with a row for every text, in their order.

    The rows of a shard's texts share batches among themselves only, so that the table is the
    same whatever else is explained, and where.

    Args:
        explainer: the explainer.
        items: the texts.
        plan: of the shard.
        settings: of the explainer's calls; the seed becomes each text's own.
        job: a short name for what makes the results.
        done: told of each text that is done.
        forwarded: told of a text and how many of its rows were forwarded, each time.
    """
    rows: dict[int, dict[str, Any]] = {}
    # The longest first: memory runs out at once or not at all, and few are left over at the end.
    order = sorted(range(len(items)), key=lambda k: (-items[k].n_words, k))
    tasks = [
        (
            work_of(items[k], budget=settings.get("budget")),
            _walk(explainer, items[k], settings),
        )
        for k in order
    ]
    n_failed = n_outside = 0
    with warnings.catch_warnings():
        # A row of the result says by itself what a line for each of thousands of texts would say.
        warnings.simplefilter("ignore", TextsobolWarning)
        for outcome in run_together(
            tasks,
            most=_MOST_TEXTS,
            most_size=_MOST_WORK,
            answered=lambda number, n_rows: forwarded(items[order[number]], n_rows),
        ):
            item = items[order[outcome.number]]
            error = None if outcome.error is None else _told(outcome.error)
            rows[order[outcome.number]] = row_of(item, outcome.value, error)
            n_failed += error is not None
            if outcome.value is not None:
                n_outside += any(word.status == "outside" for word in outcome.value.words)
            done(item)
            if len(rows) % _TEXTS_BETWEEN_RETURNS == 0:
                return_freed_memory()
    return_freed_memory()
    told = {
        "schema": SCHEMA, "shard": plan.number, "texts": len(items), "failed": n_failed,
        "outside": n_outside, "input": plan.digest, "job": job,
    }  # fmt: skip
    return table_of([rows[k] for k in range(len(items))], told)


def _walk(
    explainer: TextExplainer, item: Item, settings: Mapping[str, Any]
) -> Steps[TextExplanation]:
    if item.text is None:
        raise ValueError("nothing to explain: there is no text")
    own = {**settings, "seed": text_seed(settings["seed"], item.id)}
    return (yield from explainer.walk(item.text, **own))


def _told(error: Exception) -> str:
    is_ours = isinstance(error, ValueError) or type(error).__module__.startswith("textsobol")
    return str(error) if is_ours else f"{type(error).__name__}: {error}"
