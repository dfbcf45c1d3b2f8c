"""Pictures with hand-made models: what the map must show is known."""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("PIL")

import numpy as np
import torch
from PIL import Image

from tests.problems import arguments
from textsobol import Sobol, TextExplainer, TextExplanation
from textsobol.image.classifiers import TorchClassifier
from textsobol.image.explainer import ImageExplainer
from textsobol.image.explanation import ImageExplanation
from textsobol.image.perturbations import make_perturbation
from textsobol.image.regions import make_grid, make_segments

PICTURE = np.ones((12, 12, 3), dtype=np.float32)


def brightness(pictures: np.ndarray, down: int, across: int) -> np.ndarray:
    """Mean of one of the 4 x 4 cells of 3 x 3 pixels."""
    own = pictures[:, 3 * down : 3 * down + 3, 3 * across : 3 * across + 3]
    return np.asarray(own.mean(axis=(1, 2, 3)))


def peak(values: np.ndarray) -> tuple[int, ...]:
    return tuple(int(k) for k in np.unravel_index(values.argmax(), values.shape))


def both(pictures: np.ndarray) -> np.ndarray:
    return brightness(pictures, 0, 1) * brightness(pictures, 2, 3)


def either(pictures: np.ndarray) -> np.ndarray:
    return brightness(pictures, 0, 1) + brightness(pictures, 2, 3)


@pytest.mark.parametrize("settings", [{}, {"keep": None, "base_masks": 128}, {"keep": 0.9}])
@pytest.mark.parametrize("perturbation", ["inpaint", "amplitude"])
def test_the_map_peaks_where_the_model_looks(settings: dict[str, Any], perturbation: str) -> None:
    explainer = ImageExplainer(
        lambda pictures: brightness(pictures, 2, 1), grid=(4, 4), perturbation=perturbation
    )
    explanation = explainer(PICTURE, **arguments(settings))
    found = explanation.map("total")
    assert peak(found) == (2, 1)
    assert found[2, 1] == pytest.approx(1, abs=0.2)
    assert np.delete(found.ravel(), 9).max() < 0.05
    smooth = explanation.map("total", size="image")
    assert smooth.shape == (12, 12)
    assert peak(smooth) == (7, 4)


def test_patches_joined_by_and_interact_and_joined_by_plus_do_not() -> None:
    explainer = ImageExplainer(both, grid=(4, 4))
    joined = explainer(PICTURE, method=Sobol(base_masks=64))
    for cell in ((0, 1), (2, 3)):
        assert joined.map("total")[cell] == pytest.approx(2 / 3, abs=0.08)
        assert joined.map("first")[cell] == pytest.approx(1 / 3, abs=0.08)
        assert joined.map("interaction")[cell] == pytest.approx(1 / 3, abs=0.1)
    added = ImageExplainer(either, grid=(4, 4))(PICTURE)
    for cell in ((0, 1), (2, 3)):
        assert added.map("total")[cell] == pytest.approx(0.5, abs=0.02)
        assert added.map("interaction")[cell] == pytest.approx(0, abs=0.02)


def test_signs_tell_for_from_against() -> None:
    def model(pictures: np.ndarray) -> np.ndarray:
        return brightness(pictures, 0, 0) - 2 * brightness(pictures, 3, 3)

    found = ImageExplainer(model, grid=(4, 4))(PICTURE).map()
    assert found[0, 0] > 0.1
    assert found[3, 3] < -0.5


def test_segments_of_any_shape() -> None:
    segments = np.zeros((12, 12), dtype=int)
    segments[2:5, 3:9] = 40
    segments[8:, :2] = 7
    explainer = ImageExplainer(lambda pictures: pictures[:, 2:5, 3:9].mean(axis=(1, 2, 3)))
    explanation = explainer(PICTURE, segments=segments)
    assert explanation.regions.number == 3
    assert explanation.map("total").shape == (12, 12)
    np.testing.assert_allclose(explanation.map("total")[segments == 40], 1, atol=1e-6)
    np.testing.assert_allclose(explanation.map("total")[segments != 40], 0, atol=1e-6)


def test_masks_become_pixels() -> None:
    values = torch.arange(4.0)[None]
    nearest = make_grid((2, 2), 4, 4).spread(values)[0, 0]
    assert nearest.tolist() == [[0, 0, 1, 1], [0, 0, 1, 1], [2, 2, 3, 3], [2, 2, 3, 3]]
    bilinear = make_grid((2, 2), 4, 4, "bilinear").spread(values)[0, 0]
    assert bilinear[0, 0] == 0
    assert 0 < float(bilinear[0, 1]) < 1
    uneven = make_grid((3, 2), 7, 5)
    assert uneven.number == 6
    assert set(np.unique(uneven.of_pixel)) == set(range(6))


@pytest.mark.parametrize(
    ("baseline", "filled"),
    [("zero", 0.0), ("mean", 0.5), (0.25, 0.25), ([0.1, 0.2, 0.3], None)],
)
def test_inpainting_mixes_in_the_baseline(baseline: Any, filled: float | None) -> None:
    image = torch.tensor([0.0, 1.0]).repeat(1, 3, 2, 1)
    masks = torch.tensor([[[[1.0, 0.0], [0.0, 0.5]]]])
    made = make_perturbation("inpaint", image, baseline)(image, masks)
    assert made.shape == image.shape
    assert made[0, 0, 0, 0] == 0, "present"
    expected = [filled] * 3 if filled is not None else baseline
    assert made[0, :, 0, 1].tolist() == pytest.approx(expected)
    assert made[0, 0, 1, 1] == pytest.approx(0.5 + 0.5 * expected[0])


def test_blur_goes_from_nothing_to_smooth() -> None:
    image = torch.zeros(1, 1, 21, 21)
    image[0, 0, 10, 10] = 1
    blur = make_perturbation("blur", image, None)
    sharp, half, soft = (blur(image, torch.full((1, 1, 21, 21), m)) for m in (1.0, 0.5, 0.0))
    assert torch.equal(sharp, image)
    assert float(sharp.max()) > float(half.max()) > float(soft.max())
    bright = torch.full((1, 1, 21, 21), 0.7)
    filled = make_perturbation("blur", bright, None)(bright, torch.zeros(1, 1, 21, 21))
    torch.testing.assert_close(filled, bright)


class Corner(torch.nn.Module):
    """Two labels: how bright the upper left cell is, and nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = torch.nn.Parameter(torch.tensor(3.0))
        self.dropout = torch.nn.Dropout(0.5)
        self.largest = 0

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        self.largest = max(self.largest, len(pictures))
        corner = self.dropout(pictures)[:, :, :3, :3].mean(dim=(1, 2, 3)) * self.scale
        return torch.stack([corner, torch.zeros_like(corner)], 1)


@pytest.mark.parametrize("method", ["sobol", "occlusion", "rise", "integrated_gradients",
                                    "gradient_input", "saliency"])  # fmt: skip
def test_a_torch_module_is_explained_by_every_kind_of_method(method: str) -> None:
    model = Corner().train()
    explainer = ImageExplainer(model, grid=(4, 4), label_names=["corner", "nothing"], batch=5)
    explanation = explainer(torch.ones(3, 12, 12), method=method)
    assert explanation.prediction == "corner"
    found = explanation.for_target("corner").map()
    assert peak(found) == (0, 0)
    assert model.training
    assert model.scale.grad is None
    assert model.largest <= 16, "pictures are made a batch at a time"


@pytest.mark.parametrize("kind", ["pil", "gray", "rgba", "bytes", "floats", "tensor"])
def test_pictures_of_every_kind(kind: str) -> None:
    array = np.full((12, 12, 3), 255, dtype=np.uint8)
    pictures: dict[str, Any] = {
        "pil": Image.fromarray(array),
        "gray": Image.fromarray(array[..., 0]),
        "rgba": Image.fromarray(np.dstack([array, array[..., :1]])),
        "bytes": array,
        "floats": PICTURE,
        "tensor": torch.ones(3, 12, 12),
    }
    explainer = ImageExplainer(lambda p: brightness(p, 1, 1), grid=(4, 4))
    explanation = explainer(pictures[kind], method=Sobol(base_masks=4))
    assert explanation.map("total").argmax() == 5
    assert explanation.image.shape == (12, 12, 3)
    assert explanation.image.dtype == np.uint8


@pytest.mark.parametrize(
    ("image", "settings", "message"),
    [
        (np.full((12, 12, 3), np.nan), {}, "not finite"),
        (np.ones((1, 1, 3)), {}, "finer than the picture of 1 x 1"),
        (np.ones((2, 3, 4, 5)), {}, "no picture"),
        (torch.ones(5), {}, "no picture"),
        (np.array(["a"]), {}, "array of numbers"),
        (PICTURE, {"grid": (0, 3)}, "at least one cell"),
        (PICTURE, {"perturbation": "smudge"}, "unknown perturbation 'smudge'; known: inpaint"),
        (PICTURE, {"baseline": [1.0, 2.0]}, "does not fit"),
        (PICTURE, {"upsampling": "cubic"}, "unknown upsampling"),
    ],
)
def test_bad_input_is_named(image: Any, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ImageExplainer(lambda p: p.mean(axis=(1, 2, 3)), **settings)(image)


def test_segments_must_fit() -> None:
    with pytest.raises(ValueError, match="12 x 12 pixels"):
        make_segments(np.zeros((3, 3), dtype=int), 12, 12)
    with pytest.raises(ValueError, match="whole numbers"):
        make_segments(np.zeros((12, 12)), 12, 12)


def test_one_pixel_is_a_picture() -> None:
    explanation = ImageExplainer(lambda p: p.mean(axis=(1, 2, 3)), grid=(1, 1))(np.ones((1, 1, 3)))
    assert explanation.map("total").tolist() == [[1.0]]


def test_the_batch_changes_nothing() -> None:
    small, large = (
        ImageExplainer(both, grid=(4, 4), batch=batch)(PICTURE, method=Sobol(base_masks=6)).map()
        for batch in (1, 64)
    )
    np.testing.assert_array_equal(small, large)


@pytest.mark.parametrize("suffix", ["npz", "json"])
@pytest.mark.parametrize("segmented", [False, True])
def test_a_round_trip_keeps_everything(tmp_path: Path, suffix: str, segmented: bool) -> None:
    segments = np.arange(144).reshape(12, 12) // 20 if segmented else None
    picture = np.random.default_rng(0).integers(0, 256, (12, 12, 3), dtype=np.uint8)
    explainer = ImageExplainer(both, grid=(4, 4), label_names=["both"], upsampling="bilinear")
    explanation = explainer(picture, method=Sobol(base_masks=8), segments=segments)
    explanation.save(tmp_path / f"x.{suffix}")
    again = ImageExplanation.load(tmp_path / f"x.{suffix}")
    for kind in ("score", "total", "first", "interaction", "error"):
        np.testing.assert_array_equal(again.map(kind), explanation.map(kind))
    np.testing.assert_array_equal(again.image, explanation.image)
    np.testing.assert_array_equal(again.regions.of_pixel, explanation.regions.of_pixel)
    assert again.to_dict() == explanation.to_dict()
    with pytest.raises(ValueError, match=r"known: \.npz"):
        explanation.save(tmp_path / "x.txt")


def test_overlays_are_real_pictures(tmp_path: Path) -> None:
    explanation = ImageExplainer(both, grid=(4, 4), label_names=["$both_{x"])(
        PICTURE, method=Sobol(base_masks=8)
    )
    explanation.save(tmp_path / "x.png")
    with Image.open(tmp_path / "x.png") as picture:
        assert picture.width > picture.height
    panels = explanation.plot("total", "first", "interaction")
    assert [panel.get_title() for panel in panels[1:]] == [
        "total index", "first order", "interactions (total - first)",
    ]  # fmt: skip
    assert 'src="data:image/png' in explanation._repr_html_()


def test_a_method_tells_what_it_knows() -> None:
    explanation = ImageExplainer(either, grid=(4, 4))(PICTURE, method="occlusion")
    assert explanation.map()[0, 1] == pytest.approx(1)
    with pytest.raises(ValueError, match="does not give 'total', only 'score'"):
        explanation.map("total")


def test_memory_that_runs_out_halves_the_batch() -> None:
    class Small(Corner):
        def forward(self, pictures: torch.Tensor) -> torch.Tensor:
            if len(pictures) > 2:
                raise RuntimeError("out of memory")
            return super().forward(pictures)

    classifier = TorchClassifier(Small(), "softmax", "small", None, None)
    assert classifier.outputs(torch.ones(7, 3, 12, 12)).shape == (7, 2)


def test_a_file_of_another_version_is_refused(tmp_path: Path) -> None:
    explanation = ImageExplainer(both, grid=(4, 4), label_names=["both"])(
        PICTURE, method=Sobol(base_masks=4)
    )
    path = tmp_path / "x.json"
    explanation.save(path)
    path.write_text(path.read_text().replace('"schema": 1', '"schema": 9'))
    with pytest.raises(ValueError, match="schema 9 is not known"):
        ImageExplanation.load(path)


def test_the_map_lies_over_what_the_model_sees() -> None:
    """A model that cuts out the middle: the picture shown is cut in the same way."""
    pixels = np.random.default_rng(0).integers(0, 256, (20, 40, 3), dtype=np.uint8)
    pixels[:, :, 2] //= 4

    def middle(image: Image.Image) -> torch.Tensor:
        cut = np.asarray(image)[4:16, 14:26].astype(np.float32)
        return (torch.from_numpy(cut).permute(2, 0, 1) / 255 - 0.45) / 0.22

    class Mean(torch.nn.Module):
        def forward(self, pictures: torch.Tensor) -> torch.Tensor:
            return pictures.mean(dim=(2, 3))[:, :2]

    explainer = ImageExplainer(Mean(), preprocess=middle, grid=(4, 4), progress=False)
    explanation = explainer(Image.fromarray(pixels), method=Sobol(base_masks=4))
    expected = pixels[4:16, 14:26].astype(int)
    assert explanation.image.shape == expected.shape
    assert np.abs(explanation.image - expected).mean() < 10, "colours but for the cut's own mean"
    assert np.corrcoef(explanation.image.ravel(), expected.ravel())[0, 1] > 0.99


def test_pictures_of_the_models_size_are_cut_all_the_same() -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (12, 12, 3), dtype=np.uint8)

    def enlarged(image: Image.Image) -> torch.Tensor:
        large = np.asarray(image.resize((24, 24), Image.Resampling.NEAREST))[6:18, 6:18]
        return torch.from_numpy(large.astype(np.float32)).permute(2, 0, 1) / 255

    model = torch.nn.Sequential(torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten())
    explainer = ImageExplainer(model, preprocess=enlarged, grid=(4, 4), progress=False)
    shown = explainer(Image.fromarray(pixels), method=Sobol(base_masks=2)).image
    expected = pixels[3:9, 3:9].repeat(2, axis=0).repeat(2, axis=1)
    assert np.corrcoef(shown.ravel(), expected.ravel())[0, 1] > 0.97


def test_the_cameras_turn_is_heeded_in_files_and_pictures(tmp_path: Path) -> None:
    picture = Image.fromarray(np.zeros((12, 16, 3), dtype=np.uint8))
    exif = picture.getexif()
    exif[0x0112] = 6  # turned by a quarter
    picture.save(tmp_path / "x.jpg", exif=exif)
    explainer = ImageExplainer(lambda p: p.mean(axis=(1, 2, 3)), grid=(2, 2), progress=False)
    for given in (tmp_path / "x.jpg", str(tmp_path / "x.jpg"), Image.open(tmp_path / "x.jpg")):
        assert explainer.masked(given).picture.shape == (1, 3, 16, 12)


def test_labels_of_the_same_name_are_told_apart() -> None:
    def model(pictures: np.ndarray) -> np.ndarray:
        shares = np.array([0.1, 0.2, 0.3, 0.4]) * pictures.mean(axis=(1, 2, 3))[:, None]
        return np.asarray(shares)

    names = ["crane", "lamp", "crane", "lighthouse"]
    explainer = ImageExplainer(model, label_names=names, grid=(2, 2), progress=False)
    explanation = explainer(PICTURE, targets=None)
    assert list(explanation.probabilities) == ["crane (0)", "lamp", "crane (2)", "lighthouse"]
    assert explanation.probabilities["lighthouse"] == pytest.approx(0.4)
    game = explainer.masked(PICTURE)
    last = game.with_target("lighthouse").score_masks(np.ones((1, 4), dtype=bool))
    assert last[0, 0] == pytest.approx(0.4)


def test_a_label_that_is_asked_for_is_analysed_with_the_likeliest() -> None:
    def model(pictures: np.ndarray) -> np.ndarray:
        return np.arange(5.0) * pictures.mean(axis=(1, 2, 3))[:, None]

    explainer = ImageExplainer(model, label_names=list("abcde"), grid=(2, 2), progress=False)
    explanation = explainer(PICTURE, target="b")
    assert explanation.targets == ("e", "d", "c", "b")
    assert explanation.target == "b"


def test_exact_needs_no_budget() -> None:
    explanation = ImageExplainer(both, grid=(3, 3), progress=False)(
        PICTURE, method=Sobol(estimator="exact")
    )
    assert explanation.settings["base_masks"] == 0
    assert explanation.cost["forwarded"] == 2**9, "the whole picture is one of them"


def test_a_baseline_is_a_picture_like_the_one_explained() -> None:
    baseline = np.random.default_rng(0).random((12, 12, 3)).astype(np.float32)
    nothing = np.zeros((1, 16), dtype=bool)
    for given in (baseline, torch.from_numpy(baseline.transpose(2, 0, 1)).requires_grad_()):
        explainer = ImageExplainer(
            lambda p: p.mean(axis=(1, 2, 3)), grid=(4, 4), baseline=given, progress=False
        )
        assert explainer.masked(PICTURE).score_masks(nothing)[0, 0] == pytest.approx(
            baseline.mean()
        )


def test_files_that_hold_something_else_are_told(tmp_path: Path) -> None:
    explanation = ImageExplainer(both, grid=(4, 4), label_names=["both"])(
        PICTURE, method=Sobol(base_masks=4)
    )
    explanation.save(tmp_path / "x.json")
    explanation.save(tmp_path / "x.png")
    TextExplainer(lambda texts: [float(len(t)) for t in texts])("a b").save(tmp_path / "y.json")
    with pytest.raises(ValueError, match="no explanation of a text"):
        TextExplanation.load(tmp_path / "x.json")
    with pytest.raises(ValueError, match="no explanation of a picture"):
        ImageExplanation.load(tmp_path / "y.json")
    with pytest.raises(ValueError, match=r"read from \.npz and \.json"):
        ImageExplanation.load(tmp_path / "x.png")


def test_an_error_that_is_not_known_is_said_not_drawn() -> None:
    explanation = ImageExplainer(both, grid=(4, 4), label_names=["both"])(
        PICTURE, method=Sobol(base_masks=1)
    )
    (_, panel) = explanation.plot("error")
    assert [text.get_text() for text in panel.texts] == ["unknown:\none base mask"]


def test_the_bar_tells_the_numbers_of_the_cells() -> None:
    explanation = ImageExplainer(both, grid=(4, 4), label_names=["both"])(
        PICTURE, method=Sobol(base_masks=16)
    )
    (_, panel) = explanation.plot("total")
    assert panel.images[1].get_clim()[1] == pytest.approx(explanation.map("total").max())
