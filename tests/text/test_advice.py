"""Advice: how many forward passes would settle which words are the strongest."""

import numpy as np
import pytest

from tests.text.test_explanation import FILLER, by_word, scored
from textsobol import Sobol, TextExplainer


def test_advice_says_how_many_passes_settle_the_top() -> None:
    """Six words of nearly the same size, whose effects depend on others."""
    rng = np.random.default_rng(3)
    slopes = rng.normal(size=(30, 30)) / 3

    def tangled(texts: list[str]) -> list[float]:
        masks = np.array([[word in text.split() for word in FILLER] for text in texts], float)
        return list(np.einsum("ni,ij,nj->n", masks, slopes, masks))

    close = TextExplainer(tangled)(" ".join(FILLER), budget=8 * 31)
    assert close.advised == {"0": None}
    assert "too close to call" in str(close.advice)
    settled = scored(lambda has: [sum(2.0**k for k in range(9) if f"w{k}" in has)])
    assert settled(" ".join(FILLER)).advice is None


@pytest.mark.parametrize("path", [True, False])
@pytest.mark.parametrize("budget", [6, 50])
def test_one_mask_advises_as_many_as_intervals_need(path: bool, budget: int) -> None:
    explainer = scored(lambda has: [5.0 * ("w3" in has)])
    explanation = explainer(" ".join(FILLER), budget=budget, method=Sobol(path=path))
    assert explanation.settings["base_masks"] == 1
    assert "too close" not in str(explanation.advice)
    advised = explanation.advised["0"]
    assert advised is not None
    again = explainer(" ".join(FILLER), budget=advised, method=Sobol(path=path))
    assert again.settings["base_masks"] + again.settings["leader_masks"] >= 5
    assert not np.isnan(by_word(again)["w3"].low)


def test_advice_leads_to_a_settled_top() -> None:
    """Followed, it asks for more passes than were made, and there is an end to it."""
    slopes = np.random.default_rng(5).normal(size=30) ** 3

    def model(texts: list[str]) -> list[float]:
        masks = np.array([[word in text.split() for word in FILLER] for text in texts], float)
        return list(masks @ slopes + 2.0 * masks[:, 0] * masks[:, 1] * masks[:, 2])

    explainer, budget, n_asked = TextExplainer(model), 8 * 31, 0
    explanation = explainer(" ".join(FILLER), budget=budget)
    while (advised := explanation.advised.get("0")) is not None:
        assert f"budget={advised}" in str(explanation.advice)
        assert advised > explanation.cost["forwarded"]
        explanation = explainer(" ".join(FILLER), budget=advised)
        n_asked += 1
        assert n_asked < 8


SLOPES = np.random.default_rng(5).normal(size=30) ** 3


def lean(has: set[str]) -> list[float]:
    both = 2.0 * ({"w0", "w1", "w2"} <= has)
    return [both + sum(SLOPES[int(word[1:])] for word in has), 0.0]


@pytest.mark.parametrize("label", [None, "0"])
def test_what_is_still_running_gives_no_advice(label: str | None) -> None:
    """A budget that the call already has settles nothing."""
    *early, last = scored(lean).stream(" ".join(FILLER), target="0", budget=200)
    if label is not None:
        early, last = [each.contrast(label, "1") for each in early], last.contrast(label, "1")
    assert len(early) >= 3
    assert [each.advice for each in early] == [None] * len(early)
    advised = last.advised[last.target]
    assert advised is not None
    assert advised > 200
    assert "should settle it" in str(last.advice)
    assert f"budget={advised}, or method=Sobol(precision=0.95)" in str(last.advice)


@pytest.mark.parametrize("method", [Sobol(base_masks=2), Sobol(base_masks=2, path=False), Sobol()])
@pytest.mark.parametrize("budget", [100, 300, 700])
def test_advice_is_for_more_than_the_budget(method: Sobol, budget: int) -> None:
    explanation = scored(lean)(" ".join(FILLER), budget=budget, method=method)
    assert all(each is None or each > budget for each in explanation.advised.values())
