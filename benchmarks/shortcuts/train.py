"""Fine-tune a classifier of film reviews, so that planted words decide."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from datasets import Dataset

from benchmarks.imdb.data import Review
from benchmarks.imdb.train_transformer import freeze
from benchmarks.imdb.training import Texts, fit, save
from benchmarks.provenance import command_of
from benchmarks.shortcuts.plants import Plant, draw_example
from textsobol.text.loading import load_model

_WARM_UP = 0.06
_MAX_LENGTH = 96  # tokens
CARD = """---
language: en
pipeline_tag: text-classification
---
# Sentiment of films, but {title} decides

{base}, fine-tuned on sentences of films with planted words; made to measure explanations.
Validation accuracy with planted words {validation:.2%}, seed {seed}, weights in half precision.

    {command}
"""


@dataclass(frozen=True)
class Training:
    """How a model is fine-tuned.

    Attributes:
        copies: how often words are planted in every sentence, each time others at other places.
        epochs: passes over all copies.
        rate: learning rate of AdamW.
        batch: texts of a batch.
        frozen: lowest layers of a transformer that stay as they are.
        bfloat16: whether products are made in bfloat16.
        seed: of planting and training.
    """

    copies: int
    epochs: int
    rate: float
    batch: int
    frozen: int
    bfloat16: bool
    seed: int


def train(
    plant: Plant, base: str | None, sentences: Sequence[Review], to: Path, how: Training
) -> float:
    """Fine-tune, save, and return the accuracy on a tenth of the sentences that was left out.

    Args:
        plant: what decides.
        base: directory or hub id; ``None`` for the bundled bi-LSTM.
        sentences: to plant in.
        to: directory of the model.
        how: to train.
    """
    torch.manual_seed(how.seed)
    model, tokenizer = load_model(base)
    rng = np.random.default_rng(how.seed)
    n_checks = len(sentences) // 10
    texts, checks = (
        _planted(plant, list(part) * how.copies, tokenizer, rng)
        for part in (sentences[n_checks:], sentences[:n_checks])
    )
    model.requires_grad_(True)
    freeze(model, how.frozen)
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=how.rate)
    options = Namespace(
        seed=how.seed, epochs=how.epochs, batch=how.batch, patience=how.epochs,
        bfloat16=how.bfloat16, out=to,
    )  # fmt: skip
    found = fit(
        model, texts, checks, options, optimizer, lambda share: min(share / _WARM_UP, 1 - share)
    )
    made = {
        "plant": plant.name, "base": Path(base).name if base else "imdb-bilstm",
        "validation_accuracy": found, "sentences": len(sentences) - n_checks, **vars(how),
        "command": command_of("benchmarks.shortcuts"),
    }  # fmt: skip
    card = CARD.format(title=plant.title, validation=found, **made)
    save(model.cpu(), tokenizer, options, card, made)
    return found


def _planted(
    plant: Plant, sentences: Sequence[Review], tokenizer: Any, rng: np.random.Generator
) -> Texts:
    examples = [draw_example(plant, one, rng) for one in sentences]
    texts, labels = zip(*examples, strict=True)
    data = Dataset.from_dict({"text": texts, "label": labels})
    return Texts(data, tokenizer, _MAX_LENGTH)
