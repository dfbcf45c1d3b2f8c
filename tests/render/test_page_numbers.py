"""What the page says of words: values, places, and what is not known."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from tests.render.conftest import Look
from tests.render.samples import explained, length, word
from textsobol import TextExplainer
from textsobol.render.page import explanation_html
from textsobol.render.report import report_html


def shown_ranking(page: Page) -> list[tuple[str, str]]:
    names = page.locator(".bar button").all_text_contents()
    values = page.locator(".bar .value").evaluate_all("all => all.map((v) => v.firstChild.data)")
    return [
        (name.split(" (")[0], value.replace("\u2212", "-"))
        for name, value in zip(names, values, strict=True)
    ]


def test_scores_beyond_one_keep_their_values_and_places(look: Look) -> None:
    weights = np.random.default_rng(0).normal(size=60)

    def wave(texts: list[str]) -> list[float]:
        present = [[float(f"w{k}." in text) for k in range(60)] for text in texts]
        return list(np.sin(2 * np.array(present) @ weights))

    text = " ".join(f"w{k}." for k in range(60))
    explanation = TextExplainer(wave)(text, estimator="jansen", rows=32)
    assert explanation.top(1)[0][1] > 1, "Jansen's estimator can do that"
    with look(explanation_html(explanation)) as page:
        expected = [(word, f"{score:+.3f}") for word, score, _ in explanation.top(15)]
        assert shown_ranking(page) == expected


def test_small_scores_of_long_texts_keep_their_places(look: Look) -> None:
    weights = np.linspace(1, 3, 2000)
    places = {f"w{k}": k for k in range(2000)}

    def additive(texts: list[str]) -> list[float]:
        return [float(sum(weights[places[word]] for word in text.split())) for text in texts]

    explanation = TextExplainer(additive)(" ".join(places), method="sobol", rows=2)
    with look(explanation_html(explanation)) as page:
        page.locator("button.more").click()
        names = [name for name, _ in shown_ranking(page)]
        assert names[:200] == [word for word, _, _ in explanation.top(200)]


def test_first_order_below_zero_is_no_share(look: Look) -> None:
    explanation = explained()
    scores = [-0.4, 0.3, 0.1, -0.2]
    words = tuple(
        replace(w, scores={label: replace(s, first=first) for label, s in w.scores.items()})
        for w, first in zip(explanation.words, [*scores, *[0.0] * 99], strict=False)
    )
    with look(explanation_html(replace(explanation, words=words))) as page:
        page.get_by_text("first order", exact=True).click()
        assert [value for _, value in shown_ranking(page)[:2]] == ["0.300", "0.100"]
        assert "share" not in (page.locator(".w").first.get_attribute("class") or "")


def test_the_note_says_which_measures_have_intervals(look: Look) -> None:
    explanation = explained(method="focus", budget=150)
    assert math.isnan(explanation.score_of(explanation.words[0]).low)
    assert 1 < explanation.settings["base_rows"] < 8
    with look(explanation_html(explanation)) as page:
        note = page.locator(".interval-note")
        expect(note).to_have_text("without intervals")
        page.get_by_text("total", exact=True).click()
        expect(note).to_have_text("with rough intervals")
        page.get_by_text("signed", exact=True).click()
        expect(note).to_have_text("without intervals")


def test_what_a_method_does_not_tell_is_not_shown(look: Look) -> None:
    explanation = explained()
    told = ("low", "high", "total", "first", "first_low", "first_high", "effect", "stability")
    unknown = dict.fromkeys(told, math.nan)
    words = tuple(
        replace(w, scores={label: replace(s, **unknown) for label, s in w.scores.items()})
        for w in explanation.words
    )
    with look(explanation_html(replace(explanation, words=words))) as page:
        assert page.locator(".bar .error").count() == 0
        assert page.locator("input[value=total]").is_disabled()
        word(page, "awful").hover()
        box = page.locator("#details").inner_text()
        assert "rank" in box
        assert "interval" not in box
        assert "NaN" not in page.locator("body").inner_text()


def test_focused_scores_stand_beside_the_total_index(look: Look) -> None:
    explanation = explained(method="focus", budget=60)
    awful = next(w for w in explanation.words if w.text == "awful")
    score = explanation.score_of(awful)
    with look(explanation_html(explanation)) as page:
        word(page, "awful").hover()
        box = page.locator("#details").inner_text()
        assert f"{abs(score.score):.3f}" in box
        assert f"{score.total:.3f}" in box
        assert "interval" not in box
        page.locator("label", has_text="total").click()
        values = [float(value) for _, value in shown_ranking(page)]
        totals = [explanation.score_of(w).total for w in explanation.words if w.status == "scored"]
        assert values == pytest.approx(sorted(totals, reverse=True)[: len(values)], abs=1e-3)


def test_words_that_share_a_score_say_so(look: Look) -> None:
    explanation = explained(method="focus", budget=10)
    n_shared = sum(w.shared_by > 1 for w in explanation.words)
    assert n_shared > 0
    with look(explanation_html(explanation)) as page:
        expect(page.locator(".reading", has_text="too few forward passes")).to_contain_text(
            f"{n_shared} words share"
        )
        shared = next(w for w in explanation.words if w.shared_by > 1)
        word(page, shared.text).hover()
        assert f"with {shared.shared_by - 1} other" in page.locator("#details").inner_text()
        assert "NaN" not in page.locator("body").inner_text()
    assert f"{n_shared} words share the score of a group" in str(explanation)


def test_words_that_share_a_score_have_no_index(look: Look) -> None:
    text = "plain words that say nothing at all here " * 8 + "an awful film"
    explanation = explained(text, method="focus", budget=40)
    n_shared = sum(w.shared_by > 1 for w in explanation.words)
    assert 0 < n_shared < len(explanation.words)
    with look(explanation_html(explanation)) as page:
        page.locator("label", has_text="total").click()
        assert 0 < len(shown_ranking(page)) <= len(explanation.words) - n_shared
        assert "NaN" not in page.locator("body").inner_text()


def test_ties_rank_on_the_page_as_they_do_in_python(look: Look) -> None:
    def either(texts: list[str]) -> list[float]:
        return [float("fine" in text or "good" in text) for text in texts]

    text = "ok and fine and good and all that is said besides of it"
    explanation = TextExplainer(either)(text, method="focus", budget=60)
    with look(explanation_html(explanation)) as page:
        assert [name for name, _ in shown_ranking(page)[:2]] == [
            name for name, *_ in explanation.top(2)
        ]


def test_a_method_without_signs_does_not_tell_for_from_against(look: Look) -> None:
    explanation = explained(method="greedy")
    assert explanation.settings["signed"] is False
    with look(explanation_html(explanation)) as page:
        expect(word(page, "awful")).to_have_class(re.compile(r"\bshare\b"))
        assert page.locator(".w.for, .w.against").count() == 0
        expect(page.locator(".reading")).to_contain_text("does not tell for from against")


def test_one_base_row_tells_no_interval(look: Look) -> None:
    with look(explanation_html(explained(rows=1))) as page:
        assert page.locator(".bar").count() > 0
        assert page.locator(".bar .error").count() == 0


@pytest.mark.filterwarnings("ignore::textsobol.ConstantScoreWarning")
def test_labels_without_deletions_say_so(look: Look) -> None:
    def many(texts: list[str]) -> list[list[float]]:
        return [[k + (k == 0) * 0.1 * t.count("joy") for k in range(7)] for t in texts]

    names = ["constructor", "toString", "__proto__", "d", "e", "f", "g"]
    explanation = TextExplainer(many, labels=names)("such joy", whatif=True)
    with look(explanation_html(explanation.for_label("constructor"))) as page:
        assert page.locator(".bar button").first.inner_text() == "joy"
        expect(page.locator(".after")).to_contain_text("for the likeliest labels only")
    asked = TextExplainer(many, labels=names)("such joy", whatif=True, label="constructor")
    with look(explanation_html(asked)) as page:
        page.get_by_role("slider").fill("1")
        assert page.locator(".w.gone").all_inner_texts() == ["joy"]
        page.get_by_text("toString", exact=True).click()
        expect(page.locator(".reading")).to_contain_text("toString")


def test_the_box_can_be_reached_with_the_pointer(look: Look) -> None:
    with look(explanation_html(explained())) as page:
        word(page, "awful").hover()
        page.locator("#details").hover()
        page.wait_for_timeout(400)
        expect(page.locator("#details")).to_be_visible()
        page.mouse.move(2, 2)
        expect(page.locator("#details")).to_be_hidden()


def test_lines_of_any_system_keep_words_in_their_places(look: Look) -> None:
    def lines(text: str) -> list[tuple[int, int]]:
        return [found.span() for found in re.finditer(".+", text)]

    text = "first line\r\nsecond line\r\nthird"
    explanation = TextExplainer(length, unit=lines)(text)
    for html in (explanation_html(explanation), report_html([explanation])):
        with look(html) as page:
            expect(page.locator(".w")).to_have_count(3)
            found = page.locator(".w").evaluate_all("all => all.map((w) => w.textContent)")
            assert found == ["first line", "second line", "third"]
            whole = page.locator(".text").first.evaluate("e => e.textContent")
            assert whole == "first line\nsecond line\nthird"
