"""Train the GloVe bi-LSTM of Fel et al. 2021 on IMDB.

    python -m benchmarks.imdb.train_bilstm --glove glove.6B.100d.txt.gz --out DIRECTORY

Texts come from the hub (stanfordnlp/imdb) or from local JSON lines, CSV or Parquet files with
the columns text and label.
"""

import gzip
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.imdb.data import load, train_and_validation
from benchmarks.imdb.training import Texts, fit, parser, save, tested
from benchmarks.provenance import command_of
from textsobol.models.bilstm import BiLstmConfig, BiLstmForSequenceClassification, word_tokenizer


def read_glove(path: Path) -> dict[str, np.ndarray]:
    """Word vectors in the standard text format, plain or gzip; words may hold spaces."""
    opener: Any = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as file:
        lines = [line.rstrip("\n") for line in file]
    if lines and len(lines[0].split(" ")) == 2:
        lines = lines[1:]  # the header of word2vec's format
    # Most words have no space in them: the shortest line tells the dimension.
    size = min(len(line.split(" ")) for line in lines) - 1
    pieces = (line.rsplit(" ", size) for line in lines)
    return {word: np.array(values, dtype=np.float32) for word, *values in pieces}


def frequent_words(texts: list[str], size: int, least: int) -> list[str]:
    """The most frequent words of the texts, as the model's tokenizer cuts them."""
    backend = word_tokenizer([]).backend_tokenizer
    counts: Counter[str] = Counter()
    for text in texts:
        pieces = backend.pre_tokenizer.pre_tokenize_str(backend.normalizer.normalize_str(text))
        counts.update(word for word, _ in pieces)
    return [word for word, count in counts.most_common(size) if count >= least]


CARD = """---
license: mit
language: en
pipeline_tag: text-classification
---
# {task}: a GloVe bi-LSTM

Architecture of Fel et al. 2021, *Look at the Variance!*: {size}-dimensional word vectors, a
bidirectional LSTM with {hidden} units a direction, the maximum of each unit over the words, a
projection to {projection} dimensions, two labels. {words:,} words, lower case; `<br />` is white
space.

| | |
|---|---|
| accuracy on {n_test:,} test texts | {accuracy:.2%} |
| validation accuracy ({n_validation:,} texts) | {validation:.2%} |
| training texts | {n_train:,} |
| seed | {seed} |
| command | `{command}` |

To use it with transformers alone, `import textsobol.models.bilstm` first: that makes the Auto
classes and `pipeline("text-classification", ...)` know the architecture.

Data: {source}; the texts are not part of this model.
Word vectors: GloVe 6B (Pennington et al. 2014), Public Domain Dedication and License. Weights are
stored in half precision and load as single.
"""


def main() -> None:
    """Train, evaluate, save."""
    options = parser(__doc__, epochs=12, rate=2e-3, batch=64)
    options.add_argument("--glove", required=True, type=Path, help="GloVe vectors, .txt or .txt.gz")
    options.add_argument("--vocabulary", type=int, default=30_000, help="most words (30,000)")
    options.add_argument("--least", type=int, default=3, help="least occurrences of a word (3)")
    options.add_argument("--max-length", type=int, default=400, help="tokens of a training text")
    arguments = options.parse_args()
    torch.manual_seed(arguments.seed)
    train, validation = train_and_validation(
        arguments.train, arguments.validation, arguments.seed, arguments.limit
    )
    vectors = read_glove(arguments.glove)
    size = len(next(iter(vectors.values())))
    words = frequent_words(train["text"][:], arguments.vocabulary, arguments.least)
    tokenizer = word_tokenizer(words)
    model: Any = BiLstmForSequenceClassification(
        BiLstmConfig(
            vocab_size=len(tokenizer), embedding_size=size, num_labels=len(arguments.labels),
            id2label=arguments.labels, label2id={name: k for k, name in arguments.labels.items()},
        )
    )  # fmt: skip
    known = [k for k, word in enumerate(words) if word in vectors]
    print(f"{len(words):,} words, {len(known):,} of them with a GloVe vector", flush=True)
    with torch.no_grad():
        model.embedding.weight.mul_(0.1)
        for k in known:
            model.embedding.weight[k + 2] = torch.from_numpy(vectors[words[k]])
    if torch.cuda.is_available():
        model.cuda()
    rest = [p for name, p in model.named_parameters() if not name.startswith("embedding")]
    optimizer = torch.optim.Adam(
        [{"params": rest, "lr": arguments.learning_rate},
         {"params": model.embedding.parameters(), "lr": arguments.learning_rate / 2}],
    )  # fmt: skip
    texts = Texts(train, tokenizer, arguments.max_length)
    checks = Texts(validation, tokenizer, 2 * arguments.max_length)
    best = fit(model, texts, checks, arguments, optimizer, lambda share: 1 - 0.9 * share)
    test = Texts(load(arguments.test, "test"), tokenizer, 4 * arguments.max_length)
    results = tested(model, texts, test, best, arguments)
    card = CARD.format(
        task=arguments.task, source=arguments.source,
        size=size, hidden=model.config.hidden_size, projection=model.config.projection_size,
        words=len(tokenizer), n_test=len(test.labels), accuracy=results["test_accuracy"],
        validation=best,
        n_validation=len(checks.labels), n_train=len(texts.labels), seed=arguments.seed,
        command=command_of("benchmarks.imdb.train_bilstm"),
    )  # fmt: skip
    save(model.cpu(), tokenizer, arguments, card, results)


if __name__ == "__main__":
    main()
