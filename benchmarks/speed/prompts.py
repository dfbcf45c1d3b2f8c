"""How much faster masked prompts are if what they share is run once: several ways in one run.

    python -m benchmarks.speed.prompts --model DIRECTORY

A prompt with 14 examples before the text, and the masks that the default would score first. Every
way scores the same masked prompts:

- one by one: every prompt in full, by itself;
- batched: every prompt in full, in padded batches;
- captum: the forward function of LLMAttribution, one token of the answer after another;
- captum, answer at once: the same with forward_in_tokens=False;
- shared: what prompts begin with alike is run once, as TextExplainer does.

"off by" is the largest difference of log-probabilities from those of one by one. The last table
says what part of the tokens sharing saves with the default number of masks, without any pass.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.prompts.templates import all_prompts, few_shot
from benchmarks.tables import markdown
from textsobol.prompts.full_prompts import FullPrompts
from textsobol.prompts.layout import Layout
from textsobol.prompts.shared_prefixes import SharedPrefixes
from textsobol.prompts.token_trees import AnswerTree, SortedPrompts, Tokens
from textsobol.prompts.tokenizing import PromptTokenizer
from textsobol.sobol import sobol_indices
from textsobol.sobol.arrays import Array, Floats
from textsobol.text.inputs import default_budget
from textsobol.text.words import find_words

TEXT = (
    "a gripping , beautifully acted film that takes its time , and whose ending is worth every "
    "minute of the wait"
)
ONE, SEVERAL = " positive", " positive, and highly recommended"
Score = Callable[[], Floats]


@dataclass(frozen=True)
class Turns:
    """What a way took: seconds of every turn, tokens of one, and how far off its numbers are."""

    seconds: list[float]
    n_tokens: int
    off: float


def masks_of(n_words: int, number: int) -> Array:
    """The first masks that the estimator asks for: base masks and their flips."""
    seen: list[Array] = []

    def remember(masks: Array) -> Floats:
        seen.extend(masks)
        return np.random.default_rng(0).random(len(masks))

    base_masks = -(-number // (n_words + 1))
    sobol_indices(remember, n_words, estimator="flip", base_masks=base_masks, seed=0)
    return np.array(seen[:number])


def main() -> None:
    """Print the table."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    options.add_argument("--model", required=True, help="directory or hub id of a causal model")
    options.add_argument("--masks", type=int, default=20, help="masked prompts (20)")
    options.add_argument("--repeats", type=int, default=3, help="turns (3)")
    asked = options.parse_args()
    tokenizer = AutoTokenizer.from_pretrained(asked.model)
    model = AutoModelForCausalLM.from_pretrained(asked.model).eval()
    own = PromptTokenizer(tokenizer, has_encoder=False)
    layout = Layout(few_shot(), TEXT)
    spans = [span for span, _ in layout.features(find_words)]
    rendered = layout.masked(spans).render(masks_of(len(spans), asked.masks))
    prompts = list(dict.fromkeys(own.encode(rendered)))
    n_before = len(SortedPrompts(prompts).find_shared(0, len(prompts)))
    print(f"{len(prompts)} prompts of {min(map(len, prompts))} to {max(map(len, prompts))} tokens; "
          f"{n_before} tokens before the first word\n")  # fmt: skip
    with torch.inference_mode():
        for answer in (ONE, SEVERAL):
            tokens = own.encode([answer])[0]
            print(f'Answer "{answer.strip()}", {len(tokens)} tokens:\n')
            print(table(measure(model, tokenizer, prompts, tokens, asked.repeats)) + "\n")
    print(saved_table(own))


def measure(
    model: Any, tokenizer: Any, prompts: Sequence[Tokens], answer: Tokens, repeats: int
) -> dict[str, Turns]:
    """What every way took."""
    tree = AnswerTree.of([answer])
    n_run = 0

    def count(module: Any, args: Any, kwargs: Any) -> None:
        nonlocal n_run
        ids = kwargs["input_ids"] if "input_ids" in kwargs else args[0]
        n_run += ids.numel()

    def full(batch_tokens: int | None) -> Score:
        runner = FullPrompts(model, 0, batch_tokens)
        return lambda: runner(prompts, tree, lambda _: None).sum(axis=1)

    def shared() -> Floats:  # made anew: nothing is known from the turn before
        return SharedPrefixes(model, None)(prompts, tree, lambda _: None).sum(axis=1)

    ways: dict[str, Score] = {
        "one by one": full(1),
        "batched": full(None),
        "captum": captum(model, tokenizer, prompts, answer, in_tokens=True),
        "captum, answer at once": captum(model, tokenizer, prompts, answer, in_tokens=False),
        "shared": shared,
    }
    found: dict[str, Turns] = {}
    expected: Floats | None = None
    hook = model.get_decoder().register_forward_pre_hook(count, with_kwargs=True)
    for _ in range(repeats):
        for name, score in ways.items():  # in turns, so that a slow moment hits all
            n_run, start = 0, time.perf_counter()
            scores = score()
            seconds = time.perf_counter() - start
            expected = scores if expected is None else expected
            off = float(np.abs(scores - expected).max())
            found.setdefault(name, Turns([], n_run, off)).seconds.append(seconds)
    hook.remove()
    return found


def saved_table(own: PromptTokenizer) -> str:
    """The tokens of all masked prompts of an explanation, and of the tree that they make."""
    rows = []
    for name, prompt in all_prompts().items():
        if prompt.calibrate is not None:
            continue
        for n_words in (6, 12, 19):
            layout = Layout(prompt, " ".join(TEXT.split()[:n_words]))
            spans = [span for span, _ in layout.features(find_words)]
            masks = masks_of(len(spans), default_budget(len(spans)))
            prompts = list(dict.fromkeys(own.encode(layout.masked(spans).render(masks))))
            tree = SortedPrompts(prompts)
            shared = len(tree.find_shared(0, len(prompts)))
            n_full = int(tree.lengths.sum())
            n_prefix = n_full - (len(prompts) - 1) * shared
            n_tree = tree.count_nodes(0, len(prompts), 0)
            rows.append([
                name, str(len(spans)), f"{len(prompts):,}", f"{n_full:,}",
                f"{1 - n_prefix / n_full:.0%}", f"{1 - n_tree / n_full:.0%}",
            ])  # fmt: skip
    header = ["prompt", "words", "prompts", "tokens in full", "saved before the text", "in all"]
    return markdown(header, rows)


def captum(
    model: Any, tokenizer: Any, prompts: Sequence[Tokens], answer: Tokens, *, in_tokens: bool
) -> Score:
    """Captum's own forward function, for one prompt after another, as its methods call it."""
    import torch
    from captum.attr import FeatureAblation, LLMAttribution, TextTemplateInput

    attribution = LLMAttribution(FeatureAblation(model), tokenizer, attr_target="log_prob")
    target = torch.tensor(answer)

    class Given(TextTemplateInput):  # type: ignore[misc]
        """A prompt whose tokens are known."""

        def __init__(self, ids: Tokens) -> None:
            super().__init__("{}", ["x"])
            self.ids = torch.tensor([ids])

        def to_model_input(self, perturbed_tensor: Any = None) -> Any:
            return self.ids

    def score() -> Floats:
        given = (Given(ids) for ids in prompts)
        return np.array([
            float(attribution._forward_func(None, own, target, in_tokens, None, in_tokens)[0, 0])
            for own in given
        ])  # fmt: skip

    return score


def table(found: dict[str, Turns]) -> str:
    """Seconds, tokens, and how many times faster sharing is."""
    base = found["shared"]
    rows = []
    for name, own in found.items():
        times = sorted(s / b for s, b in zip(own.seconds, base.seconds, strict=True))
        rows.append([
            name, f"{own.n_tokens:,}", f"{own.n_tokens / base.n_tokens:.1f} x",
            f"{statistics.median(own.seconds):.1f}",
            f"{statistics.median(times):.1f} x ({times[0]:.1f} to {times[-1]:.1f})",
            f"{own.off:.0e}",
        ])  # fmt: skip
    header = ["way", "tokens", "tokens / shared", "seconds", "time / shared", "off by"]
    return markdown(header, rows)


if __name__ == "__main__":
    main()
