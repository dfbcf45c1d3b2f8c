"""What both training scripts share: options, the loop, accuracy, the model card."""

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.progress import Progress, TextColumn, track

from benchmarks.imdb.data import HUB_ID, text_columns

IMDB = (
    "Large Movie Review Dataset (Maas et al. 2011, *Learning Word Vectors for Sentiment Analysis*)"
)


def parser(
    description: str | None, *, epochs: int, rate: float, batch: int
) -> argparse.ArgumentParser:
    """Options that both scripts have."""
    options = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawTextHelpFormatter
    )
    options.add_argument("--train", default=HUB_ID, help=f"hub id or file (default {HUB_ID})")
    options.add_argument("--test", default=HUB_ID, help=f"hub id or file (default {HUB_ID})")
    options.add_argument("--out", required=True, type=Path, help="directory to write the model to")
    options.add_argument("--epochs", type=int, default=epochs, help=f"at most ({epochs})")
    options.add_argument("--patience", type=int, default=2, help="epochs without progress (2)")
    options.add_argument("--learning-rate", type=float, default=rate, help=f"of Adam ({rate})")
    options.add_argument("--batch", type=int, default=batch, help=f"texts of a batch ({batch})")
    options.add_argument(
        "--validation", type=float, default=0.1, help="share of the training texts"
    )
    options.add_argument("--limit", type=int, help="training texts to use (all)")
    options.add_argument(
        "--bfloat16",
        action="store_true",
        help="train and test with bfloat16 products: faster on some CPUs",
    )
    options.add_argument("--seed", type=int, default=0)
    options.add_argument(
        "--labels",
        type=lambda names: dict(enumerate(names.split(","))),
        default="NEGATIVE,POSITIVE",
        metavar="NAMES",
        help="names of the labels 0, 1, ... with commas (NEGATIVE,POSITIVE); the data may have the "
        "names themselves",
    )
    options.add_argument(
        "--task", default="Sentiment of film reviews", help="for the model card: what it tells"
    )
    options.add_argument("--source", default=IMDB, help="for the model card: whose texts")
    return options


def batches(
    lengths: Sequence[int], size: int, rng: np.random.Generator | None
) -> Iterator[list[int]]:
    """Numbers of texts of about equal length; shuffled with ``rng``, else longest first."""
    jitter = rng.uniform(0.9, 1.1, len(lengths)) if rng is not None else 1.0
    order = np.argsort(-np.asarray(lengths) * jitter, kind="stable")
    pieces = [order[k : k + size].tolist() for k in range(0, len(order), size)]
    if rng is not None:
        rng.shuffle(pieces)
    yield from pieces


def numbered(data: Any, names: Mapping[int, str]) -> Any:
    """The data set with numbers as labels, where it has names."""
    found = data["label"][:]
    if not any(isinstance(label, str) for label in found):
        return data
    number_of = {name: number for number, name in names.items()}
    if unknown := sorted(set(found) - number_of.keys()):
        raise SystemExit(f"--labels does not name {', '.join(unknown)}")
    numbers = [number_of[label] for label in found]
    # Another column: the type of one cannot change in place.
    return data.remove_columns("label").add_column("label", numbers)


class Texts:
    """Tokenized texts, or pairs of texts, with their labels."""

    def __init__(self, data: Any, tokenizer: Any, max_length: int) -> None:
        encoded = tokenizer(
            *(data[name][:] for name in text_columns(data)),
            truncation=True,
            max_length=max_length,
            add_special_tokens=True,
        )
        self.ids: list[list[int]] = encoded["input_ids"]
        self.types: list[list[int]] | None = encoded.get("token_type_ids")
        self.words = [_words(encoded, number) for number in range(len(self.ids))]
        self.labels = torch.tensor(data["label"][:])
        self.lengths = [len(row) for row in self.ids]
        self._pad = tokenizer.pad_token_id

    def batch(self, numbers: Sequence[int]) -> dict[str, torch.Tensor]:
        """Model inputs of some texts."""
        rows = {number: self.kept(number) for number in numbers}
        lengths = torch.tensor([len(row) for row in rows.values()]).unsqueeze(1)
        ids = _padded([[self.ids[k][place] for place in row] for k, row in rows.items()], self._pad)
        made = {
            "input_ids": ids,
            "attention_mask": (torch.arange(ids.shape[1]) < lengths).long(),
            "labels": self.labels[list(numbers)],
        }
        if self.types is not None:
            types = [[self.types[k][place] for place in row] for k, row in rows.items()]
            made["token_type_ids"] = _padded(types, 0)
        return made

    def kept(self, number: int) -> Sequence[int]:
        """Places of the tokens of a text."""
        return range(len(self.ids[number]))


class RandomlyMaskedTexts(Texts):
    """Texts of which every second one misses a random share of its words, drawn anew each time.

    After Madsen et al. 2024, Faithfulness measurable masked language models; words are deleted,
    as explanations delete them.
    """

    def __init__(self, data: Any, tokenizer: Any, max_length: int) -> None:
        super().__init__(data, tokenizer, max_length)
        self._rng = np.random.default_rng(0)

    def kept(self, number: int) -> Sequence[int]:
        """Places of the tokens that stay; special tokens always do."""
        words = self.words[number]
        if self._rng.random() < 0.5:
            return range(len(words))
        is_kept = self._rng.random(len(words)) < self._rng.random()
        return [place for place, word in enumerate(words) if word is None or is_kept[word]]


def _words(encoded: Any, number: int) -> list[int | None]:
    """The word of every token, with numbers that go on in the second text of a pair."""
    found = list(zip(encoded.sequence_ids(number), encoded.word_ids(number), strict=True))
    number_of = {word: k for k, word in enumerate(dict.fromkeys(w for w in found if None not in w))}
    return [number_of.get(word) for word in found]


def _padded(rows: Sequence[Sequence[int]], value: int) -> torch.Tensor:
    tensors = [torch.tensor(row, dtype=torch.long) for row in rows]
    return torch.nn.utils.rnn.pad_sequence(tensors, batch_first=True, padding_value=value)


@torch.inference_mode()
def accuracy(model: Any, texts: Texts, options: argparse.Namespace, title: str) -> float:
    """Share of texts that the model gets right."""
    model.eval()
    device = next(model.parameters()).device
    right = 0
    pieces = list(batches(texts.lengths, options.batch, None))
    for numbers in track(pieces, title, transient=True):
        batch = {name: value.to(device) for name, value in texts.batch(numbers).items()}
        labels = batch.pop("labels")
        with torch.autocast(device.type, torch.bfloat16, enabled=options.bfloat16):
            logits = model(**batch).logits
        right += int((logits.argmax(dim=1) == labels).sum())
    return right / len(texts.labels)


def fit(
    model: Any,
    train: Texts,
    validation: Texts,
    options: argparse.Namespace,
    optimizer: torch.optim.Optimizer,
    schedule: Callable[[float], float],
) -> float:
    """Train until the validation accuracy stops rising; keep the best weights.

    Args:
        model: what is trained, in place.
        train: texts to learn from.
        validation: texts that decide when to stop.
        options: of the command line.
        optimizer: of the model's parameters.
        schedule: learning rate as a share of the full one, at a share of all steps.

    Returns:
        The best validation accuracy.
    """
    rng = np.random.default_rng(options.seed)
    device = next(model.parameters()).device
    if options.epochs < 1:
        raise SystemExit("--epochs must be at least 1")
    best, best_weights, stale, step = -1.0, {}, 0, 0
    full_rates = [group["lr"] for group in optimizer.param_groups]
    n_steps = options.epochs * (len(train.lengths) // options.batch + 1)
    for epoch in range(options.epochs):
        model.train()
        pieces = list(batches(train.lengths, options.batch, rng))
        with Progress(*Progress.get_default_columns(), TextColumn("{task.fields[loss]}")) as bar:
            task = bar.add_task(f"epoch {epoch + 1}", total=len(pieces), loss="")
            for numbers in pieces:
                for group, rate in zip(optimizer.param_groups, full_rates, strict=True):
                    group["lr"] = rate * schedule(step / n_steps)
                batch = {name: value.to(device) for name, value in train.batch(numbers).items()}
                with torch.autocast(device.type, torch.bfloat16, enabled=options.bfloat16):
                    loss = model(**batch).loss
                optimizer.zero_grad()
                loss.backward()
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                step += 1
                bar.update(task, advance=1, loss=f"loss {loss.item():.3f}")
        found = accuracy(model, validation, options, "validation")
        print(f"epoch {epoch + 1}: validation accuracy {found:.4f}", flush=True)
        if found > best:
            best, stale = found, 0
            best_weights = {name: value.clone() for name, value in model.state_dict().items()}
        else:
            stale += 1
            if stale >= options.patience:
                break
    model.load_state_dict(best_weights)
    model.half().float()  # as they will be stored, so that the test measures what is kept
    return best


def tested(
    model: Any, train: Texts, test: Texts, validation: float, options: argparse.Namespace
) -> dict[str, Any]:
    """Measure the accuracy on the test texts, print it, and say what is to be stored."""
    right = accuracy(model, test, options, "test")
    print(f"test accuracy {right:.4f} on {len(test.labels):,} reviews", flush=True)
    return {
        "test_accuracy": right,
        "test_reviews": len(test.labels),
        "validation_accuracy": validation,
        "train_reviews": len(train.labels),
        "seed": options.seed,
    }


def save(
    model: Any, tokenizer: Any, options: argparse.Namespace, card: str, results: dict[str, Any]
) -> None:
    """Write weights in half precision, tokenizer, model card and accuracy."""
    options.out.mkdir(parents=True, exist_ok=True)
    model.half().save_pretrained(options.out)
    tokenizer.backend_tokenizer.no_truncation()  # that of the training texts
    tokenizer.backend_tokenizer.no_padding()
    # The file is half as large; when loaded, it gets single precision.
    path = options.out / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    config["dtype"] = "float32"
    config.pop("torch_dtype", None)
    path.write_text(json.dumps(config, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    tokenizer.save_pretrained(options.out)
    written = json.dumps(results, indent=2) + "\n"
    (options.out / "results.json").write_text(written, encoding="utf-8")
    (options.out / "README.md").write_text(card, encoding="utf-8")
