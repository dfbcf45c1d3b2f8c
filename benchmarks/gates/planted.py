"""Are words that decide by construction found? A small encoder, and texts with planted words.

The encoder says POSITIVE if a text has the word of `SINGLE`, or both words of `PAIR`; either of
these alone is a negative example. All other words come from reviews, in their order.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.gates.run import VARIANTS, Variant, budget_of, values
from benchmarks.imdb.data import load
from benchmarks.reporting import Line, decimal, interval, mean_with_interval
from benchmarks.runner import progress_bar
from benchmarks.store import Store
from textsobol import Sobol, TextExplainer, TextExplanation

KEY = ("words", "kind", "text", "variant")
SINGLE, PAIR = ("lantern",), ("harbor", "velvet")
KINDS = {"one word decides": SINGLE, "two words decide together": PAIR}
WINDOW = 2200  # tokens
SHORT, N_SHORT = (15, 30), 30
LONG, N_LONG = (300, 1000, 2000), 10
_N_WORDS = 2000  # in the vocabulary
_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
_STEPS, _LONG_EVERY = 1500, 12
_SHORT_VARIANTS = ("gates", "sobol", "flip-4", "lime-4", "kernel_shap-4")
_BATCH_TEXTS = 16


@dataclass(frozen=True)
class Source:
    """Words of reviews, one after the other, all of them in the vocabulary.

    Attributes:
        words: in the order of the reviews.
        vocabulary: the most frequent ones.
    """

    words: Sequence[str]
    vocabulary: Sequence[str]

    @classmethod
    def of(cls, texts: Sequence[str]) -> Source:
        """The words of texts."""
        every = re.findall(r"[a-z]+", " ".join(texts).lower().replace("<br />", " "))
        planted = {*SINGLE, *PAIR}
        known = [w for w, _ in Counter(every).most_common(_N_WORDS) if w not in planted]
        kept = set(known)
        return cls([word for word in every if word in kept], known)

    def draw(self, n_words: int, planted: Sequence[str], rng: np.random.Generator) -> list[str]:
        """A run of words, some of which are replaced by the planted ones at random places."""
        start = int(rng.integers(len(self.words) - n_words))
        found = list(self.words[start : start + n_words])
        for place, word in zip(rng.permutation(n_words), planted, strict=False):
            found[place] = word
        return found


def draw_example(source: Source, n_words: int, rng: np.random.Generator) -> tuple[list[str], int]:
    """A text and its label, half of them positive."""
    kinds: list[tuple[Sequence[str], int]] = [
        (SINGLE, 1), (PAIR, 1), ((), 0), (PAIR[:1], 0), (PAIR[1:], 0)
    ]  # fmt: skip
    chances = [0.2, 0.3, 0.1, 0.2, 0.2]
    planted, label = kinds[int(rng.choice(len(kinds), p=chances))]
    return source.draw(n_words, planted, rng), label


def train(source: Source, out: Path, *, seed: int, steps: int = _STEPS) -> float:
    """Train the encoder, save it, and return its accuracy on texts of all lengths."""
    import torch
    from transformers import ModernBertConfig, ModernBertForSequenceClassification

    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    tokenizer = make_tokenizer(source.vocabulary)
    model = ModernBertForSequenceClassification(
        ModernBertConfig(
            vocab_size=len(tokenizer), hidden_size=64, intermediate_size=128, num_hidden_layers=2,
            num_attention_heads=4, max_position_embeddings=WINDOW,
            layer_types=["full_attention"] * 2, pad_token_id=0, cls_token_id=2, sep_token_id=3,
            bos_token_id=2, eos_token_id=3,
            classifier_pooling="cls", id2label={0: "NEGATIVE", 1: "POSITIVE"},
            label2id={"NEGATIVE": 0, "POSITIVE": 1},
        )
    )  # fmt: skip
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=2e-3, total_steps=steps)
    model.train()
    with progress_bar(steps, "steps", "planted") as bar:
        for step in range(steps):
            is_long = step % _LONG_EVERY == _LONG_EVERY - 1
            n_words = int(rng.integers(200, 2100) if is_long else rng.integers(5, 80))
            examples = [draw_example(source, n_words, rng) for _ in range(4 if is_long else 48)]
            given = tokenizer([" ".join(words) for words, _ in examples], return_tensors="pt")
            labels = torch.tensor([label for _, label in examples])
            loss = model(**given, labels=labels).loss
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            bar.set_postfix(loss=f"{float(loss):.3f}", refresh=False)
            bar.update()
    model.eval()
    model.save_pretrained(out)
    tokenizer.save_pretrained(out)
    return accuracy(model, tokenizer, source, seed=seed + 1)


def accuracy(model: Any, tokenizer: Any, source: Source, *, seed: int) -> float:
    """Of texts that were not trained on, of every length that is measured."""
    rng = np.random.default_rng(seed)
    score = probability_of(model, tokenizer)
    is_right = []
    for n_words, n in ((SHORT[0], 100), (SHORT[1], 100), *((n_words, 30) for n_words in LONG)):
        examples = [draw_example(source, n_words, rng) for _ in range(n)]
        found = score([" ".join(words) for words, _ in examples]) > 0.5
        is_right += (found == [label for _, label in examples]).tolist()
    return float(np.mean(is_right))


def make_tokenizer(vocabulary: Sequence[str]) -> Any:
    """Every word is a token."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.normalizers import Lowercase
    from tokenizers.pre_tokenizers import Whitespace
    from tokenizers.processors import TemplateProcessing
    from transformers import PreTrainedTokenizerFast

    number_of = {word: k for k, word in enumerate([*_SPECIAL, *SINGLE, *PAIR, *vocabulary])}
    tokenizer = Tokenizer(WordLevel(number_of, unk_token="[UNK]"))
    tokenizer.normalizer = Lowercase()
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, model_max_length=WINDOW, pad_token="[PAD]", unk_token="[UNK]",
        cls_token="[CLS]", sep_token="[SEP]", mask_token="[MASK]",
    )  # fmt: skip


def probability_of(model: Any, tokenizer: Any) -> Callable[[list[str]], np.ndarray]:
    """The model as a plain function from texts to the probability of POSITIVE."""
    import torch

    @torch.inference_mode()
    def score(texts: list[str]) -> np.ndarray:
        found = []
        for start in range(0, len(texts), _BATCH_TEXTS):
            given = tokenizer(
                texts[start : start + _BATCH_TEXTS], padding=True, return_tensors="pt"
            )
            found.append(model(**given).logits.double().softmax(dim=-1)[:, 1].numpy())
        return np.concatenate(found)

    return score


def source_of(data: str, split: str) -> Source:
    """The words of all texts of a data set."""
    return Source.of([str(text) for text in load(data, split)["text"]])


def run(
    model: Any, tokenizer: Any, source: Source, store: Store, *, seed: int, limit: int | None
) -> None:
    """Fill the store: short texts by several methods, long ones by the default."""
    explainer = TextExplainer(model, tokenizer, progress=False)
    black_box = TextExplainer(
        probability_of(model, tokenizer), label_names=["POSITIVE"], score="logit", progress=False,
        batch_texts=256,
    )  # fmt: skip
    short = [variant for variant in VARIANTS if variant.name in _SHORT_VARIANTS]
    default = Variant("sobol", "sobol, the default", Sobol())
    unseen = Variant("sobol-black-box", "sobol, the default, black box", Sobol())
    cases: list[tuple[int | None, str, int, TextExplainer, Variant]] = [
        (None, kind, k, explainer, variant)
        for kind in KINDS for k in range(limit or N_SHORT) for variant in short
    ]  # fmt: skip
    long = [
        (n_words, kind, k) for n_words in LONG[: limit or None]
        for k in range(limit or N_LONG) for kind in KINDS
    ]  # fmt: skip
    cases += [(*case, explainer, default) for case in long]
    # A black box takes long: every other text of each kind.
    kinds = list(KINDS)
    cases += [
        (n_words, kind, k, black_box, unseen)
        for n_words, kind, k in long if kind == kinds[k % len(kinds)]
    ]  # fmt: skip
    with progress_bar(len(cases), "explanations", "planted") as bar:
        for n_words, kind, k, how, variant in cases:
            names = {
                "words": "short" if n_words is None else n_words,
                "kind": kind, "text": k, "variant": variant.name,
            }  # fmt: skip
            if store.key_of(names) not in store.done:
                rng = np.random.default_rng((seed, list(KINDS).index(kind), n_words or 0, k))
                n = n_words or int(rng.integers(*SHORT, endpoint=True))
                text = " ".join(source.draw(n, KINDS[kind], rng))
                budget = budget_of(how, text, variant)
                found = how(text, method=variant.method, budget=budget, seed=seed + k)
                store.add({**names, **measure(found, KINDS[kind])})
            bar.update()


def measure(found: TextExplanation, planted: Sequence[str]) -> dict[str, Any]:
    """What became of the planted words."""
    words = [word for word in found.words if word.status == "scored"]
    sizes = np.abs(values(found, "score"))
    leading = np.argsort(-sizes, kind="stable")
    is_planted = np.array([word.text in planted for word in words])
    # A word that shares its score with a group was not found.
    is_alone = np.array([word.shared_by == 1 and not word.screened_out for word in words])
    sums = found.sums.get(found.target)
    return {
        "is_right": found.target == "POSITIVE" and max(found.probabilities.values()) > 0.5,
        "n_words": len(words),
        "has_gates": bool(found.settings.get("gates")),
        "precision": float(is_planted[leading[: len(planted)]].mean()),
        "is_found": bool((is_planted & is_alone)[leading[: len(planted)]].all()),
        "is_flipped": bool(is_alone[is_planted].all()),
        "screened": None if sums is None else round(sums.screened, 5),
        "screened_high": None if sums is None else round(sums.screened_high, 5),
        "passes": found.cost["forwarded"],
        "gates": found.cost.get("gates", 0),
        "seconds": round(found.cost["seconds"], 4),
    }


SHORT_HEADER = (
    "method", *(f"precision@{len(words)}, {kind}" for kind, words in KINDS.items()),
    "passes", "rows of gates", "texts",
)  # fmt: skip
LONG_HEADER = (
    "words", "default", "deciding words", "texts", "flipped", "are the top", "precision@k",
    "sum of screened-out words (largest)", "its bound (median; largest)", "passes",
    "rows of gates",
)  # fmt: skip


def short_rows(lines: Sequence[Line]) -> Iterator[list[str]]:
    """Rows of the table of short texts."""
    own = [line for line in lines if line["words"] == "short" and line["is_right"]]
    for variant in VARIANTS:
        by_kind = [
            [x for x in own if x["variant"] == variant.name and x["kind"] == kind] for kind in KINDS
        ]
        if not any(by_kind):
            continue
        every = [line for some in by_kind for line in some]
        yield [
            variant.title,
            *(_mean_of(some, "precision") for some in by_kind),
            f"{np.mean([x['passes'] for x in every]):.0f}",
            f"{np.mean([x['gates'] for x in every]):.0f}",
            " + ".join(str(len(some)) for some in by_kind),
        ]


def long_rows(lines: Sequence[Line]) -> Iterator[list[str]]:
    """Rows of the table of long texts."""
    for n_words in LONG:
        for name, title in (("sobol", "with gates"), ("sobol-black-box", "a plain function")):
            for kind in KINDS:
                own = [
                    x for x in lines
                    if (x["words"], x["variant"], x["kind"]) == (n_words, name, kind)
                    and x["is_right"]
                ]  # fmt: skip
                if not own:
                    continue
                sums = [x["screened"] for x in own if x["screened"] is not None]
                highs = [x["screened_high"] for x in own if x["screened_high"] is not None]
                yield [
                    f"{n_words:,}", title, kind, str(len(own)),
                    f"{sum(x['is_flipped'] for x in own)} of {len(own)}",
                    f"{sum(x['is_found'] for x in own)} of {len(own)}",
                    f"{np.mean([x['precision'] for x in own]):.2f}",
                    decimal(max(sums)) if name == "sobol" else "",
                    f"{decimal(float(np.median(highs)))}; {decimal(max(highs))}"
                    if name == "sobol" else "",
                    f"{np.mean([x['passes'] for x in own]):,.0f}",
                    f"{np.mean([x['gates'] for x in own]):.0f}",
                ]  # fmt: skip


def _mean_of(lines: Sequence[Line], name: str) -> str:
    if not lines:
        return ""
    found = mean_with_interval([line[name] for line in lines])
    return f"{found.mean:.2f} {interval(found)}"
