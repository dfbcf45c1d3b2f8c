"""Fine-tune a transformer on IMDB.

    python -m benchmarks.imdb.train_transformer --base MODEL --out DIRECTORY

MODEL is a directory or hub id. Texts come from the hub (stanfordnlp/imdb) or from local JSON
lines, CSV or Parquet files with the columns text and label.
"""

import re
from typing import Any

import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from benchmarks.imdb.data import load, train_and_validation
from benchmarks.imdb.training import LABELS, Texts, fit, parser, save, tested
from benchmarks.provenance import command_of

CARD = """---
language: en
pipeline_tag: text-classification
base_model: {base}
---
# Sentiment of film reviews: {base}, fine-tuned

| | |
|---|---|
| accuracy on {n_test:,} test reviews | {accuracy:.2%} |
| validation accuracy ({n_validation:,} reviews) | {validation:.2%} |
| training reviews | {n_train:,}, {max_length} tokens at most, without `<br />` |
| seed | {seed} |
| command | `{command}` |

Data: Large Movie Review Dataset (Maas et al. 2011, *Learning Word Vectors for Sentiment
Analysis*); the reviews are not part of this model. The licence is that of the base model. Weights
are stored in half precision and load as single.
"""


def without_markup(example: dict[str, Any]) -> dict[str, Any]:
    """The review without line breaks written as ``<br />``."""
    return {"text": re.sub(r"(<br\s*/?>\s*)+", " ", example["text"])}


def main() -> None:
    """Fine-tune, evaluate, save."""
    options = parser(__doc__, epochs=2, rate=3e-5, batch=16)
    options.add_argument("--base", required=True, help="directory or hub id of the base model")
    options.add_argument("--max-length", type=int, default=256, help="tokens of a text (256)")
    arguments = options.parse_args()
    torch.manual_seed(arguments.seed)
    train, validation = train_and_validation(
        arguments.train, arguments.validation, arguments.seed, arguments.limit
    )
    test = load(arguments.test, "test")
    tokenizer = AutoTokenizer.from_pretrained(arguments.base)
    model = AutoModelForSequenceClassification.from_pretrained(
        arguments.base, num_labels=2, id2label=LABELS,
        label2id={name: k for k, name in LABELS.items()}, dtype=torch.float32,
    )  # fmt: skip
    if tokenizer.pad_token is None:  # as decoders have none
        tokenizer.pad_token = tokenizer.eos_token
    model.config.pad_token_id = tokenizer.pad_token_id
    if torch.cuda.is_available():
        model.to("cuda")
    texts, checks, tests = (
        Texts(part.map(without_markup), tokenizer, arguments.max_length)
        for part in (train, validation, test)
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=arguments.learning_rate)
    # a short warm-up, then a straight line to nothing
    best = fit(
        model, texts, checks, arguments, optimizer, lambda share: min(share / 0.06, 1 - share)
    )
    results = tested(model, texts, tests, best, arguments)
    card = CARD.format(
        base=str(arguments.base).rstrip("/").rsplit("/", 1)[-1], n_test=len(tests.labels),
        accuracy=results["test_accuracy"], n_validation=len(checks.labels), validation=best,
        n_train=len(texts.labels), max_length=arguments.max_length, seed=arguments.seed,
        command=command_of("benchmarks.imdb.train_transformer"),
    )  # fmt: skip
    save(model.cpu(), tokenizer, arguments, card, results)


if __name__ == "__main__":
    main()
