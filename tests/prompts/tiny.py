"""Tiny random language models of several families, and plain ways to score answers with them."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

CHAT = (
    "{% for message in messages %}<|{{ message['role'] }}|>\n{{ message['content'] }}<|end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
)
CORPUS = [
    "Review: A good film, a bad film; good actors, bad script!\nSentiment: positive",
    "Review: The plot is dull and long.\nSentiment: negative",
    "Decide whether the review is positive or negative. Paris is the capital of France.",
] * 20
REVIEW = "Review: {text}\nSentiment:"
ANSWERS = {"negative": " negative", "positive": [" positive", " great"]}
_SIZES: dict[str, Any] = {
    "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16,
    "num_key_value_heads": 1, "max_position_embeddings": 256, "initializer_range": 0.5,
}  # fmt: skip
_GPT = {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 256, "initializer_range": 0.5}
_T5 = {
    "d_model": 16, "d_kv": 8, "d_ff": 16, "num_layers": 2, "num_heads": 2,
    "decoder_start_token_id": 0, "initializer_factor": 3.0,
}  # fmt: skip
_FAMILIES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "gpt2": ("GPT2", "LMHeadModel", _GPT),
    "llama": ("Llama", "ForCausalLM", _SIZES),
    "qwen2": ("Qwen2", "ForCausalLM", _SIZES),
    "t5": ("T5", "ForConditionalGeneration", _T5),
    # Distances instead of positions, and a window: what shared prefixes must notice.
    "bloom": ("Bloom", "ForCausalLM", {"hidden_size": 16, "n_layer": 2, "n_head": 2}),
    "mistral, sliding": ("Mistral", "ForCausalLM", {**_SIZES, "sliding_window": 8}),
}
CAUSAL = ("gpt2", "llama", "qwen2")


@cache
def tokenizer(family: str = "gpt2", *, side: str = "right") -> Any:
    """A byte-level tokenizer: with a token at the start for Llama, one at the end for T5."""
    own = Tokenizer(models.BPE())
    own.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    own.decoder = decoders.ByteLevel()
    special = ["<pad>", "<s>", "</s>", "<|end|>", "<|user|>", "<|system|>", "<|assistant|>"]
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )  # fmt: skip
    own.train_from_iterator(CORPUS, trainer)
    marks = [(name, own.token_to_id(name)) for name in ("<s>", "</s>")]
    around = {"llama": "<s> $A", "t5": "$A </s>"}.get(family)
    if around is not None:
        own.post_processor = processors.TemplateProcessing(single=around, special_tokens=marks)
    made = PreTrainedTokenizerFast(
        tokenizer_object=own, bos_token="<s>", eos_token="</s>", pad_token="<pad>",
        padding_side=side,
    )  # fmt: skip
    made.chat_template = CHAT
    return made


@cache
def model(family: str = "gpt2", **config: Any) -> Any:
    """A random language model."""
    torch.manual_seed(0)
    name, head, sizes = _FAMILIES[family]
    special = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
    made = getattr(transformers, f"{name}Config")(vocab_size=400, **{**special, **sizes, **config})
    return getattr(transformers, f"{name}{head}")(made).eval()


def score_plainly(family: str, prompt: Any, answer: str) -> np.ndarray:
    """Log-probability of each token of an answer, by one plain call of the plain model."""
    tok, lm = tokenizer(family), model(family)
    is_chat = not isinstance(prompt, str)
    if is_chat:
        text = tok.apply_chat_template(prompt, tokenize=False, add_generation_prompt=True)
        before = tok(text, add_special_tokens=False)["input_ids"]
    else:
        before = tok(prompt)["input_ids"]
    own = tok(answer, add_special_tokens=False)["input_ids"]
    return score_ids(lm, before, own)


def score_ids(lm: Any, before: Sequence[int], own: Sequence[int]) -> np.ndarray:
    with torch.inference_mode():
        if lm.config.is_encoder_decoder:
            inputs = {"input_ids": torch.tensor([list(before)]),
                      "decoder_input_ids": torch.tensor([[0, *own[:-1]]])}  # fmt: skip
            start = 0
        else:
            inputs = {"input_ids": torch.tensor([[*before, *own[:-1]]])}
            start = len(before) - 1
        logits = lm(**inputs).logits[0].double().log_softmax(-1)
    return np.array([logits[start + k, token].item() for k, token in enumerate(own)])
