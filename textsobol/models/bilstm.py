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
from torch.autograd.function import once_differentiable
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
        gates: torch.Tensor | None = None,
        **_: Any,
    ) -> SequenceClassifierOutput | tuple[Any, ...]:
        """Logits, and the cross-entropy loss when labels (one class per text) are given.

        Tokens that the attention mask hides are left out, so that padding changes nothing.
        ``gates (texts, tokens)`` say how much of each token is read, from 0 (left out) to 1.
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
        if gates is None:
            document = self._encode(vectors, seen)
        else:
            document = self._encode_gated(vectors, (gates * seen).to(vectors.dtype))
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

    def _encode_gated(self, vectors: torch.Tensor, gates: torch.Tensor) -> torch.Tensor:
        """`_encode`, where a step is taken as far as its gate ``(texts, words)`` says."""
        if not gates.numel():
            return vectors.new_zeros(len(vectors), 2 * self.config.hidden_size)
        read, own = self.dropout(vectors).transpose(0, 1), gates.transpose(0, 1)
        inputs = [_project(self.forwards, read), _project(self.backwards, read.flip(0))]
        both = torch.stack([own, own.flip(0)], dim=2).unsqueeze(-1)
        states: torch.Tensor = _GatedScan.apply(  # type: ignore[no-untyped-call]
            torch.stack(inputs, dim=3).flatten(2),
            _join(self.forwards, self.backwards),
            both.expand(-1, -1, -1, self.config.hidden_size).flatten(2),
        )
        # Until its first word an LSTM is in its zero state, which is no signal: 2 below, it is
        # weaker than any state, for states are between -1 and 1.
        unread = 2 * (1 - both).cumprod(dim=0)
        strongest = (states.view(*both.shape[:3], -1) - unread).amax(dim=0)
        # A text without any word has no signal at all.
        return (strongest + unread[-1]).flatten(1)


def _pick(vectors: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    """The vectors at ``places (texts, words)``."""
    return vectors.gather(1, places.unsqueeze(-1).expand(-1, -1, vectors.shape[2]))


# Torch orders an LSTM's gates input, forget, cell, output. Here the cell's, the only tanh, is last,
# and the output's, the only one that the cell does not read, first.
_ORDER = [3, 0, 1, 2]


def _project(lstm: nn.LSTM, read: torch.Tensor) -> torch.Tensor:
    """What the words ``(words, texts, size)`` add to each gate ``(words, texts, 4, hidden)``."""
    weight, _, bias, more_bias = lstm.all_weights[0]
    found = nn.functional.linear(read, weight, bias + more_bias)
    return found.view(*read.shape[:2], 4, -1)[:, :, _ORDER]


def _join(forwards: nn.LSTM, backwards: nn.LSTM) -> torch.Tensor:
    """The recurrent weights of one LSTM ``(2 * hidden, 4 * 2 * hidden)`` that does both's work."""
    weights = (lstm.all_weights[0][1] for lstm in (forwards, backwards))
    own = [each.view(4, -1, each.shape[1])[_ORDER].permute(2, 0, 1) for each in weights]
    nothing = torch.zeros_like(own[0])
    from_forwards = torch.stack([own[0], nothing], dim=2)
    from_backwards = torch.stack([nothing, own[1]], dim=2)
    return torch.cat([from_forwards, from_backwards]).flatten(1)


class _GatedScan(torch.autograd.Function):
    """States of an LSTM whose steps change cell and state as far as a gate says.

    The gradient is written by hand: how long it takes is decided by the number of operations at
    every word, and autograd needs more of them.
    """

    @staticmethod
    def forward(
        ctx: Any, inputs: torch.Tensor, weight: torch.Tensor, gates: torch.Tensor
    ) -> torch.Tensor:
        """States ``(words, texts, units)``.

        Args:
            ctx: keeps what the gradient needs.
            inputs: what the words add to each gate ``(words, texts, 4 * units)``.
            weight: what the state adds ``(units, 4 * units)``.
            gates: how far each step is taken ``(words, texts, units)``.
        """
        n_words, n_texts, n_units = gates.shape
        # Views of every word are made at once; a name with _ is the state after the word.
        flat = inputs.new_empty(inputs.shape)
        inside = flat.view(n_words, n_texts, 4, n_units)
        states, cells = gates.new_zeros(2, n_words + 1, n_texts, n_units)
        new_cells = torch.empty_like(gates)
        words = zip(
            *(each.unbind() for each in (inputs, flat, inside[:, :, :3])),
            *(each.unbind() for each in inside.unbind(2)),
            *(each.unbind() for each in (gates, new_cells)),
            *(each[:-1].unbind() for each in (states, cells)),
            *(each[1:].unbind() for each in (states, cells)),
            strict=True,
        )
        new_state = torch.empty_like(states[0])
        for word, all_, first, o, i, f, g, gate, new_cell, state, cell, state_, cell_ in words:
            torch.addmm(word, state, weight, out=all_)
            first.sigmoid_()
            g.tanh_()
            torch.mul(f, cell, out=new_cell).addcmul_(i, g)
            torch.tanh(new_cell, out=new_state).mul_(o)
            torch.lerp(cell, new_cell, gate, out=cell_)
            torch.lerp(state, new_state, gate, out=state_)
        ctx.save_for_backward(weight, gates, inside, states, cells, new_cells)
        output: torch.Tensor = states[1:]
        return output

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slopes: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        """The derivatives with respect to inputs, weight and gates."""
        weight, gates, inside, states, cells, new_cells = ctx.saved_tensors
        o, i, f, g = inside.unbind(2)
        # First all that does not depend on later words, for every word at once.
        new = new_cells.tanh()
        cell_by_state = gates * o * (1 - new * new)
        by_state = gates * new * o * (1 - o)
        by_cell = torch.stack([g * i * (1 - i), cells[:-1] * f * (1 - f), i * (1 - g * g)], dim=2)
        skipped = 1 - gates
        of_inputs = torch.empty_like(inside)
        of_states, of_cells = torch.empty_like(cells), torch.empty_like(cells)
        of_states[-1], of_cells[-1] = slopes[-1], 0
        back = weight.t()
        words = zip(
            *(each.unbind() for each in (gates, skipped, f, cell_by_state, by_state, by_cell)),
            *(each.unbind() for each in (of_inputs[:, :, 0], of_inputs[:, :, 1:])),
            of_inputs.flatten(2).unbind(),
            # The first state is nobody's output.
            [slopes.new_zeros(slopes.shape[1:]), *slopes[:-1].unbind()],
            *(each.unbind() for each in (of_states[1:], of_cells[1:])),
            *(each.unbind() for each in (of_states[:-1], of_cells[:-1])),
            strict=True,
        )
        of_new = torch.empty_like(cells[0])
        for (
            gate, skip, keep, new_by_state, out_by_state, rest_by_cell, of_out, of_rest, of_input,
            slope, of_state, of_cell, state_before, cell_before,
        ) in reversed(list(words)):  # fmt: skip
            torch.mul(of_cell, gate, out=of_new).addcmul_(of_state, new_by_state)
            torch.mul(of_state, out_by_state, out=of_out)
            torch.mul(of_new.unsqueeze(1), rest_by_cell, out=of_rest)
            torch.addcmul(slope, of_state, skip, out=state_before).addmm_(of_input, back)
            torch.mul(of_cell, skip, out=cell_before).addcmul_(of_new, keep)
        of_gates = of_states[1:] * (o * new - states[:-1])
        of_gates += of_cells[1:] * (new_cells - cells[:-1])
        of_inputs = of_inputs.flatten(2)
        of_weight = None
        if ctx.needs_input_grad[1]:
            of_weight = states[:-1].flatten(0, 1).t() @ of_inputs.flatten(0, 1)
        return of_inputs, of_weight, of_gates


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
