"""Guided backpropagation and Deconvnet, with networks whose maps are known by hand."""

from typing import cast

import numpy as np
import pytest
import torch
from torch import nn

from benchmarks.imagenet.ways import ways
from benchmarks.passes import explained
from tests.image.test_methods import PICTURE, Spot
from textsobol import ImageExplainer
from textsobol.sobol.arrays import Floats

METHODS = ["guided_backprop", "deconvnet"]


def map_of(method: str, explainer: ImageExplainer, label: str) -> Floats:
    game = explainer.masked(PICTURE, pixels=True)
    (way,) = ways([method], 121, [])
    found, _ = explained(game, way, 0, label=label)
    return game.regions.as_picture(found.scores[:, 0])


@pytest.mark.parametrize("method", METHODS)
def test_only_pixels_where_the_network_looks_have_a_score(method: str) -> None:
    model = Spot(nn.ReLU(inplace=True)).train()
    before = {name: values.clone() for name, values in model.state_dict().items()}
    explainer = ImageExplainer(model, label_names=["spot", "none"], progress=False)
    found = map_of(method, explainer, "spot")
    inside = np.zeros((16, 20), dtype=bool)
    inside[3:9, 9:17] = True  # the window and what its 3 x 3 convolution sees
    assert (found[~inside] == 0).all()
    assert (found[inside] > 0).all()
    assert model.training
    assert all(torch.equal(values, before[name]) for name, values in model.state_dict().items())
    assert not model.relu._forward_hooks
    assert not model.relu._backward_hooks


@pytest.mark.parametrize("method", METHODS)
def test_networks_without_relus_are_refused(method: str) -> None:
    flat = nn.Sequential(nn.Flatten(), nn.Linear(960, 2))
    with pytest.raises(ValueError, match="ReLU layers only"):
        map_of(method, ImageExplainer(flat, progress=False), "0")


def test_a_layer_that_stands_in_two_places_is_changed_in_both() -> None:
    def maps(again: bool) -> Floats:
        torch.manual_seed(0)
        first, second = nn.Conv2d(3, 2, 3), nn.Conv2d(2, 2, 3)
        relu = nn.ReLU6()
        flat = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())
        model = nn.Sequential(first, relu, second, relu if again else nn.ReLU6(), flat)
        return map_of("guided_backprop", ImageExplainer(model, progress=False), "0")

    np.testing.assert_array_equal(maps(True), maps(False))


@pytest.mark.parametrize("method", METHODS)
def test_gradients_of_relu6_are_changed_as_those_of_relu(method: str) -> None:
    # Nothing comes near the ceiling of 6 here, so that both networks are the same function.
    def negative_half(relu: nn.Module) -> Floats:
        model = Spot(relu)
        model.squeezed.weight.data[:, 0] *= -1
        explainer = ImageExplainer(model, label_names=["spot", "none"], progress=False)
        return map_of(method, explainer, "spot")

    plain, with_ceiling = negative_half(nn.ReLU()), negative_half(nn.ReLU6())
    np.testing.assert_allclose(plain, with_ceiling, rtol=1e-6)
    # Only the positive half of the head's weights gets through the changed ReLU.
    model = Spot()
    pixels = PICTURE[None].clone().requires_grad_()
    maps = model.conv(pixels)
    scale = 2 * model.squeezed.weight[:, 1].mean() / 24  # the log-odds are twice the spot
    maps[:, 1, 4:8, 10:16].sum().mul(scale).backward()
    assert pixels.grad is not None
    expected = pixels.grad.abs().sum(dim=1)[0].numpy()
    np.testing.assert_allclose(plain, expected, rtol=1e-4)


@pytest.mark.parametrize("relu", [nn.ReLU, nn.ReLU6])
def test_deconvnet_lets_gradients_flow_where_nothing_is_active(relu: type[nn.Module]) -> None:
    model = Spot(relu())
    nn.init.constant_(cast(torch.Tensor, model.conv.bias), -10.0)  # no activation anywhere
    explainer = ImageExplainer(model, label_names=["spot", "none"], progress=False)
    maps = {method: map_of(method, explainer, "spot") for method in METHODS}
    assert maps["guided_backprop"].max() == 0
    assert maps["deconvnet"].max() > 0
