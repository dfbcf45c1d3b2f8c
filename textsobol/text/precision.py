"""Copies of a model with numbers of another precision; the model that was given keeps its own."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

from textsobol.errors import SlowDtypeWarning, warn
from textsobol.inference import get_lock

DTYPES = ("float32", "bfloat16", "float16")
# What a CPU must know, as torch (x86) and Linux (ARM) call it, to be fast with a dtype.
_FAST_WITH = {
    "bfloat16": {"avx512_bf16", "amx_bf16", "bf16"},
    "float16": {"avx512_fp16", "amx_fp16", "asimdhp"},
}
_CPU_INFO = Path("/proc/cpuinfo")


def check_dtype(dtype: str | None) -> None:
    """Raise an error for a dtype that is not known."""
    if dtype is not None and dtype not in DTYPES:
        raise ValueError(f"unknown dtype {dtype!r}; known: {', '.join(DTYPES)}")


def convert(model: Any, dtype: str) -> Any:
    """The model itself if all its weights are of the dtype, else a converted copy."""
    import torch

    wanted = getattr(torch, dtype)
    weights = [each for each in model.parameters() if each.is_floating_point()]
    if all(each.dtype == wanted for each in weights):
        return model
    with get_lock(model):  # nobody changes its mode for a while meanwhile
        copied = copy.deepcopy(model)
    copied.eval().to(wanted)
    # Rounded frequencies would put rotary positions elsewhere; transformers keeps these, too.
    places = dict(copied.named_modules())
    for name, values in model.named_buffers():
        owner, _, last = name.rpartition(".")
        if last.endswith("inv_freq"):
            setattr(places[owner], last, values.clone())
    return copied


def warn_if_slow(model: Any, dtype: str) -> None:
    """Warn if the model is on a CPU that has no instructions for the dtype."""
    if next(model.parameters()).device.type != "cpu" or dtype not in _FAST_WITH:
        return
    features = _find_cpu_features()
    if features and not features & _FAST_WITH[dtype]:
        warn(
            f"dtype={dtype!r} is slower than float32 on this CPU, which has no instructions for "
            f"it; leave dtype= out",
            SlowDtypeWarning,
        )


def _find_cpu_features() -> set[str]:
    """Instruction sets of this CPU; empty where they cannot be found."""
    import torch

    found: set[str] = set()
    if hasattr(torch.cpu, "get_capabilities"):  # torch 2.10 or later
        found |= {name for name, has_it in torch.cpu.get_capabilities().items() if has_it is True}
    try:
        lines = _CPU_INFO.read_text().splitlines()
    except OSError:  # not Linux
        return found
    for line in lines:
        name, _, values = line.partition(":")
        if name.strip() in ("flags", "Features"):
            found |= set(values.split())
    return found
