"""Assembled tokens equal tokenized text, for every family of tokenizers."""

from typing import Any

import numpy as np
import pytest
from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from tests.text.tiny import CORPUS, FAMILIES, tokenizer
from textsobol.text.masked_text import MaskedText
from textsobol.text.tokens import (
    PaddedRows,
    PieceRows,
    StringRows,
    choose_rows,
    encode,
    keep_settings,
)
from textsobol.text.words import find_words

TEXTS = [
    "The plot is good, but the ending is bad!",
    "  Leading space;  double  spaces\n\nand (new) lines. ",
    'He said: "good/bad" ... it\'s well-made (really)!!! \U0001f44d 10/10 <br />so-so...',
    "unknownword zzz \u00e9t\u00e9 \u4e2d\u6587 good",
    "good",
]
every_family = pytest.mark.parametrize("family", FAMILIES)


def assert_same(one: Any, other: Any) -> None:
    assert len(one) == len(other)
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a.ids, b.ids)
        np.testing.assert_array_equal(a.types, b.types)


def random_masks(n_words: int, n_rows: int = 100) -> np.ndarray:
    rates = np.random.default_rng(0).random((n_rows, 1))
    return np.random.default_rng(1).random((n_rows, n_words)) < rates


@every_family
@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("replacement", ["", "thing"])
def test_pieces_equal_tokenized_text(family: str, text: str, replacement: str) -> None:
    tok = tokenizer(family)
    part = MaskedText(text, find_words(text), replacement)
    masks = random_masks(part.n_words)
    assert_same(PieceRows(tok, [part])(masks), StringRows(tok, [part])(masks))
    only_spaces = "\n" not in text and "  " not in text.strip()
    assert isinstance(choose_rows(tok, [part]), PieceRows if only_spaces else StringRows)


@pytest.mark.parametrize("family", ["wordpiece uncased", "byte bpe, roberta"])
def test_mask_tokens_are_one_special_token_a_word(family: str) -> None:
    tok = tokenizer(family)
    part = MaskedText("A good, bad film", find_words("A good, bad film"), tok.mask_token)
    masks = random_masks(part.n_words)
    rows = PieceRows(tok, [part])(masks)
    assert_same(rows, StringRows(tok, [part])(masks))
    for row, mask in zip(rows, masks, strict=True):
        assert (row.ids == tok.mask_token_id).sum() == (~mask).sum()


@every_family
def test_the_full_mask_is_the_text_itself(family: str) -> None:
    tok = tokenizer(family)
    for text in TEXTS:
        part = MaskedText(text, find_words(text))
        assert part.render(np.ones((1, part.n_words), bool)) == [text]
        full = PieceRows(tok, [part])(np.ones((1, part.n_words), bool))[0]
        assert full.ids.tolist() == tok(text)["input_ids"]


@every_family
def test_special_tokens_are_never_touched(family: str) -> None:
    tok = tokenizer(family)
    part = MaskedText("good bad film", find_words("good bad film"))
    empty = PieceRows(tok, [part])(np.zeros((1, 3), bool))[0]
    assert empty.ids.tolist() == tok("")["input_ids"]


@pytest.mark.parametrize("family", [name for name in FAMILIES if "gpt-2" not in name])
def test_pairs_keep_separators_and_token_types(family: str) -> None:
    tok = tokenizer(family)
    texts = ["The plot is good.", "The film, really, is bad"]
    parts = [MaskedText(text, find_words(text)) for text in texts]
    masks = random_masks(sum(part.n_words for part in parts))
    rows = PieceRows(tok, parts)(masks)
    assert_same(rows, StringRows(tok, parts)(masks))
    whole = tok(*texts)
    full = PieceRows(tok, parts)(np.ones((1, masks.shape[1]), bool))[0]
    assert full.ids.tolist() == whole["input_ids"]
    if "token_type_ids" in whole:
        assert full.types.tolist() == whole["token_type_ids"]
        assert set(full.types.tolist()) == {0, 1}


def test_a_tokenizer_that_looks_across_spaces_is_given_strings() -> None:
    """Without a pre-tokenizer, BPE merges over spaces: pieces would be wrong."""
    raw = Tokenizer(models.BPE())
    raw.train_from_iterator(CORPUS, trainers.BpeTrainer(vocab_size=300, special_tokens=["<pad>"]))
    tok = PreTrainedTokenizerFast(tokenizer_object=raw, pad_token="<pad>")
    part = MaskedText(CORPUS[0], find_words(CORPUS[0]))
    maker = choose_rows(tok, [part])
    assert isinstance(maker, StringRows)
    masks = random_masks(part.n_words)
    for row, text in zip(maker(masks), part.render(masks), strict=True):
        assert row.ids.tolist() == tok(text)["input_ids"]


def test_a_tokenizer_that_joins_punctuation_and_line_breaks_is_given_strings() -> None:
    """As those of Llama 3 and Qwen: ",\\n" is one token when the words between are gone."""
    raw = Tokenizer(models.BPE())
    pattern = Regex(r" ?\p{L}+| ?[^\s\p{L}\p{N}]+[\r\n]*|\s+")
    raw.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(pattern, behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    lines = ["The plot,\nthe film.\nThe ending is good,\n"] * 50
    raw.train_from_iterator(
        lines + CORPUS,
        trainers.BpeTrainer(
            vocab_size=500,
            special_tokens=["<pad>"],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        ),
    )
    tok = PreTrainedTokenizerFast(tokenizer_object=raw, pad_token="<pad>")
    text = "The plot is good, the actors are not bad\nthe ending is long and nothing was good"
    part = MaskedText(text, find_words(text))
    masks = random_masks(part.n_words, 2000)
    assert_same(choose_rows(tok, [part])(masks), StringRows(tok, [part])(masks))


def test_text_without_spaces_is_given_strings() -> None:
    """Every character a word, nothing to cut at: as in Chinese."""
    text = "abcdefghijklmnopqrstuvwxyz" * 4
    part = MaskedText(text, [(k, k + 1) for k in range(len(text))])
    masks = random_masks(part.n_words, 10)
    assert isinstance(choose_rows(tokenizer(), [part]), StringRows)
    for rendered, mask in zip(part.render(masks), masks, strict=True):
        assert rendered == "".join(c for c, kept in zip(text, mask, strict=True) if kept)


def test_padding_hides_the_tokens_of_absent_words() -> None:
    tok = tokenizer()
    text = "good film, bad ending"
    spans = find_words(text)
    rows = PaddedRows(tok, [MaskedText(text, spans)], [spans])
    whole = encode(tok, [text])[0]
    kept, gone = rows(np.array([[True] * 4, [False, True, True, True]]))
    np.testing.assert_array_equal(kept.ids, whole.ids)
    assert kept.seen is not None
    assert kept.seen.all()
    assert gone.seen is not None
    n_good = len(tok("good", add_special_tokens=False)["input_ids"])
    assert (~gone.seen).nonzero()[0].tolist() == list(range(1, 1 + n_good))
    np.testing.assert_array_equal(gone.ids, whole.ids)


def test_a_tokenizer_keeps_its_truncation_and_padding() -> None:
    tok = FAMILIES["wordpiece uncased"]()
    tok.backend_tokenizer.enable_truncation(7)
    tok.backend_tokenizer.enable_padding(length=9)
    before = (tok.backend_tokenizer.truncation, tok.backend_tokenizer.padding)

    def fail_inside() -> None:
        with keep_settings(tok):
            rows = encode(tok, ["a long text that would have been cut to seven tokens"])
            assert len(rows[0].ids) > 9
            raise KeyError

    with pytest.raises(KeyError):
        fail_inside()
    assert (tok.backend_tokenizer.truncation, tok.backend_tokenizer.padding) == before
