"""What the models of the benchmarks are: one table for all reports.

A new model needs one more entry here, and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_BFLOAT16 = "here with weights in bfloat16"
_TRAIN = "python -m benchmarks.imdb.train_transformer"


@dataclass(frozen=True)
class Model:
    """A model that is explained.

    Attributes:
        family: of its architecture: results of a family stand together.
        about: what it is.
        accuracy: on texts that it was not trained on; empty where that was not stated.
        command: that made it, without the files' places.
    """

    family: str
    about: str
    accuracy: str = ""
    command: str = ""


MODELS = {
    "imdb-bilstm": Model(
        "bi-LSTM", "the bundled bi-LSTM, in float32", "88.94 % on 5,000 IMDB test reviews"
    ),
    "toxicity-bilstm": Model(
        "bi-LSTM",
        "the paper's bi-LSTM, trained on sentences of toxic posts, in float32",
        "80.9 % on 1,410 sentences of trial posts",
        "python -m benchmarks.imdb.train_bilstm --glove glove.6B.100d.imdb.txt.gz --train "
        "toxic/train.jsonl --test toxic/test.jsonl --out toxicity-bilstm --labels clean,toxic "
        '--task "Toxic sentences" --source "toxic spans of SemEval-2021, task 5 (Pavlopoulos et '
        'al. 2021)" --epochs 6 --batch 32',
    ),
    "minilm-imdb": Model(
        "MiniLM",
        "MiniLM-L6 (22.7 M parameters) fine-tuned on 8,000 IMDB reviews",
        "87.0 % on 1,000 test reviews in float32",
    ),
    "minilm-imdb-bf16": Model(
        "MiniLM",
        f"MiniLM-L6 (22.7 M parameters) fine-tuned on 8,000 IMDB reviews, {_BFLOAT16}",
        "87.0 % on 1,000 test reviews in float32",
    ),
    "minilm-imdb-masking-bf16": Model(
        "MiniLM",
        "`minilm-imdb` after one more epoch, in which every second review misses a random share of "
        "its words (Madsen et al. 2024), so that masked texts are nothing new to it; "
        f"{_BFLOAT16}",
        "87.5 % on 400 test reviews in float32",
        f"{_TRAIN} --base minilm-imdb --random-masking --limit 1200 --epochs 1 --learning-rate "
        "3e-5 --max-length 160 --frozen 2 --bfloat16 --validation 0.05 --test-limit 400 --out "
        "minilm-imdb-masking",
    ),
    "minilm-agnews-bf16": Model(
        "MiniLM",
        "all-MiniLM-L6-v2 fine-tuned on AG News (World, Sports, Business, Sci/Tech), "
        f"{_BFLOAT16}; its texts are held-out ones",
        "89.2 % on 2,000 held-out items in float32",
        f"{_TRAIN} --base all-MiniLM-L6-v2 --train agnews.jsonl --held-out 2000 --labels "
        "Business,Sci/Tech,Sports,World --limit 5000 --epochs 2 --learning-rate 5e-5 --max-length "
        "80 --frozen 2 --bfloat16 --out minilm-agnews",
    ),
    "minilm-pairs-bf16": Model(
        "MiniLM",
        "all-MiniLM-L6-v2 fine-tuned to say whether two texts are the beginning and the rest of "
        f"the same AG News item, or of two items of the same topic, {_BFLOAT16}; its pairs are "
        "held-out ones",
        "76.8 % on 500 held-out pairs in float32",
        f"{_TRAIN} --base all-MiniLM-L6-v2 --train agnews-pairs.jsonl --held-out 500 --labels "
        "other,same --limit 8000 --epochs 2 --learning-rate 5e-5 --max-length 80 --frozen 2 "
        "--bfloat16 --out minilm-pairs",
    ),
    "mpnet-imdb-bf16": Model(
        "MPNet",
        f"MPNet-base (110 M parameters) fine-tuned on 5,000 IMDB reviews, {_BFLOAT16}",
        "92.4 % on 1,000 test reviews in float32",
        f"{_TRAIN} --base all-mpnet-base-v2 --limit 5000 --epochs 1 --learning-rate 3e-5 "
        "--max-length 224 --frozen 6 --bfloat16 --validation 0.05 --test-limit 1000 --out "
        "mpnet-imdb",
    ),
    "smollm2": Model("SmolLM2", "SmolLM2-135M-Instruct as the classifier of a prompt, in float32"),
}


def model_of(name: str) -> Model:
    """A model by its name; one with planted words is of the family that it started from.

    Example:
        >>> model_of("minilm-imdb-single").family, model_of("something").family
        ('MiniLM', 'something')
    """
    known = [each for each in MODELS if re.match(rf"{re.escape(each)}(-|$)", name)]
    return MODELS[max(known, key=len)] if known else Model(name, "")


def describe(names: Iterable[str]) -> str:
    """A paragraph of Markdown, and the commands that made models.

    Example:
        >>> print(describe(["imdb-bilstm"]))
        **Models.** `imdb-bilstm`: the bundled bi-LSTM, in float32; 88.94 % on 5,000 IMDB test
        reviews.
    """
    said, commands = [], []
    for name in dict.fromkeys(names):
        model = model_of(name)
        parts = (model.about, model.accuracy or "accuracy not measured")
        said.append(f"`{name}`: {'; '.join(filter(None, parts))}.")
        commands += [f"    {model.command}"] if model.command else []
    made = ["Made by", *commands, "and saved in bfloat16 where the name says so."]
    return "\n\n".join([f"**Models.** {' '.join(said)}", *(made if commands else [])])
