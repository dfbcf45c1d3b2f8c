"""One shard: its texts are explained together and make one table."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from textsobol.corpus.memory import return_freed_memory
from textsobol.corpus.schema import make_row, make_table
from textsobol.corpus.source import Item, Plan
from textsobol.driver import run_together
from textsobol.errors import TextsobolWarning
from textsobol.methods.sobol_run import MOST_USUAL_PASSES
from textsobol.provenance import digest_of
from textsobol.redaction import Redaction
from textsobol.render.printable import replace_controls
from textsobol.steps import Steps
from textsobol.text.explanation import TextExplanation
from textsobol.text.inputs import default_budget
from textsobol.text.serialise import SCHEMA

if TYPE_CHECKING:
    import pyarrow

    from textsobol.text.explainer import TextExplainer

# At the same time: enough to fill batches with texts of up to 110 words. A longer text fills a
# batch by itself, and its masks take memory.
_MOST_TEXTS = 128
_MOST_WORK = 12_800_000  # forward passes times words
_TEXTS_BETWEEN_RETURNS = 16  # texts between two returns of memory


@dataclass(frozen=True)
class Job:
    """Explains the texts of a shard.

    Attributes:
        explainer: the explainer.
        settings: arguments of its calls; every text gets its own seed.
        name: digest of everything that determines the results.
    """

    explainer: TextExplainer
    settings: Mapping[str, Any]
    name: str

    def estimate_passes(self, item: Item) -> int:
        """Approximate number of forward passes for a text."""
        return self.settings.get("budget") or min(default_budget(item.n_words), MOST_USUAL_PASSES)

    def estimate_work(self, item: Item) -> int:
        """Forward passes times words; without a budget, both grow with the length of the text."""
        return max(1, self.estimate_passes(item) * item.n_words)

    def explain(
        self,
        plan: Plan,
        items: Sequence[Item],
        on_done: Callable[[Item], None] = lambda item: None,
        on_passes: Callable[[Item, int], None] = lambda item, n_passes: None,
    ) -> pyarrow.Table:
        """Make the table of a shard, with one row per text, in order.

        Only texts of the same shard share batches: the table does not depend on other shards or on
        the machine.

        Args:
            plan: the shard.
            items: its texts.
            on_done: called with each finished text.
            on_passes: called after every batch with a text and its forward passes in the batch.
        """
        rows: dict[int, dict[str, Any]] = {}
        # Longest first: if memory runs out it does so at once, and the last batches stay full.
        order = sorted(items, key=lambda item: (-item.n_words, item.row))
        tasks = [
            (self.estimate_work(item), _walk(self.explainer, item, self.settings)) for item in order
        ]
        n_failed = n_outside = 0
        outcomes = run_together(
            tasks,
            max_live=_MOST_TEXTS,
            max_size=_MOST_WORK,
            on_answer=lambda number, n_passes: on_passes(order[number], n_passes),
        )
        with warnings.catch_warnings(), closing(outcomes):
            # The table has the same information as thousands of warnings.
            warnings.simplefilter("ignore", TextsobolWarning)
            for outcome in outcomes:
                item = order[outcome.number]
                error = None if outcome.error is None else _describe_error(outcome.error)
                rows[item.row] = make_row(item, outcome.value, error)
                n_failed += error is not None
                if outcome.value is not None:
                    n_outside += any(word.status == "outside" for word in outcome.value.words)
                on_done(item)
                if len(rows) % _TEXTS_BETWEEN_RETURNS == 0:
                    return_freed_memory()
        return_freed_memory()
        metadata = {
            "schema": SCHEMA, "shard": plan.number, "texts": len(items), "failed": n_failed,
            "outside": n_outside, "input": plan.digest, "job": self.name,
        }  # fmt: skip
        return make_table([rows[item.row] for item in items], metadata)


def derive_seed(seed: int, name: str) -> int:
    """The seed of a text, from the seed of the job and the text's id.

    Example:
        >>> derive_seed(0, "review-17") != derive_seed(0, "review-18")
        True
    """
    return int(digest_of([f"{seed} {name}".encode("utf-8", "replace")], size=4), 16)


def _walk(
    explainer: TextExplainer, item: Item, settings: Mapping[str, Any]
) -> Steps[TextExplanation]:
    if item.text is None:
        raise ValueError("nothing to explain: there is no text")
    own = {**settings, "seed": derive_seed(settings["seed"], item.id)}
    return (yield from explainer.walk(item.text, **own))


def _describe_error(error: Exception) -> str:
    message = str(error) if type(error) is ValueError else f"{type(error).__name__}: {error}"
    return replace_controls(Redaction()(message))  # a function may repeat what a server said
