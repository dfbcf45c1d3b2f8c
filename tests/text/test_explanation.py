"""What an explanation says: one definition of a score, sums that add up, contrasts, records."""

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.problems import arguments
from textsobol import Sobol, TextExplainer, TextExplanation
from textsobol.render.summary import summarise

FILLER = [f"w{k}" for k in range(30)]


def scored(weights: Any) -> TextExplainer:
    """A model that knows which words a text has."""

    def model(texts: list[str]) -> np.ndarray:
        return np.array([weights(set(text.split())) for text in texts], dtype=float)

    return TextExplainer(model)


def by_word(explanation: TextExplanation) -> dict[str, Any]:
    return {word.text: explanation.score_of(word) for word in explanation.words}


def audited(has: set[str]) -> list[float]:
    both = {"alpha", "beta"} <= has
    return [1.0 * both + 0.2 * ("gamma" in has) - 0.3 * ("delta" in has)]


@pytest.mark.parametrize("text", ["alpha beta gamma delta", "gamma delta beta alpha"])
def test_a_word_gets_its_own_effect_and_equal_words_get_equal_scores(text: str) -> None:
    """The audit's first game: shares and effects worked out by hand."""
    explanation = scored(audited)(text)
    found = by_word(explanation)
    # Var = AND 3/16 + .04/4 + .09/4; T of an AND's word is 1/4 E[z] = 1/8.
    variance = 3 / 16 + 0.01 + 0.0225
    assert (
        found["alpha"].score
        == pytest.approx(found["beta"].score)
        == pytest.approx(0.125 / variance)
    )
    assert found["gamma"].effect == pytest.approx(0.2)
    assert found["gamma"].score == pytest.approx(0.01 / variance)
    assert found["delta"].score == pytest.approx(-0.0225 / variance)
    for own in found.values():
        assert own.low == own.score == own.high, "exact"
    assert explanation.baseline == pytest.approx(0.25 + 0.1 - 0.15)
    assert explanation.additive == pytest.approx(0.5 * (0.5 + 0.5 + 0.2 - 0.3))
    total = explanation.baseline + explanation.additive + explanation.remainder
    assert total == pytest.approx(0.9), "the score of the whole text"
    assert explanation.additive_share == pytest.approx(sum(own.first for own in found.values()))


@pytest.mark.parametrize("place", range(15))
def test_two_words_that_only_decide_together_come_first(place: int) -> None:
    """Planted pairs, at the default budget: precision@2 is 1 and both get the same credit."""
    slopes = dict(zip(FILLER, np.random.default_rng(place).normal(scale=0.1, size=30), strict=True))

    def model(has: set[str]) -> list[float]:
        noise = sum(slopes.get(word, 0.0) for word in has)
        return [3.0 * ({"zorg", "blick"} <= has) + noise]

    words = list(FILLER)
    words.insert(place, "zorg")
    words.insert(2 * place, "blick")
    top = scored(model)(" ".join(words)).top(2)
    assert {each.word for each in top} == {"zorg", "blick"}
    assert all(each.score > 0 and each.is_clear for each in top)
    assert abs(top[0].score - top[1].score) <= 0.15 * top[0].score


@pytest.mark.parametrize("place", range(10))
def test_a_single_planted_word_and_the_order_of_two_come_first(place: int) -> None:
    slopes = dict(zip(FILLER, np.random.default_rng(place).normal(scale=0.1, size=30), strict=True))

    def noise(text: str) -> float:
        return sum(slopes.get(word, 0.0) for word in text.split())

    def single(texts: list[str]) -> list[float]:
        return [2.0 * ("zorg" in text) + noise(text) for text in texts]

    def ordered(texts: list[str]) -> list[float]:
        places = [(t.find("zorg"), t.find("blick")) for t in texts]
        order = [(a >= 0 and b >= 0) * float(np.sign(b - a)) for a, b in places]
        return [2.0 * sign + noise(t) for sign, t in zip(order, texts, strict=True)]

    words = list(FILLER)
    words.insert(3 * place, "blick")
    words.insert(place, "zorg")
    text, backward = " ".join(words), " ".join(reversed(words))
    assert TextExplainer(single)(text).top(1)[0].word == "zorg"
    for given, sign in ((text, 1), (backward, -1)):  # the largest by size, whatever the sign
        top = TextExplainer(ordered)(given).top(2)
        assert {each.word for each in top} == {"zorg", "blick"}
        assert [np.sign(each.score) for each in top] == [sign, sign]
        assert abs(top[0].score - top[1].score) <= 0.15 * abs(top[0].score)


def test_both_labels_of_two_are_mirrored() -> None:
    explanation = TextExplainer()("A gripping film, ruined by its dull and endless ending. " * 2)
    for word in explanation.words:
        negative, positive = word.scores["NEGATIVE"], word.scores["POSITIVE"]
        assert negative.total == pytest.approx(positive.total, rel=1e-4)
        assert negative.effect == pytest.approx(-positive.effect, rel=1e-4)
        assert negative.score == pytest.approx(-positive.score, rel=1e-4)
        assert (negative.low, negative.high) == pytest.approx(
            (-positive.high, -positive.low), rel=1e-3, nan_ok=True
        )
        assert np.sign(negative.score) == np.sign(negative.effect)


def test_intervals_of_negative_words_have_sorted_ends() -> None:
    explanation = TextExplainer()("A gripping film, ruined by its dull and endless ending. " * 2)
    against = [word.scores["POSITIVE"] for word in explanation.words]
    against = [own for own in against if own.high < 0]
    assert any(own.low < own.high for own in against), "not exact, and sure to be negative"
    for own in against:
        assert own.low <= own.score <= own.high < 0
        assert (own.low, own.high) == (-own.total_high, -own.total_low)
        assert own.effect_low <= own.effect <= own.effect_high < 0


def topics(texts: list[str]) -> np.ndarray:
    return np.array(
        [[2.0 * t.count("goal"), t.count("vote") + t.count("goal"), t.count("star")] for t in texts]
    )


@pytest.mark.parametrize("text", ["A goal, a vote, a star", "goal vote star " + " ".join(FILLER)])
def test_a_contrast_is_the_explanation_of_the_difference(text: str) -> None:
    explainer = TextExplainer(topics, label_names=["sports", "politics", "film"])
    before = explainer(text)
    found = before.contrast("sports", "politics")
    assert found.target == "sports rather than politics"
    assert found.cost == before.cost, "no forward pass"

    def difference(texts: list[str]) -> np.ndarray:
        scores = topics(texts)
        return scores[:, 0] - scores[:, 1]

    masks = None if before.is_exact else before.settings["base_masks"]
    direct = TextExplainer(difference)(text, method=Sobol(base_masks=masks, path=False))
    for one, other in zip(found.words, direct.words, strict=True):
        assert found.score_of(one) == direct.score_of(other)
    assert found.baseline == pytest.approx(direct.baseline)
    assert found.remainder == pytest.approx(direct.remainder, abs=1e-9)
    assert TextExplanation.from_dict(found.to_dict()) == found
    assert "sports rather than politics" in str(found)
    assert found.top(1)[0].word == "goal"


def test_a_contrast_of_two_labels_has_the_scores_of_the_first() -> None:
    explanation = TextExplainer()("A gripping film, ruined by its dull ending.")
    found = explanation.contrast("NEGATIVE", "POSITIVE")
    for one, other in zip(found.top(5), explanation.for_target("NEGATIVE").top(5), strict=True):
        assert one.word == other.word
        assert one.score == pytest.approx(other.score, rel=1e-5)
        assert one.effect == pytest.approx(2 * other.effect, rel=1e-5)


def test_contrasts_that_cannot_be_made_say_why() -> None:
    explanation = TextExplainer(topics, label_names=["sports", "politics", "film"])("a goal")
    with pytest.raises(ValueError, match="'music' is not known"):
        explanation.contrast("sports", "music")
    with pytest.raises(ValueError, match="two different labels"):
        explanation.contrast("sports", "sports")
    loaded = TextExplanation.from_dict(explanation.to_dict())
    with pytest.raises(ValueError, match="explain the text again"):
        loaded.contrast("sports", "film")
    occlusion = TextExplainer(topics)("a goal", method="occlusion")
    with pytest.raises(ValueError, match="method='sobol'"):
        occlusion.contrast("0", "1")
    with pytest.raises(ValueError, match="does not say how scores add up"):
        _ = occlusion.baseline


def test_records_have_names_and_print_as_a_line() -> None:
    explanation = scored(lambda has: [2.0 * ("good" in has)])("very very good")
    (best,) = explanation.top(1)
    assert (best.word, best.start, best.end, best.label) == ("good", 10, 14, "0")
    assert str(best) == "good: +1.000, effect +2.00"
    assert [each.name for each in explanation.top(3)[1:]] == ["very (1)", "very (2)"]
    assert "+0.000" not in str(explanation), "a word that does nothing is not listed"
    assert "exact" in str(explanation)


def test_explanations_can_be_pickled() -> None:
    explanation = TextExplainer(topics)("goal vote " + " ".join(FILLER))
    again = pickle.loads(pickle.dumps(explanation))
    assert again == explanation
    assert again.contrast("0", "1").words == explanation.contrast("0", "1").words


def test_a_word_that_few_masks_may_have_missed_is_no_settled_matter() -> None:
    """Three words that only decide together: one of them may show nothing in four masks."""
    three = scored(lambda has: [1.0 * ({"w3", "w40", "w77"} <= has)])
    text = " ".join(f"w{k}" for k in range(103))
    explanations = [three(text, seed=seed) for seed in range(8)]
    missed = [
        e for e in explanations if min(by_word(e)[w].score for w in ("w3", "w40", "w77")) == 0
    ]
    assert missed, "none of the seeds shows what this test is about"
    for explanation in missed:
        assert explanation.advice is not None
        planted = [by_word(explanation)[word] for word in ("w3", "w40", "w77")]
        assert all(own.high > 0.3 for own in planted)


def test_words_that_matter_in_no_direction_are_said_to_matter() -> None:
    xor = scored(lambda has: [float(("aa" in has) != ("bb" in has))])
    exact = xor("aa bb cc dd")
    assert by_word(exact)["aa"].doubt == "no direction on average"
    assert (
        summarise(exact)
        == "0: aa (100 % of the variation) and bb matter most, no direction on average"
    )
    sampled = xor("aa bb " + " ".join(FILLER))
    assert by_word(sampled)["aa"].doubt == "direction unclear"
    assert summarise(sampled).endswith("bb matter most, direction unclear")
    for explanation in (exact, sampled):
        for own in by_word(explanation).values():
            assert own.low <= own.score <= own.high


def test_a_direction_that_rounding_decides_is_none() -> None:
    """The score and its interval agree on it."""
    nearly = scored(lambda has: [float(("aa" in has) != ("bb" in has)) - 1e-5 * ("aa" in has)])
    own = by_word(nearly("aa bb cc"))["aa"]
    assert own.low == -own.high < own.score == own.high


def test_a_contrast_with_a_label_that_is_not_predicted_claims_no_decision() -> None:
    explanation = TextExplainer()("A gripping, beautifully acted film, ruined by its dull ending.")
    other = explanation.contrast("POSITIVE", "NEGATIVE")
    assert summarise(other).startswith("for POSITIVE rather than NEGATIVE: beautifully")
    assert "mostly because of" in summarise(explanation.contrast("NEGATIVE", "POSITIVE"))


def test_a_budget_for_one_group_or_one_mask_claims_little() -> None:
    text = "A gripping, beautifully acted film, ruined by its dull ending."
    assert summarise(TextExplainer()(text, budget=2)).endswith("too small to tell the words apart")
    said = summarise(TextExplainer()(text, budget=6))
    assert said.endswith("too few forward passes for intervals")
    assert "\u201c" in said, "groups are quoted"


def test_the_summary_names_the_words_that_matter() -> None:
    explanation = TextExplainer()("A gripping, beautifully acted film, ruined by its dull ending.")
    assert summarise(explanation).startswith("NEGATIVE, mostly because of dull (6")
    assert "% of the variation) and ruined" in summarise(explanation)
    other = summarise(explanation.for_target("POSITIVE"))
    assert other.startswith("for POSITIVE: beautifully")
    assert "against it: dull" in other
    assert str(explanation.flip) == "without dull: POSITIVE 0.69"


def test_groups_do_not_depend_on_the_label_that_is_looked_at() -> None:
    """Every label has one word of its own; they differ much in scale."""
    words = [f"w{k}" for k in range(300)]
    own = {"A": "w20", "B": "w150", "C": "w280"}

    def model(texts: list[str]) -> list[list[float]]:
        has = [set(text.split()) for text in texts]
        return [[100.0 * ("w20" in h), 1.0 * ("w150" in h), 0.01 * ("w280" in h)] for h in has]

    explainer = TextExplainer(model, label_names=list(own))
    for seed in range(3):
        plain = explainer(" ".join(words), budget=60, seed=seed)
        for label, word in own.items():
            looked_at = explainer(" ".join(words), budget=60, seed=seed, target=label)
            assert looked_at.words == plain.words
            assert replace(plain.for_target(label), cost=looked_at.cost) == looked_at
            assert word in looked_at.top(1)[0].word.split()
            assert looked_at.top(1)[0].shared_by < 50, "opened for every label"


def test_numbers_of_numpy_are_recorded_as_plain_ones(tmp_path: Any) -> None:
    explainer = scored(lambda has: [1.0 * ("w3" in has)])
    given: dict[str, Any] = {
        "seed": np.int64(3), "keep": np.float32(0.5), "budget": np.int64(300),
    }  # fmt: skip
    explanation = explainer(" ".join(FILLER), **arguments(given))
    same = explainer(" ".join(FILLER), seed=3, budget=300)
    assert explanation.words == same.words
    assert explanation.settings == same.settings
    explanation.save(tmp_path / "x.json")
    assert TextExplanation.load(tmp_path / "x.json") == explanation
    given = {"base_masks": np.int64(2), "interactions": 2}
    few = explainer(" ".join(FILLER), **arguments(given))
    few.save(tmp_path / "few.json")


@pytest.mark.parametrize(
    "how",
    [
        {"base_masks": 1, "path": False},
        {"base_masks": 1},
        {"base_masks": 40, "estimator": "jansen"},
        {"budget": 20},
        {"budget": 200, "interactions": 3},
        {"budget": 200, "sign": "occlusion"},
    ],
)
@pytest.mark.parametrize("n_words", [6, 30])
def test_the_cost_counts_the_whole_text(how: dict[str, Any], n_words: int) -> None:
    explainer = scored(lambda has: [1.0 * ("w3" in has) + 0.1 * len(has)])
    cost = explainer(" ".join(FILLER[:n_words]), **arguments(how)).cost
    assert cost["rows"] >= cost["distinct"] == cost["forwarded"]


@pytest.mark.parametrize("keep", [None, "0.5", 0.0, 1, True])
def test_words_are_there_or_not_so_that_there_is_a_keep_rate(keep: Any) -> None:
    explainer = scored(lambda has: [1.0 * ("w3" in has)])
    with pytest.raises(ValueError, match="between 0 and 1") as raised:
        explainer("w1 w2 w3", method=Sobol(keep=keep))
    assert "or None" not in str(raised.value)
    with pytest.raises(ValueError, match="between 0 and 1"):
        next(explainer.stream("w1 w2 w3", method=Sobol(keep=keep)))


def test_the_last_line_names_what_the_scores_of_other_methods_are() -> None:
    explanation = TextExplainer()("A dull film.", method="occlusion")
    old = {k: v for k, v in explanation.settings.items() if k != "quantity"}
    for each, method in (
        (explanation, "occlusion (loss when left out)"),
        (replace(explanation, settings=old), "occlusion"),
        (TextExplainer()("A dull film."), "sobol"),
    ):
        assert str(each).splitlines()[-1].startswith(f"imdb-bilstm: {method}, ")
