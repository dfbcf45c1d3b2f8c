"""Small tokenizers of every family and a model whose decision is known by construction."""

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import torch
import transformers
from tokenizers import (
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)
from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

CORPUS = [
    "The plot is good but the ending is bad and long.",
    "A good film, a bad film; good actors, bad script!",
    "I don't know why the ending was so long, really.",
    "not good not bad just a film about nothing",
] * 20


def _wordpiece(*, lowercase: bool) -> Any:
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer.train_from_iterator(
        CORPUS, trainers.WordPieceTrainer(vocab_size=300, special_tokens=special)
    )
    ids = {name: tokenizer.token_to_id(name) for name in special}
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", ids["[CLS]"]), ("[SEP]", ids["[SEP]"])],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]",
        sep_token="[SEP]", mask_token="[MASK]", model_max_length=64,
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
    )  # fmt: skip


def _byte_bpe(*, prefix_space: bool, special: bool) -> Any:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix_space)
    tokenizer.decoder = decoders.ByteLevel()
    names = ["<s>", "<pad>", "</s>", "<mask>"] if special else ["<|end|>"]
    tokenizer.train_from_iterator(
        CORPUS,
        trainers.BpeTrainer(
            vocab_size=500,
            special_tokens=names,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        ),
    )
    if not special:
        return PreTrainedTokenizerFast(
            tokenizer_object=tokenizer, eos_token="<|end|>", model_max_length=64,
            model_input_names=["input_ids", "attention_mask"],
        )  # fmt: skip
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        pair="<s> $A </s> </s> $B </s>",
        special_tokens=[(name, tokenizer.token_to_id(name)) for name in ("<s>", "</s>")],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", cls_token="<s>", eos_token="</s>",
        sep_token="</s>", pad_token="<pad>", mask_token="<mask>", model_max_length=64,
        model_input_names=["input_ids", "attention_mask"],
    )  # fmt: skip


def _unigram(*, scheme: str, lowercase: bool) -> Any:
    tokenizer = Tokenizer(models.Unigram())
    steps: list[Any] = [normalizers.NFKC()]
    tokenizer.normalizer = normalizers.Sequence(steps + [normalizers.Lowercase()] * lowercase)
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=scheme)
    tokenizer.train_from_iterator(
        CORPUS,
        trainers.UnigramTrainer(
            vocab_size=150, special_tokens=["<pad>", "</s>", "<unk>"], unk_token="<unk>"
        ),
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A </s>",
        pair="$A </s> $B </s>",
        special_tokens=[("</s>", tokenizer.token_to_id("</s>"))],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", eos_token="</s>", unk_token="<unk>",
        model_max_length=64, model_input_names=["input_ids", "attention_mask"],
    )  # fmt: skip


FAMILIES: dict[str, Callable[[], Any]] = {
    "wordpiece uncased": lambda: _wordpiece(lowercase=True),
    "wordpiece cased": lambda: _wordpiece(lowercase=False),
    "byte bpe, gpt-2": lambda: _byte_bpe(prefix_space=False, special=False),
    "byte bpe, roberta": lambda: _byte_bpe(prefix_space=False, special=True),
    "byte bpe, prefix space": lambda: _byte_bpe(prefix_space=True, special=True),
    "unigram, always": lambda: _unigram(scheme="always", lowercase=False),
    "unigram, first": lambda: _unigram(scheme="first", lowercase=True),
    "unigram, never": lambda: _unigram(scheme="never", lowercase=False),
}


@cache
def tokenizer(family: str = "wordpiece uncased") -> Any:
    """A tokenizer of the family; shared, since explainers must not change it."""
    return FAMILIES[family]()


def _pieces(tok: Any, word: str) -> set[int]:
    return {
        i
        for form in (word, " " + word, word.capitalize())
        for i in tok(form, add_special_tokens=False)["input_ids"]
    }


def counting_bert(
    tok: Any, good: str = "good", bad: str = "bad", labels: int = 2, **config: Any
) -> Any:
    """A BERT that compares how many tokens of ``good`` and of ``bad`` there are.

    One layer of uniform attention averages a feature that is 1 for ``good``, -1 for ``bad``
    and 0 for all other tokens into the first token; everything behind it is monotone. The
    last label's logit rises with that average, the first label's falls.
    """
    torch.manual_seed(0)
    size = 8
    model: Any = BertForSequenceClassification(
        BertConfig(  # type: ignore[call-arg]
            vocab_size=len(tok), hidden_size=size, num_hidden_layers=1, num_attention_heads=1,
            intermediate_size=size, max_position_embeddings=64, num_labels=labels,
            pad_token_id=tok.pad_token_id or 0, hidden_dropout_prob=0.5, **config,
        )
    )  # fmt: skip
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "LayerNorm.weight" not in name:
                parameter.zero_()
        words = model.bert.embeddings.word_embeddings.weight
        words[:, 0] = 4.0
        only_good, only_bad = (
            _pieces(tok, good) - _pieces(tok, bad),
            _pieces(tok, bad) - _pieces(tok, good),
        )
        for i in only_good:
            words[i] = torch.eye(size)[1] * 4
        for i in only_bad:
            words[i] = torch.eye(size)[2] * 4
        attention = model.bert.encoder.layer[0].attention
        attention.self.value.weight[3, 1] = 1.0
        attention.self.value.weight[3, 2] = -1.0
        attention.output.dense.weight[4, 3] = 8.0
        model.bert.pooler.dense.weight[0, 4] = 1.0
        model.classifier.weight[labels - 1, 0] = 3.0
        if labels > 1:
            model.classifier.weight[0, 0] = -3.0
    return model.eval()


_SIZES: dict[str, Any] = {
    "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16,
    "max_position_embeddings": 80, "initializer_range": 0.5,
}  # fmt: skip
_DECODER = {**_SIZES, "num_key_value_heads": 1}
_GPT = {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 80, "initializer_range": 0.5}
_DEBERTA = {**_SIZES, "relative_attention": True, "pos_att_type": ["c2p", "p2c"]}
_MODERN = {**_SIZES, "num_hidden_layers": 3, "local_attention": 8}
_BART = {
    "d_model": 16, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2,
    "decoder_attention_heads": 2, "encoder_ffn_dim": 16, "decoder_ffn_dim": 16, "init_std": 0.5,
}  # fmt: skip
_ARCHITECTURES: dict[str, tuple[str, dict[str, Any]]] = {
    "bert": ("Bert", _SIZES),
    "roberta": ("Roberta", _SIZES),
    "electra": ("Electra", {**_SIZES, "embedding_size": 16}),
    "albert": ("Albert", {**_SIZES, "embedding_size": 16}),
    "mpnet": ("MPNet", _SIZES),
    "distilbert": (
        "DistilBert",
        {**_SIZES, "dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 16},
    ),
    "deberta": ("Deberta", _DEBERTA),
    "deberta-v3": ("DebertaV2", {**_DEBERTA, "position_buckets": 8, "share_att_key": True}),
    "deberta-v2 with convolution": (
        "DebertaV2",
        {**_DEBERTA, "conv_kernel_size": 3, "conv_act": "gelu"},
    ),
    "xlnet": (
        "XLNet",
        {"d_model": 16, "n_layer": 2, "n_head": 2, "d_inner": 16, "initializer_range": 0.5},
    ),
    "modernbert": ("ModernBert", {**_MODERN, "classifier_pooling": "cls"}),
    "modernbert, mean": ("ModernBert", {**_MODERN, "classifier_pooling": "mean"}),
    "gpt2": ("GPT2", _GPT),
    "gpt-neox": ("GPTNeoX", _SIZES),
    "llama": ("Llama", _DECODER),
    "qwen2": ("Qwen2", _DECODER),
    "mistral, sliding": ("Mistral", {**_DECODER, "sliding_window": 8}),
    "gemma2": ("Gemma2", {**_DECODER, "head_dim": 8, "sliding_window": 8}),
    "bloom": ("Bloom", {"hidden_size": 16, "n_layer": 2, "n_head": 2, "initializer_range": 0.5}),
    "bart": ("Bart", _BART),
    "opt": ("OPT", {**_SIZES, "ffn_dim": 16, "word_embed_proj_dim": 16, "init_std": 0.5}),
    "longformer": ("Longformer", {**_SIZES, "attention_window": 8}),
    "fnet": ("FNet", _SIZES),
}


def random_model(family: str, tok: Any, *, attention: str | None = None, **config: Any) -> Any:
    """A tiny random classifier of the architecture ``family``."""
    torch.manual_seed(0)
    name, sizes = _ARCHITECTURES[family]
    special = {"pad_token_id": tok.pad_token_id, "bos_token_id": 0, "eos_token_id": 2}
    with warnings.catch_warnings():  # DeBERTa uses torch.jit
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        make_config = getattr(transformers, f"{name}Config")
        make_model = getattr(transformers, f"{name}ForSequenceClassification")
    model = make_model(make_config(vocab_size=len(tok), **{**special, **sizes, **config})).eval()
    if attention is not None:
        model.set_attn_implementation(attention)
    return model
