import re
import struct
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("matplotlib")

import matplotlib
import numpy as np

from tests.problems import arguments
from textsobol import TextExplainer, TextExplanation
from textsobol.render.colours import AGAINST, FOR
from textsobol.render.plots import plot, save_plot
from textsobol.text.records import Deletion, Measures, Word
from textsobol.text.records import Path as DeletionPath

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.font_manager import fontManager
from matplotlib.lines import Line2D

WEIGHTS = {"good": 3.0, "fine": 2.0, "nice": 1.0, "bad": -2.5}
TEXT = "a good and nice plot with a fine but bad end"
HOSTILE = [
    "$x_1$", "$", "$\\frac{$", "a_b^c", "\\alpha", "100%", "#{&~", "<script>alert(1)</script>",
    "]]>&amp;", "中文", "😀👍🏽", "नमस्ते", "שלום", "e\u0301\u0323", "\u200b\ufe0f",
    "\ue000\U0010fffd", "\x1b[31m", "\x00", "\ud800", "a\u202eb", "\ufffe\uffff", "dampf" * 500,
]  # fmt: skip


def sentiment(texts: list[str]) -> np.ndarray:
    odds = np.array([sum(WEIGHTS.get(word, 0.0) for word in text.split()) for text in texts])
    positive = 1 / (1 + np.exp(-odds))
    return np.stack([1 - positive, positive], axis=1)


def explained(text: str | tuple[str, str] = TEXT, **options: Any) -> TextExplanation:
    return TextExplainer(sentiment, label_names=["no", "yes"])(text, **arguments(options))


def of_words(texts: list[str], label: str = "yes") -> TextExplanation:
    """An explanation of words that no cutter of texts would find."""
    scores = [(-1) ** k / (k + 1) for k in range(len(texts))]
    words = [
        Word(text, 0, len(text), scores={label: Measures(score, score - 0.1, score + 0.2)})
        for text, score in zip(texts, scores, strict=True)
    ]
    return TextExplanation(
        "", tuple(words), {label: 0.9, "no": 0.1}, label, cost={}, settings={},
        path=path_of([0.3, 0.1], label, "no"),
    )  # fmt: skip


def path_of(left: list[float], label: str = "yes", now: str = "yes") -> DeletionPath:
    """Deletions of the first words, which leave the label these probabilities."""
    steps = [
        Deletion((k,), "word", {label: share, "no": 1 - share}, now) for k, share in enumerate(left)
    ]
    return DeletionPath(label, tuple(steps))


@pytest.fixture(autouse=True)
def _closed_figures() -> Iterator[None]:
    yield
    plt.close("all")


def bars(axes: Axes) -> list[Any]:
    (container,) = [one for one in axes.containers if hasattr(one, "patches")]
    return list(container.patches)


def intervals(axes: Axes) -> list[list[float]]:
    (lines,) = [one for one in axes.collections if isinstance(one, LineCollection)]
    return [sorted(float(x) for x, _ in segment) for segment in lines.get_segments()]


def tick_texts(axes: Axes) -> list[str]:
    return [label.get_text() for label in axes.get_yticklabels()]


def points(line: Line2D) -> tuple[list[float], list[float]]:
    return np.asarray(line.get_xdata()).tolist(), np.asarray(line.get_ydata()).tolist()


def notes(axes: Axes) -> list[str]:
    return [text.get_text() for text in axes.texts]


def height(axes: Axes) -> float:
    figure = axes.get_figure()
    assert isinstance(figure, Figure)
    return float(figure.get_size_inches()[1])


@pytest.mark.parametrize("label", ["yes", "no"])
def test_bars_are_the_scores_of_the_strongest_words(label: str) -> None:
    # Sampled, so that intervals have a width.
    explanation = explained(estimator="flip", base_masks=8).for_target(label)
    axes, _ = plot(explanation, top=4)
    top = explanation.top(4)
    assert tick_texts(axes) == [each.name for each in top]
    assert [bar.get_width() for bar in bars(axes)] == [each.score for each in top]
    places = [bar.get_y() + bar.get_height() / 2 for bar in bars(axes)]
    assert places == pytest.approx(axes.get_yticks())
    ends = np.array([(each.low, each.high) for each in top])
    assert np.ptp(ends, axis=1).min() > 0
    assert np.array(intervals(axes)) == pytest.approx(ends)
    # On the screen: the strongest is the highest.
    on_screen = [axes.transData.transform((0, place))[1] for place in places]
    assert on_screen == sorted(on_screen, reverse=True)


def test_blue_speaks_for_the_label_and_orange_against_it() -> None:
    explanation = explained()
    for label in ("yes", "no"):
        axes, _ = plot(explanation.for_target(label), top=4)
        colours = {
            text: tuple(round(255 * c) for c in to_rgb(bar.get_facecolor()))
            for text, bar in zip(tick_texts(axes), bars(axes), strict=True)
        }
        speaks_for = {"good", "fine", "nice"} if label == "yes" else {"bad"}
        assert {word for word, colour in colours.items() if colour == FOR} == speaks_for
        assert {word for word, colour in colours.items() if colour == AGAINST} == (
            {"good", "fine", "nice", "bad"} - speaks_for
        )


def test_title_and_axis_say_what_is_seen() -> None:
    axes, curve = plot(explained(TEXT * 2, base_masks=8))
    assert axes.get_title() == "yes 0.999: words for (blue) and against (orange)"
    assert axes.get_xlabel() == "score (share of the variation, signed), 95 % interval"
    assert "search" in curve.get_xlabel()
    exact, _ = plot(explained("good end"))
    assert exact.get_xlabel() == "score (share of the variation, signed), exact"
    assert not intervals(exact)
    (other,) = plot(explained(method="occlusion"))
    assert other.get_xlabel() == "score"
    assert not intervals(other)


def test_a_contrast_has_no_probability_and_repeated_words_have_numbers() -> None:
    def topics(texts: list[str]) -> list[list[float]]:
        return [[t.count("goal"), t.count("vote"), t.count("star")] for t in texts]

    explanation = TextExplainer(topics, label_names=["sports", "politics", "film"])(
        "goal vote goal"
    )
    axes, curve = plot(explanation.contrast("sports", "politics"))
    assert axes.get_title().startswith("sports rather than politics:")
    assert sorted(tick_texts(axes)) == ["goal (1)", "goal (2)", "vote"]
    assert curve.get_title().startswith("sports ")


def test_words_masked_as_one_are_one_bar() -> None:
    explanation = explained(budget=8)
    axes = plot(explanation)[0]
    assert any(each.shared_by > 1 for each in explanation.top(15))
    strong = [each for each in explanation.top(15) if abs(each.score) >= 0.0005]
    assert tick_texts(axes) == [each.name for each in strong]


def test_an_estimate_outside_of_its_interval_leaves_the_interval_as_it_is() -> None:
    explanation = of_words(["word"])
    score = Measures(score=1.05, low=0.8, high=1.0)
    explanation = replace(explanation, words=(Word("word", 0, 4, scores={"yes": score}),))
    axes = plot(explanation)[0]
    assert intervals(axes) == [pytest.approx([0.8, 1.0])]
    assert bars(axes)[0].get_width() == 1.05


def test_the_curve_starts_with_the_whole_text_and_follows_the_deletions() -> None:
    explanation = explained()
    assert explanation.path is not None
    _, curve = plot(explanation)
    places, shares = points(curve.get_lines()[0])
    steps = explanation.path.steps
    # Given to the classifier itself.
    left = [TEXT, TEXT.replace("good ", ""), TEXT.replace("good ", "").replace("fine ", "")]
    assert places == list(range(len(steps) + 1))
    assert shares[:3] == pytest.approx(sentiment(left)[:, 1])
    assert shares[1:] == [step.probabilities["yes"] for step in steps]
    # The same curve beside the words of another label: it is of the prediction.
    _, other = plot(explanation.for_target("no"))
    assert points(other.get_lines()[0])[1] == shares
    assert other.get_title().startswith("yes ")


def test_the_first_deletion_that_turns_the_prediction_is_marked() -> None:
    explanation = explained()
    assert explanation.path is not None
    _, curve = plot(explanation)
    turned = [step.prediction for step in explanation.path.steps].index("no") + 1
    marks = [line for line in curve.get_lines() if line.get_linestyle() == ":"]
    assert [points(mark)[0] for mark in marks] == [[turned, turned]]
    assert notes(curve) == ["now no"]


def test_nothing_is_marked_where_the_prediction_stays() -> None:
    _, curve = plot(replace(of_words(["good", "bad"]), path=path_of([0.8, 0.7])))
    assert not [line for line in curve.get_lines() if line.get_linestyle() == ":"]
    assert notes(curve) == []


def test_probabilities_have_an_axis_from_0_to_1_and_outputs_their_own() -> None:
    explanation = of_words(["good", "bad"])
    _, curve = plot(explanation)
    assert curve.get_ylabel() == "probability"
    assert curve.get_ylim() == (0, 1)

    def shouting(texts: list[str]) -> list[float]:
        return [20.0 * text.count("!") for text in texts]

    outputs = TextExplainer(shouting, label_names=["noise"])("oh !! no !!!")
    _, curve = plot(outputs)
    assert curve.get_ylabel() == "score"
    assert curve.get_ylim()[1] >= 100


def test_without_deletions_there_is_no_curve() -> None:
    assert len(plot(explained(path=False))) == 1
    assert len(plot(replace(explained(), path=path_of([])))) == 1


def test_given_axes_are_drawn_on_and_have_no_curve() -> None:
    _, (one, other) = plt.subplots(1, 2)
    assert plot(explained(), axes=other) == (other,)
    assert tick_texts(other)[0] == "good"
    assert not one.has_data()
    assert len(plt.get_fignums()) == 1


def test_a_new_figure_is_the_current_one() -> None:
    first, _ = plot(explained())
    assert plt.gcf() is first.get_figure()


def test_the_words_of_both_texts_of_a_pair_are_drawn() -> None:
    explanation = of_words(["good", "bad", "good"])
    words = tuple(replace(word, part=k % 2) for k, word in enumerate(explanation.words))
    axes = plot(replace(explanation, text=("good good", "bad"), words=words))[0]
    assert tick_texts(axes) == ["good (1)", "bad", "good (2)"]
    # The same word in two places is two bars.
    assert len({bar.get_y() for bar in bars(axes)}) == 3


def test_more_words_make_a_taller_figure_and_one_word_no_fat_bar() -> None:
    def thickness(axes: Axes) -> float:
        ends = axes.transData.transform([(0, 0), (0, bars(axes)[0].get_height())])
        return abs(float(ends[1, 1] - ends[0, 1]))

    one, ten, forty = (plot(of_words(["word"] * n), top=n)[0] for n in (1, 10, 40))
    assert height(one) < height(ten) < height(forty)
    for axes in (one, ten, forty):
        figure = axes.get_figure()
        assert figure is not None
        figure.canvas.draw()
    assert thickness(one) == pytest.approx(thickness(ten), rel=0.25)
    assert thickness(forty) == pytest.approx(thickness(ten), rel=0.25)


@pytest.mark.filterwarnings("ignore:the score is the same")
def test_words_without_any_influence_have_bars_of_length_0(tmp_path: Path) -> None:
    constant = TextExplainer(lambda texts: [1.0] * len(texts), label_names=["score"])
    explanation = constant("one or two")
    axes = plot(explanation)[0]
    assert [bar.get_width() for bar in bars(axes)] == [0, 0, 0]
    low, high = axes.get_xlim()
    assert low < 0 < high
    save_plot(explanation, tmp_path / "zero.png")


def test_one_base_mask_has_no_interval() -> None:
    axes = plot(explained("good bad end", estimator="flip", base_masks=1))[0]
    assert len(bars(axes)) > 0
    assert not intervals(axes)
    assert "95 %" not in axes.get_xlabel()


def test_no_words_are_an_empty_figure(tmp_path: Path) -> None:
    save_plot(replace(of_words([]), path=None), tmp_path / "empty.png")
    assert is_png(tmp_path / "empty.png")


def test_long_words_and_line_ends_become_one_short_line() -> None:
    axes = plot(of_words(["x" * 41, "two\n\n\tlines ", "x" * 40]))[0]
    assert tick_texts(axes) == ["x" * 39 + "…", "two lines", "x" * 40]


def test_no_word_is_read_as_a_formula_nor_steers_or_warns() -> None:
    label = "$\\label_1$ \u202e<b>"
    axes, curve = plot(of_words(HOSTILE, label), top=len(HOSTILE))
    figure = axes.get_figure()
    assert figure is not None
    figure.canvas.draw()  # a formula with a mistake raises here, a missing glyph warns
    assert tick_texts(axes)[:5] == HOSTILE[:5]
    assert not any(text.get_parse_math() for text in axes.get_yticklabels())
    assert not any(one.title.get_parse_math() for one in (axes, curve))
    assert curve.get_title().startswith("$\\label_1$ \ufffd<b>")
    shown = "".join([*tick_texts(axes), axes.get_title()])
    assert not set("\x1b\x00\ud800\u202e\ufffe\uffff") & set(shown)


def test_characters_that_the_font_lacks_are_drawn_in_another_one_if_there_is_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bundled = [font for font in fontManager.ttflist if "mpl-data" in str(font.fname)]
    monkeypatch.setattr(fontManager, "ttflist", bundled)
    fence, accent, unassigned = "\u29db", "\u0342", "\U000e1000"
    axes = plot(of_words([fence, "e" + accent, fence + accent, unassigned]))[0]
    # Fence and accent come with matplotlib, but in two fonts, and a letter and its accent need one.
    assert tick_texts(axes) == [fence, "e" + accent, "\ufffd", "\ufffd"]
    figure = axes.get_figure()
    assert figure is not None
    figure.canvas.draw()


def test_the_new_prediction_is_written_as_it_is() -> None:
    explanation = of_words(["word"])
    path = path_of([0.3, 0.3], now="$a_{")
    explanation = replace(explanation, path=path, probabilities={"yes": 1, "$a_{": 0})
    _, curve = plot(explanation)
    assert notes(curve) == ["now $a_{"]
    figure = curve.get_figure()
    assert figure is not None
    figure.canvas.draw()


def is_png(path: Path) -> bool:
    return path.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")


def pixels(path: Path) -> np.ndarray:
    return np.asarray(plt.imread(path))[..., :3]


def test_a_png_is_an_image_of_150_dpi_on_white_with_nothing_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "words.PNG"
    save_plot(of_words(HOSTILE, label="a label of many words " * 4), path, top=30)
    assert is_png(path)
    at = path.read_bytes().index(b"pHYs") + 4
    per_metre = struct.unpack(">II", path.read_bytes()[at : at + 8])
    assert [round(n * 0.0254) for n in per_metre] == [150, 150]
    image = pixels(path)
    rim = np.concatenate([image[:3].ravel(), image[-3:].ravel(), image[:, :3].ravel()])
    assert (rim == 1).all()
    assert (image[:, -3:] == 1).all()
    assert (image < 0.5).any()


def test_a_session_in_the_dark_still_saves_on_white(tmp_path: Path) -> None:
    save_plot(explained(), tmp_path / "plain.png")
    with plt.style.context("dark_background"):
        save_plot(explained(), tmp_path / "dark.png")
        assert plt.rcParams["axes.facecolor"] == "black"
    assert np.array_equal(pixels(tmp_path / "plain.png"), pixels(tmp_path / "dark.png"))


def svg_texts(path: Path) -> list[str]:
    tree = ElementTree.parse(path)
    return ["".join(one.itertext()) for one in tree.iter("{http://www.w3.org/2000/svg}text")]


def test_an_svg_keeps_words_as_text_and_hostile_ones_harmless(tmp_path: Path) -> None:
    path = tmp_path / "words.svg"
    save_plot(of_words(HOSTILE, "<script>label</script>"), path, top=len(HOSTILE))
    texts = svg_texts(path)
    # Also glyphs that this machine lacks: the viewer may have them.
    shown = {"$x_1$", "<script>alert(1)</script>", "]]>&amp;", "中文", "\ufffd[31m", "a\ufffdb"}
    assert shown <= set(texts)
    tags = {element.tag.rpartition("}")[2] for element in ElementTree.parse(path).iter()}
    assert "script" not in tags
    assert not re.search(r"<\s*script|\son\w+\s*=", path.read_text(encoding="utf-8"))


def test_the_same_explanation_is_the_same_svg(tmp_path: Path) -> None:
    for name in ("one.svg", "other.svg"):
        save_plot(explained(), tmp_path / name)
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "other.svg").read_bytes()


def test_saving_leaves_pyplot_and_its_settings_alone(tmp_path: Path) -> None:
    _, axes = plt.subplots()
    before = dict(matplotlib.rcParams)
    for name in ("words.png", "words.svg"):
        save_plot(explained(), str(tmp_path / name))
    assert plt.gca() is axes
    assert len(plt.get_fignums()) == 1
    assert not axes.has_data()
    assert dict(matplotlib.rcParams) == before


@pytest.mark.parametrize("name", ["words.pdf", "words", "words.json"])
def test_other_suffixes_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match=r"known: \.png, \.svg"):
        save_plot(explained(), tmp_path / name)
    assert not (tmp_path / name).exists()


@pytest.mark.parametrize("top", [0, -1])
def test_a_plot_needs_a_word(tmp_path: Path, top: int) -> None:
    with pytest.raises(ValueError, match="top must be at least 1"):
        plot(explained(), top=top)
    with pytest.raises(ValueError, match="top must be at least 1"):
        save_plot(explained(), tmp_path / "words.png", top=top)


@pytest.mark.parametrize("draw", [plot, lambda one: save_plot(one, "words.png")])
def test_without_matplotlib_the_extra_is_named(
    monkeypatch: pytest.MonkeyPatch, draw: Callable[[TextExplanation], object]
) -> None:
    explanation = explained()
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=re.escape('pip install "textsobol[plot]"')):
        draw(explanation)
