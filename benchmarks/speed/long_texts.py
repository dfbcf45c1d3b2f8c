"""A text far beyond the model's window: time over its bare forward passes, and memory.

    python -m benchmarks.speed.long_texts --model DIRECTORY --data test.jsonl.gz

The text is several reviews, one after the other; windows slide over it. Every batch that the
explanation gives to the model is given to the bare model once more, at once, so that what else the
machine does slows both alike. Scores are estimated by forward passes alone, without gates.

What the process holds is mostly torch's: oneDNN compiles kernels for every new shape of a batch.
What textsobol holds by itself, in Python and numpy, is measured with a tiny model.
"""

import time
import tracemalloc
from typing import Any

import torch
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    BertConfig,
    BertForSequenceClassification,
)

from benchmarks.measuring import megabytes_added
from benchmarks.speed.reviews import parser, reviews
from benchmarks.tables import markdown
from textsobol import Sobol, TextExplainer, TextExplanation
from textsobol.corpus.memory import limit_allocator_caches

_METHOD = Sobol(gates=False)


class BareRuns:
    """Runs every batch of a model again, and takes the time of that."""

    def __init__(self, model: Any) -> None:
        self.seconds = 0.0
        self.rows = 0
        self._hook = model.register_forward_hook(self._run_again, with_kwargs=True)

    def _run_again(self, model: Any, args: Any, given: dict[str, Any], found: Any) -> None:
        start = time.perf_counter()
        model.forward(**given)
        self.seconds += time.perf_counter() - start
        self.rows += len(given["input_ids"])

    def close(self) -> None:
        """Leave the model as it was."""
        self._hook.remove()


def join_reviews(texts: list[str], n_words: int) -> str:
    """One text of that many words, with a paragraph for each review."""
    paragraphs = []
    for text in texts:
        words = text.split()[: max(0, n_words)]
        n_words -= len(words)
        paragraphs += [" ".join(words)] if words else []
    if n_words > 0:
        raise ValueError(f"the reviews have {n_words:,} words too few")
    return "\n\n".join(paragraphs)


def measure(explainer: TextExplainer, text: str, budget: int) -> list[str]:
    """A line of the table."""
    print(f"budget {budget}: {explainer.estimate(text, method=_METHOD, budget=budget)}")
    bare = BareRuns(explainer.model)
    found: list[TextExplanation] = []

    def explain() -> None:
        found.append(explainer(text, method=_METHOD, budget=budget))

    start = time.perf_counter()
    megabytes = megabytes_added(explain)
    seconds = time.perf_counter() - start - bare.seconds
    bare.close()
    (explanation,) = found
    words, cost = explanation.words, explanation.cost
    return [
        f"{sum(word.status == 'scored' for word in words):,} of {len(words):,}",
        f"{explanation.settings['windows']}",
        f"{cost['forwarded']:,.0f}",
        f"{cost['windows']:,.0f} ({bare.rows:,})",
        f"{100 * cost['padding']:.2f} %",
        f"{megabytes:.0f} MB",
        f"{seconds:.1f}",
        f"{bare.seconds:.1f}",
        f"{seconds / bare.seconds:.3f}",
    ]


def measure_own_memory(tokenizer: Any, text: str, budget: int) -> list[str]:
    """What explaining adds to the memory of Python and numpy, with a model that takes none."""
    tiny: Any = BertForSequenceClassification(
        BertConfig(
            vocab_size=len(tokenizer), hidden_size=8, num_hidden_layers=1, num_attention_heads=1,
            intermediate_size=8,
        )
    )  # fmt: skip
    explainer = TextExplainer(tiny.eval(), tokenizer, long="window", progress=False)
    tracemalloc.start()
    cost = explainer(text, method=_METHOD, budget=budget).cost
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return [f"{cost['forwarded']:,.0f}", f"{cost['windows']:,.0f}", f"{peak / 1e6:.0f} MB"]


def main() -> None:
    """Print the tables."""
    options = parser(__doc__)
    options.add_argument("--words", type=int, default=3000, help="of the text (3,000)")
    options.add_argument(
        "--budgets", type=int, nargs="+", default=[150, 450], help="masked texts (150 and 450)"
    )
    options.add_argument("--dtype", default="bfloat16", help="of the weights (bfloat16)")
    asked = options.parse_args()
    limit_allocator_caches()  # as jobs of many texts do
    tokenizer = AutoTokenizer.from_pretrained(asked.model)
    model = AutoModelForSequenceClassification.from_pretrained(
        asked.model, dtype=getattr(torch, asked.dtype)
    )
    text = join_reviews(reviews(asked.data, around=230, number=asked.words // 200), asked.words)
    explainer = TextExplainer(model, tokenizer, long="window", progress=False)
    lines = [measure(explainer, text, budget) for budget in asked.budgets]
    header = [
        "words scored", "windows", "masked texts", "windows run (rows)", "padding", "memory added",
        "seconds", "bare passes", "time / bare passes",
    ]  # fmt: skip
    print(markdown(header, lines))
    lines = [measure_own_memory(tokenizer, text, budget) for budget in (*asked.budgets, 1609)]
    print(markdown(["masked texts", "windows run", "textsobol's own memory"], lines))


if __name__ == "__main__":
    main()
