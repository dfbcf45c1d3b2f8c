"""Do all ways to the same explanation agree, on a real model?

    python -m benchmarks.speed.agreement --model DIRECTORY --data reviews.jsonl.gz

Prints the largest difference of any score of any word over the reviews, against the
default: tokens from pieces, default batches, model and tokenizer.
"""

import warnings
from typing import Any

from transformers import AutoModelForSequenceClassification, AutoTokenizer, pipeline

from benchmarks.speed.reviews import parser, reviews
from benchmarks.tables import markdown
from textsobol import Sobol, TextExplainer, TextExplanation


def largest_difference(one: TextExplanation, other: TextExplanation) -> float:
    """Over all words and labels."""
    return max(
        abs(a.scores[label].score - b.scores[label].score)
        for a, b in zip(one.words, other.words, strict=True)
        for label in a.scores
    )


def main() -> None:
    """Print the table."""
    options = parser(__doc__)
    options.add_argument("--texts", type=int, default=10, help="reviews of about 50 words (10)")
    arguments = options.parse_args()
    warnings.simplefilter("ignore")
    tokenizer = AutoTokenizer.from_pretrained(arguments.model)
    model = AutoModelForSequenceClassification.from_pretrained(arguments.model).eval()
    default = TextExplainer(model, tokenizer, progress=False)
    ways: dict[str, Any] = {
        "strings instead of pieces": TextExplainer(
            model, tokenizer, progress=False, _token_path=False
        ),
        "batches of 1 token": TextExplainer(model, tokenizer, progress=False, batch_tokens=1),
        "batches of 16,384 tokens": TextExplainer(
            model, tokenizer, progress=False, batch_tokens=16_384
        ),
        "a pipeline": TextExplainer(
            pipeline("text-classification", model=model, tokenizer=tokenizer), progress=False
        ),
    }
    texts = reviews(arguments.data, around=50, number=arguments.texts)
    largest = dict.fromkeys(ways, 0.0)
    for text in texts:
        expected = default(text, method=Sobol(base_masks=2))
        for name, explainer in ways.items():
            difference = largest_difference(expected, explainer(text, method=Sobol(base_masks=2)))
            largest[name] = max(largest[name], difference)
    lines = [[name, f"{difference:.1e}"] for name, difference in largest.items()]
    print(markdown([f"{len(texts)} reviews", "largest difference of a score"], lines))


if __name__ == "__main__":
    main()
