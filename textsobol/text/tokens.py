"""Token ids of masked texts, assembled from pieces instead of tokenized one by one."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from textsobol.sobol.arrays import Array, Integers
from textsobol.text.masked_text import MaskedText

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
def untouched(tokenizer: Any) -> Iterator[None]:
    """Leave the tokenizer's truncation and padding as they are: a call changes both."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        yield
        return
    truncation, padding = backend.truncation, backend.padding
    try:
        yield
    finally:
        backend.no_truncation() if truncation is None else backend.enable_truncation(**truncation)
        backend.no_padding() if padding is None else backend.enable_padding(**padding)


def encode(tokenizer: Any, *texts: Sequence[str]) -> list[Row]:
    """Texts, or pairs of texts, tokenized whole with their special tokens.

    Args:
        tokenizer: of the model.
        texts: the texts, or the first and the second texts of the pairs.
    """
    encoding = tokenizer(*map(list, texts), truncation=False, padding=False, verbose=False)
    rows = []
    for k, ids in enumerate(encoding["input_ids"]):
        types = encoding["token_type_ids"][k] if "token_type_ids" in encoding else [0] * len(ids)
        rows.append(Row(np.array(ids, dtype=np.int64), np.array(types, dtype=np.int64)))
    return rows


def plain_ids(tokenizer: Any, texts: Sequence[str]) -> list[list[int]]:
    """Token ids of each text without special tokens."""
    if not texts:
        return []
    encoding = tokenizer(
        list(texts), add_special_tokens=False, truncation=False, padding=False, verbose=False
    )
    ids: list[list[int]] = encoding["input_ids"]
    return ids


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
        texts = [
            part.render(own)
            for part, own in zip(self._parts, split_masks(masks, self._parts), strict=True)
        ]
        return encode(self._tokenizer, *texts)


class PieceRows:
    """Rows from pieces: each variant of a stretch is tokenized once and then copied.

    Args:
        tokenizer: of the model.
        parts: the text, or premise and hypothesis.
    """

    def __init__(self, tokenizer: Any, parts: Sequence[MaskedText]) -> None:
        self._pools = [_Pool(tokenizer, part) for part in parts]
        self._parts = parts
        self._fixed = _special_tokens(tokenizer, parts)

    def __call__(self, masks: Array) -> list[Row]:
        """A row for every mask of ``masks (rows, words)``."""
        own_masks = split_masks(masks, self._parts)
        content = [pool(own) for pool, own in zip(self._pools, own_masks, strict=True)]
        before, after = self._fixed
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
        LookupError: when the tokenizer does not keep stretches apart.
    """

    def __init__(self, tokenizer: Any, masked: MaskedText) -> None:
        self._tokenizer = tokenizer
        self._masked = masked
        # A number for every variant of every stretch, and its place in the pool once it is there:
        # inside the text, and leading it.
        sizes = np.array([1 << len(stretch.words) for stretch in masked.stretches], dtype=np.int64)
        self._first = np.cumsum(sizes) - sizes
        self._place_of = np.full((2, int(sizes.sum())), -1, dtype=np.int64)
        self._n_variants = 0
        self._tokens = np.empty(0, dtype=np.int64)
        self._starts = np.empty(0, dtype=np.int64)
        self._sizes = np.empty(0, dtype=np.int64)
        self._is_blank = np.empty(0, dtype=bool)

    def __call__(self, masks: Array) -> list[Integers]:
        """Token ids without special tokens, one array a mask."""
        variants = self._masked.variants(masks) + self._first
        places = self._places(variants, leads=False)
        leader = np.argmin(self._is_blank[places], axis=1)
        led = np.flatnonzero(leader > 0)
        places[led, leader[led]] = self._places(variants[led, leader[led]], leads=True)
        return self._gather(places)

    def _places(self, variants: Integers, *, leads: bool) -> Integers:
        """Where variants are in the pool; those that are not yet are tokenized first."""
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
        ids = self._ids(texts, [leads or k == 0 for k in stretches.tolist()])
        sizes = np.array([len(piece) for piece in ids], dtype=np.int64)
        starts = len(self._tokens) + np.cumsum(sizes) - sizes
        tokens = [np.array(piece, dtype=np.int64) for piece in ids]
        self._tokens = np.concatenate([self._tokens, *tokens])
        self._starts = np.concatenate([self._starts, starts])
        self._sizes = np.concatenate([self._sizes, sizes])
        self._is_blank = np.concatenate([self._is_blank, [not text for text in texts]])
        self._place_of[int(leads), new] = self._n_variants + np.arange(len(new))
        self._n_variants += len(new)

    def _ids(self, texts: list[str], leads: list[bool]) -> list[list[int]]:
        """Token ids of stretches; those that do not lead a text are read behind an anchor.

        On its own a stretch stands at the start of a text, which some tokenizers mark.
        """
        anchor = plain_ids(self._tokenizer, [_ANCHOR])[0]
        anchored = [t if lead else _ANCHOR + t for t, lead in zip(texts, leads, strict=True)]
        ids = plain_ids(self._tokenizer, anchored)
        for k, lead in enumerate(leads):
            if not lead:
                if ids[k][: len(anchor)] != anchor:
                    raise LookupError("the tokenizer joins what a space keeps apart")
                ids[k] = ids[k][len(anchor) :]
        return ids

    def _gather(self, places: Integers) -> list[Integers]:
        sizes = self._sizes[places]
        flat_sizes = sizes.ravel()
        offsets = np.cumsum(flat_sizes) - flat_sizes
        index = np.repeat(self._starts[places].ravel() - offsets, flat_sizes)
        tokens = self._tokens[index + np.arange(len(index))]
        return np.split(tokens, np.cumsum(sizes.sum(axis=1))[:-1])


def _special_tokens(
    tokenizer: Any, parts: Sequence[MaskedText]
) -> tuple[Row, list[tuple[int, Row]]]:
    """The tokens before the first part, and each part's type and the tokens after it.

    Found by looking for the parts' own tokens in the tokenized whole.
    """
    whole = encode(tokenizer, *([part.text] for part in parts))[0]
    marks, position = [], 0
    for content in plain_ids(tokenizer, [part.text for part in parts]):
        start = _find(content, whole.ids, position)
        position = start + len(content)
        marks.append((start, position))
    bounds = [*(start for start, _ in marks[1:]), len(whole.ids)]
    after = [
        (int(whole.types[start]), Row(whole.ids[end:bound], whole.types[end:bound]))
        for (start, end), bound in zip(marks, bounds, strict=True)
    ]
    first = marks[0][0]
    return Row(whole.ids[:first], whole.types[:first]), after


def _find(content: list[int], ids: Integers, position: int) -> int:
    for start in range(position, len(ids) - len(content) + 1):
        if (
            content
            and ids[start] == content[0]
            and ids[start : start + len(content)].tolist() == content
        ):
            return start
    raise LookupError("the text's own tokens are not part of the tokenized whole")


def rows_maker(tokenizer: Any, parts: Sequence[MaskedText]) -> "PieceRows | StringRows":
    """The fast way to make rows where it gives the same tokens, else the sure way.

    Pieces are right for tokenizers that never look across a space. Whether this one is
    such is tried on the full text, the empty one and random masks of every density. Other
    white space is always read as a string: some tokenizers join a line break with what
    happens to stand before it.
    """
    slow = StringRows(tokenizer, parts)
    n_words = sum(part.n_words for part in parts)
    leads = {stretch.lead for part in parts for stretch in part.stretches[1:]}
    if not leads <= {" "}:
        return slow
    if max(part.most_words_in_a_stretch for part in parts) > _MOST_WORDS_IN_A_STRETCH:
        return slow
    densities = np.linspace(1, 0, _N_CHECKED)[:, None]
    masks = np.random.default_rng(0).random((_N_CHECKED, n_words)) < densities
    try:
        fast = PieceRows(tokenizer, parts)
        same = all(_equal(one, other) for one, other in zip(fast(masks), slow(masks), strict=True))
    except LookupError:
        return slow
    return fast if same else slow


def _equal(one: Row, other: Row) -> bool:
    return np.array_equal(one.ids, other.ids) and np.array_equal(one.types, other.types)


class PaddedRows:
    """Rows in which the tokens of absent words are padding that the model does not see."""

    def __init__(
        self,
        tokenizer: Any,
        parts: Sequence[MaskedText],
        spans: Sequence[Sequence[tuple[int, int]]],
    ) -> None:
        if not getattr(tokenizer, "is_fast", False) or tokenizer.pad_token_id is None:
            raise ValueError(
                "perturbation='pad' needs a fast tokenizer with a pad token; use 'delete'"
            )
        self._pad = tokenizer.pad_token_id
        self._whole = encode(tokenizer, *([part.text] for part in parts))[0]
        encoding = tokenizer(
            *(part.text for part in parts),
            return_offsets_mapping=True,
            truncation=False,
            verbose=False,
        )
        first_word = np.cumsum([0, *(len(part_spans) for part_spans in spans)])
        self._word_of = np.full(len(self._whole.ids), -1)
        offsets = zip(encoding["offset_mapping"], encoding.sequence_ids(), strict=True)
        for token, ((start, end), part) in enumerate(offsets):
            if part is None or start == end:
                continue
            for number, (word_start, word_end) in enumerate(spans[part]):
                if start < word_end and word_start < end:
                    self._word_of[token] = first_word[part] + number
                    break

    def __call__(self, masks: Array) -> list[Row]:
        """A row for every mask of ``masks (rows, words)``."""
        of_word = self._word_of >= 0
        seen = np.ones((len(masks), len(self._word_of)), dtype=bool)
        seen[:, of_word] = masks[:, self._word_of[of_word]]
        return [
            Row(np.where(row, self._whole.ids, self._pad), self._whole.types, row) for row in seen
        ]
