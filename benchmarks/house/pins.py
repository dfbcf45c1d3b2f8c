"""Outputs that a change of the code must not change: explanations, pages, tables, prints, maps.

python -m benchmarks.house pin before.json      # before the change
python -m benchmarks.house compare before.json  # after it
"""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
import warnings
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from textsobol import (
    ImageExplainer,
    Sobol,
    TextExplainer,
    explain_corpus,
    save_comparison,
    save_report,
)

_SENTENCES = (
    "A gripping, beautifully acted film, ruined by its dull ending.",
    "I laughed twice!",
    "The plot is thin, the jokes are old, and the music never stops.",
    "Great.",
    "Still, the songs are lovely and the pictures of the sea are beautiful.",
    "It isn't bad, it isn't good: it is just long.",
    "My children loved it, my wife hated it, and I fell asleep :)",
    "The director has made better films, but none that was so honest about growing old.",
    "What a waste of a good cast!!!",
    "Not a single scene feels true, and the very very slow chase at the end is pointless.",
)
N_TEXTS = 40


def texts() -> list[str]:
    """Forty texts of 1 to about 110 words."""
    return [
        " ".join(_SENTENCES[(start * 3 + k) % len(_SENTENCES)] for k in range(1 + start % 10))
        for start in range(N_TEXTS)
    ]


# Settings of a call, and how many of the texts they are tried on.
_CALLS: dict[str, tuple[int, dict[str, Any]]] = {
    "default": (40, {}),
    "no path": (40, {"method": Sobol(path=False)}),
    "label": (10, {"target": "POSITIVE"}),
    "keep 0.9": (20, {"method": Sobol(keep=0.9)}),
    "seed 7": (20, {"seed": 7}),
    "budget 200": (20, {"budget": 200}),
    "budget 24": (20, {"budget": 24}),
    "budget 5": (20, {"budget": 5}),
    "flip": (20, {"method": Sobol("flip", base_masks=4)}),
    "jansen": (10, {"method": Sobol("jansen", base_masks=8, sign="occlusion")}),
    "saltelli": (5, {"method": Sobol("saltelli", "halton", base_masks=8)}),
    "unscrambled": (5, {"method": Sobol("jansen", "sobol-unscrambled", base_masks=8)}),
    "unsigned": (5, {"method": Sobol(sign=None)}),
    "interactions": (10, {"method": Sobol(interactions=4)}),
    "precision": (10, {"method": Sobol(precision=0.9, stable_top=2)}),
    "occlusion": (20, {"method": "occlusion"}),
    "rise": (10, {"method": "rise", "budget": 100}),
    "lime": (10, {"method": "lime", "budget": 100}),
    "kernel_shap": (10, {"method": "kernel_shap", "budget": 300}),
    "permutation_shap": (10, {"method": "permutation_shap", "budget": 300}),
    "partition_shap": (10, {"method": "partition_shap", "budget": 100}),
    "saliency": (10, {"method": "saliency"}),
    "gradient_input": (10, {"method": "gradient_input"}),
    "smoothgrad": (10, {"method": "smoothgrad"}),
    "integrated_gradients": (10, {"method": "integrated_gradients"}),
    "greedy": (5, {"method": "greedy"}),
    "random": (5, {"method": "random"}),
}
_MODELS: dict[str, dict[str, Any]] = {
    "sentences": {"unit": "sentence"},
    "tokens": {"unit": "token"},
    "replaced": {"perturbation": "it"},
    "padded": {"perturbation": "pad"},
    "stopwords": {"ignore": "stopwords"},
    "probability": {"score": "probability"},
    "output": {"score": "output"},
}


def pins() -> Iterator[tuple[str, Any]]:
    """Names and values, which are plain JSON."""
    warnings.simplefilter("ignore")
    yield from _explanations()
    yield from _pages()
    yield from _corpus()
    yield from _prints()
    yield from _maps()


def _explanations() -> Iterator[tuple[str, Any]]:
    explainer = TextExplainer(progress=False)
    for name, (n_texts, call) in _CALLS.items():
        for number, text in enumerate(texts()[:n_texts]):
            yield f"text, {name}, {number}", _plain(_explain(explainer, text, call))
    for name, how in _MODELS.items():
        explainer = TextExplainer(progress=False, **how)
        for number, text in enumerate(texts()[:10]):
            yield f"model, {name}, {number}", _plain(explainer(text))
    explainer = TextExplainer(_three, label_names=["a", "b", "c"], progress=False)
    for number, text in enumerate(texts()[:20]):
        found = explainer(text)
        yield f"function, {number}", _plain(found)
        yield f"contrast, {number}", _plain(found.contrast("a", "c"))
        yield f"stages, {number}", [_plain(each) for each in islice(explainer.stream(text), 50)]


def _three(given: list[str]) -> Any:
    """A function with interactions, of which every label sees something else."""
    words = [text.lower().split() for text in given]
    return np.array(
        [
            [len(own), ("the" in own) * ("is" in own) - 0.5 * ("a" in own), sum(map(len, own)) / 9]
            for own in words
        ],
        dtype=float,
    )


def _pages() -> Iterator[tuple[str, Any]]:
    explainer = TextExplainer(progress=False)
    found = [explainer(text) for text in texts()[:12]]
    with tempfile.TemporaryDirectory() as directory:
        out = Path(directory)
        for number, each in enumerate(found):
            each.save(out / "one.html")
            yield f"page, {number}", _digest((out / "one.html").read_text())
        save_report(found, out / "report.html")
        yield "report", _digest((out / "report.html").read_text())
        both = {"half": found[0], "most": explainer(texts()[0], method=Sobol(keep=0.9))}
        save_comparison(both, out / "both.html")
        yield "comparison", _digest((out / "both.html").read_text())


def _corpus() -> Iterator[tuple[str, Any]]:
    with tempfile.TemporaryDirectory() as directory:
        out = Path(directory)
        lines = [json.dumps({"id": f"t{k}", "text": t}) for k, t in enumerate(texts()[:24])]
        (out / "in.jsonl").write_text("\n".join(lines))
        found = explain_corpus(
            TextExplainer(progress=False),
            out / "in.jsonl",
            out=out / "out",
            id_column="id",
            shard_size=8,
        )
        for number, each in enumerate(found):
            yield f"corpus, {number}", _plain(each)
        yield (
            "corpus report",
            _print(["report", str(out / "out"), "--html", str(out / "r.html")], out),
        )
        yield "corpus report, page", _digest((out / "r.html").read_text())


def _prints() -> Iterator[tuple[str, Any]]:
    with tempfile.TemporaryDirectory() as directory:
        (Path(directory) / "review.txt").write_text(texts()[7])
        review = str(Path(directory) / "review.txt")
        for arguments in (
            ["explain", texts()[0]],
            ["explain", review],
            ["explain", review, "--json"],
            ["explain", review, "--unit", "sentence", "--top", "3"],
            ["explain", ""],
            ["compare", review, "--methods", "sobol", "occlusion"],
        ):
            name = " ".join([arguments[0], arguments[1][-10:], *arguments[2:]])
            yield f"print, {name}", _print(arguments, Path(directory))


def _print(arguments: list[str], directory: Path) -> str:
    """What a command prints, without times and without the name of the directory."""
    from typer.testing import CliRunner

    from textsobol.cli import app

    result = CliRunner().invoke(app, arguments)
    return _timeless(f"{result.exit_code}\n{result.output}".replace(str(directory), ""))


def _maps() -> Iterator[tuple[str, Any]]:
    rows = np.linspace(0, 1, 24)
    picture = np.stack(
        [np.outer(rows, rows), np.outer(rows, 1 - rows), np.outer(1 - rows, rows)], 2
    )

    def model(pictures: Any) -> Any:
        left, right = pictures[:, :, :12].mean(axis=(1, 2, 3)), pictures[:, 8:, 12:, 1].max((1, 2))
        return np.stack([left * right, right - left, left**2], 1)

    explainer = ImageExplainer(model, label_names=["a", "b", "c"], grid=(4, 4), progress=False)
    calls: dict[str, dict[str, Any]] = {
        "default": {},
        "jansen": {"method": Sobol("jansen", base_masks=8, keep=None)},
        "budget": {"budget": 60},
        "occlusion": {"method": "occlusion"},
        "rise": {"method": "rise", "budget": 60},
        "random": {"method": "random"},
    }
    for name, call in calls.items():
        yield f"map, {name}", _plain(_explain(explainer, picture, call))


def _explain(explainer: Any, item: Any, call: dict[str, Any]) -> Any:
    try:
        return explainer(item, **call)
    except ValueError as error:
        return {"error": str(error)}


def _plain(explanation: Any) -> Any:
    """An explanation as JSON, without times and versions."""
    if isinstance(explanation, dict):
        return explanation
    data = json.loads(json.dumps(explanation.to_dict()))
    data["cost"].pop("seconds", None)
    data["settings"].pop("versions", None)
    data["settings"].pop("quantity", None)
    data.pop("image", None)
    return data


def _timeless(text: str) -> str:
    return re.sub(
        r"\d+\.\d+ s\b|seconds [\d.]+|\"seconds\": [\d.e-]+|\"versions\": \{[^}]*\}", "", text
    )


def _digest(page: str) -> str:
    return hashlib.blake2b(_timeless(page).encode(), digest_size=8).hexdigest()


def differences(before: Any, after: Any, where: str = "") -> Iterator[str]:
    """Places at which two values differ; numbers may differ by rounding."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in before.keys() | after.keys():
            yield from differences(before.get(key), after.get(key), f"{where}/{key}")
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for number, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from differences(old, new, f"{where}/{number}")
    elif isinstance(before, float) and isinstance(after, int | float):
        if not np.isclose(before, after, rtol=1e-6, atol=1e-9):
            yield f"{where}: {before!r} -> {after!r}"
    elif before != after:
        yield f"{where}: {str(before)[:80]!r} -> {str(after)[:80]!r}"
