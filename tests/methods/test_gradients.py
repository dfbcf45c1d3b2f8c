"""Gradient methods, against closed forms and against captum called by hand."""

from typing import Any

import pytest

pytest.importorskip("captum")

import numpy as np
import torch
from captum.attr import FeatureAblation, InputXGradient, LayerIntegratedGradients
from captum.attr import Saliency as CaptumSaliency
from transformers import BertConfig, BertForSequenceClassification

from tests.problems import attribution, problem_of
from tests.text.tiny import FAMILIES, counting_bert, tokenizer
from textsobol import TextExplainer
from textsobol.methods import (
    METHODS,
    TEXT_METHODS,
    Differentiable,
    GradientInput,
    IntegratedGradients,
    Problem,
    Saliency,
    SmoothGrad,
)
from textsobol.sobol.arrays import Floats
from textsobol.text.masked_model import MaskedTextModel

NOISE = SmoothGrad.noise
SAMPLES = SmoothGrad.samples
STEPS = IntegratedGradients.n_steps
gradient_input = GradientInput()
integrated_gradients = IntegratedGradients()
saliency = Saliency()
smoothgrad = SmoothGrad()

TEXT = "A good film, nothingness really; the ending isn't bad!"
PAIR = ("The plot is good, nothingness", "a bad ending.")
# Captum's trapezoid rule has one point fewer than its weights are made for: they sum up to this.
SHARE = (STEPS - 1) / STEPS
WHITE_BOXES = [name for name in TEXT_METHODS if METHODS[name].kind == "white box"]


def random_bert(labels: int = 3, **config: Any) -> Any:
    tok = tokenizer()
    torch.manual_seed(1)
    model: Any = BertForSequenceClassification(
        BertConfig(  # type: ignore[call-arg]
            vocab_size=len(tok), hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
            intermediate_size=16, max_position_embeddings=64, num_labels=labels,
            pad_token_id=0, initializer_range=0.2, **config,
        )
    )  # fmt: skip
    with torch.no_grad():
        model.bert.embeddings.word_embeddings.weight[0] = 0  # the baseline by its number
    return model.eval()


def explainers() -> dict[str, TextExplainer]:
    bundled = TextExplainer()
    return {"bert": TextExplainer(random_bert(), tokenizer()), "bilstm": bundled}


@pytest.fixture(scope="module")
def known() -> dict[str, TextExplainer]:
    return explainers()


def parts_of(explainer: TextExplainer) -> tuple[Any, Any]:
    return explainer._classifier.model, explainer._classifier.tokenizer  # type: ignore[attr-defined]


def log_odds(model: Any, **inputs: torch.Tensor) -> torch.Tensor:
    shares = model(**inputs).logits.double().softmax(dim=1)
    return torch.log(shares) - torch.log1p(-shares)


def by_word(game: MaskedTextModel, encoding: Any, by_token: Floats) -> Floats:
    """Sums over the tokens in which the characters of a word are."""
    sums = []
    for number in game.scored:
        word = game.words[number]
        tokens = {encoding.char_to_token(0, at, word.part) for at in range(word.start, word.end)}
        sums.append(by_token[[token for token in tokens if token is not None]].sum(axis=0))
    return np.array(sums)


@pytest.mark.parametrize("name", ["bert", "bilstm"])
@pytest.mark.parametrize("text", [TEXT, PAIR])
def test_integrated_gradients_are_those_of_captum(
    known: dict[str, TextExplainer], name: str, text: Any
) -> None:
    """On token numbers and the model's own embedding layer; number 0 is the zero vector."""
    if name == "bilstm" and isinstance(text, tuple):
        text = " ".join(text)
    model, tok = parts_of(known[name])
    game = known[name].masked(text)
    found = attribution(integrated_gradients, game.problem(), budget=0, seed=0).scores
    texts = [[text]] if isinstance(text, str) else [[part] for part in text]
    encoding = tok(*texts, return_tensors="pt")
    ids = encoding["input_ids"]
    more = {"attention_mask": torch.ones_like(ids)}
    if name == "bert":
        more["token_type_ids"] = encoding["token_type_ids"]
        assert bool(more["token_type_ids"].any()) == isinstance(text, tuple)

    def forward(numbers: torch.Tensor) -> torch.Tensor:
        return log_odds(model, input_ids=numbers,
                        **{k: v.expand(len(numbers), -1) for k, v in more.items()})  # fmt: skip

    captum = LayerIntegratedGradients(forward, model.get_input_embeddings())
    by_token, gaps = [], []
    for label in range(len(game.labels)):
        own, gap = captum.attribute(
            ids, baselines=torch.zeros_like(ids), target=label, n_steps=80,
            method="riemann_trapezoid", return_convergence_delta=True,
        )  # fmt: skip
        by_token.append(own[0].sum(dim=1).detach().numpy())
        gaps.append(abs(gap.item()))
    expected = by_word(game, encoding, np.stack(by_token, axis=1))
    np.testing.assert_allclose(found, expected, atol=1e-4)
    with torch.no_grad():
        change = (forward(ids) - forward(torch.zeros_like(ids)))[0].abs().max()
    assert max(gaps) < 0.05 * change


@pytest.mark.parametrize("name", ["bert", "bilstm"])
def test_integrated_gradients_of_all_tokens_are_the_change_from_the_baseline(
    known: dict[str, TextExplainer], name: str
) -> None:
    """Special tokens and punctuation, each made a feature of its own, included."""
    game = known[name].masked(TEXT).problem()
    assert game.differentiable is not None
    model = game.differentiable()
    every = np.arange(len(model.owners))
    apart = problem_of(
        lambda z: np.zeros((len(z), game.n_labels)),
        len(every),
        lambda: Differentiable(model.forward, model.inputs, every),
    )
    found = attribution(integrated_gradients, apart, budget=0, seed=0).scores
    with torch.no_grad():
        ends = model.forward(torch.cat([model.inputs, torch.zeros_like(model.inputs)]))
    change = (ends[0] - ends[1]).numpy()
    atol = 0.05 * np.abs(change).max()
    np.testing.assert_allclose(found.sum(axis=0) / SHARE, change, atol=atol)
    whole = attribution(integrated_gradients, game, budget=0, seed=0).scores
    owned = model.owners >= 0
    for feature in range(game.n_features):
        np.testing.assert_allclose(whole[feature], found[model.owners == feature].sum(axis=0))
    assert np.abs(found[~owned]).sum() > 0, "the rest belongs to no word"


@pytest.mark.parametrize("name", ["bert", "bilstm"])
def test_gradients_are_those_of_captum(known: dict[str, TextExplainer], name: str) -> None:
    model, tok = parts_of(known[name])
    game = known[name].masked(TEXT)
    encoding = tok([TEXT], return_tensors="pt")
    vectors = model.get_input_embeddings()(encoding["input_ids"]).detach().requires_grad_()
    seen = torch.ones_like(encoding["input_ids"])

    def forward(inputs: torch.Tensor) -> torch.Tensor:
        return log_odds(model, inputs_embeds=inputs, attention_mask=seen)

    for method, captum in ((saliency, CaptumSaliency), (gradient_input, InputXGradient)):
        by_token = [
            captum(forward).attribute(vectors, target=label)[0].sum(dim=1).detach().numpy()
            for label in range(len(game.labels))
        ]
        found = attribution(method, game.problem(), budget=0, seed=0).scores
        expected = by_word(game, encoding, np.stack(by_token, axis=1))
        np.testing.assert_allclose(found, expected, atol=1e-4)
        assert method is not saliency or (found >= 0).all()


@pytest.mark.parametrize("name", ["bert", "bilstm"])
def test_occlusion_is_that_of_captum_on_strings(known: dict[str, TextExplainer], name: str) -> None:
    model, tok = parts_of(known[name])
    words = ["the", "good", "plot", "is", "nothingness", "and", "long"]

    def forward(present: torch.Tensor) -> torch.Tensor:
        rows = []
        for mask in present:
            text = " ".join(word for word, here in zip(words, mask, strict=True) if here)
            encoding = tok(text, return_tensors="pt")
            inputs = {k: encoding[k] for k in tok.model_input_names}
            rows.append(log_odds(model, **inputs).detach())
        return torch.cat(rows)

    explanation = known[name](" ".join(words), method="occlusion")
    for label, column in zip(explanation.targets, range(9), strict=False):
        own = FeatureAblation(forward).attribute(torch.ones(1, len(words)), target=column)
        found = [word.scores[label].score for word in explanation.words]
        np.testing.assert_allclose(found, own[0].numpy(), atol=1e-4)


def tokens_of(text: Any, family: str = "wordpiece uncased") -> dict[int, list[str]]:
    tok = tokenizer(family)
    game = TextExplainer(counting_bert(tok), tok).masked(text).problem()
    assert game.differentiable is not None
    owners = game.differentiable().owners
    texts = [text] if isinstance(text, str) else list(text)
    names = tok.convert_ids_to_tokens(tok(*texts)["input_ids"])
    return {
        feature: [names[k] for k in np.flatnonzero(owners == feature)]
        for feature in range(-1, game.n_features)
    }


def test_tokens_belong_to_their_words_and_the_rest_to_none() -> None:
    found = tokens_of("Good, nothingness don't!")
    assert found[0] == ["good"]
    assert "".join(found[1]).replace("##", "") == "nothingness"
    assert len(found[1]) > 1
    assert "".join(found[2]).replace("##", "") == "don't"
    assert found[-1] == ["[CLS]", ",", "!", "[SEP]"]
    pair = tokens_of(("good film.", "bad ending"))
    assert [pair[k] for k in range(4)] == [["good"], ["film"], ["bad"], ["ending"]]
    assert pair[-1] == ["[CLS]", ".", "[SEP]", "[SEP]"]


@pytest.mark.parametrize("family", FAMILIES)
def test_every_word_has_tokens_in_every_family(family: str) -> None:
    found = tokens_of("The plot is good, the ending bad.", family)
    for feature, word in enumerate(["the", "plot", "is", "good", "the", "ending", "bad"]):
        letters = "".join(found[feature]).replace("##", "").strip("\u0120\u2581")
        assert letters.lower() == word


@pytest.mark.parametrize(
    "config",
    [{}, {"labels": 1}, {"problem_type": "multi_label_classification"},
     {"problem_type": "regression"}],
)  # fmt: skip
@pytest.mark.parametrize("score", ["logit", "probability"])
@pytest.mark.parametrize("text", [TEXT, PAIR])
def test_the_model_with_gradients_says_what_the_game_says(
    config: dict[str, Any], score: str, text: Any
) -> None:
    explainer = TextExplainer(random_bert(**config), tokenizer(), score=score)
    game = explainer.masked(text)
    differentiable = game.problem().differentiable
    assert differentiable is not None
    model = differentiable()
    whole = game.score_masks(np.ones((1, game.n_features), dtype=bool))
    np.testing.assert_allclose(model.forward(model.inputs).detach(), whole, atol=1e-5)


def numeric(forward: Any) -> tuple[Problem, torch.Tensor]:
    """Five positions with two numbers each: features 0 (twice), 1, none and 2."""
    inputs = torch.tensor([[[1.0, 2.0], [-3.0, 4.0], [5.0, -6.0], [7.0, 8.0], [-9.0, 10.0]]])
    owners = np.array([0, 1, -1, 0, 2])
    n_labels = forward(inputs).shape[1]
    game = problem_of(lambda z: z[:, :n_labels], 3, lambda: Differentiable(forward, inputs, owners))
    return game, inputs[0]


def test_gradient_methods_in_closed_form() -> None:
    weights = torch.arange(20.0).reshape(2, 5, 2) - 9

    game, x = numeric(lambda inputs: torch.einsum("rpn,lpn->rl", inputs, weights))
    for method, each in (
        (saliency, weights.abs()), (smoothgrad, weights.abs()),
        (gradient_input, weights * x), (integrated_gradients, weights * x * SHARE),
    ):  # fmt: skip
        places = each.sum(dim=2).T
        expected = torch.stack([places[0] + places[3], places[1], places[4]])
        found = attribution(method, game, budget=0, seed=0).scores
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-4)


def test_gradient_methods_of_a_square_in_closed_form() -> None:
    game, x = numeric(lambda inputs: (inputs**2).sum(dim=(1, 2))[:, None])
    squares, sizes = (x**2).sum(dim=1), x.abs().sum(dim=1)

    def summed(places: torch.Tensor) -> Floats:
        return np.array([[places[0] + places[3]], [places[1]], [places[4]]])

    np.testing.assert_allclose(
        attribution(saliency, game, budget=0, seed=0).scores, summed(2 * sizes)
    )
    np.testing.assert_allclose(
        attribution(gradient_input, game, budget=0, seed=0).scores, summed(2 * squares)
    )
    found = attribution(integrated_gradients, game, budget=0, seed=0).scores
    np.testing.assert_allclose(found, summed(squares * SHARE), rtol=1e-3)
    smooth = attribution(smoothgrad, game, budget=0, seed=0).scores
    error = 2 * NOISE * np.sqrt(4 / SAMPLES)  # of a sum of four means
    np.testing.assert_allclose(smooth, summed(2 * sizes), atol=4 * error)
    assert (smooth != summed(2 * sizes)).any()


@pytest.mark.parametrize("name", WHITE_BOXES)
def test_the_model_stays_as_it_was(name: str) -> None:
    model = random_bert()
    model.train()
    model.bert.pooler.eval()
    model.classifier.weight.requires_grad_(False)
    modes = [module.training for module in model.modules()]
    weights = {k: v.clone() for k, v in model.state_dict().items()}
    explainer = TextExplainer(model, tokenizer())
    one, other = (explainer(TEXT, method=name) for _ in range(2))
    assert one.words == other.words, "nothing is dropped out"
    assert [module.training for module in model.modules()] == modes
    assert all(parameter.grad is None for parameter in model.parameters())
    frozen = [k for k, parameter in model.named_parameters() if not parameter.requires_grad]
    assert frozen == ["classifier.weight"]
    for key, value in model.state_dict().items():
        torch.testing.assert_close(value, weights[key], atol=0, rtol=0)
