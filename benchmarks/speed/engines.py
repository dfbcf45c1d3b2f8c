"""What makes passes faster on a CPU, and what it does to the numbers.

    python -m benchmarks.speed.engines --data reviews.jsonl.gz --model DIRECTORY --threads 1
    python -m benchmarks.speed.engines --data reviews.jsonl.gz --model DIRECTORY --size base

Masked rows of reviews (half of the words are left out) go through the batches of an explainer, by
turns in every way. "times float32" is the median over turns of tokens per second, as a ratio to
torch in float32 in the same turn, and the least and the most. Differences are in log-odds from
float32. "first" is the seconds of the first pass with rows of a new length, compilation included.

The second table explains a review, with the default method, budget and seed, and compares scores of
words with those in float32.

onnx and int8 need the extra "bench"; int8 is dynamic quantisation by ONNX Runtime. compile needs a
C++ compiler.
"""

from __future__ import annotations

import argparse
import copy
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from scipy.stats import spearmanr
from torch import Tensor, nn
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    BertConfig,
    BertForSequenceClassification,
)

from benchmarks.measuring import seconds
from benchmarks.speed.reviews import parser, reviews
from benchmarks.tables import markdown
from textsobol import TextExplainer
from textsobol.outputs import compute_scores
from textsobol.text.batches import LogitRunner
from textsobol.text.precision import convert

BATCH_TOKENS = 1024  # what an explainer takes for models of these sizes on a CPU
BUDGET = 4096  # tokens in the rows of one length
_INPUTS = ("input_ids", "attention_mask", "token_type_ids")


class Wrapped(nn.Module):
    """A model whose passes are made by a function."""

    def __init__(self, model: nn.Module, run: Callable[..., Any]) -> None:
        super().__init__()
        self.model, self.config = model, model.config
        self._run = run

    def get_input_embeddings(self) -> Any:
        """Those of the model, which are not counted as work."""
        model: Any = self.model
        return model.get_input_embeddings()

    def forward(self, **inputs: Tensor) -> Any:
        """What the function returns."""
        return self._run(**inputs)


class Logits(nn.Module):
    """A model with one output and inputs in order, for export."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, *inputs: Tensor) -> Tensor:
        """The logits."""
        found: Tensor = self.model(**dict(zip(_INPUTS, inputs, strict=True))).logits
        return found


def with_autocast(model: Any) -> nn.Module:
    """The float32 model under autocast."""

    def run(**inputs: Tensor) -> Any:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return model(**inputs)

    return Wrapped(model, run)


def with_eager_attention(model: Any) -> nn.Module:
    """The float32 model without fused attention."""
    copied: nn.Module = copy.deepcopy(model)
    copied.set_attn_implementation("eager")  # type: ignore[operator]
    return copied


def with_compile(model: Any) -> nn.Module:
    """Compiled for sizes that vary."""
    return Wrapped(model, torch.compile(copy.deepcopy(model), dynamic=True))


def with_onnx(model: Any, *, int8: bool = False) -> nn.Module:
    """Exported to ONNX Runtime, in float32 or with weights and products in int8."""
    import onnx
    import onnxruntime
    from onnxruntime.quantization import QuantType, quantize_dynamic

    rows, tokens = torch.export.Dim("rows"), torch.export.Dim("tokens", max=512)
    # Three tensors of their own: one given three times would become a single input.
    example = tuple(torch.full((2, 7), value) for value in (5, 1, 0))
    program = torch.onnx.export(
        Logits(copy.deepcopy(model)).eval(), example, dynamo=True, verbose=False,
        dynamic_shapes=(tuple({0: rows, 1: tokens} for _ in example),), input_names=_INPUTS,
    )  # fmt: skip
    assert program is not None
    exported = program.model_proto
    del exported.graph.value_info[:]  # wrong for shapes that vary, which quantisation refuses
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        onnx.save(exported, path)
        if int8:
            quantize_dynamic(path, path, weight_type=QuantType.QInt8)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = torch.get_num_threads()
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])

    def run(**inputs: Tensor) -> Any:
        (found,) = session.run(None, {name: inputs[name].numpy() for name in _INPUTS})
        return SimpleNamespace(logits=torch.from_numpy(found))

    return Wrapped(model, run)


WAYS: dict[str, Callable[[Any], nn.Module]] = {
    "float32": lambda model: model,
    "eager": with_eager_attention,
    "bfloat16": lambda model: convert(model, "bfloat16"),
    "float16": lambda model: convert(model, "float16"),
    "autocast": with_autocast,
    "compile": with_compile,
    "compile bfloat16": lambda model: with_compile(convert(model, "bfloat16")),
    "onnx": with_onnx,
    "int8": lambda model: with_onnx(model, int8=True),
}


def masked_rows(model: Any, tokenizer: Any, text: str) -> list[Any]:
    """Rows of a text without half of its words, about `BUDGET` tokens together."""
    masked = TextExplainer(model, tokenizer, progress=False).masked(text)
    length = len(masked.inputs(np.ones((1, masked.n_features), dtype=bool))[0].ids) / 2
    masks = np.random.default_rng(0).random((int(BUDGET / length), masked.n_features)) < 0.5
    return list(masked.inputs(masks))


def measure_passes(
    models: dict[str, Any], tokenizer: Any, texts: list[str], turns: int
) -> list[list[str]]:
    """The lines of the first table."""
    lines = []
    for text in texts:
        rows = masked_rows(models["float32"], tokenizer, text)
        n_tokens = sum(len(row.ids) for row in rows)
        runners = {name: LogitRunner(own, tokenizer, BATCH_TOKENS) for name, own in models.items()}
        odds, first = {}, {}
        for name, runner in runners.items():
            start = time.perf_counter()
            outputs = runner(rows, lambda _: None).outputs
            first[name] = time.perf_counter() - start
            odds[name] = compute_scores(outputs, "softmax", "logit", [0])
        work = [partial(runner, rows, lambda _: None) for runner in runners.values()]
        times = np.array([[seconds(each) for each in work] for _ in range(turns)])
        ratios = times[:, :1] / times
        for k, name in enumerate(models):
            off = np.abs(odds[name] - odds["float32"])
            lines.append([
                f"{n_tokens / len(rows):.0f}", name, f"{n_tokens / np.median(times[:, k]):,.0f}",
                f"{np.median(ratios[:, k]):.2f} ({ratios[:, k].min():.2f} to "
                f"{ratios[:, k].max():.2f})",
                f"{off.mean():.1e}", f"{off.max():.1e}", f"{first[name]:.1f}",
            ])  # fmt: skip
    return lines


def compare_scores(models: dict[str, Any], tokenizer: Any, text: str) -> list[list[str]]:
    """The lines of the second table."""
    found = {}
    for name, model in models.items():
        explainer = TextExplainer(models["float32"], tokenizer, progress=False)
        # As with dtype=, only the passes are made in another way: gates are the float32 model's.
        vars(explainer._classifier)["runner"] = LogitRunner(model, tokenizer, None)
        explanation = explainer(text, target="POSITIVE")
        found[name] = np.array([w.scores["POSITIVE"].score for w in explanation.words if w.scores])
    own = found["float32"]
    top = set(np.argsort(-own)[:10].tolist())
    return [
        [name, f"{spearmanr(own, scores).statistic:.4f}", f"{np.abs(scores - own).max():.4f}",
         f"{len(top & set(np.argsort(-scores)[:10].tolist()))}"]
        for name, scores in found.items()
        if name != "float32"
    ]  # fmt: skip


def make_model(asked: argparse.Namespace, tokenizer: Any) -> Any:
    """The model in float32, or a random one of BERT's size."""
    if asked.size == "own":
        return AutoModelForSequenceClassification.from_pretrained(
            asked.model, dtype=torch.float32
        ).eval()
    torch.manual_seed(0)
    return BertForSequenceClassification(BertConfig(vocab_size=len(tokenizer))).eval()


def main() -> None:
    """Print the tables."""
    options = parser(__doc__)
    options.add_argument("--size", choices=("own", "base"), default="own",
                         help="the model's, or a random BERT-base instead")  # fmt: skip
    options.add_argument("--threads", type=int, default=1, help="of torch and ONNX Runtime (1)")
    options.add_argument("--turns", type=int, default=5, help="times each is measured (5)")
    options.add_argument("--ways", default=",".join(WAYS), help=f"of {', '.join(WAYS)} (all)")
    options.add_argument("--scores", type=int, default=50,
                         help="words of the review that is explained; 0: none (50)")  # fmt: skip
    asked = options.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(asked.threads)
    tokenizer = AutoTokenizer.from_pretrained(asked.model)
    model = make_model(asked, tokenizer)
    names = list(dict.fromkeys(["float32", *asked.ways.split(",")]))
    models = {name: WAYS[name](model) for name in names}
    texts = [reviews(asked.data, around=words, number=1)[0] for words in (65, 160, 400)]
    header = ["tokens a row", "way", "tokens a second", "times float32", "mean difference",
              "largest difference", "first"]  # fmt: skip
    print(markdown(header, measure_passes(models, tokenizer, texts, asked.turns)))
    if asked.scores and asked.size == "own":
        text = reviews(asked.data, around=asked.scores, number=1)[0]
        header = ["way", "rank correlation", "largest difference of a score", "of the top 10"]
        print("\n" + markdown(header, compare_scores(models, tokenizer, text)))


if __name__ == "__main__":
    main()
