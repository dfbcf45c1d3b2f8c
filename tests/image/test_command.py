"""``textsobol image`` on a tiny network saved by transformers."""

import json
import warnings
from pathlib import Path

import pytest

pytest.importorskip("PIL")

import numpy as np
from PIL import Image
from transformers import pipeline
from typer.testing import CliRunner

from tests.image.tiny import save_resnet
from textsobol import ImageExplainer, ImageExplanation, Sobol
from textsobol.cli import app

run = CliRunner().invoke


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    processor = {
        "image_processor_type": "ConvNextImageProcessor",
        "size": {"shortest_edge": 32},
        "crop_pct": 1.0,
        "do_resize": True,
        "do_rescale": True,
        "do_normalize": True,
        "image_mean": [0.5, 0.5, 0.5],
        "image_std": [0.5, 0.5, 0.5],
    }
    folder = tmp_path_factory.mktemp("models") / "tiny-resnet"
    return save_resnet(folder, ["cat", "dog", "$newt_{"], processor)


@pytest.fixture(scope="module")
def picture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pictures") / "cat.png"
    pixels = np.random.default_rng(0).integers(0, 256, (40, 50, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(path)
    return path


def test_a_picture_is_explained(model: Path, picture: Path, tmp_path: Path) -> None:
    asked = ["image", str(picture), "--model", str(model), "--grid", "4", "--quiet"]
    for name in ("x.png", "x.npz", "x.json"):
        done = run(app, [*asked, "--out", str(tmp_path / name)])
        assert done.exit_code == 0, done.output
    assert "forward passes" in done.stdout
    assert "tenths of the highest score" in done.stdout
    with Image.open(tmp_path / "x.png") as plot:
        assert plot.width > 300
    read = [ImageExplanation.load(tmp_path / name) for name in ("x.npz", "x.json")]
    assert read[0].map().shape == (4, 4)
    np.testing.assert_array_equal(read[0].map(), read[1].map())


def test_the_command_says_what_the_pipeline_says(model: Path, picture: Path) -> None:
    done = run(app, ["image", str(picture), "-m", str(model), "--grid", "3", "--json", "-q"])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        own = pipeline("image-classification", model=str(model))
    expected = {row["label"]: row["score"] for row in own(str(picture))}
    assert told["prediction"]["probabilities"] == pytest.approx(expected, abs=1e-5)
    assert told["settings"]["model"] == "tiny-resnet"
    explainer = ImageExplainer(own, grid=(3, 3), progress=False)
    explained = explainer(Image.open(picture))
    np.testing.assert_array_equal(explained.map(), explainer(picture).map())
    pixels = np.asarray(Image.open(picture))
    for same in (pixels, pixels / 255):
        shares = explainer(same, method=Sobol(base_masks=2)).probabilities
        assert shares == pytest.approx(expected, abs=1e-4), "however the picture is given"
    for gray in (pixels[..., 0], pixels[..., :1], np.dstack([pixels, pixels[..., 0]])):
        assert explainer(gray, method=Sobol(base_masks=2)).image.shape[2] == 3
    with pytest.raises(ValueError, match="not from 0 to 255"):
        explainer(pixels.astype(float))
    assert explained.map().ravel() == pytest.approx(told["scores"][told["target"]]["score"])


@pytest.mark.parametrize("method", ["gradcam", "saliency", "occlusion"])
def test_other_methods(model: Path, picture: Path, method: str) -> None:
    done = run(app, ["image", str(picture), "-m", str(model), "--method", method, "-q"])
    assert done.exit_code == 0, done.output
    assert f"tiny-resnet: {method}" in done.stdout
    assert ("against it" in done.stdout) == (method == "occlusion"), "signs only where there are"


def test_the_papers_masks_and_several_maps(model: Path, picture: Path, tmp_path: Path) -> None:
    plot = tmp_path / "x.png"
    asked = ["image", str(picture), "-m", str(model), "--grid", "3", "--paper", "-q", "--json"]
    kinds = ["--kind", "total", "--kind", "first", "--kind", "interaction"]
    done = run(app, [*asked, "--out", str(plot), *kinds, "--target", "dog"])
    assert done.exit_code == 0, done.output
    settings = json.loads(done.stdout)["settings"]
    assert settings["estimator"] == "jansen"
    assert settings["keep"] is None
    assert settings["design"] == "sobol"
    assert json.loads(done.stdout)["target"] == "dog"
    with Image.open(plot) as drawn:
        assert drawn.width > 3 * drawn.height


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--target", "cow"], "unknown label 'cow'; known:"),
        (["--grid", "99"], "finer than the picture"),
        (["--method", "lemon"], "unknown method 'lemon'"),
        (["--budget", "3"], "regions need at least"),
        (["--out", "x.txt"], "ends in .png or .svg"),
        (["--kind", "colour", "--out", "x.png"], "unknown --kind colour; known: score, total"),
        (["--kind", "total", "--out", "x.png", "--method", "rise"], "total needs --method sobol"),
        (["--kind", "total"], "--kind needs --out with a plot"),
        (["--perturbation", "smudge"], "unknown perturbation 'smudge'"),
        (["--method", "rise", "--paper"], "--paper needs --method sobol"),
        (["--model", "./no-such-model"], "there is no such directory"),
    ],
)
def test_what_is_wrong_is_told(
    model: Path, picture: Path, options: list[str], message: str
) -> None:
    done = run(app, ["image", str(picture), "-m", str(model), *options])
    assert done.exit_code != 0
    assert message in " ".join(done.output.replace("│", " ").split())
    assert "Traceback" not in done.output


def test_files_that_are_no_pictures(model: Path, tmp_path: Path) -> None:
    path = tmp_path / "cat.jpg"
    path.write_text("meow")
    done = run(app, ["image", str(path), "-m", str(model)])
    assert done.exit_code == 1
    assert "cannot read the picture" in done.output.replace("\n", " ")
    missing = run(app, ["image", str(tmp_path / "no.jpg"), "-m", str(model)])
    assert missing.exit_code == 2
