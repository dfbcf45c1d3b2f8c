"""What replies of OpenAI-compatible servers say of log-probabilities; nothing of it is trusted."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from textsobol.endpoints.answers import show
from textsobol.errors import NoLogprobsError, WrongAnswerError

Tokens = Sequence[tuple[str, Any]]
"""Tokens as a server writes them, with their log-probabilities."""

WHAT_TO_DO = (
    "Start the server so that it returns log-probabilities (llama-cpp-python: --logits_all true), "
    "or take a server and a model that return them, such as those of vLLM, llama.cpp or TGI"
)
_ROUNDING = 1e-6  # of the sum of probabilities that a server computes with single precision
_LARGEST = 0.01  # log-probabilities are at most 0, but for rounding
_LEAST = -100.0  # of what single precision tells from 0; servers write 0 in several ways


def read_generated(reply: Any) -> dict[str, float]:
    """Log-probabilities of the likeliest next tokens, whichever of two forms they have.

    Tokens that are written in the same way are one: their probabilities are added.

    Example:
        >>> plain = {"tokens": [" a"], "top_logprobs": [{" a": -0.5, " b": -1.5}]}
        >>> read_generated({"choices": [{"logprobs": plain}]})
        {' a': -0.5, ' b': -1.5}
        >>> chat = [{"token": "a", "top_logprobs": [{"token": "a", "logprob": -0.5}]}]
        >>> read_generated({"choices": [{"logprobs": {"content": chat}}]})
        {'a': -0.5}
    """
    logprobs = _get_choice(reply).get("logprobs")
    shown = _find(logprobs, "content", 0, "top_logprobs")
    if isinstance(shown, list):
        pairs = [(_write_token(one), _find(one, "logprob")) for one in shown]
    else:
        shown = _find(logprobs, "top_logprobs", 0)
        pairs = list(shown.items()) if isinstance(shown, dict) else []
    if not pairs:
        raise NoLogprobsError(f"no log-probabilities of tokens: {show(reply)}. {WHAT_TO_DO}")
    found: dict[str, float] = {}
    for token, value in pairs:
        value = _check_logprob(token, value)
        found[token] = _add(found[token], value) if token in found else value
    return found


def read_echoed(reply: Any) -> Tokens:
    """The tokens of a plain prompt, from a completion that repeats it."""
    logprobs = _get_choice(reply).get("logprobs")
    tokens, values = _find(logprobs, "tokens"), _find(logprobs, "token_logprobs")
    if not (isinstance(tokens, list) and isinstance(values, list) and len(tokens) == len(values)):
        raise NoLogprobsError(f"no log-probabilities of the prompt's tokens: {show(reply)}")
    n_generated = _find(reply, "usage", "completion_tokens")
    n_generated = n_generated if isinstance(n_generated, int) and n_generated >= 0 else 1
    own = [(str(token), value) for token, value in zip(tokens, values, strict=True)]
    return own[: max(0, len(own) - n_generated)]


def read_prompt_logprobs(reply: Any) -> Tokens:
    """The tokens of a chat, from the ``prompt_logprobs`` that vLLM returns."""
    entries = _find(reply, "prompt_logprobs")
    if not isinstance(entries, list):
        raise NoLogprobsError(f"no log-probabilities of the prompt's tokens: {show(reply)}")
    # The token of the prompt is the first of an entry; the first token of all has none.
    firsts = [next(iter(one.values()), None) if isinstance(one, dict) else None for one in entries]
    return [(str(_find(one, "decoded_token") or ""), _find(one, "logprob")) for one in firsts]


def read_written(reply: Any) -> str:
    """What the model wrote."""
    choice = _get_choice(reply)
    text = _find(choice, "text") if "text" in choice else _find(choice, "message", "content")
    if not isinstance(text, str):
        raise WrongAnswerError(f"no text: {show(reply)}")
    return text


def cut_end(tokens: Tokens, answer: str) -> list[tuple[str, float]]:
    """The tokens of the answer, at the end of what was sent.

    Example:
        >>> cut_end([("It is", None), (" so", -1.0), (" so", -2.0), ("!", -0.5)], " so!")
        [(' so', -2.0), ('!', -0.5)]
    """
    # Some servers write the tokens of some models without the space before a word.
    for write in (str, _drop_spaces):
        end, start = "", len(tokens)
        while start > 0 and len(write(end)) < len(write(answer)):
            start -= 1
            end = tokens[start][0] + end
        if write(end) == write(answer) != "":
            if start == 0:
                raise WrongAnswerError(
                    "no log-probability of the first token: let the prompt begin with something "
                    "that is never left out"
                )
            return [(token, _check_logprob(token, value)) for token, value in tokens[start:]]
    last = "".join(token for token, _ in tokens[-8:])
    if last.endswith(answer):
        raise WrongAnswerError(
            f"tokens that do not begin where the answer {answer!r} begins: {show(last)}. End the "
            f"prompt without a space, and begin the answer with one, or the other way round"
        )
    raise NoLogprobsError(
        f"tokens of the prompt that do not end with the answer {answer!r}: {show(last)}"
    )


def cut_text(answer: str, tokens: Sequence[str]) -> list[str]:
    """The answer in as many pieces as it has tokens, also if these are written without spaces.

    Example:
        >>> cut_text(" so it is!", [" so", "it", "is", "!"])
        [' so', ' it', ' is', '!']
    """
    pieces, done = [], 0
    for token in tokens[:-1]:
        end = done
        while end < len(answer) and len(_drop_spaces(answer[done:end])) < len(_drop_spaces(token)):
            end += 1
        end = done + len(token) if answer.startswith(token, done) else end
        pieces.append(answer[done:end])
        done = end
    return [*pieces, answer[done:]]


def find_token(
    shown: Mapping[str, float], token: str, *, is_whole: bool = True
) -> tuple[float, bool]:
    """The log-probability of a token, and whether it is only an upper bound.

    A token that is not shown is at most as likely as the unlikeliest that is, and as all that are
    not shown are together. If it may really be several tokens (not ``is_whole``), and what is shown
    may be the first of them, it is at most as likely as that.

    Example:
        >>> shown = {" good": math.log(0.75), " bad": math.log(0.125)}
        >>> find_token(shown, " bad") == (math.log(0.125), False)
        True
        >>> bound, is_bound = find_token({**shown, " fine": math.log(0.115)}, " dull")
        >>> round(math.exp(bound), 3), is_bound
        (0.01, True)
    """
    if token in shown:
        return shown[token], False
    rest = max(0.0, 1.0 - math.fsum(map(math.exp, shown.values()))) + _ROUNDING
    least = min(min(shown.values()), math.log(rest))
    firsts = [] if is_whole else [v for t, v in shown.items() if t and token.startswith(t)]
    return max([least, *firsts]), True


def _get_choice(reply: Any) -> dict[str, Any]:
    choice = _find(reply, "choices", 0)
    if not isinstance(choice, dict):
        raise WrongAnswerError(f"no completion: {show(reply)}")
    return choice


def _find(value: Any, *path: str | int) -> Any:
    """What is there, or ``None``."""
    for step in path:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def _write_token(entry: Any) -> str:
    """A token from its bytes if it has some: text cannot show a part of a character."""
    data = _find(entry, "bytes")
    if isinstance(data, list) and data:
        try:
            return bytes(data).decode()
        except (TypeError, ValueError):  # not bytes, or a part of a character
            pass
    return str(_find(entry, "token"))


def _check_logprob(token: str, value: Any) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not value <= _LARGEST:  # NaN is neither
        raise WrongAnswerError(
            f"{show(value)} instead of a log-probability of the token {show(token)}"
        )
    return max(_LEAST, min(0.0, float(value)))


def _add(first: float, second: float) -> float:
    """The logarithm of the sum of two probabilities."""
    largest = max(first, second)
    return min(0.0, largest + math.log1p(math.exp(min(first, second) - largest)))


def _drop_spaces(text: str) -> str:
    return "".join(text.split())
