"""Token ids of masked texts, assembled from pieces instead of tokenized one by one."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from textsobol.inference import get_lock
from textsobol.sobol.arrays import Array, Integers
from textsobol.text.masked_text import MaskedText
from textsobol.text.words import Span

# Beyond this many words between two spaces, pieces hardly ever repeat.
_MOST_WORDS_IN_A_STRETCH = 12
_N_CHECKED = 12
_ANCHOR = "a"


@dataclass(frozen=True)
class Row:
    """What a model is given for one mask.

    Attributes:
        ids: token ids ``(tokens,)``.
        types: token types ``(tokens,)``; zeros where the tokenizer has none.
        seen: attention mask ``(tokens,)``, or ``None`` when all tokens are seen.
    """

    ids: Integers
    types: Integers
    seen: Array | None = None


@contextmanager
def keep_settings(tokenizer: Any) -> Iterator[None]:
    """Restore the truncation and padding that a call changes; threads take turns."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        yield
        return
    with get_lock(tokenizer):
        truncation, padding = backend.truncation, backend.padding
        try:
            yield
        finally:
            is_cut, is_padded = truncation is not None, padding is not None
            backend.enable_truncation(**truncation) if is_cut else backend.no_truncation()
            backend.enable_padding(**padding) if is_padded else backend.no_padding()


def encode(tokenizer: Any, *texts: Sequence[str]) -> list[Row]:
    """Texts, or the first and second texts of pairs, with their special tokens."""
    encoding = tokenizer(*map(list, texts), truncation=False, padding=False, verbose=False)
    every = encoding["input_ids"]
    types = encoding.get("token_type_ids") or [[0] * len(ids) for ids in every]
    return [Row(_integers(ids), _integers(own)) for ids, own in zip(every, types, strict=True)]


def encode_plain(tokenizer: Any, texts: Sequence[str]) -> list[list[int]]:
    """Token ids of each text without special tokens."""
    if not texts:
        return []
    encoding = tokenizer(
        list(texts), add_special_tokens=False, truncation=False, padding=False, verbose=False
    )
    ids: list[list[int]] = encoding["input_ids"]
    return ids


def find_owners(
    offsets: Sequence[Span], parts: Sequence[int | None], spans: Sequence[Sequence[Span]]
) -> Integers:
    """The word of every token ``(tokens,)``; -1 for special tokens and punctuation.

    Args:
        offsets: where each token is in its text.
        parts: the number of each token's text, or ``None`` for special tokens.
        spans: the words of each text.
    """
    owners = np.full(len(offsets), -1, dtype=np.int64)
    first = np.cumsum([0, *map(len, spans)])
    for token, ((start, end), part) in enumerate(zip(offsets, parts, strict=True)):
        own = () if part is None else spans[part]
        number = bisect_right(own, start, key=lambda span: span[1])  # the first that ends later
        if number < len(own) and end > own[number][0]:
            owners[token] = first[part] + number
    return owners


def split_masks(masks: Array, parts: Sequence[MaskedText]) -> list[Array]:
    """The columns of the masks that belong to each part of the input."""
    return np.split(masks, np.cumsum([part.n_words for part in parts])[:-1], axis=1)


class StringRows:
    """Rows by tokenizing every masked text: always right, never fast."""

    def __init__(self, tokenizer: Any, parts: Sequence[MaskedText]) -> None:
        self._tokenizer = tokenizer
        self._parts = parts

    def __call__(self, masks: Array) -> list[Row]:
        """A row for every mask of ``masks (rows, words)``."""
        own_masks = split_masks(masks, self._parts)
        texts = [part.render(own) for part, own in zip(self._parts, own_masks, strict=True)]
        return encode(self._tokenizer, *texts)


class PieceRows:
    """Rows from pieces: each variant of a stretch is tokenized once and then copied."""

    def __init__(self, tokenizer: Any, parts: Sequence[MaskedText]) -> None:
        self._pools = [_Pool(tokenizer, part) for part in parts]
        self._parts = parts
        self._before, self._after = _find_special_tokens(tokenizer, parts)

    def __call__(self, masks: Array) -> list[Row]:
        """A row for every mask of ``masks (rows, words)``."""
        own_masks = split_masks(masks, self._parts)
        content = [pool(own) for pool, own in zip(self._pools, own_masks, strict=True)]
        before, after = self._before, self._after
        if not len(before.ids) and len(after) == 1 and not len(after[0][1].ids):
            own = content[0]  # no special tokens at all
            whole = np.full(max(map(len, own), default=0), after[0][0])
            return [Row(piece, whole[: len(piece)]) for piece in own]
        rows = []
        for pieces in zip(*content, strict=True):
            ids, types = [before.ids], [before.types]
            for piece, (piece_type, special) in zip(pieces, after, strict=True):
                ids += [piece, special.ids]
                types += [np.full(len(piece), piece_type), special.types]
            rows.append(Row(np.concatenate(ids), np.concatenate(types)))
        return rows


class _Pool:
    """Token ids of the variants of one text's stretches, gathered by number.

    Raises:
        LookupError: when the tokenizer joins neighbouring stretches.
    """

    def __init__(self, tokenizer: Any, masked: MaskedText) -> None:
        self._tokenizer = tokenizer
        self._masked = masked
        # Every variant of every stretch has a number. Once it is in the pool it has a place too:
        # one inside the text, and one at its start.
        sizes = np.array([1 << len(stretch.words) for stretch in masked.stretches], dtype=np.int64)
        self._first = np.cumsum(sizes) - sizes
        self._place_of = np.full((2, int(sizes.sum())), -1, dtype=np.int64)
        self._tokens, self._starts, self._sizes = (_integers([]) for _ in range(3))
        self._is_blank = np.empty(0, dtype=bool)

    def __call__(self, masks: Array) -> list[Integers]:
        """Token ids without special tokens, one array per mask."""
        variants = self._masked.variants(masks) + self._first
        places = self._find_places(variants, leads=False)
        leader = np.argmin(self._is_blank[places], axis=1)
        led = np.flatnonzero(leader > 0)
        places[led, leader[led]] = self._find_places(variants[led, leader[led]], leads=True)
        sizes = self._sizes[places]
        flat_sizes = sizes.ravel()
        offsets = np.cumsum(flat_sizes) - flat_sizes
        index = np.repeat(self._starts[places].ravel() - offsets, flat_sizes)
        tokens = self._tokens[index + np.arange(len(index))]
        return np.split(tokens, np.cumsum(sizes.sum(axis=1))[:-1])

    def _find_places(self, variants: Integers, *, leads: bool) -> Integers:
        """Where variants are in the pool; those that are not there yet are tokenized first."""
        place_of = self._place_of[int(leads)]
        places = np.asarray(place_of[variants])
        if (places < 0).any():
            # All at once: a tokenizer is far quicker on a list than on its items.
            self._add(np.unique(variants[places < 0]), leads=leads)
            places = np.asarray(place_of[variants])
        return places

    def _add(self, new: Integers, *, leads: bool) -> None:
        stretches = np.searchsorted(self._first, new, side="right") - 1
        codes = (new - self._first[stretches]).tolist()
        texts = [
            self._masked.variant_text(k, code, leads=leads)
            for k, code in zip(stretches.tolist(), codes, strict=True)
        ]
        ids = self._tokenize(texts, (stretches == 0) | leads)
        sizes = _integers([len(piece) for piece in ids])
        starts = len(self._tokens) + np.cumsum(sizes) - sizes
        self._place_of[int(leads), new] = len(self._starts) + np.arange(len(new))
        self._tokens = np.concatenate([self._tokens, *map(_integers, ids)])
        self._starts = np.concatenate([self._starts, starts])
        self._sizes = np.concatenate([self._sizes, sizes])
        self._is_blank = np.concatenate([self._is_blank, [not text for text in texts]])

    def _tokenize(self, texts: list[str], leads: Array) -> list[list[int]]:
        """Token ids of stretches; those inside a text are tokenized after an anchor.

        Alone, a stretch would be at the start of a text, which some tokenizers mark.
        """
        anchor = encode_plain(self._tokenizer, [_ANCHOR])[0]
        anchored = [t if lead else _ANCHOR + t for t, lead in zip(texts, leads, strict=True)]
        ids = encode_plain(self._tokenizer, anchored)
        for k in np.flatnonzero(~leads):
            if ids[k][: len(anchor)] != anchor:
                raise LookupError("the tokenizer joins what a space separates")
            ids[k] = ids[k][len(anchor) :]
        return ids


def _find_special_tokens(
    tokenizer: Any, parts: Sequence[MaskedText]
) -> tuple[Row, list[tuple[int, Row]]]:
    """The tokens before the first part, and each part's type and the tokens after it.

    Found by looking for the parts' own tokens in the tokenized whole.
    """
    whole = encode(tokenizer, *([part.text] for part in parts))[0]
    marks, position = [], 0
    for content in encode_plain(tokenizer, [part.text for part in parts]):
        start = _find(content, whole.ids.tolist(), position)
        position = start + len(content)
        marks.append((start, position))
    bounds = [*(start for start, _ in marks[1:]), len(whole.ids)]
    after = [
        (int(whole.types[start]), Row(whole.ids[end:bound], whole.types[end:bound]))
        for (start, end), bound in zip(marks, bounds, strict=True)
    ]
    first = marks[0][0]
    return Row(whole.ids[:first], whole.types[:first]), after


def _find(content: list[int], ids: list[int], position: int) -> int:
    for start in range(position, len(ids) - len(content) + 1):
        if content and ids[start] == content[0] and ids[start : start + len(content)] == content:
            return start
    raise LookupError("the text's own tokens are not part of the tokenized whole")


def choose_rows(tokenizer: Any, parts: Sequence[MaskedText]) -> PieceRows | StringRows:
    """`PieceRows` where they give the same tokens, else `StringRows`.

    Pieces are right for tokenizers that never look across a space. Whether this tokenizer does is
    tested on the full text, the empty one and random masks of every density. A text with other
    white space is always tokenized whole: some tokenizers join a line break to what precedes it.
    """
    slow = StringRows(tokenizer, parts)
    leads = {stretch.lead for part in parts for stretch in part.stretches[1:]}
    longest = max(part.most_words_in_a_stretch for part in parts)
    if not leads <= {" "} or longest > _MOST_WORDS_IN_A_STRETCH:
        return slow
    n_words = sum(part.n_words for part in parts)
    densities = np.linspace(1, 0, _N_CHECKED)[:, None]
    masks = np.random.default_rng(0).random((_N_CHECKED, n_words)) < densities
    try:
        fast = PieceRows(tokenizer, parts)
        is_same = all(_is_equal(*rows) for rows in zip(fast(masks), slow(masks), strict=True))
    except LookupError:
        return slow
    return fast if is_same else slow


def _is_equal(one: Row, other: Row) -> bool:
    return np.array_equal(one.ids, other.ids) and np.array_equal(one.types, other.types)


def _integers(values: Sequence[int]) -> Integers:
    return np.array(values, dtype=np.int64)


class PaddedRows:
    """Rows where the tokens of absent words stay in their places, but no other token sees them."""

    def __init__(
        self, tokenizer: Any, parts: Sequence[MaskedText], spans: Sequence[Sequence[Span]]
    ) -> None:
        if not getattr(tokenizer, "is_fast", False) or tokenizer.pad_token_id is None:
            raise ValueError(
                "perturbation='pad' needs a fast tokenizer with a pad token; use 'delete'"
            )
        texts = [part.text for part in parts]
        self._whole = encode(tokenizer, *([text] for text in texts))[0]
        encoding = tokenizer(*texts, return_offsets_mapping=True, truncation=False, verbose=False)
        self._owners = find_owners(encoding["offset_mapping"], encoding.sequence_ids(), spans)

    def __call__(self, masks: Array) -> list[Row]:
        """A row for every mask of ``masks (rows, words)``."""
        is_of_word = self._owners >= 0
        seen = np.ones((len(masks), len(self._owners)), dtype=bool)
        seen[:, is_of_word] = masks[:, self._owners[is_of_word]]
        return [Row(self._whole.ids, self._whole.types, row) for row in seen]
