"""Fine-tune a transformer on IMDB, or on other texts with labels.

    python -m benchmarks.imdb.train_transformer --base MODEL --out DIRECTORY

MODEL is a directory or hub id. Texts come from the hub (stanfordnlp/imdb) or from local JSON
lines, CSV or Parquet files with the columns text and label; pairs of texts have first and second
instead of text.
"""

import re
from typing import Any

import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from benchmarks.imdb.data import PAIR, last_of, load, train_and_validation
from benchmarks.imdb.training import (
    RandomlyMaskedTexts,
    Texts,
    fit,
    numbered,
    parser,
    save,
    tested,
)
from benchmarks.provenance import command_of

CARD = """---
language: en
pipeline_tag: text-classification
base_model: {base}
---
# {task}: {base}, fine-tuned

| | |
|---|---|
| accuracy on {n_test:,} test texts | {accuracy:.2%} |
| validation accuracy ({n_validation:,} texts) | {validation:.2%} |
| training texts | {n_train:,}, {max_length} tokens at most, without `<br />` |
| random masking | {masking} |
| frozen | {frozen} lowest layers |
| seed | {seed} |
| command | `{command}` |

Data: {source}; the texts are not part of this model. The licence is that of the base model. Weights
are stored in half precision and load as single.
"""


def without_markup(example: dict[str, Any]) -> dict[str, Any]:
    """The review, or both texts of a pair, without line breaks written as ``<br />``."""
    texts = {name: example[name] for name in ("text", *PAIR) if name in example}
    return {name: re.sub(r"(<br\s*/?>\s*)+", " ", text) for name, text in texts.items()}


def freeze(model: Any, n_layers: int) -> None:
    """Keep all below the top layers as it is: no gradient has to go there, which saves time."""
    if n_layers == 0:
        return
    base = model.base_model
    layers = next((each for each in base.modules() if isinstance(each, torch.nn.ModuleList)), None)
    if layers is None or n_layers > len(layers):
        raise SystemExit(f"--frozen {n_layers}: the model has {len(layers or ())} layers")
    base.requires_grad_(False)
    for part in (*layers[n_layers:], getattr(base, "pooler", None)):
        if part is not None:
            part.requires_grad_(True)


def main() -> None:
    """Fine-tune, evaluate, save."""
    options = parser(__doc__, epochs=2, rate=3e-5, batch=16)
    options.add_argument("--base", required=True, help="directory or hub id of the base model")
    options.add_argument("--max-length", type=int, default=256, help="tokens of a text (256)")
    options.add_argument(
        "--frozen",
        type=int,
        default=0,
        metavar="LAYERS",
        help="keep the embeddings and so many of the lowest layers as they are (0: train all)",
    )
    options.add_argument("--test-limit", type=int, help="test reviews, sampled at random (all)")
    options.add_argument(
        "--held-out",
        type=int,
        default=0,
        metavar="N",
        help="the last N texts of --train are the test texts, and not trained on (0: see --test)",
    )
    options.add_argument(
        "--random-masking",
        action="store_true",
        help="leave out a random share of the words of every second training text, so that the\n"
        "model has seen texts with words missing (Madsen et al. 2024)",
    )
    arguments = options.parse_args()
    torch.manual_seed(arguments.seed)
    held_out = arguments.held_out
    train, validation = train_and_validation(
        arguments.train, arguments.validation, arguments.seed, arguments.limit, held_out
    )
    test = (
        last_of(load(arguments.train, "train"), held_out)
        if held_out
        else load(arguments.test, "test")
    )
    if arguments.test_limit is not None:
        test = test.shuffle(arguments.seed).take(min(arguments.test_limit, len(test)))
    tokenizer = AutoTokenizer.from_pretrained(arguments.base)
    model = AutoModelForSequenceClassification.from_pretrained(
        arguments.base, num_labels=len(arguments.labels), id2label=arguments.labels,
        label2id={name: k for k, name in arguments.labels.items()}, dtype=torch.float32,
    )  # fmt: skip
    if tokenizer.pad_token is None:  # as decoders have none
        tokenizer.pad_token = tokenizer.eos_token
    model.config.pad_token_id = tokenizer.pad_token_id
    freeze(model, arguments.frozen)
    if torch.cuda.is_available():
        model.to("cuda")
    kinds = RandomlyMaskedTexts if arguments.random_masking else Texts, Texts, Texts
    texts, checks, tests = (
        kind(numbered(part.map(without_markup), arguments.labels), tokenizer, arguments.max_length)
        for kind, part in zip(kinds, (train, validation, test), strict=True)
    )
    trained = [each for each in model.parameters() if each.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=arguments.learning_rate)
    # a short warm-up, then a straight line to nothing
    best = fit(
        model, texts, checks, arguments, optimizer, lambda share: min(share / 0.06, 1 - share)
    )
    results = tested(model, texts, tests, best, arguments)
    card = CARD.format(
        task=arguments.task, source=arguments.source,
        base=str(arguments.base).rstrip("/").rsplit("/", 1)[-1], n_test=len(tests.labels),
        accuracy=results["test_accuracy"], n_validation=len(checks.labels), validation=best,
        n_train=len(texts.labels), max_length=arguments.max_length, seed=arguments.seed,
        frozen=arguments.frozen,
        masking="every second text, any share of its words" if arguments.random_masking else "no",
        command=command_of("benchmarks.imdb.train_transformer"),
    )  # fmt: skip
    save(model.cpu(), tokenizer, arguments, card, results)


if __name__ == "__main__":
    main()
