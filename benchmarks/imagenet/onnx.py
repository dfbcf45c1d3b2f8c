"""Forward passes by ONNX Runtime, which on a CPU takes less than half of torch's time."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import torch
from torch import Tensor, nn


class OnnxForward(nn.Module):
    """A module whose passes without gradients are made by ONNX Runtime.

    Gradients, and the hooks of methods that look inside, are still the module's own.
    """

    def __init__(self, module: nn.Module, example: Tensor) -> None:
        """Export the module.

        Args:
            module: a classifier of pictures that takes one tensor and gives one.
            example: a batch of one picture as it takes them.
        """
        super().__init__()
        self.module = module.eval()
        self._session = _session(_exported(self.module, example))
        (self._input,) = (each.name for each in self._session.get_inputs())

    def forward(self, pictures: Tensor) -> Tensor:
        """Scores of a batch."""
        if not torch.is_inference_mode_enabled():
            scores: Tensor = self.module(pictures)
            return scores
        (found,) = self._session.run(None, {self._input: pictures.contiguous().numpy()})
        return torch.from_numpy(found)

    def __deepcopy__(self, memo: dict[int, Any]) -> nn.Module:
        # A copy is made to be changed, and what was exported would not change with it.
        return copy.deepcopy(self.module, memo)


def _exported(module: nn.Module, example: Tensor) -> bytes:
    # Two pictures: a batch of one would be taken for a size that never changes.
    pictures = example.expand(2, *example.shape[1:]).contiguous()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # torch's, about itself
        warnings.simplefilter("ignore", DeprecationWarning)
        program = torch.onnx.export(
            module,
            (pictures,),
            dynamo=True,
            dynamic_shapes=({0: torch.export.Dim("pictures")},),
            verbose=False,
        )
    assert program is not None
    return program.model_proto.SerializeToString()


def _session(model: bytes) -> Any:
    try:
        import onnxruntime
    except ImportError as error:
        raise SystemExit('--engine onnx needs: pip install "textsobol[bench]"') from error
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
