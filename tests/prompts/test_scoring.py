"""Log-probabilities against plain calls of the plain model."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

from tests.prompts.tiny import (
    CAUSAL,
    model,
    score_ids,
    score_plainly,
    tokenizer,
)
from textsobol.prompts.full_prompts import FullPrompts
from textsobol.prompts.local import LocalScorer
from textsobol.prompts.runner import _halve_if_needed
from textsobol.prompts.shared_prefixes import SharedPrefixes
from textsobol.prompts.token_trees import AnswerTree
from textsobol.prompts.tokenizing import PromptTokenizer

ONES = [" positive", " negative", " a bad film, really", " Paris"]
TEXTS = ["A good film.", "A film.", "good film.", "", "A good, good and long film about Paris."]


@pytest.fixture(autouse=True)
def inference() -> Iterator[None]:
    with torch.inference_mode():
        yield


def quiet(_: int) -> None:
    """No progress."""


def prompts_of(*, is_chat: bool) -> list[Any]:
    filled = [f"Decide.\n\nReview: {text}\nSentiment:" for text in TEXTS]
    if not is_chat:
        return filled
    return [[{"role": "system", "content": ""}, {"role": "user", "content": p}] for p in filled]


@pytest.mark.parametrize("shares", [True, False], ids=["shared", "full"])
@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("is_chat", [True, False], ids=["chat", "plain"])
@pytest.mark.parametrize("family", [*CAUSAL, "t5"])
def test_it_gives_what_the_plain_model_says_of_the_plain_prompt(
    family: str, is_chat: bool, side: str, shares: bool
) -> None:
    tok = tokenizer(family, side=side)
    scorer = LocalScorer(model(family), tok, shares=shares, batch_tokens=60)
    prompts = prompts_of(is_chat=is_chat)
    ticks: list[int] = []
    bound, cost = scorer.for_prompt(prompts[0], ONES)
    found = bound.score_answers([*prompts, prompts[1]], ONES, ticks.append)
    expected = [[score_plainly(family, p, a).sum() for a in ONES] for p in prompts]
    np.testing.assert_allclose(found, [*expected, expected[1]], atol=1e-4, rtol=0)
    assert sum(ticks) == len(prompts) + 1
    assert (cost.tokens < cost.full) == (shares and family != "t5")
    pieces = bound.score_pieces(prompts, ONES[2], quiet)
    by_token = [score_plainly(family, p, ONES[2]) for p in prompts]
    np.testing.assert_allclose(pieces, by_token, atol=1e-4, rtol=0)


@pytest.mark.parametrize("family", CAUSAL)
@pytest.mark.parametrize("batch_tokens", [3, 17, 10_000])
def test_any_tree_of_prompts_is_scored_like_its_prompts(family: str, batch_tokens: int) -> None:
    rng = np.random.default_rng(batch_tokens)
    stems = [tuple(rng.integers(3, 400, size)) for size in (1, 4, 9, 30)]
    prompts = list({stem[: rng.integers(1, len(stem) + 1)] + tuple(rng.integers(3, 6, size))
                    for stem in stems for size in (0, 0, 1, 2, 5, 8)})  # fmt: skip
    answers = [(5,), (7, 8), (7, 9, 4), (7, 9, 5, 6)]
    tree = AnswerTree.of(answers)
    expected = [np.concatenate([score_ids(model(family), p, a) for a in answers]) for p in prompts]
    shared = SharedPrefixes(model(family), batch_tokens)
    for runner in (shared, FullPrompts(model(family), 0, batch_tokens)):
        for own in (slice(None), slice(2, 5), slice(0, 1), slice(None)):  # later calls share, too
            found = runner(prompts[own], tree, quiet)
            np.testing.assert_allclose(found, expected[own], atol=1e-4, rtol=0)


def test_the_end_that_a_tokenizer_adds_is_left_out_but_not_one_that_is_written() -> None:
    whole = ["Review: good\nSentiment:", "good</s>"]
    plain, ended = ([tokenizer(f)(w)["input_ids"] for w in whole] for f in ("gpt2", "t5"))
    assert ended[1] == [*plain[1], 2]
    for family in ("gpt2", "t5"):
        found = PromptTokenizer(tokenizer(family), has_encoder=False).encode(whole)
        assert [list(ids) for ids in found] == plain


def test_every_token_of_a_tree_is_run_once() -> None:
    base = tuple(range(10, 40))
    prompts = [(*base[:20], 50 + k, 60, 61) for k in range(5)]
    runner = SharedPrefixes(model("llama"), 10_000)
    runner(prompts, AnswerTree.of([(5,), (7, 8)]), quiet)
    assert runner.n_run == 20 + 5 * (3 + 1)
    runner(prompts, AnswerTree.of([(5,)]), quiet)
    assert runner.n_run == 20 + 5 * (3 + 1) + 5 * 3, "the beginning is known"


@pytest.mark.parametrize("family", ["bloom", "mistral, sliding"])
def test_models_that_cannot_share_are_run_in_full(family: str) -> None:
    tok = tokenizer("gpt2")
    prompts = prompts_of(is_chat=False)
    scorer, cost = LocalScorer(model(family), tok).for_prompt(prompts[0], ONES)
    found = scorer.score_answers(prompts, ONES, quiet)
    expected = [
        [score_ids(model(family), tok(p)["input_ids"], tok(a)["input_ids"]).sum() for a in ONES]
        for p in prompts
    ]
    np.testing.assert_allclose(found, expected, atol=1e-4, rtol=0)
    assert cost.metadata()["shared"] == 0


def test_batches_are_halved_when_memory_runs_out(monkeypatch: pytest.MonkeyPatch) -> None:
    scorer = LocalScorer(model(), tokenizer(), batch_tokens=64)
    prompts = prompts_of(is_chat=False)
    bound, _ = scorer.for_prompt(prompts[0], ONES)
    expected = bound.score_answers(prompts, ONES, quiet)
    given = model().transformer.forward

    def forward(*args: Any, **inputs: Any) -> Any:
        if args[0].numel() > 20:
            raise RuntimeError("CUDA out of memory")
        return given(*args, **inputs)

    monkeypatch.setattr(model().transformer, "forward", forward)
    shared = SharedPrefixes(model(), 64)
    tree = AnswerTree.of([tuple(tokenizer()(a)["input_ids"]) for a in ONES])
    rows = [tuple(tokenizer()(p)["input_ids"]) for p in prompts]
    found = _halve_if_needed(shared, rows, tree, quiet)
    assert shared.batch_tokens == 16
    np.testing.assert_allclose(found[:, 0], expected[:, 0], atol=1e-4, rtol=0)
