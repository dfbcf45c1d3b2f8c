"""Against interpreto: the same model, texts, words and design, in one run.

    pip install -c constraints.txt interpreto
    python -m benchmarks.speed.rivals --model DIRECTORY --data reviews.jsonl.gz

Both explain the tokenizer's own words with Jansen's estimator, total order, N = 32 and keep
rate 0.5; interpreto with its thresholded Sobol' sequence, ours with independent rows.
interpreto replaces words by the mask token; ours does so with `mask` and removes them with
`delete`. "deletion" is the mean probability of the predicted label while the 20 highest-ranked
words are removed one after the other; lower is better.
"""

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from benchmarks.speed.reviews import parser, reviews
from benchmarks.tables import markdown
from textsobol import Sobol, TextExplainer, TextExplanation
from textsobol.outputs import compute_probabilities
from textsobol.text.loading import as_classifier

Ranking = Callable[[str], np.ndarray]
N = 32
DELETED = 20


def ours(explainer: TextExplainer, **settings: Any) -> Ranking:
    """Signed scores of the words for the predicted label."""

    def rank(text: str) -> np.ndarray:
        explanation: TextExplanation = explainer(text, **settings)
        return np.array([explanation.score_of(word).score for word in explanation.words])

    return rank


def interpretos(model: Any, tokenizer: Any, batch_size: int) -> Ranking:
    """Total indices by interpreto."""
    from interpreto import Granularity, Sobol

    method = Sobol(
        model,
        tokenizer,
        batch_size=batch_size,
        granularity=Granularity.WORD,
        n_token_perturbations=N,
        sobol_indices_order=Sobol.sobol_indices_orders.TOTAL_ORDER,
        sampler=Sobol.samplers.SOBOL,
    )
    return lambda text: np.asarray(method(text)[0].attributions).ravel()


def deletion(model: Any, tokenizer: Any, text: str, scores: np.ndarray) -> float:
    """Mean probability of the predicted label over 0 to 20 deletions."""
    words = TextExplainer(model, tokenizer, unit="token", progress=False).masked(text).words
    assert len(words) == len(scores), (len(words), len(scores))
    spans = [(word.start, word.end) for word in words]
    classifier = as_classifier(model, tokenizer, batch_tokens=None, batch_texts=1)
    prepared = classifier.prepare([text], [spans], "delete")
    masks = np.ones((DELETED + 1, len(words)), dtype=bool)
    for step, word in enumerate(np.argsort(-scores, kind="stable")[:DELETED]):
        masks[step + 1 :, word] = False
    outputs = prepared.engine(prepared.inputs(masks), lambda _: None).outputs
    shares = compute_probabilities(outputs, classifier.activation)
    return float(shares[:, shares[0].argmax()].mean())


def main() -> None:
    """Print the table."""
    options = parser(__doc__)
    options.add_argument("--texts", type=int, default=3, help="reviews of about 100 words (3)")
    arguments = options.parse_args()
    warnings.simplefilter("ignore")
    texts = reviews(arguments.data, around=100, number=arguments.texts)
    tokenizer = AutoTokenizer.from_pretrained(arguments.model)
    model = AutoModelForSequenceClassification.from_pretrained(arguments.model).eval()
    making: dict[str, Any] = {"unit": "token", "progress": False}
    delete = TextExplainer(model, tokenizer, **making)
    mask = TextExplainer(model, tokenizer, perturbation="mask", **making)
    jansen = Sobol("jansen", base_masks=N)
    methods: dict[str, Ranking] = {
        "interpreto, batches of 4 (its default)": interpretos(model, tokenizer, 4),
        "interpreto, batches of 32": interpretos(model, tokenizer, 32),
        "ours, jansen, mask": ours(mask, method=jansen),
        "ours, jansen, delete": ours(delete, method=jansen),
        "ours, flip, 4 base masks, delete": ours(
            delete, method=Sobol(estimator="flip", base_masks=4)
        ),
    }
    forwarded = 0

    def count(module: Any, args: Any, kwargs: Any) -> None:
        nonlocal forwarded
        inputs = kwargs.get("input_ids", kwargs.get("inputs_embeds"))
        forwarded += len(args[0] if inputs is None else inputs)

    found: dict[str, list[tuple[float, float, float]]] = {name: [] for name in methods}
    for text in texts:
        for name, rank in methods.items():  # in turns, so that a slow moment hits all
            forwarded = 0
            hook = model.register_forward_pre_hook(count, with_kwargs=True)
            start = time.perf_counter()
            scores = rank(text)
            elapsed = time.perf_counter() - start
            hook.remove()
            found[name].append((forwarded, elapsed, deletion(model, tokenizer, text, scores)))
    means = {name: np.mean(values, axis=0) for name, values in found.items()}
    rows_0, seconds_0, _ = means[next(iter(means))]
    lines = [
        [name, f"{rows:,.0f}", f"{100 * rows / rows_0:.0f} %", f"{seconds:.1f}",
         f"{seconds_0 / seconds:.1f} x", f"{share:.3f}"]
        for name, (rows, seconds, share) in means.items()
    ]  # fmt: skip
    header = ["method", "rows forwarded", "of interpreto's", "seconds", "times faster", "deletion"]
    print(markdown(header, lines))


if __name__ == "__main__":
    main()
