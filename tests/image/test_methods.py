"""Methods and metrics on pictures, with networks whose maps are known by hand."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

pytest.importorskip("captum")

from tests.problems import attribution, problem_of
from textsobol import ImageExplainer
from textsobol.errors import BlackBoxError
from textsobol.methods import METHODS, GradCam, Rise, Sobol
from textsobol.metrics import pixel_faithfulness, points_at
from textsobol.sobol.arrays import Array, Floats

rise = Rise()

WHITE_BOXES = [name for name, method in METHODS.items() if method.kind == "white box"]
PICTURE = torch.rand(3, 16, 20, generator=torch.Generator().manual_seed(0)) + 0.5


class Spot(nn.Module):
    """A convolution, its ReLU, and the mean over a window of the second map: 2 labels."""

    def __init__(self, relu: nn.Module | None = None) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 2, 3, padding=1)
        self.relu = relu or nn.ReLU()
        self.squeezed = nn.Conv2d(2, 2, 1)
        generator = torch.Generator().manual_seed(1)
        for parameter in self.parameters():
            parameter.data = 0.2 * torch.rand(parameter.shape, generator=generator)

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        maps = self.relu(self.conv(pictures))
        window = maps[:, :, 4:8, 10:16].mean(dim=(2, 3), keepdim=True)
        spot = self.squeezed(window).mean(dim=(1, 2, 3))
        return torch.stack([spot, -spot], 1)


@pytest.mark.parametrize("method", WHITE_BOXES)
def test_white_boxes_score_pixels_where_the_network_looks(method: str) -> None:
    model = Spot(nn.ReLU(inplace=True)).train()
    before = {name: values.clone() for name, values in model.state_dict().items()}
    explainer = ImageExplainer(model, label_names=["spot", "none"], progress=False)
    # The head looks at a part of the maps, which the last of them with more than a pixel shows.
    found = explainer(PICTURE, method=method, target="spot").map()
    assert found.shape == (16, 20)
    inside = np.zeros((16, 20), dtype=bool)
    inside[3:9, 9:17] = True  # the window and what its 3 x 3 convolution sees
    if method == "gradcam":
        # All gradients are alike in a map: their mean weighs it, and the map is as it is.
        assert (found >= 0).all()
        assert found.max() > 0
    else:
        assert (found[~inside] == 0).all()
        assert (np.abs(found[inside]) > 0).all()
    assert model.training
    assert all(torch.equal(values, before[name]) for name, values in model.state_dict().items())
    assert not model.relu._forward_hooks
    assert not model.relu._backward_hooks


def test_gradcam_is_the_maps_weighted_by_their_mean_gradients() -> None:
    model = Spot()
    explainer = ImageExplainer(
        model, label_names=["spot", "none"], score="logit", activation="none", progress=False
    )
    found = explainer(PICTURE, method="gradcam", target="spot").map()
    maps = model.conv(PICTURE[None])
    maps.retain_grad()
    window = model.relu(maps)[:, :, 4:8, 10:16].mean(dim=(2, 3), keepdim=True)
    model.squeezed(window).mean().backward()
    weights = maps.grad.mean(dim=(2, 3), keepdim=True)
    expected = (weights * maps).sum(dim=1).relu()[0]
    np.testing.assert_allclose(found, expected.detach().numpy(), rtol=1e-5)
    for layer in ("conv", model.conv):
        again = explainer(PICTURE, target="spot", method=GradCam(layer=layer)).map()
        np.testing.assert_array_equal(again, found)


class Small(nn.Module):
    """Maps of a quarter of the picture's size."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 2, 4, stride=4)

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        return self.conv(pictures).mean(dim=(2, 3))


def test_gradcam_is_enlarged_to_the_picture_and_summed_up_to_segments() -> None:
    model = Small()
    explainer = ImageExplainer(model, label_names=["a", "b"], activation="none", progress=False)
    explanation = explainer(PICTURE, method="gradcam", target="a")
    maps = model.conv(PICTURE[None]).detach()
    small = (maps[:, :1] / 20).relu()  # of a mean over 4 x 5 places every gradient is 1 / 20
    large = nn.functional.interpolate(small, size=(16, 20), mode="bilinear")[0, 0].numpy()
    np.testing.assert_allclose(explanation.map(), large, rtol=1e-5)
    assert explanation.settings["layer"] == "conv"
    assert explanation.cost["forwarded"] == 1 + 1 + 2, "whole, layer, 2 labels"
    segments = np.arange(320).reshape(16, 20) // 100
    summed = explainer(PICTURE, method="gradcam", target="a", segments=segments)
    for segment in range(4):
        expected = large[segments == segment].sum()
        assert summed.map()[segments == segment][0] == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("method", ["smoothgrad", "saliency", "gradcam", "sobol", "rise"])
def test_models_of_lower_precision(method: str) -> None:
    model = Spot().to(torch.bfloat16)
    explainer = ImageExplainer(model, label_names=["spot", "none"], grid=(4, 4), progress=False)
    settings: dict[str, Any] = {"budget": 40} if METHODS[method].natural_masks(1) is None else {}
    found = explainer(PICTURE, method=method, target="spot", **settings).map()
    assert np.isfinite(found).all()
    assert found.max() > 0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"method": GradCam("head")}, "no layer 'head'"),
        ({"method": GradCam(nn.Conv2d(1, 1, 1))}, "not part of the network"),
        ({"method": Sobol(interactions=2)}, "interactions: pairs are analysed for texts only"),
        ({"method": "saliency", "budget": 5}, "Saliency takes no budget"),
        ({"method": "kernel_shap", "budget": 5}, "needs at least 244 forward passes for 121 reg"),
        ({"budget": 50}, "121 regions need at least 123 forward passes"),
        ({"method": "limes"}, "unknown method 'limes'; known: sobol"),
    ],
)
def test_settings_that_do_not_fit_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ImageExplainer(Spot(), progress=False)(PICTURE, **settings)


def test_networks_without_the_layers_are_refused() -> None:
    flat = nn.Sequential(nn.Flatten(), nn.Linear(960, 2))
    explainer = ImageExplainer(flat, progress=False)
    with pytest.raises(ValueError, match="whose maps have more than"):
        explainer(PICTURE, method="gradcam")
    function = ImageExplainer(lambda pictures: pictures.mean(axis=(1, 2, 3)), progress=False)
    with pytest.raises(ValueError, match="for pictures a torch module"):
        function(PICTURE, method="gradcam")


def test_rise_finds_the_pixels_that_matter_with_smooth_masks() -> None:
    seen: list[Array] = []

    def black_box(masks: Array) -> Floats:
        seen.append(masks)
        return masks.reshape(-1, 28, 42)[:, 4:8, 30:36].mean(axis=(1, 2))

    game = problem_of(black_box, 28 * 42, plane=(28, 42))
    found = attribution(rise, game, budget=2001, seed=0).scores[:, 0].reshape(28, 42)
    masks = np.concatenate(seen)[1:]  # without the whole picture
    assert masks.shape == (2000, 28 * 42)
    assert 0 <= masks.min() < masks.max() <= 1
    assert abs(masks.mean() - 0.5) < 0.01
    assert len(np.unique(masks)) > 100, "smooth"
    y, x = np.unravel_index(found.argmax(), found.shape)
    assert 3 <= y <= 8
    assert 29 <= x <= 36
    # With masks m and scores f the map is sum(f m) / sum(m) - mean(f).
    scores = black_box(masks)
    expected = masks.T @ scores / masks.sum(axis=0) - scores.mean()
    np.testing.assert_allclose(found.ravel(), expected, atol=1e-6)


def test_the_masks_of_a_smaller_budget_of_rise_are_the_first_ones() -> None:
    def masks_of(budget: int) -> Array:
        seen: list[Array] = []

        def black_box(masks: Array) -> Floats:
            seen.append(masks.copy())
            return masks.mean(axis=1)

        attribution(rise, problem_of(black_box, 200 * 300, plane=(200, 300)), budget=budget, seed=3)
        return np.concatenate(seen)[1:]  # without the whole picture

    np.testing.assert_array_equal(masks_of(81)[:40], masks_of(41))


def test_rise_of_an_explainer_scores_pixels_and_segments() -> None:
    def corner(pictures: Array) -> Floats:
        return np.asarray(pictures[:, :5, :5].mean(axis=(1, 2, 3)))

    explainer = ImageExplainer(corner, label_names=["corner"], progress=False)
    picture = np.ones((28, 28, 3))
    explanation = explainer(picture, method="rise", budget=1000)
    assert explanation.map().shape == (28, 28)
    assert explanation.map()[:5, :5].mean() > 3 * explanation.map()[14:, 14:].max()
    assert explanation.cost["forwarded"] == 1000
    segments = np.arange(4).repeat(196).reshape(28, 28)
    coarse = explainer(picture, method="rise", budget=200, segments=segments)
    assert coarse.map()[0, 0] > 0.05
    assert coarse.regions.number == 4


def test_deletion_and_insertion_of_pixels_by_hand() -> None:
    picture = np.ones((4, 4, 1))
    weights = np.arange(16.0).reshape(4, 4)

    def weighted(pictures: Array) -> Floats:
        return np.asarray((pictures[..., 0] * weights).sum(axis=(1, 2)) / weights.sum())

    explainer = ImageExplainer(weighted, label_names=["all"], grid=(2, 2), progress=False)
    game = explainer.masked(picture, pixels=True)
    found = pixel_faithfulness(game, weights, "all", steps=4)
    np.testing.assert_allclose(found.deletion_curve, np.array([120, 66, 28, 6, 0]) / 120)
    np.testing.assert_allclose(found.insertion_curve, np.array([0, 54, 92, 114, 120]) / 120)
    assert found.deletion == pytest.approx((60 + 66 + 28 + 6) / 120 / 4)
    assert found.insertion == pytest.approx((54 + 92 + 114 + 60) / 120 / 4)
    reverse = pixel_faithfulness(game, -weights, "all", steps=4)
    assert reverse.deletion > found.deletion
    # Another baseline than the explainer's.
    gray = explainer.masked(picture, pixels=True, baseline=0.5)
    half = pixel_faithfulness(gray, weights, "all", steps=4)
    np.testing.assert_allclose(half.deletion_curve, 0.5 + found.deletion_curve / 2)
    with pytest.raises(ValueError, match="does not fit 16 features"):
        pixel_faithfulness(game, np.ones((2, 2)), "all")
    with pytest.raises(ValueError, match="steps=17: must be 1 to 16"):
        pixel_faithfulness(game, weights, "all", steps=17)


def test_pointing_takes_the_nearest_box() -> None:
    values = np.zeros((30, 30))
    values[10, 20] = 1  # its middle is at 20.5 across, 10.5 down
    assert points_at(values, [(0, 0, 5, 5), (20, 10, 25, 15)])
    assert not points_at(np.ones((5, 5)), [(0, 0, 5, 5)]), "a flat map points at nothing"
    assert not points_at(values, [(21, 10, 25, 15)])
    assert points_at(values, [(21, 10, 25, 15)], tolerance=0.5)
    assert not points_at(values, [(15, 10, 20, 15)]), "the box ends before the pixel's middle"
    # Beside a corner: 3 across and 4 down are 5 away.
    corner = [(0.0, 0.0, 17.5, 6.5)]
    assert points_at(values, corner, tolerance=5)
    assert not points_at(values, corner, tolerance=4.9)
    assert not points_at(values, [])


def test_a_plateau_points_at_its_middle() -> None:
    values = np.zeros((30, 30))
    values[:7, 11:16] = 1
    assert points_at(values, [(13, 3, 14, 4)])
    assert not points_at(values, [(11, 0, 12, 1)])


@pytest.mark.parametrize("dtype", [np.uint8, bool, np.int16, np.float32])
def test_maps_of_any_kind_of_number(dtype: type) -> None:
    game = ImageExplainer(
        lambda p: p[..., 0].mean(axis=(1, 2)), label_names=["all"], grid=(1, 2)
    ).masked(np.array([[1.0, 0.0]]), pixels=True)
    found = pixel_faithfulness(game, np.array([[1, 0]], dtype=dtype), "all", steps=2)
    np.testing.assert_allclose(found.deletion_curve, [0.5, 0, 0])
    with pytest.raises(ValueError, match="finite"):
        pixel_faithfulness(game, np.array([[np.nan, 0]]), "all", steps=2)


def test_a_single_output_says_yes_or_no() -> None:
    class Yes(nn.Module):
        def forward(self, pictures: torch.Tensor) -> torch.Tensor:
            return pictures[:, :, :4, :4].mean(dim=(1, 2, 3)) - 0.5

    explanation = ImageExplainer(Yes(), label_names=["yes"], grid=(4, 4), progress=False)(PICTURE)
    assert 0.5 < explanation.probabilities["yes"] < 1
    assert explanation.map("total").argmax() == 0
    assert explanation.map("total")[0, 0] > 0.5


def test_a_wrong_number_of_channels_is_told_with_the_picture() -> None:
    with pytest.raises(BlackBoxError, match=r"16 x 20 pixels, 4 channels"):
        ImageExplainer(Spot(), progress=False)(torch.ones(4, 16, 20))
