"""A classifier and one picture: masks of its regions in, outputs out."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from textsobol import ledger
from textsobol.errors import BlackBoxError
from textsobol.image.classifiers import ImageClassifier, TorchClassifier, forward
from textsobol.image.perturbations import Perturbation
from textsobol.image.regions import Regions
from textsobol.inference import in_evaluation
from textsobol.masked_model import MaskedClassifier
from textsobol.methods.contract import Differentiable
from textsobol.outputs import compute_score_tensor
from textsobol.sobol.arrays import Array, Integers
from textsobol.steps import Forwarded, Tick

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module


class MaskedImageModel(MaskedClassifier):
    """One picture and one classifier; see `MaskedClassifier`.

    Pictures are perturbed one batch at a time: memory does not grow with the number of masks.

    Attributes:
        picture: the model's input ``(1, channels, height, width)``.
        regions: the features.
    """

    def __init__(
        self,
        classifier: ImageClassifier,
        picture: Tensor,
        regions: Regions,
        perturb: Perturbation,
        *,
        score: str,
        batch: int,
    ) -> None:
        self.picture = picture
        self.regions = regions
        self._classifier = classifier
        self._perturb = perturb
        self._batch = batch
        super().__init__(
            regions.number, activation=classifier.activation, score=score, names=classifier.labels
        )

    def inputs(self, masks: Array) -> Sequence[Any]:
        """The masks; `engine` makes the pictures, one batch at a time."""
        return list(masks)

    def keys(self, given: Sequence[Any], mask_keys: Sequence[bytes]) -> Sequence[Hashable]:
        """Equal for a boolean mask and the same mask as numbers 0 and 1."""
        return [
            key
            if mask.dtype == bool or not np.isin(mask, (0, 1)).all()
            else ledger.hash_masks(mask[None] > 0)[0]
            for mask, key in zip(given, mask_keys, strict=True)
        ]

    def engine(self, masks: Sequence[Any], tick: Tick) -> Forwarded:
        """Outputs of masked pictures."""
        import torch

        found = []
        for start in range(0, len(masks), self._batch):
            values = torch.from_numpy(np.asarray(masks[start : start + self._batch], np.float32))
            spread = self.regions.spread(values.to(self.picture.device, self.picture.dtype))
            batch = self._perturb(self.picture, spread)
            # Convolutions are faster if the channels of a pixel are adjacent in memory.
            ordered = batch.contiguous(memory_format=torch.channels_last)
            found.append(self._classifier.outputs(ordered))
            tick(len(batch))
        return Forwarded(np.concatenate(found))

    def differentiable(self) -> Callable[[], Differentiable] | None:
        """The scores as a function of the pixels, for torch modules."""
        classifier = self._classifier
        if not isinstance(classifier, TorchClassifier):
            return None

        def through(network: Module, inputs: Tensor) -> Tensor:
            # Positions are pixels: (inputs, height * width, channels).
            _, channels, height, width = self.picture.shape
            pictures = inputs.transpose(1, 2).reshape(-1, channels, height, width)
            with in_evaluation(network):
                outputs = forward(network, pictures)
            return compute_score_tensor(outputs, self._activation, self._score, self._chosen)

        return lambda: Differentiable(
            forward=lambda inputs: through(classifier.model, inputs),
            inputs=self.picture.flatten(2).transpose(1, 2),
            owners=self.regions.of_pixel.ravel(),
            size=(self.picture.shape[2], self.picture.shape[3]),
            network=classifier.model,
            through=through,
        )

    def plane(self) -> tuple[int, int] | None:
        """Cells down and across; ``None`` for segments."""
        return self.regions.grid

    def levels(self) -> Sequence[Integers]:
        """Squares of 4 x 4, then 2 x 2 cells; no groups of segments."""
        if self.regions.grid is None:
            return ()
        down, across = np.indices(self.regions.grid).reshape(2, -1)
        return [(down // side) * self.regions.grid[1] + across // side for side in (4, 2)]

    def name_error(self, error: BlackBoxError) -> BlackBoxError:
        """Add the size of the picture to the error."""
        channels, height, width = self.picture.shape[1:]
        message = f"{error} (picture of {height} x {width} pixels, {channels} channels)"
        return BlackBoxError(message, error.mask)
