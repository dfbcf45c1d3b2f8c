"""Many texts in one page, in a real browser."""

import math
import re
from typing import Any

import pytest

pytest.importorskip("playwright")
pytest.importorskip("axe_playwright_python")

import numpy as np
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.render.conftest import Look
from tests.render.samples import LABELS, choose, sentiment
from tests.text.tiny import counting_bert, tokenizer
from textsobol import Sobol, TextExplainer, TextExplanation, save_report
from textsobol.corpus.words import tally_words
from textsobol.render.page import render_explanation
from textsobol.render.report import render_report
from textsobol.render.summary import describe_flip_set, summarise

TEXTS = [
    "A good film.",
    "An awful film, far too long.",
    "The music is fine and good.",
    "Not bad, but awful.",
    "A fine, \U0001f600 good end.",
]
TRUTH: list[str | int | None] = ["POSITIVE", "NEGATIVE", 0, None, 1]


@pytest.fixture(scope="module")
def explanations() -> list[TextExplanation]:
    return list(TextExplainer(sentiment, label_names=LABELS).many(TEXTS))


def test_the_list_filters_by_label_and_by_right_and_wrong(
    look: Look, explanations: list[TextExplanation]
) -> None:
    with look(render_report(explanations, truth=TRUTH, title="Films")) as page:
        assert page.locator("h1").inner_text() == "Films"
        assert "3 of 4 predictions are right (75.0 %)" in page.locator(".note").first.inner_text()
        shown = page.locator(".item:visible > .text")
        assert shown.all_text_contents() == TEXTS
        page.locator("#label").select_option("NEGATIVE")
        assert shown.all_text_contents() == [TEXTS[1], TEXTS[3]]
        page.locator("#label").select_option("")
        page.locator("#right").select_option("wrong")
        assert shown.all_text_contents() == [TEXTS[2]]
        assert page.locator("#count").inner_text() == "1 of 5 texts"
        assert "wrong: it is NEGATIVE" in page.locator(".item:visible header").inner_text()


def test_the_list_sorts_by_confidence(look: Look, explanations: list[TextExplanation]) -> None:
    with look(render_report(explanations)) as page:
        sure = [max(e.probabilities.values()) for e in explanations]
        page.locator("#order").select_option("sure")
        expected = [TEXTS[k] for k in np.argsort([-s for s in sure], kind="stable")]
        assert page.locator(".item > .text").all_text_contents() == expected
        page.locator("#order").select_option("unsure")
        expected = [TEXTS[k] for k in np.argsort(sure, kind="stable")]
        assert page.locator(".item > .text").all_text_contents() == expected
        assert page.locator("#right").count() == 0, "nothing is known of right and wrong"


def test_texts_get_the_colours_of_their_own_page(
    look: Look, explanations: list[TextExplanation]
) -> None:
    with look(render_report(explanations)) as page:
        for number, explanation in enumerate(explanations):
            spans = page.locator(".item").nth(number).locator(".w")
            expect(spans).to_have_count(len(explanation.words))
            assert spans.all_inner_texts() == [word.text for word in explanation.words]
            classes = spans.evaluate_all("all => all.map((w) => w.className)")
            for name, word in zip(classes, explanation.words, strict=True):
                score = explanation.score_of(word).score
                assert ("for" in name.split()) == (score > 0.02), word.text


def test_details_open_in_place(look: Look, explanations: list[TextExplanation]) -> None:
    with look(render_report(explanations)) as page:
        item = page.locator(".item").nth(1)
        item.get_by_role("button", name="Details").click()
        assert item.locator(".bar button").all_inner_texts() == ["awful", "long"]
        item.locator("button.more").click()
        assert item.locator(".bar").count() == len(explanations[1].words)
        item.get_by_role("slider").fill("1")
        assert item.locator(".opened .w.gone").all_inner_texts() == ["awful"]
        assert (
            item.locator(".flip").inner_text().lower()
            == (describe_flip_set(explanations[1]) or "").lower()
        )
        choose(item, "POSITIVE")
        other = explanations[1].for_target("POSITIVE")
        assert item.locator(".summary").inner_text() == summarise(other)
        expect(item.locator(".after")).to_contain_text("POSITIVE")
        assert item.locator(".interval-note").inner_text() == "exact"
        item.locator(".opened .w", has_text="awful").hover()
        expect(page.locator("#details")).to_contain_text("rank")
        assert "seed 0" in item.locator("footer").inner_text()
        item.get_by_role("button", name="Close").click()
        expect(item.locator(".opened")).to_be_hidden()


def test_the_words_of_all_texts_lead_to_their_texts(
    look: Look, explanations: list[TextExplanation]
) -> None:
    with look(render_report(explanations)) as page:
        page.locator("#corpus-label").select_option("POSITIVE")
        top = page.locator("#corpus table").first.locator("tr").nth(1)
        good = next(
            w
            for w in tally_words(explanations).words()
            if (w.word, w.label) == ("good", "POSITIVE")
        )
        assert top.inner_text().split() == [
            "good", "3", "3", f"{good.score:+.3f}", "±", f"{(good.high - good.low) / 2:.3f}",
                f"{good.effect:+.2f}",
        ]  # fmt: skip
        top.get_by_role("button").click()
        shown = page.locator(".item:visible > .text").all_text_contents()
        assert shown == [TEXTS[0], TEXTS[2], TEXTS[4]]
        page.locator("#corpus-least").fill("4")
        assert page.locator("#corpus button").count() == 0


def test_phrases_lead_to_their_texts(look: Look) -> None:
    texts = ["A film not good at all.", "It is not good.", "So good, not fine."]
    explainer = TextExplainer(sentiment, label_names=LABELS)
    with look(render_report(explainer.many(texts))) as page:
        page.locator("#corpus-label").select_option("NEGATIVE")
        page.locator("#corpus-kind").select_option("phrases")
        table = page.locator("#corpus table").first
        assert table.locator("th").first.inner_text() == "phrase"
        row = table.locator("tr").nth(1)
        assert row.inner_text().split()[:4] == ["not", "good", "2", "2"]
        row.get_by_role("button").click()
        assert page.locator("#count").inner_text() == "2 of 3 texts"


@pytest.mark.parametrize(
    ("word", "texts"),
    [
        ("!!!", ["so good!!! really", "no!!!", "good film"]),
        ("\u7535\u5f71", ["\u8fd9\u90e8\u7535\u5f71", "good"]),
        ("stra\u00dfe", ["Stra\u00dfe good", "good"]),
        ("two\nlines", ["two\nlines good", "good"]),
    ],
)
def test_every_word_of_the_corpus_finds_its_texts(look: Look, word: str, texts: list[str]) -> None:
    def cut(text: str) -> list[tuple[int, int]]:
        pattern = f"{re.escape(word)}|[a-z]+"
        return [found.span() for found in re.finditer(pattern, text, re.IGNORECASE)]

    def count(texts: list[str]) -> list[float]:
        return [text.lower().count(word) + 0.01 * len(text) for text in texts]

    explainer = TextExplainer(count, unit=cut, label_names=["much"])
    with look(render_report(explainer.many(texts))) as page:
        page.locator("#corpus").get_by_role("button", name=word).first.click()
        having = [text for text in texts if word in text.lower()]
        assert page.locator("#count").inner_text() == f"{len(having)} of {len(texts)} texts"


def test_strong_and_rare_words_are_there_in_their_order(look: Look) -> None:
    common = " ".join(f"w{k}" for k in range(150))

    def score(texts: list[str]) -> list[float]:
        return [5.0 * ("rare" in t) + sum(f"w{k} " in t for k in range(150)) for t in texts]

    explainer = TextExplainer(score, label_names=["much"])
    texts = [common + " end"] * 6 + ["rare thing"]  # the sum of each common word is greater
    with look(
        render_report(explainer.many(texts, method=Sobol(base_masks=1, estimator="flip")))
    ) as page:
        for order in ("weight", "score"):
            expect(page.locator("#corpus-order")).to_have_value("weight")
            page.locator("#corpus-order").select_option(order)
            assert page.locator("#corpus button").first.inner_text() == "rare"
        page.locator("#corpus-order").select_option("texts")
        assert page.locator("#corpus button").first.inner_text() != "rare"


def test_strange_labels_can_be_chosen(look: Look) -> None:
    names = ["very  good", " bad", "constructor", ""]
    explainer = TextExplainer(lambda texts: [[len(t), 1, 2, 3] for t in texts], label_names=names)
    explanation = explainer("a good film")
    with look(render_report([explanation])) as page:
        page.locator("#label").select_option(index=1)
        assert page.locator("#count").inner_text() == "1 of 1 texts"
        assert page.locator("#corpus button").count() > 0


def test_both_texts_of_a_pair_are_cut_and_named(look: Look) -> None:
    explainer = TextExplainer(counting_bert(tokenizer()), tokenizer())
    explanation = explainer(("the film is good", "a \U0001f600 bad ending"))
    for html, where in (
        (render_report([explanation]), ".item"),
        (render_explanation(explanation), ".card"),
    ):
        with look(html) as page:
            words = page.locator(f"{where} .w")
            expect(words).to_have_count(len(explanation.words))
            assert words.all_inner_texts() == [word.text for word in explanation.words]
            assert page.locator(f"{where} .part").all_inner_texts() == ["first text", "second text"]


def test_all_texts_are_coloured_and_whole_on_paper(look: Look) -> None:
    texts = [f"number {k} is a good film " + "and so on " * 80 for k in range(30)]
    explanations = TextExplainer(sentiment, label_names=LABELS).many(
        texts, method=Sobol(base_masks=1)
    )
    with look(render_report(explanations)) as page:
        assert page.locator(".item:has(.w)").count() < 30
        page.emulate_media(media="print")
        page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        assert page.locator(".item:has(.w.for)").count() == 30
        assert page.locator(".tools:visible, .item button:visible").count() == 0
        box = page.locator(".item > .text").first.evaluate("e => e.scrollHeight - e.clientHeight")
        assert box <= 1, "nothing is cut"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_report_is_accessible(
    look: Look, explanations: list[TextExplanation], scheme: str
) -> None:
    with look(render_report(explanations, truth=TRUTH), color_scheme=scheme) as page:
        page.locator(".item").first.get_by_role("button", name="Details").click()
        found = Axe().run(page)
        assert found.violations_count == 0, found.generate_report()


def test_a_phone_shows_a_report(look: Look, explanations: list[TextExplanation]) -> None:
    with look(render_report(explanations), viewport={"width": 375, "height": 700}) as page:
        page.locator(".item").first.get_by_role("button", name="Details").click()
        assert page.evaluate("document.documentElement.scrollWidth") <= 375


def test_five_hundred_reviews_stay_small(look: Look) -> None:
    random = np.random.default_rng(0)
    vocabulary = ["w" + "abcdefghij"[k % 10] * (k % 7) + str(k) for k in range(2000)]
    weights = dict(zip(vocabulary, random.normal(size=2000), strict=True))

    def score(texts: list[str]) -> list[list[float]]:
        odds = [sum(map(weights.__getitem__, text.split())) for text in texts]
        return [[-value, value] for value in odds]

    texts = [" ".join(random.choice(vocabulary, 230)) for _ in range(5)]
    few = list(TextExplainer(score, label_names=LABELS).many(texts, method=Sobol(base_masks=2)))
    page_of_500 = render_report(few * 100)
    assert len(page_of_500.encode()) < 8_000_000
    with look(page_of_500) as page:
        assert page.locator("#count").inner_text() == "500 of 500 texts"
        # Only what is in sight has been cut into words.
        expect(page.locator(".item").first.locator(".w.for").first).to_be_attached()
        assert page.evaluate("document.querySelectorAll('.w').length") < 115_000 / 4
        page.evaluate("window.scrollTo(0, document.body.scrollHeight)")
        expect(page.locator(".item").last.locator(".w.for").first).to_be_attached()


def test_truth_must_fit(explanations: list[TextExplanation]) -> None:
    with pytest.raises(ValueError, match="2 labels for 5"):
        render_report(explanations, truth=["POSITIVE", "NEGATIVE"])
    with pytest.raises(ValueError, match="'GOOD'; known: NEGATIVE, POSITIVE"):
        render_report(explanations, truth=["GOOD"] * 5)
    with pytest.raises(ValueError, match="unknown true label 2"):
        render_report(explanations, truth=[2] * 5)
    with pytest.raises(ValueError, match="at least one"):
        render_report([])
    with pytest.raises(ValueError, match="not str"):
        render_report(["a text"])  # type: ignore[list-item]
    numbers: list[Any] = [1.0, 0.0, math.nan]  # as tables have them
    assert "2 of 2 predictions" in render_report(explanations[:3], truth=numbers)


def test_only_pages_are_written(explanations: list[TextExplanation]) -> None:
    with pytest.raises(ValueError, match=r"known: \.html"):
        save_report(explanations, "report.pdf")
