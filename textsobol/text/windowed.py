"""A classifier of texts that are longer than its window: windows are run one by one, none twice."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from textsobol.ledger import Cost, KnownOutputs, hash_masks
from textsobol.sobol.arrays import Array, Floats, Integers
from textsobol.steps import Engine, Forwarded, Tick
from textsobol.text.classifiers import Classifier, Prepared
from textsobol.text.tokens import encode_plain, keep_settings
from textsobol.text.windows import Windows, find_windows
from textsobol.text.words import Span

Cut = tuple[list[str], list[list[Span]], Integers]

_COMBINE: Mapping[str, Callable[..., Floats]] = {"mean": np.mean, "max": np.max}


def with_windows(
    classifier: Classifier,
    windows: Windows | None,
    texts: Sequence[str],
    words: Sequence[Sequence[Span]],
) -> Classifier:
    """The classifier for a text or pair, with windows that slide over it if it is too long.

    Args:
        classifier: of texts that fit its window.
        windows: how longer texts are explained; ``None``: not as a whole.
        texts: the text or pair.
        words: of each text.
    """
    room = classifier.window(texts) if windows is not None else None
    if windows is None or room is None:
        return classifier

    def count_tokens(text: str) -> int:
        with keep_settings(classifier.tokenizer):
            return len(encode_plain(classifier.tokenizer, [text])[0])

    sizes = [count_tokens(text) for text in texts]
    if sum(sizes) <= room:
        return classifier
    longest = int(np.argmax(sizes))
    left = room - (sum(sizes) - sizes[longest])
    if left < max(1, room // 2):
        raise ValueError(
            f"long='window' slides over one text of a pair; the other may have {room // 2} tokens "
            f"at most, not {room - left}: cut it, or give long='outside'"
        )
    stride = windows.choose_stride(left)
    cut = find_windows(
        texts[longest], words[longest], room=left, stride=stride, count_tokens=count_tokens
    )
    whole = [(0, len(text)) for text in texts]
    spans = [[*whole[:longest], own, *whole[longest + 1 :]] for own in cut]
    return WindowedClassifier(classifier, spans, windows.aggregate, stride)


@dataclass(frozen=True)
class WindowedClassifier:
    """A classifier of one long text; see `Classifier` and `Windows`.

    Attributes:
        inner: runs the windows.
        windows: for every window, its part of each text.
        aggregate: how the outputs of windows become those of the text.
        stride: most tokens that neighbouring windows share.
    """

    inner: Classifier
    windows: Sequence[Sequence[Span]]
    aggregate: str
    stride: int

    @property
    def name(self) -> str:
        """See `Classifier`."""
        return self.inner.name

    @property
    def activation(self) -> str:
        """See `Classifier`."""
        return self.inner.activation

    @property
    def tokenizer(self) -> Any:
        """See `Classifier`."""
        return self.inner.tokenizer

    @property
    def passes(self) -> int:
        """Those of one window: a forward pass is a text with all its windows."""
        return self.inner.passes

    @property
    def details(self) -> dict[str, Any]:
        """How many windows there are, and what they share."""
        return {**self.inner.details, "windows": len(self.windows), "stride": self.stride}

    def replacement(self, perturbation: str) -> str:
        """See `Classifier`."""
        return self.inner.replacement(perturbation)

    def window(self, texts: Sequence[str]) -> int | None:
        """None: all of the text is seen."""
        return None

    def labels(self, n_outputs: int) -> list[str]:
        """See `Classifier`."""
        return self.inner.labels(n_outputs)

    def cut(self, texts: Sequence[str], spans: Sequence[Sequence[Span]]) -> list[Cut]:
        """What is in each window; see `cut_words`."""
        return [cut_words(texts, spans, window) for window in self.windows]

    def prepare(
        self, texts: Sequence[str], spans: Sequence[Sequence[Span]], perturbation: str
    ) -> Prepared:
        """The windows of masked texts."""
        cuts = self.cut(texts, spans)
        prepared = [self.inner.prepare(own, words, perturbation) for own, words, _ in cuts]
        cost = WindowCost()
        make_inputs = _WindowInputs(prepared, [columns for _, _, columns in cuts], cost)
        reference = prepared[0].reference
        return Prepared(
            make_inputs,
            lambda text: text.keys,
            WindowRunner(prepared[0].engine, self.aggregate, self.passes),
            cost,
            None if reference is None else WindowRunner(reference, self.aggregate, self.passes),
        )


def cut_words(texts: Sequence[str], spans: Sequence[Sequence[Span]], window: Sequence[Span]) -> Cut:
    """A window's own texts, the words in them, and the numbers of these words.

    Example:
        >>> cut_words(["one two three"], [[(0, 3), (4, 7), (8, 13)]], [(4, 13)])
        (['two three'], [[(0, 3), (4, 9)]], array([1, 2]))
    """
    own_texts, own_spans, columns = [], [], []
    first = 0
    for text, words, (start, end) in zip(texts, spans, window, strict=True):
        numbers = [k for k, word in enumerate(words) if word[0] < end and word[1] > start]
        own_texts.append(text[start:end])
        own_spans.append(
            [(max(words[k][0], start) - start, min(words[k][1], end) - start) for k in numbers]
        )
        columns += [first + k for k in numbers]
        first += len(words)
    return own_texts, own_spans, np.array(columns, dtype=np.int64)


@dataclass
class WindowCost(Cost):
    """What a text with windows costs.

    Attributes:
        known: the outputs of all windows that were run.
    """

    known: KnownOutputs = field(default_factory=KnownOutputs)

    def metadata(self) -> dict[str, float]:
        """Also the number of windows that were run."""
        return {**super().metadata(), "windows": len(self.known.place_of)}


@dataclass(frozen=True)
class WindowedText:
    """A masked text, as its windows.

    Attributes:
        keys: of the windows.
        inputs: what the model is given for windows that were not run before, by key.
        known: the outputs of those that were.
    """

    keys: tuple[Hashable, ...]
    inputs: Mapping[Hashable, Any]
    known: KnownOutputs


class _WindowInputs:
    """From masks to the windows of masked texts; only what is new is made."""

    def __init__(
        self, prepared: Sequence[Prepared], columns: Sequence[Integers], cost: WindowCost
    ) -> None:
        self._known = cost.known
        # The keys of inputs that were made before, by the keys of their masks.
        key_of: list[dict[bytes, Hashable]] = [{} for _ in prepared]
        self._windows = list(zip(prepared, columns, key_of, strict=True))

    def __call__(self, masks: Array) -> list[WindowedText]:
        made: dict[Hashable, Any] = {}
        keys: list[list[Hashable]] = []
        for prepared, columns, key_of in self._windows:
            own = masks[:, columns]
            mask_keys = hash_masks(own) if len(columns) else [b""] * len(masks)
            new = {
                key: place
                for place, key in enumerate(mask_keys)
                if key_of.get(key) not in self._known.place_of
            }
            given = prepared.inputs(own[list(new.values())]) if new else []
            for mask_key, one in zip(new, given, strict=True):
                key_of[mask_key] = prepared.key(one)
                made[key_of[mask_key]] = one
            keys.append([key_of[key] for key in mask_keys])
        return [WindowedText(own, made, self._known) for own in zip(*keys, strict=True)]


@dataclass(frozen=True)
class WindowRunner:
    """Runs a model on the windows of masked texts, and aggregates its outputs.

    Attributes:
        engine: runs the model on windows.
        aggregate: ``mean`` or ``max``.
        passes: forward passes that a window costs, and so a text.
    """

    engine: Engine
    aggregate: str
    passes: int

    def __call__(self, texts: Sequence[WindowedText], tick: Tick) -> Forwarded:
        """Outputs of each text; the tokens of a window count for the first text that has it."""
        owners: dict[tuple[int, Hashable], int] = {}
        for place, text in enumerate(texts):
            for key in text.keys:
                if key not in text.known.place_of:
                    owners.setdefault((id(text.known), key), place)
        tokens, padding = np.zeros((2, len(texts)), dtype=np.int64)
        if owners:
            new = [texts[place].inputs[key] for (_, key), place in owners.items()]
            found = self.engine(new, _share_out(tick, len(texts), len(new)))
            _remember(texts, owners, found.outputs)
            if found.tokens is not None and found.padding is not None:
                np.add.at(tokens, list(owners.values()), found.tokens)
                np.add.at(padding, list(owners.values()), found.padding)
        else:
            tick(len(texts))
        combine = partial(_COMBINE[self.aggregate], axis=0)
        outputs = [
            combine(text.known.outputs([text.known.place_of[key] for key in text.keys]))
            for text in texts
        ]
        return Forwarded(np.array(outputs), tokens, padding, self.passes)


def _remember(
    texts: Sequence[WindowedText],
    owners: Mapping[tuple[int, Hashable], int],
    outputs: Floats,
) -> None:
    """Store the outputs of windows with those of their texts."""
    places: dict[int, list[int]] = {}
    for place, (known, _) in enumerate(owners):
        places.setdefault(known, []).append(place)
    keys, firsts = [key for _, key in owners], list(owners.values())
    for own in places.values():
        texts[firsts[own[0]]].known.add([keys[k] for k in own], outputs[own])


def _share_out(tick: Tick, n_texts: int, n_windows: int) -> Tick:
    """A tick of windows that counts texts."""
    done = 0

    def count(n: int) -> None:
        nonlocal done
        before, done = done, done + n
        tick(n_texts * done // n_windows - n_texts * before // n_windows)

    return count
