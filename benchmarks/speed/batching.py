"""How much sorted batches gain over one text at a time.

    python -m benchmarks.speed.batching --data reviews.jsonl.gz [--model DIRECTORY]

Explains one review of about 230 words (4 base masks): with the model's own pipeline called text by
text, and with batches of several sizes. The model is the bundled bi-LSTM unless another is given.
"""

import time
from typing import Any

from transformers import AutoModelForSequenceClassification, AutoTokenizer, pipeline

import textsobol.models.bilstm  # noqa: F401  (makes the Auto classes know it)
from benchmarks.speed.reviews import parser, reviews
from benchmarks.tables import markdown
from textsobol import Sobol, TextExplainer
from textsobol.models import BUNDLED


def main() -> None:
    """Print the table."""
    options = parser(__doc__, model_required=False)
    arguments = options.parse_args()
    text = reviews(arguments.data, around=230, number=1)[0]
    path = arguments.model or BUNDLED
    model = AutoModelForSequenceClassification.from_pretrained(path).eval()
    tokenizer = AutoTokenizer.from_pretrained(path)
    pipe = pipeline("text-classification", model=model, tokenizer=tokenizer)

    def text_by_text(texts: list[str]) -> list[Any]:
        return [pipe(one, top_k=None) for one in texts]

    explainers = {"the pipeline, text by text": TextExplainer(text_by_text, progress=False)}
    for size in (1, 1024, 4096, 16_384):
        name = f"batches of {size:,} tokens" if size > 1 else "rows one by one"
        explainers[name] = TextExplainer(model, tokenizer, batch_tokens=size, progress=False)
    lines, slowest = [], 0.0
    for name, explainer in explainers.items():
        explainer(text, method=Sobol(base_masks=1))  # first-use costs
        start = time.perf_counter()
        explanation = explainer(text, method=Sobol(base_masks=4))
        seconds = time.perf_counter() - start
        slowest = slowest or seconds
        padding = f"{100 * explanation.cost['padding']:.2f} %"
        lines.append([name, padding, f"{seconds:.2f}", f"{slowest / seconds:.1f} x"])
    print(markdown(["way", "padding", "seconds", "times faster"], lines))


if __name__ == "__main__":
    main()
