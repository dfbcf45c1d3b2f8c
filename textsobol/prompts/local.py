"""A language model of transformers as a scorer of answers."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np

from textsobol.prompts.answers import check_tokens
from textsobol.prompts.runner import PromptCost, PromptRunner, inference
from textsobol.prompts.scoring import AnyPrompt, Prompts
from textsobol.prompts.token_trees import AnswerTree, Tokens
from textsobol.prompts.tokenizing import PromptTokenizer
from textsobol.sobol.arrays import Floats
from textsobol.steps import Tick

_MOST_WRITTEN = 24  # tokens of the model's own answer


class LocalScorer:
    """Log-probabilities of answers by a model of transformers; see `scoring.AnswerWriter`.

    Args:
        model: a causal language model, or one with an encoder and a decoder; never changed.
        tokenizer: its tokenizer.
        name: its name in explanations.
        window: most tokens of a prompt with its answer, or ``None`` if not known.
        batch_tokens: most tokens of a batch; by default what suits the model.
        shares: run what prompts begin with alike only once, if this model can.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        *,
        name: str = "",
        window: int | None = None,
        batch_tokens: int | None = None,
        shares: bool = True,
    ) -> None:
        self.name = name or type(model).__name__
        self.model = model
        self.tokenizer = tokenizer
        self.details: dict[str, Any] = {"window": window}
        self._window = window
        self._has_encoder = bool(getattr(model.config, "is_encoder_decoder", False))
        self._prompts = PromptTokenizer(tokenizer, has_encoder=self._has_encoder)
        self._run = PromptRunner(model, self._prompts.stand_in, batch_tokens, shares=shares)
        self._whole: AnyPrompt | None = None  # the prompt whose masked versions are scored
        self._cost = PromptCost()

    def for_prompt(
        self, prompt: AnyPrompt, answers: Sequence[str]
    ) -> tuple[LocalScorer, PromptCost]:
        """A scorer of masked versions of a prompt; see `scoring.AnswerScorer`.

        Answers have the tokens that follow the whole prompt, whatever is left of it.
        """
        own = copy(self)
        own._whole, own._cost = prompt, PromptCost()
        cut = {answer: own._tokens(prompt, answer) for answer in answers}
        check_tokens(cut)
        own._check_window(self._prompts.encode([prompt])[0], list(cut.values()))
        return own, own._cost

    def score_answers(self, prompts: Prompts, answers: Sequence[str], tick: Tick) -> Floats:
        """Log-probabilities ``(prompts, answers)``."""
        if self._whole is None:  # answers may have other tokens after each prompt
            rows = [self.for_prompt(each, answers)[0].score_answers([each], answers, tick)
                    for each in prompts]  # fmt: skip
            return np.concatenate(rows)
        cut = [self._tokens(self._whole, answer) for answer in answers]
        return _sum_runs(self._score(prompts, cut, tick), [len(own) for own in cut])

    def score_pieces(self, prompts: Prompts, answer: str, tick: Tick) -> Floats:
        """Log-probabilities of the pieces of an answer ``(prompts, pieces)``."""
        whole = prompts[0] if self._whole is None else self._whole
        pieces = [tokens for _, tokens in self._prompts.cut_answer(whole, answer)]
        answer_tokens = tuple(token for own in pieces for token in own)
        return _sum_runs(self._score(prompts, [answer_tokens], tick), [len(p) for p in pieces])

    def cut_answer(self, prompt: AnyPrompt, answer: str) -> list[str]:
        """The answer in pieces: its tokens, unless several make one character."""
        return [text for text, _ in self._prompts.cut_answer(prompt, answer)]

    def _tokens(self, prompt: AnyPrompt, answer: str) -> Tokens:
        pieces = self._prompts.cut_answer(prompt, answer)
        return tuple(token for _, own in pieces for token in own)

    def _check_window(self, prompt: Tokens, answers: Sequence[Tokens]) -> None:
        n_answer = 0 if self._has_encoder else max((len(own) for own in answers), default=1) - 1
        n_tokens = len(prompt) + n_answer
        if self._window is not None and n_tokens > self._window:
            raise ValueError(
                f"the prompt has {n_tokens:,} tokens with its answer, and the window of the model "
                f"{self.name} {self._window:,}: shorten the text, or leave out parts of the prompt"
            )

    def _score(self, prompts: Prompts, answers: Sequence[Tokens], tick: Tick) -> Floats:
        """Log-probabilities ``(prompts, tokens of all answers)``."""
        tree = AnswerTree.of(answers)
        every = self._prompts.encode(prompts)
        places: dict[Tokens, list[int]] = {}
        for place, prompt in enumerate(every):
            places.setdefault(prompt, []).append(place)
        self._check_window(max(places, key=len), answers)
        found = self._run(list(places), tree, self._cost, tick)
        tick(len(every) - len(places))
        outputs = np.empty((len(every), found.shape[1]))
        for row, own in zip(found, places.values(), strict=True):
            outputs[own] = row
        return outputs

    def write_answer(self, prompt: AnyPrompt) -> str:
        """The model's own answer: always the likeliest token, up to the end of the answer.

        That of a plain prompt ends with its first line.
        """
        ends = self._end_tokens()
        ids = self._prompts.encode([prompt])[0]
        self._check_window(ids, [])
        written: list[int] = []
        with inference(self.model):
            while len(written) < _MOST_WRITTEN:
                token = self._choose_next(ids, written)
                if token in ends or len(ids) + len(written) == self._window:
                    break
                written.append(token)
                text = self.tokenizer.decode(written, skip_special_tokens=True)
                if isinstance(prompt, str) and "\n" in text.strip():
                    break
        text = self.tokenizer.decode(written, skip_special_tokens=True)
        # Without the beginning of a character whose other tokens were not written.
        text = text.rstrip("\ufffd") or text
        if isinstance(prompt, str) and text.strip():
            text = text[: len(text) - len(text.lstrip())] + text.strip().splitlines()[0]
        if not text.strip():
            raise ValueError(
                f"the answer of the model {self.name} to this prompt is empty; give the answer "
                f"to explain: target=..."
            )
        return str(text)

    def _choose_next(self, prompt: Tokens, written: Sequence[int]) -> int:
        import torch

        device = self.model.device
        own = [*prompt, *written] if not self._has_encoder else prompt
        ids = torch.tensor([own], device=device)
        # A mask, since a prompt may hold the token for padding: some chats end messages with it.
        inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
        if self._has_encoder:
            start = int(self.model.config.decoder_start_token_id)
            inputs["decoder_input_ids"] = torch.tensor([[start, *written]], device=device)
        return int(self.model(**inputs).logits[0, -1].argmax())

    def _end_tokens(self) -> set[int]:
        configured = getattr(self.model, "generation_config", None)
        own = getattr(configured, "eos_token_id", None)
        every = own if isinstance(own, list) else [own]
        return {token for token in (*every, self.tokenizer.eos_token_id) if token is not None}


def _sum_runs(values: Floats, lengths: Sequence[int]) -> Floats:
    """Sums of runs of neighbouring columns ``(rows, runs)``.

    Example:
        >>> _sum_runs(np.array([[1.0, 2.0, 3.0]]), [1, 2])
        array([[1., 5.]])
    """
    starts = np.cumsum([0, *lengths[:-1]])
    return np.asarray(np.add.reduceat(values, starts, axis=1))
