"""The same job on Ray: two actors, one of which dies."""

import os
import signal
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ray")
pytest.importorskip("datasets")

import datasets

from tests.corpus.samples import content, count, reviews, tiny_model
from textsobol import TextExplainer, explain_corpus

# Ray warns of settings of its own.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:ray.data.context")


@pytest.mark.usefixtures("cluster")
def test_actors_leave_the_same_files(tmp_path: Path) -> None:
    data = datasets.Dataset.from_dict({"text": [*reviews(20), ""]})
    job: dict[str, Any] = {"shard_size": 5, "budget": 50}
    here = explain_corpus(tiny_model(), data, out=tmp_path / "here", **job)
    there = explain_corpus(
        tiny_model(), data, out=tmp_path / "there", engine="ray", actors=2, **job
    )
    assert (there.texts, there.failed) == (here.texts, here.failed) == (21, 1)
    assert content(tmp_path / "there") == content(tmp_path / "here")


@pytest.mark.usefixtures("cluster")
def test_an_actor_that_is_killed_is_replaced(tmp_path: Path) -> None:
    killed = tmp_path / "killed"

    def deadly(texts: list[str]) -> list[list[float]]:
        if not killed.exists() and any("film" in text for text in texts):
            killed.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return count(texts)

    def alive(texts: list[str]) -> list[list[float]]:
        return count(texts)

    deadly.__name__ = alive.__name__ = "counting"
    data = datasets.Dataset.from_dict({"text": reviews(16)})
    labels = ["bad", "good"]
    there = explain_corpus(
        TextExplainer(deadly, label_names=labels),
        data,
        out=tmp_path / "there",
        shard_size=2,
        engine="ray",
        actors=2,
    )
    assert killed.exists()
    assert (there.texts, there.failed) == (16, 0)
    explain_corpus(
        TextExplainer(alive, label_names=labels), data, out=tmp_path / "here", shard_size=2
    )
    assert content(tmp_path / "there") == content(tmp_path / "here")


@pytest.mark.usefixtures("cluster")
def test_actors_hold_little_memory(tmp_path: Path) -> None:
    def sparing(texts: list[str]) -> list[list[float]]:
        if "ONEDNN_PRIMITIVE_CACHE_CAPACITY" not in os.environ:
            raise RuntimeError("the limit of oneDNN is not set")
        return count(texts)

    data = datasets.Dataset.from_dict({"text": reviews(2)})
    explainer = TextExplainer(sparing, label_names=["bad", "good"], progress=False)
    there = explain_corpus(explainer, data, out=tmp_path / "there", engine="ray")
    assert (there.texts, there.failed) == (2, 0)


def test_what_ray_cannot_do_is_told(tmp_path: Path) -> None:
    stream = datasets.Dataset.from_dict({"text": ["good"]}).to_iterable_dataset()
    with pytest.raises(ValueError, match="needs to know all texts"):
        explain_corpus(tiny_model(), stream, out=tmp_path / "out", engine="ray")
    data = datasets.Dataset.from_dict({"text": ["good"]})
    with pytest.raises(ValueError, match="actors=0: must be at least 1"):
        explain_corpus(tiny_model(), data, out=tmp_path / "out", engine="ray", actors=0)
