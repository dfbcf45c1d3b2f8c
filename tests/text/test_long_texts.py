"""Long texts: what matters is found, at a cost that grows with the length, not with its square."""

from re import findall as find_all

import numpy as np
import pytest

from textsobol import Sobol, TextExplainer, UnknownWordsWarning


def _write(n_words: int, planted: dict[int, str]) -> str:
    rng = np.random.default_rng(n_words)
    words = [f"{'abcdefghij'[k % 10]}{rng.integers(10_000)}" for k in range(n_words)]
    for place, word in planted.items():
        words[place] = word
    # Sentences of 20 words, paragraphs of 100.
    for end in range(19, n_words, 20):
        words[end] += ".\n\n" if end % 100 == 99 else "."
    return " ".join(words)


def decides(texts: list[str]) -> list[float]:
    """One word decides; a pair only together; a faint word does nearly nothing."""
    return [
        2.0 * ("zikaron" in text)
        - 2.0 * ("quorum" in text and "vexil" in text)
        + 0.01 * ("faint" in text)
        for text in texts
    ]


@pytest.mark.parametrize("n_words", [300, 1000, 2000])
def test_planted_words_are_found_through_a_plain_function(n_words: int) -> None:
    planted = {n_words // 3: "zikaron", n_words // 2: "quorum", n_words - 10: "vexil", 5: "faint"}
    text = _write(n_words, planted)
    found = TextExplainer(decides, progress=False)(text)
    top = found.top(3)
    assert {word.word for word in top} == {"zikaron", "quorum", "vexil"}
    assert all(word.shared_by == 1 for word in top)
    assert found.cost["forwarded"] <= 1609
    assert found.is_grouped


@pytest.mark.parametrize("planted", [["zikaron"], ["quorum", "vexil"]])
@pytest.mark.parametrize("n_words", [1000, 2000])
def test_planted_words_are_found_among_words_that_all_matter_a_little(
    n_words: int, planted: list[str]
) -> None:
    """A third of the variation comes from all other words together: no group does nothing."""
    rng = np.random.default_rng(3)
    places = rng.permutation(n_words)[: len(planted)]
    text = _write(n_words, dict(zip(places.tolist(), planted, strict=True)))
    others = [word for word in find_all(r"\w+", text) if word not in planted]
    weights = dict(zip(others, rng.normal(size=len(others)) / n_words**0.5, strict=True))

    def score(texts: list[str]) -> list[float]:
        return [
            sum(weights.get(word, 0.0) for word in find_all(r"\w+", text))
            + 1.4 * len(planted) * all(word in text for word in planted)
            for text in texts
        ]

    found = TextExplainer(score, progress=False)(text)
    top = found.top(len(planted))
    assert {word.word for word in top} == set(planted)
    assert all(word.shared_by == 1 for word in top)
    assert found.cost["forwarded"] <= 1609
    sums = found.sums[found.target]
    assert 0 < sums.screened < sums.screened_high < 1
    assert f"at most {100 * sums.screened_high:.0f} % of the variation" in str(found)


@pytest.mark.parametrize("seed", range(5))
def test_what_is_left_in_groups_is_bounded(seed: int) -> None:
    """Of an additive score, groups have known indices: their squared sums."""
    rng = np.random.default_rng(seed)
    text = _write(300, {})
    words = find_all(r"\w+", text)
    weights = dict(zip(words, rng.normal(size=300) * np.exp(rng.normal(size=300)), strict=True))
    explainer = TextExplainer(
        lambda texts: [sum(weights[word] for word in find_all(r"\w+", t)) for t in texts],
        progress=False,
    )
    found = explainer(text)
    sizes, is_group, place = [], [], 0
    while place < len(words):
        n = found.words[place].shared_by
        sizes.append(sum(weights[word] for word in words[place : place + n]))
        is_group.append(n > 1)
        place += n
    shares = np.square(sizes) / np.square(sizes).sum()
    sums = found.sums[found.target]
    assert sums.screened == pytest.approx(shares[is_group].sum(), rel=0.2)
    assert shares[is_group].sum() <= sums.screened_high


def test_the_default_does_not_grow_beyond_two_hundred_words() -> None:
    explainer = TextExplainer(decides, progress=False)
    costs = [
        explainer(_write(n, {3: "zikaron"}), method=Sobol(path=False)).settings["budget"]
        for n in (100, 200, 400, 1200)
    ]
    assert costs == [809, 1609, 1609, 1609]


def test_options_that_flip_every_word_keep_their_passes() -> None:
    explainer = TextExplainer(decides, progress=False)
    found = explainer(_write(250, {3: "zikaron"}), method=Sobol(estimator="flip", path=False))
    assert found.settings["budget"] == 1 + 8 * 251
    assert not found.is_grouped


@pytest.mark.parametrize("n_words", [300, 1000])
def test_gates_find_what_decides_in_a_long_text(n_words: int) -> None:
    """The bundled model: a few strong words among many that it does not know."""
    text = _write(n_words, {n_words // 2: "wonderful", n_words // 4: "awful", 7: "superb"})
    with pytest.warns(UnknownWordsWarning):
        found = TextExplainer(progress=False)(text)
    assert found.cost["gates"] == 12
    truth = ["awful", "superb"]  # "wonderful" changes nothing beside them
    assert [word.word for word in found.top(2)] == truth
    assert found.n_screened > n_words - 30
    sums = found.sums[found.target]
    assert 0 <= sums.screened <= sums.screened_high
