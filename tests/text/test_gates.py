"""Gates: 1 is the model itself, 0 the padded text, and gradients are finite differences."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from tests.text.tiny import FAMILIES, counting_bert, random_model, tokenizer
from textsobol import TextExplainer
from textsobol.outputs import compute_score_tensor
from textsobol.sobol.arrays import Array, Floats
from textsobol.text.gates import GatedText, gate_gradients, takes_gates
from textsobol.text.words import find_words

TEXT = "The plot is good but the ending is bad and long."
FUSED_TOO = [
    "bert", "roberta", "electra", "albert", "distilbert", "modernbert", "modernbert, mean", "gpt2",
    "gpt-neox", "llama", "qwen2", "mistral, sliding",
]  # fmt: skip
EAGER_ONLY = ["mpnet", "deberta", "deberta-v3", "xlnet", "gemma2", "bloom"]
CASES = [
    *((family, attention) for family in FUSED_TOO for attention in ("eager", "sdpa")),
    *((family, None) for family in EAGER_ONLY),
]
# A convolution reads hidden neighbours; BART's decoder reads the words, too; OPT counts the words
# that it sees; Longformer has no one softmax over all tokens, and FNet none at all.
WITHOUT = ["deberta-v2 with convolution", "bart", "opt", "longformer", "fnet"]


def _classifier(family: str, attention: str | None = None, **config: Any) -> Any:
    tok = tokenizer() if family == "bert" else FAMILIES["byte bpe, roberta"]()
    model = random_model(family, tok, attention=attention, **config)
    return TextExplainer(model, tok)._classifier


def _gated(classifier: Any, *texts: str) -> GatedText:
    return GatedText(classifier, texts, [find_words(text) for text in texts])


def _pad(classifier: Any, masks: Array, *texts: str) -> Floats:
    """What the perturbation ``pad`` makes of the masks."""
    prepared = classifier.prepare(texts, [find_words(text) for text in texts], "pad")
    return np.asarray(prepared.engine(prepared.inputs(masks), lambda _: None).outputs)


def _forward(text: GatedText, gates: Any) -> Floats:
    with torch.no_grad():
        return np.asarray(text.forward(torch.tensor(np.asarray(gates, dtype=float))).numpy())


def _logits(outputs: torch.Tensor) -> torch.Tensor:
    return outputs


def _draw_gates(n_words: int, rows: int = 3) -> Floats:
    return np.random.default_rng(1).uniform(0.2, 1.0, (rows, n_words))


# They compute some layers in single precision, whatever their weights are.
IN_SINGLE = [
    "deberta", "modernbert", "modernbert, mean", "gpt-neox", "llama", "qwen2", "mistral, sliding",
    "gemma2", "bloom",
]  # fmt: skip


def _check(classifier: Any, *texts: str, step: float = 1e-5) -> None:
    """All that gates promise, of a model in double precision."""
    assert takes_gates(classifier)
    text, n_words = _gated(classifier, *texts), sum(len(find_words(text)) for text in texts)
    masks = np.random.default_rng(0).random((6, n_words)) < 0.6
    masks[0], masks[1, 0] = True, False
    np.testing.assert_allclose(
        _forward(text, masks), _pad(classifier, masks, *texts), atol=1e-4, rtol=1e-4
    )
    gates = _draw_gates(n_words)
    scores, slopes = gate_gradients(text, gates, _logits)
    np.testing.assert_allclose(scores, _forward(text, gates), atol=1e-9)
    largest = np.abs(slopes).max()
    assert largest > 1e-3
    for word in range(n_words):
        wanted = _differences(text, gates, word, step)
        np.testing.assert_allclose(slopes[:, word], wanted, rtol=1e-3, atol=1e-3 * largest)


def _differences(text: GatedText, gates: Floats, word: int, step: float) -> Floats:
    """The derivatives with respect to one gate, exact up to the fourth power of the step."""
    change = step * np.eye(gates.shape[1])[word]
    near, far = (
        _forward(text, gates + times * change) - _forward(text, gates - times * change)
        for times in (1, 2)
    )
    return np.asarray((8 * near - far) / (12 * step))


@pytest.mark.parametrize(("family", "attention"), CASES)
def test_gates_mean_what_they_should(family: str, attention: str | None) -> None:
    classifier = _classifier(family, attention)
    classifier.model.double()
    _check(classifier, TEXT, step=2e-3 if family in IN_SINGLE else 1e-5)
    text = _gated(classifier, TEXT)
    own = classifier.model(**classifier.tokenizer([TEXT], return_tensors="pt")).logits
    whole = _forward(text, np.ones((1, len(find_words(TEXT)))))
    np.testing.assert_allclose(whole, own.detach(), atol=1e-6)


@pytest.mark.parametrize("family", ["bert", "roberta"])
def test_gates_of_pairs(family: str) -> None:
    classifier = _classifier(family, "sdpa")
    classifier.model.double()
    _check(classifier, "A good film!", TEXT)


def test_gates_of_the_bundled_model() -> None:
    """It has no attention, but gates of its own."""
    classifier: Any = TextExplainer()._classifier
    assert next(classifier.model.parameters()).dtype == torch.float32
    classifier.model.double()
    _check(classifier, "A gripping, beautifully acted film, ruined by its dull ending.")


def test_a_model_without_pad_token_reads_one_row_at_a_time() -> None:
    tok = FAMILIES["byte bpe, roberta"]()
    model = random_model("gpt2", tok, pad_token_id=None).double()
    _check(TextExplainer(model, tok)._classifier, TEXT)


@pytest.mark.parametrize("family", WITHOUT)
def test_models_that_take_no_gates_say_so(family: str) -> None:
    classifier = _classifier(family)
    assert not takes_gates(classifier)
    with pytest.raises(ValueError, match="takes no gates"):
        _gated(classifier, TEXT)


def test_a_tokenizer_without_offsets_takes_no_gates() -> None:
    tok = FAMILIES["byte bpe, roberta"]()
    classifier: Any = TextExplainer(random_model("roberta", tok), tok)._classifier

    class Slow:
        is_fast = False

    object.__setattr__(classifier, "tokenizer", Slow())
    assert not takes_gates(classifier)


@pytest.mark.parametrize("break_", [lambda g: torch.ones_like(g), lambda g: g**2, lambda g: 1 - g])
def test_wrong_gates_of_a_models_own_are_noticed(break_: Callable[..., torch.Tensor]) -> None:
    classifier: Any = TextExplainer()._classifier
    model, own = classifier.model, classifier.model.forward

    def forward(input_ids: Any, attention_mask: Any, gates: Any = None) -> Any:
        gates = None if gates is None else break_(gates)
        return own(input_ids=input_ids, attention_mask=attention_mask, gates=gates)

    model.forward = forward
    # Other gates in between are a matter of taste: nobody can say that g squared is wrong.
    assert takes_gates(classifier) == bool(break_(torch.tensor(0.0)) == 0)


def test_attention_that_is_changed_later_is_tried_again() -> None:
    classifier = _classifier("bert", "sdpa")
    assert takes_gates(classifier)
    classifier.model.forward = lambda **_: 1 / 0
    assert takes_gates(classifier), "known by now"
    classifier.model.set_attn_implementation("eager")
    assert not takes_gates(classifier)


@pytest.mark.parametrize("by", [torch.compile, torch.nn.Module.compile])
def test_compiled_models_take_gates(by: Callable[..., Any]) -> None:
    plain = _classifier("bert", "sdpa")
    gates = _draw_gates(len(find_words(TEXT)))
    _, wanted = gate_gradients(_gated(plain, TEXT), gates, _logits)
    tok = plain.tokenizer
    model = random_model("bert", tok, attention="sdpa")
    made = by(model, backend="eager")
    compiled = model if made is None else made  # Module.compile changes the module itself
    classifier: Any = TextExplainer(compiled, tok)._classifier
    assert takes_gates(classifier)
    np.testing.assert_allclose(
        gate_gradients(_gated(classifier, TEXT), gates, _logits)[1], wanted, atol=1e-6
    )


def test_a_model_that_had_no_room_for_gates_is_tried_again() -> None:
    classifier = _classifier("bert", "sdpa")
    own = classifier.model.forward

    def forward(**_: Any) -> Any:
        raise RuntimeError("CUDA out of memory")

    classifier.model.forward = forward
    assert not takes_gates(classifier)
    classifier.model.forward = own
    assert takes_gates(classifier)


@pytest.mark.parametrize("family", FAMILIES)
def test_tokenizers_of_every_family(family: str) -> None:
    tok = FAMILIES[family]()
    classifier: Any = TextExplainer(counting_bert(tok), tok)._classifier
    assert takes_gates(classifier)


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
@pytest.mark.parametrize(
    ("dtype", "least"), [(torch.float32, 0.99999), (torch.bfloat16, 0.97), (torch.float16, 0.99)]
)
def test_less_precise_models_have_about_the_same_slopes(
    attention: str, dtype: torch.dtype, least: float
) -> None:
    classifier = _classifier("roberta", attention, initializer_range=0.3)
    gates = _draw_gates(len(find_words(TEXT)))
    slopes = []
    for each in (torch.float64, dtype):
        classifier.model.to(each)
        assert takes_gates(classifier)
        slopes.append(gate_gradients(_gated(classifier, TEXT), gates, _logits)[1].ravel())
    assert np.asarray(np.corrcoef(slopes))[0, 1] > least


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_a_gate_multiplies_the_weight_of_its_keys(attention: str) -> None:
    """What transformers itself adds to attention scores, for gates in between."""
    classifier = _classifier("roberta", attention)
    classifier.model.double()
    encoding = classifier.tokenizer([TEXT], return_tensors="pt")
    n_tokens = encoding["input_ids"].shape[1]
    spans = find_words(TEXT)
    gates = _draw_gates(len(spans), rows=1)
    added = torch.zeros(1, 1, n_tokens, n_tokens, dtype=torch.double)
    for k, (start, end) in enumerate(spans):
        for token in {encoding.char_to_token(place) for place in range(start, end)}:
            added[..., token] = float(np.log(gates[0, k]))
    with torch.no_grad():
        wanted = classifier.model(encoding["input_ids"], attention_mask=added).logits
    np.testing.assert_allclose(_forward(_gated(classifier, TEXT), gates), wanted, atol=1e-9)


def test_a_gate_of_zero_has_its_slope() -> None:
    classifier = _classifier("bert", "sdpa")
    classifier.model.double()
    text, n_words = _gated(classifier, TEXT), len(find_words(TEXT))
    gates = np.ones((1, n_words))
    gates[0, 3] = 0
    _, slopes = gate_gradients(text, gates, _logits)
    change = 1e-6 * np.eye(n_words)[3]
    wanted = (_forward(text, gates + change) - _forward(text, gates)) / 1e-6
    np.testing.assert_allclose(slopes[:, 3], wanted, rtol=1e-3)


def _describe(model: Any) -> dict[str, Any]:
    """What a user could notice of a model, apart from its weights."""
    hooks = [
        (len(module._forward_hooks), len(module._forward_pre_hooks), len(module._backward_hooks))
        for module in model.modules()
    ]
    return {
        "config": model.config.to_dict(),
        "attention": model.config._attn_implementation,
        "training": [module.training for module in model.modules()],
        "requires_grad": [weight.requires_grad for weight in model.parameters()],
        "weights": [id(weight) for weight in model.parameters()],
        "hooks": hooks,
        "attributes": [sorted(vars(module)) for module in model.modules()],
    }


@pytest.mark.parametrize(
    ("family", "attention"), [("bert", "sdpa"), ("bert", "eager"), ("deberta-v3", None)]
)
def test_nothing_of_the_model_changes(family: str, attention: str | None) -> None:
    classifier = _classifier(family, attention)
    model = classifier.model.train()
    model.classifier.eval()
    weights = list(model.parameters())
    weights[0].requires_grad_(False)
    weights[1].grad = torch.ones_like(weights[1])
    values = [weight.detach().clone() for weight in weights]
    before = _describe(model)
    gate_gradients(_gated(classifier, TEXT), _draw_gates(len(find_words(TEXT))), _logits)
    assert _describe(model) == before
    assert all(torch.equal(*both) for both in zip(values, weights, strict=True))
    assert [weight.grad is None for weight in weights].count(False) == 1
    assert weights[1].grad is not None
    assert (weights[1].grad == 1).all()


@pytest.mark.parametrize("context", [torch.no_grad, torch.inference_mode])
@pytest.mark.parametrize("family", ["bert", "bundled"])
def test_gates_work_where_the_caller_wants_no_gradients(
    context: Callable[[], Any], family: str
) -> None:
    def explain() -> Floats:
        bundled: Any = TextExplainer()._classifier
        classifier = bundled if family == "bundled" else _classifier("bert", "sdpa")
        assert takes_gates(classifier)
        text = _gated(classifier, TEXT)
        return gate_gradients(text, _draw_gates(len(find_words(TEXT))), _logits)[1]

    wanted = explain()
    with context():  # the model, too, is made in it
        found = explain()
    np.testing.assert_allclose(found, wanted, atol=1e-6)


def test_weights_that_want_gradients_cost_no_memory() -> None:
    classifier = _classifier("bert", "sdpa")
    text = _gated(classifier, TEXT)
    sizes = []
    for wants in (False, True):
        classifier.model.requires_grad_(wants)
        saved: list[int] = []

        def keep(tensor: torch.Tensor, saved: list[int] = saved) -> torch.Tensor:
            saved.append(tensor.numel())
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
            text.forward(torch.ones(2, len(find_words(TEXT))).requires_grad_())
        sizes.append(sum(saved))
    assert sizes[0] == sizes[1] > 0


def _count_backwards(text: GatedText, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    counted: list[int] = []
    own = text.forward

    def forward(gates: torch.Tensor) -> torch.Tensor:
        logits = own(gates)
        logits.register_hook(lambda slopes: counted.append(len(slopes)))
        return logits

    monkeypatch.setattr(text, "forward", forward)
    return counted


def _oppose(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """Opposite numbers, but not opposite functions."""
    return torch.stack([one, other - (other + one).detach()], dim=1)


@pytest.mark.parametrize(
    ("score", "n_backwards"),
    [
        (lambda out: compute_score_tensor(out, "softmax", "logit", [0, 1]), 1),
        (lambda out: compute_score_tensor(out, "softmax", "logit", [1]), 1),
        (lambda out: compute_score_tensor(out, "softmax", "output", [0, 1]), 2),
        (lambda out: _oppose(out[:, 0], out[:, 1]), 2),
    ],
)  # fmt: skip
def test_labels_that_differ_in_sign_share_a_backward_pass(
    score: Callable[[torch.Tensor], torch.Tensor],
    n_backwards: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = _gated(_classifier("bert", "sdpa"), TEXT)
    gates = torch.tensor(_draw_gates(len(find_words(TEXT))), requires_grad=True)
    scores = score(text.forward(gates))
    wanted = [torch.autograd.grad(own.sum(), gates, retain_graph=True)[0] for own in scores.T]
    counted = _count_backwards(text, monkeypatch)
    found, slopes = gate_gradients(text, gates.detach().numpy(), score)
    assert len(counted) == n_backwards
    np.testing.assert_allclose(found, scores.detach(), atol=1e-6)
    np.testing.assert_allclose(slopes, torch.stack(wanted, 2), atol=1e-5)


def test_batches_do_not_change_gradients() -> None:
    text = _gated(_classifier("bert", "sdpa"), TEXT)
    gates = _draw_gates(len(find_words(TEXT)), rows=5)
    wanted = gate_gradients(text, gates, _logits)
    for batch_tokens in (1, 2 * text.n_tokens, 10_000):
        found = gate_gradients(text, gates, _logits, batch_tokens=batch_tokens)
        np.testing.assert_allclose(found[0], wanted[0], atol=1e-6)
        np.testing.assert_allclose(found[1], wanted[1], atol=1e-6)


def test_a_batch_is_halved_when_memory_runs_out(monkeypatch: pytest.MonkeyPatch) -> None:
    text = _gated(_classifier("bert", "sdpa"), TEXT)
    gates = _draw_gates(len(find_words(TEXT)), rows=7)
    wanted = gate_gradients(text, gates, _logits)
    own, sizes, most = text.forward, [], 2

    def forward(own_gates: torch.Tensor) -> torch.Tensor:
        sizes.append(len(own_gates))
        if len(own_gates) > most:
            raise RuntimeError("CUDA out of memory")
        return own(own_gates)

    monkeypatch.setattr(text, "forward", forward)
    found = gate_gradients(text, gates, _logits, batch_tokens=8 * text.n_tokens)
    assert sizes == [7, 4, 2, 2, 2, 1]
    np.testing.assert_allclose(found[1], wanted[1], atol=1e-6)
    most = 0
    with pytest.raises(RuntimeError, match="out of memory"):
        gate_gradients(text, gates, _logits, batch_tokens=1)


def test_the_users_batch_size_is_kept() -> None:
    tok = tokenizer()
    explainer = TextExplainer(random_model("bert", tok), tok, batch_tokens=77)
    text = _gated(explainer._classifier, TEXT)
    assert text.batch_tokens == 77
