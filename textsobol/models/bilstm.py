"""A bidirectional LSTM on GloVe vectors, as a model of transformers.

The second model of Fel et al. 2021: word vectors, a bidirectional LSTM with 32 units per
direction, a projection to 64 dimensions, and the labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers
from torch import nn
from transformers import (
    AutoConfig,
    AutoModelForSequenceClassification,
    PretrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerFast,
)
from transformers.modeling_outputs import SequenceClassifierOutput

PAD, UNK = "[PAD]", "[UNK]"
# Words with inner apostrophes, hyphens, slashes and points; the endings that GloVe's own
# tokenizer cuts off ("do n't", "it 's"); runs of one punctuation mark; any other symbol.
_ENDING = r"(?:n't|'(?:s|re|ve|ll|d|m))(?![\p{L}\p{N}])"
_LETTERS = rf"(?:(?!{_ENDING})[\p{{L}}\p{{M}}\p{{N}}_])+"
_POINT = r"(?:(?<=\p{N})\.(?=\p{N})|(?<!\p{L}\p{L})\.(?=\p{L}(?!\p{L})))"
_TOKEN = rf"{_ENDING}|{_LETTERS}(?:(?!{_ENDING})(?:[-/']|{_POINT}){_LETTERS})*|([!?.])\1*|\S"


class BiLstmConfig(PretrainedConfig):  # type: ignore[no-untyped-call]
    """Sizes of a `BiLstmForSequenceClassification`.

    Args:
        vocab_size: number of words.
        embedding_size: dimension of the word vectors; 300 in the paper.
        hidden_size: units of each direction of the LSTM.
        projection_size: dimension of the layer before the labels.
        dropout: share of features dropped in training.
    """

    model_type = "bilstm"

    def __init__(
        self,
        vocab_size: int = 30_000,
        embedding_size: int = 100,
        hidden_size: int = 32,
        projection_size: int = 64,
        dropout: float = 0.5,
        pad_token_id: int = 0,
        **settings: Any,
    ) -> None:
        self.vocab_size = vocab_size
        self.embedding_size = embedding_size
        self.hidden_size = hidden_size
        self.projection_size = projection_size
        self.dropout = dropout
        self.pad_token_id = pad_token_id
        super().__init__(**settings)


class BiLstmForSequenceClassification(PreTrainedModel):  # type: ignore[no-untyped-call]
    """Classifies a text by the strongest signal of each LSTM unit over its words."""

    config_class = BiLstmConfig
    base_model_prefix = "bilstm"

    def __init__(self, config: BiLstmConfig) -> None:
        super().__init__(config)
        self.embedding = nn.Embedding(
            config.vocab_size, config.embedding_size, padding_idx=config.pad_token_id
        )
        # Two LSTMs instead of a bidirectional one: texts of different lengths then need no
        # packed sequence, whose gradient is eight times slower on a CPU.
        self.forwards = nn.LSTM(config.embedding_size, config.hidden_size, batch_first=True)
        self.backwards = nn.LSTM(config.embedding_size, config.hidden_size, batch_first=True)
        self.projection = nn.Linear(2 * config.hidden_size, config.projection_size)
        self.classifier = nn.Linear(config.projection_size, int(config.num_labels or 2))
        self.dropout = nn.Dropout(config.dropout)
        self.post_init()  # type: ignore[no-untyped-call]

    def _init_weights(self, module: nn.Module) -> None:
        """Torch's own initialisation, for layers that a checkpoint does not have."""
        if isinstance(module, nn.Linear | nn.LSTM | nn.Embedding):
            module.reset_parameters()

    def get_input_embeddings(self) -> nn.Embedding:
        """The word vectors."""
        return self.embedding

    def set_input_embeddings(self, value: Any) -> None:
        """Replace the word vectors."""
        self.embedding = value

    def forward(
        self,
        input_ids: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
        inputs_embeds: torch.Tensor | None = None,
        labels: torch.Tensor | None = None,
        return_dict: bool = True,
        **_: Any,
    ) -> SequenceClassifierOutput | tuple[Any, ...]:
        """Logits, and the cross-entropy loss when labels (one class per text) are given.

        Tokens that the attention mask hides are left out, so that padding changes nothing.
        """
        if (input_ids is None) == (inputs_embeds is None):
            raise ValueError("give either input_ids or inputs_embeds")
        vectors = self.embedding(input_ids) if inputs_embeds is None else inputs_embeds
        if attention_mask is not None:
            seen = attention_mask.bool()
        elif input_ids is not None:
            seen = input_ids != self.config.pad_token_id
        else:
            seen = torch.ones(vectors.shape[:2], dtype=torch.bool, device=vectors.device)
        document = self._encode(vectors, seen)
        hidden = torch.relu(self.projection(self.dropout(document)))
        logits = self.classifier(self.dropout(hidden))
        loss: Any = None if labels is None else nn.functional.cross_entropy(logits, labels)
        output = SequenceClassifierOutput(loss=loss, logits=logits)
        return output if return_dict else output.to_tuple()

    def _encode(self, vectors: torch.Tensor, seen: torch.Tensor) -> torch.Tensor:
        """One vector per text ``(texts, 2 * hidden)``: the maximum of each unit over its words."""
        lengths = seen.sum(dim=1, keepdim=True)
        longest = int(lengths.max()) if seen.numel() else 0
        if longest == 0:
            return vectors.new_zeros(len(vectors), 2 * self.config.hidden_size)
        # Visible words move to the front, in their order; the second LSTM reads them backwards.
        # What follows a text's last word does not change its states, and the maximum ignores it.
        places = torch.arange(longest, device=vectors.device).expand(len(vectors), -1)
        inside = places < lengths
        read = self.dropout(vectors)
        if not torch.equal(seen[:, :longest], inside):
            read = _pick(read, torch.argsort((~seen).int(), dim=1, stable=True))
        read = read[:, :longest]
        read_back = _pick(read, (lengths - 1 - places).clamp(min=0))
        states = torch.cat([self.forwards(read)[0], self.backwards(read_back)[0]], dim=2)
        strongest = states.masked_fill(~inside.unsqueeze(-1), -torch.inf).amax(dim=1)
        # A text without any word has no signal at all.
        return torch.where(lengths > 0, strongest, torch.zeros_like(strongest))


def _pick(vectors: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    """The vectors at ``places (texts, words)``."""
    return vectors.gather(1, places.unsqueeze(-1).expand(-1, -1, vectors.shape[2]))


def word_tokenizer(vocabulary: Sequence[str]) -> PreTrainedTokenizerFast:
    """A lower-casing word tokenizer that reads line breaks written as ``<br />`` as spaces.

    Args:
        vocabulary: the words; ``[PAD]`` and ``[UNK]`` are put before them.
    """
    numbers = {word: k for k, word in enumerate([PAD, UNK, *vocabulary])}
    tokenizer = Tokenizer(models.WordLevel(numbers, unk_token=UNK))
    tokenizer.normalizer = normalizers.Sequence(
        [
            normalizers.Replace(Regex(r"<[bB][rR]\s*/?>"), " "),
            normalizers.Replace("\u2019", "'"),
            normalizers.NFC(),
            normalizers.Lowercase(),
        ]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.WhitespaceSplit(),
            pre_tokenizers.Split(Regex(_TOKEN), behavior="isolated"),
        ]
    )
    return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=tokenizer,
        pad_token=PAD,
        unk_token=UNK,
        model_input_names=["input_ids", "attention_mask"],
    )


AutoConfig.register(BiLstmConfig.model_type, BiLstmConfig, exist_ok=True)
AutoModelForSequenceClassification.register(
    BiLstmConfig, BiLstmForSequenceClassification, exist_ok=True
)
