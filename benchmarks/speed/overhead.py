"""Time of an explanation over the time of its bare forward passes.

    python -m benchmarks.speed.overhead --model DIRECTORY --data reviews.jsonl.gz

The forward passes are those of the explanation itself: the same distinct rows, already
tokenized and sorted, in the same batches, fed to the model again.
"""

from typing import Any

import numpy as np
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from benchmarks.measuring import seconds
from benchmarks.speed.reviews import parser, reviews
from benchmarks.tables import markdown
from textsobol import TextExplainer, TextExplanation


def captured_batches(model: Any, explain: Any) -> tuple[list[dict[str, torch.Tensor]], Any]:
    """What the model is given while ``explain`` runs, and what that returns."""
    batches: list[dict[str, torch.Tensor]] = []
    hook = model.register_forward_pre_hook(
        lambda module, args, kwargs: batches.append(dict(kwargs)), with_kwargs=True
    )
    try:
        return batches, explain()
    finally:
        hook.remove()


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
    jobs = {
        "1 review of about 230 words, 4 base rows": (long, 4),
        "10 texts of 20 words, 16 base rows": (short, 16),
    }
    lines = []
    for name, (texts, rows) in jobs.items():

        def explain(texts: list[str] = texts, rows: int = rows) -> list[TextExplanation]:
            return list(explainer.many(texts, rows=rows, estimator="flip"))

        batches, explanations = captured_batches(model, explain)

        @torch.inference_mode()
        def forward(batches: list[dict[str, torch.Tensor]] = batches) -> None:
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
            f"{np.median(ratios):.3f}",
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
