"""Several explanations of one text in a page."""

import math
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("playwright")
pytest.importorskip("axe_playwright_python")

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.render.conftest import Look
from tests.render.samples import explained, with_measures
from textsobol import save_comparison
from textsobol.metrics.agreement import rank_correlation
from textsobol.render.files import name_explanations
from textsobol.render.page import render_comparison
from textsobol.render.summary import summarise
from textsobol.render.view import MEASURE_NOTES
from textsobol.text.explanation import TextExplanation

ALPHAS = "all => all.map((w) => Number(w.style.getPropertyValue('--a')))"


def pair() -> dict[str, TextExplanation]:
    return {
        "half kept": explained(),
        "most kept": explained(keep=0.9),
    }


def test_they_stand_on_one_scale(look: Look) -> None:
    both = pair()
    strongest = max(abs(e.top(1)[0].score) for e in both.values())
    with look(render_comparison(both)) as page:
        for number, explanation in enumerate(both.values()):
            card = page.locator(".card").nth(number)
            alphas = card.locator(".texts .w").evaluate_all(ALPHAS)
            for alpha, word in zip(alphas, explanation.words, strict=True):
                if alpha:
                    score = explanation.score_of(word).score
                    assert alpha == pytest.approx(math.sqrt(abs(score) / strongest), abs=2e-3)
            assert list(both)[number] in card.locator("h2").first.inner_text()


def test_one_slider_deletes_each_ones_own_words(look: Look) -> None:
    both = {**pair(), "occlusion": explained(method="occlusion")}
    with look(render_comparison(both)) as page:
        page.get_by_role("slider").fill("2")
        after = page.locator(".after").inner_text()
        for number, explanation in enumerate(both.values()):
            card = page.locator(".card").nth(number)
            gone = card.locator(".w.gone").all_inner_texts()
            if explanation.path is None:
                assert gone == []
                assert card.locator("svg.curve").count() == 0
                continue
            steps = explanation.path.steps[:2]
            assert sorted(gone) == sorted(explanation.words[k].text for s in steps for k in s.words)
            assert f"{steps[-1].probabilities['NEGATIVE']:.3f}" in after
        assert "occlusion" not in after


def test_every_card_has_its_own_summary(look: Look) -> None:
    both = {"sobol": explained(), "occlusion": explained(method="occlusion")}
    with look(render_comparison(both)) as page:
        for label in ("NEGATIVE", "POSITIVE"):
            page.get_by_text(label, exact=True).first.click()
            assert page.locator(".summary").all_inner_texts() == [
                summarise(e.for_target(label)) for e in both.values()
            ]
        expect(page.locator(".meaning")).to_have_text(
            f"sobol: {MEASURE_NOTES['score']}; occlusion: {MEASURE_NOTES['own score']}"
        )
        page.get_by_text("effect", exact=True).click()
        meaning = MEASURE_NOTES["effect"].replace("log-odds", "score")  # of a function
        expect(page.locator(".meaning")).to_have_text(meaning)
        assert page.locator(".card").nth(1).locator(".bar, .w.for, .w.against").count() == 0


def test_the_agreement_follows_the_label(look: Look) -> None:
    both = pair()
    one, other = both.values()
    with look(render_comparison(both)) as page:
        for label in ("NEGATIVE", "POSITIVE"):
            page.get_by_text(label, exact=True).first.click()
            table = page.locator("table:visible")
            assert label in table.locator("caption").inner_text()
            expected = f"{rank_correlation(one, other, label=label):.2f}"
            assert table.locator("tr").nth(1).locator("td").nth(1).inner_text() == expected


def test_a_comparison_is_accessible_and_fits_a_phone(look: Look) -> None:
    with look(render_comparison(pair()), viewport={"width": 375, "height": 700}) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= 375
        found = Axe().run(page)
        assert found.violations_count == 0, found.generate_report()


def test_what_cannot_be_compared_is_refused() -> None:
    with pytest.raises(ValueError, match="at least two"):
        render_comparison({"one": explained()})
    with pytest.raises(ValueError, match="one text"):
        render_comparison({"one": explained(), "other": explained("another good text")})
    with pytest.raises(ValueError, match="no label in common"):
        render_comparison(
            {"one": explained(targets=["POSITIVE"]), "other": explained(targets=["NEGATIVE"])}
        )


def test_names_tell_what_differs(tmp_path: Path) -> None:
    one, other = explained(), explained(keep=0.9)
    assert name_explanations([one, other]) == ["keep rate 0.5", "keep rate 0.9"]
    assert name_explanations([one, one]) == ["explanation 1", "explanation 2"]
    assert name_explanations([one, other, one]) == [
        "keep rate 0.5",
        "keep rate 0.9",
        "keep rate 0.5 (3)",
    ]
    elsewhere = replace(other, settings={**other.settings, "model": "another"})
    assert name_explanations([one, elsewhere]) == [
        "sentiment, keep rate 0.5",
        "another, keep rate 0.9",
    ]
    assert name_explanations([one, explained(method="occlusion")]) == ["sobol", "occlusion"]
    save_comparison([one, other], tmp_path / "both.html")
    assert "keep rate 0.9" in (tmp_path / "both.html").read_text()


def test_equal_scores_have_no_correlation_nor_have_other_texts() -> None:
    one = explained("an awful film")
    with pytest.raises(ValueError, match="different texts"):
        rank_correlation(one, explained("another good text"))
    for text in ("an", "awful", "film"):
        one = with_measures(one, text, score=0.0)
    assert math.isnan(rank_correlation(one, one))
    assert "not defined" in render_comparison({"one": one, "other": one})


def test_methods_have_scales_of_their_own(look: Look) -> None:
    both = {"sobol": explained(), "occlusion": explained(method="occlusion")}
    with look(render_comparison(both)) as page:
        for number, explanation in enumerate(both.values()):
            card = page.locator(".card").nth(number)
            alphas = card.locator(".texts .w").evaluate_all(ALPHAS)
            strongest = abs(explanation.top(1)[0].score)
            for alpha, word in zip(alphas, explanation.words, strict=True):
                part = abs(explanation.score_of(word).score) / strongest
                # Shares of a variance are squares, effects are not.
                wanted = math.sqrt(part) if explanation is both["sobol"] else part
                if alpha:
                    assert alpha == pytest.approx(wanted, abs=2e-3)
        assert page.locator(".card").nth(1).locator(".bar .error").count() == 0
        notes = page.locator(".interval-note").all_inner_texts()
        assert notes == ["95 % intervals", "no intervals"]
