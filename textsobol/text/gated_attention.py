"""Add to the attention scores of any torch model while it runs, and change nothing of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import Parameter
from torch.nn import functional as F  # noqa: N812
from torch.overrides import TorchFunctionMode

LEAST_GATE = 1e-25  # its logarithm is finite, and nothing is left of a key
_SOFTMAX = frozenset({F.softmax, torch.softmax, Tensor.softmax})
_MORE_SIZE = 8  # fast kernels want heads whose size divides by 8


class GatedAttention(TorchFunctionMode):
    """While it is entered, attention keys count as much as they are seen.

    The softmax of attention scores and torch's fused attention get log g added for every key. The
    model makes its own masks (causal, sliding windows), which stay as they are. Weights enter
    detached: their gradients are not wanted, and what they need would fill the memory.

    Args:
        seen: how much of each token is seen ``(rows, tokens)``, from 0 to 1.

    Attributes:
        is_found: whether there was any attention to gate.
    """

    def __init__(self, seen: Tensor) -> None:
        super().__init__()
        # A sum rather than a limit, so that gates of 0 have their slope, too.
        self.is_found = False
        self._added = torch.log(seen + LEAST_GATE)[:, None, None, :]

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Run a function of torch, attention gated."""
        args = tuple(map(_without_gradient, args))
        kwargs = {name: _without_gradient(value) for name, value in (kwargs or {}).items()}
        if func is F.scaled_dot_product_attention:
            return self._attend(func, *args, **kwargs)
        if func in _SOFTMAX:
            return self._normalize(func, *args, **kwargs)
        return func(*args, **kwargs)

    def _normalize(
        self, func: Callable[..., Tensor], scores: Tensor, *args: Any, **kwargs: Any
    ) -> Tensor:
        dim = kwargs.get("dim", args[0] if args else None)
        is_over_keys = scores.dim() == 4 and dim in (-1, 3)
        if is_over_keys and self._is_of_tokens(scores.shape[0], scores.shape[3]):
            scores = scores + self._added.to(scores.dtype)
        return func(scores, *args, **kwargs)

    def _attend(
        self, func: Callable[..., Tensor], query: Tensor, key: Tensor, value: Tensor,
        *args: Any, **kwargs: Any,
    ) -> Tensor:  # fmt: skip
        """Attention with one more coordinate: 1 in queries, and in keys what is to be added.

        A mask with gradients would do the same, but keeps torch from its fast kernels, which do
        not hold all scores in memory.
        """
        if key.dim() != 4 or not self._is_of_tokens(key.shape[0], key.shape[2]):
            return func(query, key, value, *args, **kwargs)
        size = query.shape[-1]
        scale = kwargs.pop("scale", None) or size**-0.5
        added = (self._added / scale).transpose(2, 3).to(key.dtype).expand(*key.shape[:3], 1)
        keys = torch.cat([key, F.pad(added, (0, _MORE_SIZE - 1))], dim=3)
        ones = F.pad(query.new_ones(*query.shape[:3], 1), (0, _MORE_SIZE - 1))
        queries = torch.cat([query, ones], dim=3)
        values = F.pad(value, (0, _MORE_SIZE))
        found = func(queries, keys, values, *args, scale=scale, **kwargs)
        return found[..., : value.shape[-1]]

    def _is_of_tokens(self, n_rows: int, n_keys: int) -> bool:
        is_attention = (n_rows, n_keys) == (self._added.shape[0], self._added.shape[3])
        self.is_found |= is_attention
        return is_attention


def _without_gradient(value: Any) -> Any:
    """A weight, detached; a tensor made in inference mode, copied so that gradients can pass it."""
    if type(value) in (list, tuple):
        return type(value)(map(_without_gradient, value))
    if not isinstance(value, Tensor):
        return value
    if value.is_inference() and not torch.is_inference_mode_enabled():
        return value.clone()
    return value.detach() if isinstance(value, Parameter) and value.requires_grad else value
