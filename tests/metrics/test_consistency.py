"""Does an explanation stay when it should, and do models become random as they should?"""

from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr
from transformers import BertConfig
from transformers import BertForSequenceClassification as Bert

from tests.problems import attribution, problem_of
from textsobol import TextExplainer
from textsobol.methods import Occlusion, Rise
from textsobol.metrics.agreement import rank_correlation, spearman
from textsobol.metrics.consistency import convergence, randomise, stability
from textsobol.models import BUNDLED
from textsobol.models.bilstm import BiLstmForSequenceClassification
from textsobol.sobol.arrays import Floats

occlusion = Occlusion()
rise = Rise()


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("ties", [False, True])
def test_spearman_is_that_of_scipy(seed: int, ties: bool) -> None:
    one, other = np.random.default_rng(seed).normal(size=(2, 30))
    if ties:
        one, other = np.round(one), np.round(other)
    assert spearman(one, other) == pytest.approx(spearmanr(one, other).statistic, abs=1e-12)


def test_spearman_where_it_is_not_defined() -> None:
    assert np.isnan(spearman([1.0], [2.0]))
    assert np.isnan(spearman([], []))
    assert np.isnan(spearman([1, 1, 1], [1, 2, 3]))
    assert spearman([1, 2, 3], [-1, -5, -7]) == pytest.approx(-1)


def test_rank_correlation_of_two_methods_is_that_of_their_scores() -> None:
    def score(texts: list[str]) -> list[float]:
        return [2.0 * ("good" in t) - ("bad" in t) * 3 + 0.1 * t.count("a") for t in texts]

    explainer = TextExplainer(score, label_names=["x"])
    text = "a good and rather bad film at that"
    names = ("occlusion", "rise", "random")
    one, other, unsigned = (explainer(text, method=name, budget=budget) for name, budget in
                            zip(names, (None, 20, None), strict=True))  # fmt: skip
    scores = [[word.scores["x"].score for word in each.words] for each in (one, other, unsigned)]
    assert rank_correlation(one, other) == pytest.approx(spearmanr(*scores[:2]).statistic)
    assert rank_correlation(one, one, label="x") == pytest.approx(1)
    # A method without signs is compared by size.
    sizes = spearmanr(np.abs(scores[0]), scores[2]).statistic
    assert rank_correlation(one, unsigned) == pytest.approx(sizes)


def test_stability_is_the_mean_over_all_pairs_of_seeds() -> None:
    draws = np.random.default_rng(0).normal(size=(4, 12))
    pairs = [
        spearmanr(draws[i], draws[j]).statistic for i in range(4) for j in range(i + 1, 4)
    ]  # fmt: skip
    assert stability(lambda seed: draws[seed], range(4)) == pytest.approx(np.mean(pairs))
    assert stability(lambda seed: draws[0] * (seed + 1), [3, 9]) == pytest.approx(1)


def test_convergence_rises_with_the_budget() -> None:
    weights = np.linspace(-1, 1, 15)
    game = problem_of(lambda z: z @ weights, 15)
    converged = attribution(occlusion, game, budget=16, seed=0).scores[:, 0]

    def explain(budget: int) -> Floats:
        return attribution(rise, game, budget=budget, seed=0).scores[:, 0]

    budgets = [5, 100, 20_000]
    found = convergence(explain, budgets, converged)
    expected = [spearmanr(explain(budget), weights).statistic for budget in budgets]
    assert found == pytest.approx(expected)
    assert found[0] < found[1] < found[2]
    assert found[2] > 0.98
    assert convergence(lambda _: converged, [1], converged) == pytest.approx([1])


def tiny_bert() -> Any:
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=40, hidden_size=8, num_hidden_layers=11, num_attention_heads=2,
        intermediate_size=8, max_position_embeddings=16,
    )  # fmt: skip
    return Bert(config)


def bundled() -> Any:
    return BiLstmForSequenceClassification.from_pretrained(BUNDLED)


def snapshots(model: Any, seed: int = 0) -> dict[str, dict[str, torch.Tensor]]:
    return {
        stage: {name: p.detach().clone() for name, p in changed.named_parameters()}
        for stage, changed in randomise(model, seed)
    }


STAGES = {
    tiny_bert: [
        "classifier", "bert.pooler", *(f"bert.encoder.layer.{k}" for k in range(10, -1, -1)),
        "bert.embeddings",
    ],
    bundled: ["classifier", "projection", "backwards", "forwards", "embedding"],
}  # fmt: skip


@pytest.mark.parametrize("make", STAGES)
def test_models_become_random_from_the_output_to_the_input(make: Any) -> None:
    model = make()
    original = {name: p.detach().clone() for name, p in model.named_parameters()}
    before = original
    found = snapshots(model)
    assert list(found) == STAGES[make]
    done: tuple[str, ...] = ()
    for stage, weights in found.items():
        for name, weight in weights.items():
            own = name.startswith(stage + ".")
            if own and original[name].std() > 0:
                assert not torch.equal(weight, original[name]), name
            elif not own:
                assert torch.equal(weight, before[name]), f"{name} is not of {stage}"
            if not own and not name.startswith(done):
                assert torch.equal(weight, original[name]), f"{name} comes later"
        before, done = weights, (*done, stage + ".")
    assert all(name.startswith(done) for name in original), "all of it is random in the end"


@pytest.mark.parametrize("make", STAGES)
def test_the_model_that_was_given_is_not_changed(make: Any) -> None:
    model = make()
    weights = {name: value.clone() for name, value in model.state_dict().items()}
    state = torch.get_rng_state()
    snapshots(model)
    for name, value in model.state_dict().items():
        assert torch.equal(value, weights[name])
    assert torch.equal(torch.get_rng_state(), state)


def test_random_weights_have_the_mean_and_spread_of_the_trained_ones() -> None:
    model = bundled()
    (*_, last) = snapshots(model).values()
    for name, weight in model.named_parameters():
        drawn, n = last[name], weight.numel()
        spread = weight.std(correction=0).item()
        error = spread / n**0.5
        assert drawn.mean().item() == pytest.approx(weight.mean().item(), abs=5 * error)
        assert drawn.std(correction=0).item() == pytest.approx(spread, rel=5 / (2 * n) ** 0.5)


def test_the_same_seed_gives_the_same_random_weights() -> None:
    model = tiny_bert()
    one, other, another = (snapshots(model, seed) for seed in (3, 3, 4))
    for stage, weights in one.items():
        assert all(torch.equal(weights[name], other[stage][name]) for name in weights)
    key = "classifier.weight"
    assert not torch.equal(one["classifier"][key], another["classifier"][key])


def test_explanations_of_a_random_model_are_others() -> None:
    """The check that it is made for, on the bundled classifier."""
    plain = TextExplainer()
    classifier: Any = plain._classifier
    text = "A gripping, beautifully acted film, ruined by its dull ending."
    truth = plain(text, method="occlusion", target="POSITIVE")
    *_, (_, model) = randomise(classifier.model, 0)
    random = TextExplainer(model, classifier.tokenizer)(text, method="occlusion", target="POSITIVE")
    assert abs(rank_correlation(truth, random)) < 0.8
    again = TextExplainer()(text, method="occlusion", target="POSITIVE")
    assert rank_correlation(truth, again) == pytest.approx(1)
