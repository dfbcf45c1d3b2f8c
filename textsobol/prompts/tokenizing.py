"""Token ids of prompts, and of answers where they follow a prompt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from textsobol.prompts.scoring import AnyPrompt, Prompts
from textsobol.prompts.token_trees import Tokens
from textsobol.text.tokens import keep_settings


class PromptTokenizer:
    """Token ids as a language model reads them.

    Args:
        tokenizer: the model's; its settings are left as they are.
        has_encoder: whether an encoder reads the prompt: the answer then follows a start token
            instead of the prompt.
    """

    def __init__(self, tokenizer: Any, *, has_encoder: bool) -> None:
        self._tokenizer = tokenizer
        self._has_encoder = has_encoder
        special = (tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.pad_token_id)
        self.stand_in = next((token for token in special if token is not None), 0)
        # A causal model's answer follows the prompt, which therefore must not end.
        special_ends = ([tokenizer.eos_token_id], [tokenizer.sep_token_id])
        self._drops_end = not has_encoder and self._encode_as_is(["a"])[0][-1:] in special_ends

    def render(self, prompt: AnyPrompt) -> str:
        """The prompt as one string, with the markup of a chat."""
        if isinstance(prompt, str):
            return prompt
        if not getattr(self._tokenizer, "chat_template", None):
            raise ValueError(
                "the tokenizer has no chat template, so that it cannot put messages together: "
                "write the prompt as one string, or set tokenizer.chat_template"
            )
        from jinja2 import TemplateError

        apply = self._tokenizer.apply_chat_template
        try:
            return str(apply(prompt, tokenize=False, add_generation_prompt=True))
        except TemplateError as error:  # some take no system message, or no two in a row
            roles = ", ".join(message["role"] for message in prompt)
            raise ValueError(
                f"the chat template of the tokenizer refuses messages of {roles}: {error}; change "
                f"their roles, or write the prompt as one string"
            ) from error

    def encode(self, prompts: Prompts) -> list[Tokens]:
        """Token ids of prompts, none of them empty."""
        is_chat = bool(prompts) and not isinstance(prompts[0], str)
        every = self._encode([self.render(p) for p in prompts], adds_special=not is_chat)
        # Models cannot read an empty text: one token replaces it.
        return [tuple(ids) or (self.stand_in,) for ids in every]

    def _encode(self, texts: Sequence[str], *, adds_special: bool) -> list[list[int]]:
        every = self._encode_as_is(texts, adds_special=adds_special)
        return [ids[:-1] for ids in every] if adds_special and self._drops_end else every

    def _encode_as_is(self, texts: Sequence[str], *, adds_special: bool = True) -> list[list[int]]:
        with keep_settings(self._tokenizer):
            encoding = self._tokenizer(
                list(texts), add_special_tokens=adds_special, truncation=False, padding=False,
                verbose=False,
            )  # fmt: skip
        every: list[list[int]] = encoding["input_ids"]
        return every

    def cut_answer(self, prompt: AnyPrompt, answer: str) -> list[tuple[str, Tokens]]:
        """The answer in the smallest pieces of whole characters, each with its tokens.

        Raises:
            ValueError: if it has no tokens, or the tokenizer joins it with the end of the prompt.
        """
        before, start = [], 0
        text = answer
        if not self._has_encoder:
            whole = self.render(prompt)
            is_chat = not isinstance(prompt, str)
            (before,) = self._encode([whole], adds_special=not is_chat)
            start, text = len(whole), whole + answer
            (ids,) = self._encode([text], adds_special=not is_chat)
        else:
            (ids,) = self._encode([text], adds_special=False)
        if ids[: len(before)] != before:
            raise ValueError(
                f"the tokenizer joins the end of the prompt, {text[:start][-12:]!r}, with the "
                f"answer {answer!r}: let the prompt end without white space, and the answer begin "
                f"with it"
            )
        own = ids[len(before) :]
        if not own:
            raise ValueError(
                f"the answer {answer!r} has no tokens with this tokenizer: give another answer"
            )
        return self._name_pieces(answer, own)

    def _name_pieces(self, answer: str, ids: list[int]) -> list[tuple[str, Tokens]]:
        """The characters that tokens stand for; tokens of parts of a character are one piece."""
        pieces: list[tuple[str, Tokens]] = []
        done, first = 0, 0
        for stop in range(1, len(ids) + 1):
            read = self._tokenizer.decode(ids[:stop], clean_up_tokenization_spaces=False)
            end = len(answer) if stop == len(ids) else _find_end(answer, read)
            if end > done:
                pieces.append((answer[done:end], tuple(ids[first:stop])))
                done, first = end, stop
        return pieces


def _find_end(answer: str, read: str) -> int:
    """How far an answer was read; 0 if that is not known, as in the middle of a character."""
    # Some tokenizers drop the space at the start.
    n_spaces = len(answer) - len(answer.lstrip())
    text = read.lstrip()
    if not text:
        return min(n_spaces, len(read))
    return n_spaces + len(text) if answer.startswith(text, n_spaces) else 0
