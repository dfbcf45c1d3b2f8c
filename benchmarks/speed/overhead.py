"""Time of an explanation over the time of its bare forward passes.

    python -m benchmarks.speed.overhead --model DIRECTORY --data reviews.jsonl.gz

The forward passes are those of the explanation itself: the same distinct rows, already
tokenized, fed to the model again in the batches that they would fill if all of a text were known
at once, the longest first and without a limit for padding. So what rounds lose by asking for few
rows at a time counts, too.
"""

from functools import partial
from typing import Any

import numpy as np
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from benchmarks.measuring import seconds
from benchmarks.speed.reviews import parser, reviews
from benchmarks.tables import markdown
from textsobol import Sobol, TextExplainer, TextExplanation

Batch = dict[str, torch.Tensor]
BATCH_TOKENS = 1024  # what an explainer takes for a model of this size on a CPU


def captured_batches(model: Any, explain: Any) -> tuple[list[Batch], Any]:
    """What the model is given while ``explain`` runs, and what that returns."""
    batches: list[Batch] = []
    hook = model.register_forward_pre_hook(
        lambda module, args, kwargs: batches.append(dict(kwargs)), with_kwargs=True
    )
    try:
        return batches, explain()
    finally:
        hook.remove()


def refilled(batches: list[Batch], most_tokens: int = BATCH_TOKENS) -> list[Batch]:
    """The same rows, sorted by length, in batches of as many tokens as an explanation's."""
    rows = [
        {
            name: values[row, : int(batch["attention_mask"][row].sum())]
            for name, values in batch.items()
        }
        for batch in batches
        for row in range(len(batch["input_ids"]))
    ]
    rows.sort(key=lambda row: -len(row["input_ids"]))
    found: list[Batch] = []
    while rows:
        n_rows = max(1, most_tokens // len(rows[0]["input_ids"]))
        taken, rows = rows[:n_rows], rows[n_rows:]
        found.append({
            name: torch.nn.utils.rnn.pad_sequence([row[name] for row in taken], batch_first=True)
            for name in taken[0]
        })  # fmt: skip
    return found


def main() -> None:
    """Print the table."""
    options = parser(__doc__)
    options.add_argument("--repeats", type=int, default=3, help="times each is measured (3)")
    arguments = options.parse_args()
    tokenizer = AutoTokenizer.from_pretrained(arguments.model)
    model = AutoModelForSequenceClassification.from_pretrained(arguments.model).eval()
    explainer = TextExplainer(model, tokenizer, progress=False)
    long = reviews(arguments.data, around=230, number=1)
    short = [" ".join(t.split()[:20]) for t in reviews(arguments.data, around=100, number=10)]
    medium = reviews(arguments.data, around=100, number=1)
    jobs: dict[str, tuple[list[str], dict[str, Any]]] = {
        "1 review of about 230 words, the default": (long, {}),
        "1 review of about 100 words, the default": (medium, {}),
        "10 texts of 20 words, the default": (short, {}),
        "1 review of about 230 words, flip, 4 base masks": (
            long,
            {"method": Sobol("flip", base_masks=4)},
        ),
        "10 texts of 20 words, flip, 16 base masks": (
            short,
            {"method": Sobol("flip", base_masks=16)},
        ),
    }
    lines = []
    for name, (texts, settings) in jobs.items():

        def explain(
            texts: list[str] = texts, settings: dict[str, Any] = settings
        ) -> list[TextExplanation]:
            return list(explainer.many(texts, **settings))

        batches, explanations = [], []
        for text in texts:
            asked, explanation = captured_batches(model, partial(explainer, text, **settings))
            batches += refilled(asked)
            explanations.append(explanation)

        @torch.inference_mode()
        def forward(batches: list[Batch] = batches) -> None:
            for batch in batches:
                model(**batch)

        ratios, times = [], []
        for _ in range(arguments.repeats):  # in turns, so that a slow moment hits both
            bare, whole = seconds(forward), seconds(explain)
            ratios.append(whole / bare)
            times.append(whole)
        cost = [e.cost for e in explanations]
        lines.append([
            name,
            f"{sum(c['rows'] for c in cost):,.0f}",
            f"{sum(c['distinct'] for c in cost):,.0f}",
            f"{sum(c['forwarded'] for c in cost):,.0f}",
            f"{100 * np.mean([c['padding'] for c in cost]):.2f} %",
            f"{np.median(times):.1f}",
            f"{np.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})",
        ])  # fmt: skip
    header = [
        "job",
        "rows",
        "distinct masks",
        "forwarded",
        "padding",
        "seconds",
        "time / bare passes",
    ]
    print(markdown(header, lines))


if __name__ == "__main__":
    main()
