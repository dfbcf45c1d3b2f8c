"""Time, forward passes and tokens of the default, now against before, in turns.

Seconds are those of the processor (one thread), since other work may share the machine.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.gates.run import VARIANTS, Variant, budget_of
from benchmarks.reporting import Line
from benchmarks.runner import progress_bar
from benchmarks.speed.reviews import reviews
from benchmarks.store import Store
from textsobol import Sobol, TextExplainer, explain_corpus

KEY = ("job", "variant", "turn")
TURNS = 3
_BY_NAME = {variant.name: variant for variant in VARIANTS}
NOW, BEFORE, GATES = (_BY_NAME[name] for name in ("sobol", "sobol-before", "gates"))
# Eight of these, and a bit more for the path, are the default before: too long to run whole.
ONE_MASK = Variant("one-mask", "flip, 1 base mask", Sobol("flip", base_masks=1, path=False))
HEADER = (
    "job", "method", "seconds", "times faster", "passes", "times fewer", "tokens", "times fewer",
    "rows of gates", "in passes of the whole text", "turns",
)  # fmt: skip
CORPUS_HEADER = (
    "job", "method", "texts", "texts per second", "times faster", "passes a text",
)  # fmt: skip
_TITLES = {
    "sobol": "the default", "sobol-before": "the default before", "gates": "gates",
    "one-mask": "flip, 1 base mask (an eighth of before)",
}  # fmt: skip


@dataclass
class Tokens:
    """Tokens that a model was given.

    Attributes:
        without: gradients.
        with_: gradients.
    """

    without: int = 0
    with_: int = 0


@dataclass(frozen=True)
class Job:
    """A text of some length, and what to measure on it.

    Attributes:
        name: in tables.
        n_words: about.
        variants: in turns.
        turns: how often.
    """

    name: str
    n_words: int
    variants: Sequence[Variant] = field(default=(NOW, BEFORE, GATES))
    turns: int = TURNS


def run_job(explainer: TextExplainer, data: Path, job: Job, store: Store) -> None:
    """One text, by all variants in turns."""
    (text,) = reviews(data, around=job.n_words, number=1)
    for variant in job.variants:  # first-use costs
        explainer("A gripping film. " * 8, method=variant.method)
    with progress_bar(job.turns * len(job.variants), "explanations", job.name) as bar:
        for turn in range(job.turns):
            for variant in job.variants:
                names = {"job": job.name, "variant": variant.name, "turn": turn}
                if store.key_of(names) not in store.done:
                    store.add({**names, **_measure(explainer, text, variant, turn)})
                bar.update()


def _measure(explainer: TextExplainer, text: str, variant: Variant, seed: int) -> dict[str, Any]:
    game = explainer.masked(text)
    whole = np.ones((1, game.n_features), dtype=bool)

    def forward_whole() -> None:
        game.engine(game.inputs(whole), lambda _: None)

    one_pass = min(_cpu(forward_whole) for _ in range(5))
    budget = budget_of(explainer, text, variant)
    with counted(explainer.model) as tokens:
        start = time.process_time()
        found = explainer(text, method=variant.method, budget=budget, seed=seed)
        used = time.process_time() - start
    return {
        "words": game.n_features,
        "seconds": round(used, 4),
        "one_pass": round(one_pass, 6),
        "passes": found.cost["forwarded"],
        "gates": found.cost.get("gates", 0),
        "tokens": tokens.without,
        "gate_tokens": tokens.with_,
    }


def run_corpus(
    explainer: TextExplainer, texts: Sequence[str], store: Store, *, job: str, n_before: int
) -> None:
    """A corpus job with gates, by the default, and by the default before."""
    for variant, n in ((GATES, len(texts)), (NOW, len(texts)), (BEFORE, n_before)):
        names = {"job": f"corpus, {job}", "variant": variant.name, "turn": 0}
        if store.key_of(names) in store.done:
            continue
        with tempfile.TemporaryDirectory() as folder:
            table = Path(folder) / "reviews.jsonl"
            table.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts[:n]))
            start = time.process_time()
            found = list(
                explain_corpus(explainer, table, out=Path(folder) / "out", method=variant.method)
            )
            used = time.process_time() - start
        store.add(
            {
                **names,
                "texts": n,
                "seconds": round(used, 3),
                "passes": float(np.mean([each.cost["forwarded"] for each in found])),
            }
        )


def random_bert(tokenizer: Any, *, positions: int = 2048, seed: int = 0) -> Any:
    """An encoder of MiniLM's size with random weights, and the tokenizer for that window."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification

    torch.manual_seed(seed)
    tokenizer.model_max_length = positions
    config = BertConfig(
        vocab_size=len(tokenizer), hidden_size=384, num_hidden_layers=6, num_attention_heads=12,
        intermediate_size=1536, max_position_embeddings=positions,
    )  # fmt: skip
    return BertForSequenceClassification(config).eval()


@contextmanager
def counted(model: Any) -> Iterator[Tokens]:
    """Count the tokens that a model is given, with and without gradients."""
    import torch

    tokens = Tokens()

    def count(module: Any, args: Any, kwargs: Any) -> None:
        given = kwargs.get("input_ids", args[0] if args else kwargs.get("inputs_embeds"))
        n = int(given.shape[0] * given.shape[1])
        if torch.is_grad_enabled():
            tokens.with_ += n
        else:
            tokens.without += n

    hook = model.register_forward_pre_hook(count, with_kwargs=True)
    try:
        yield tokens
    finally:
        hook.remove()


def rows(lines: Sequence[Line]) -> Iterator[list[str]]:
    """Rows of the table: medians over turns, and of ratios within a turn."""
    own = [line for line in lines if not line["job"].startswith("corpus")]
    for job in dict.fromkeys(line["job"] for line in own):
        by_variant = {
            variant: [x for x in own if (x["job"], x["variant"]) == (job, variant)]
            for variant in dict.fromkeys(x["variant"] for x in own if x["job"] == job)
        }
        reference, scale = by_variant.get("sobol-before"), 1.0
        if not reference:
            reference, scale = by_variant.get("one-mask", []), 8.0
        for variant, some in by_variant.items():
            pairs = [(b, a) for b in reference for a in some if a["turn"] == b["turn"]]

            def ratio(name: str, pairs: Any = pairs, scale: float = scale) -> str:
                return f"{scale * float(np.median([b[name] / a[name] for b, a in pairs])):.1f} x"

            cells = ["", "", ""]
            if variant not in ("sobol-before", "one-mask") and pairs:
                cells = [ratio("seconds"), ratio("passes"), ratio("tokens")]
            seconds = float(np.median([line["seconds"] for line in some]))
            units = float(np.median([line["seconds"] / line["one_pass"] for line in some]))
            yield [
                f"{job}, {some[0]['words']:,} words", _TITLES[variant], f"{seconds:.2f}", cells[0],
                f"{some[0]['passes']:,}", cells[1], f"{some[0]['tokens']:,}", cells[2],
                str(some[0]["gates"]), f"{units:,.0f}", str(len(some)),
            ]  # fmt: skip


def corpus_rows(lines: Sequence[Line]) -> Iterator[list[str]]:
    """Rows of the table of corpus jobs."""
    own = [line for line in lines if line["job"].startswith("corpus")]
    for job in dict.fromkeys(line["job"] for line in own):
        some = {line["variant"]: line for line in own if line["job"] == job}
        rates = {name: line["texts"] / line["seconds"] for name, line in some.items()}
        for name, line in some.items():
            faster = rates[name] / rates["sobol-before"] if "sobol-before" in rates else np.nan
            yield [
                job, _TITLES[name], str(line["texts"]), f"{rates[name]:.2f}", f"{faster:.1f} x",
                f"{line['passes']:,.0f}",
            ]  # fmt: skip


def _cpu(work: Any) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start
