"""Models that do something unexpected, and models that are used in an unexpected way."""

import json
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    GPT2Config,
    GPT2ForSequenceClassification,
    RobertaConfig,
    RobertaForSequenceClassification,
    TextClassificationPipeline,
    XLNetConfig,
    XLNetForSequenceClassification,
)

from tests.text.tiny import FAMILIES, counting_bert, tokenizer
from textsobol import BlackBoxError, Sobol, TextExplainer, TextExplanation, sobol_indices

TEXT = "The plot is good but the ending is bad and long."


def scores(explanation: TextExplanation) -> list[float]:
    words = [word for word in explanation.words if word.status == "scored"]
    return [word.scores[explanation.target].score for word in words]


# Code that comes with a model


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A directory whose model and tokenizer are Python code of its own."""
    model, tok = counting_bert(tokenizer()), tokenizer()
    model.save_pretrained(tmp_path / "model")
    tok.save_pretrained(tmp_path / "model")
    code = f"import pathlib; pathlib.Path({str(tmp_path / 'pwned')!r}).touch()\n"
    (tmp_path / "model" / "evil.py").write_text(
        code
        + "from transformers import BertConfig, BertForSequenceClassification\n"
        + "class EvilConfig(BertConfig):\n    model_type = 'evil'\n"
        + "class Evil(BertForSequenceClassification):\n    config_class = EvilConfig\n"
    )
    config = json.loads((tmp_path / "model" / "config.json").read_text())
    config |= {
        "model_type": "evil",
        "auto_map": {
            "AutoConfig": "evil.EvilConfig",
            "AutoModelForSequenceClassification": "evil.Evil",
        },
    }
    (tmp_path / "model" / "config.json").write_text(json.dumps(config))
    return tmp_path


def test_code_of_a_model_is_not_run_even_if_standard_input_says_yes(hostile: Path) -> None:
    command = [sys.executable, "-m", "textsobol", "explain", "a good film"]
    done = subprocess.run(
        [*command, "--model", str(hostile / "model")],
        input="y\n" * 10, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 1
    assert "comes with Python code of its own" in " ".join(done.stderr.split())
    assert "--trust-remote-code" in done.stderr
    assert not (hostile / "pwned").exists()


def test_code_of_a_model_is_run_where_it_is_trusted(
    hostile: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_MODULES_CACHE", str(hostile / "modules"))
    with pytest.raises(ValueError, match="comes with Python code of its own"):
        TextExplainer(hostile / "model")
    assert not (hostile / "pwned").exists()
    explainer = TextExplainer(hostile / "model", trust_remote_code=True)
    assert (hostile / "pwned").exists()
    assert explainer("a good film", budget=10).target


# Functions that return something unexpected


@pytest.mark.parametrize("kind", [np.float64, np.float32, "tensor", "double tensor"])
def test_a_function_may_reuse_its_array(kind: Any) -> None:
    def fresh(texts: list[str]) -> np.ndarray:
        return np.array([[t.count("good") - 2.0 * t.count("bad")] for t in texts])

    held = np.empty((4, 1), dtype=np.float32 if kind == np.float32 else np.float64)
    view: Any = torch.from_numpy(held) if "tensor" in str(kind) else held

    def reusing(texts: list[str]) -> Any:
        held[: len(texts)] = fresh(texts)
        return view[: len(texts)]

    wanted, found = (TextExplainer(f, batch_texts=4)(TEXT, budget=80) for f in (fresh, reusing))
    assert scores(found) == scores(wanted)


def test_a_function_of_masks_or_pictures_may_reuse_its_array() -> None:
    from textsobol import ImageExplainer

    held = np.empty(64)

    def reusing(pictures: np.ndarray) -> np.ndarray:
        held[: len(pictures)] = pictures[:, :2].mean(axis=(1, 2, 3)) ** 2
        return held[: len(pictures)]

    picture = np.linspace(0, 1, 48).reshape(4, 4, 3)
    one, other = (
        ImageExplainer(f, grid=(2, 2), batch=3, progress=False)(picture).map()
        for f in (reusing, lambda given: reusing(given).copy())
    )
    np.testing.assert_array_equal(one, other)

    def box(masks: np.ndarray) -> np.ndarray:
        held[: len(masks)] = masks @ [1.0, -2.0, 0.5]
        return held[: len(masks)]

    found = sobol_indices(box, 3, estimator="exact", batch_masks=3)
    np.testing.assert_allclose(found.effect, [1.0, -2.0, 0.5])


@pytest.mark.parametrize("size", [1e308, -1e308, 1e160, 1e61, np.inf])
def test_scores_too_large_to_square_are_refused(size: float) -> None:
    with pytest.raises(BlackBoxError, match=r"scores must be|returned .*inf"):
        TextExplainer(lambda texts: [size if "good" in text else 0.0 for text in texts])(TEXT)
    with pytest.raises(BlackBoxError, match=r"scores must be|returned .*inf"):
        sobol_indices(lambda masks: np.where(masks[:, 0], size, 0.0), 3, estimator="exact")


@pytest.mark.filterwarnings("error")
def test_large_scores_that_can_be_squared_are_analysed() -> None:
    large, plain = (
        TextExplainer(lambda texts, s=s: [s * len(t) for t in texts])(TEXT, budget=200)
        for s in (1e57, 1.0)
    )
    np.testing.assert_allclose(scores(large), scores(plain), rtol=1e-9)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("returned", [1j, np.complex64(2 + 1j), None, [[1.0], [2.0]], {}])
def test_what_is_no_real_number_is_refused(returned: Any) -> None:
    with pytest.raises(BlackBoxError, match="the classifier"):
        TextExplainer(lambda texts: [returned] * len(texts))("a good film")


@pytest.mark.filterwarnings("ignore")  # numpy warns, and drops the imaginary part
def test_an_array_of_complex_numbers_is_refused() -> None:
    def model(texts: list[str]) -> Any:
        return np.array([len(text) + 1j for text in texts])

    with pytest.raises(BlackBoxError, match="the classifier returned"):
        TextExplainer(model)("a good film")


def test_a_label_that_comes_twice_is_refused() -> None:
    answer = [{"label": "a", "score": 0.9}, {"label": "a", "score": 0.1}]
    with pytest.raises(BlackBoxError, match="a label twice: a, a"):
        TextExplainer(lambda texts: [answer] * len(texts))("a good film")


def test_labels_that_are_numbers_survive_a_round_trip() -> None:
    def model(texts: list[str]) -> list[Any]:
        return [[{"label": 1, "score": 1.0 * t.count("good")}, {"label": 0, "score": 0.0}]
                for t in texts]  # fmt: skip

    for explainer in (
        TextExplainer(model),
        TextExplainer(lambda texts: np.eye(2)[[t.count("good") % 2 for t in texts]],
                      label_names=[0, 1]),  # type: ignore[list-item]
    ):  # fmt: skip
        found = explainer("a good film", target=1)  # type: ignore[arg-type]
        assert found.target == "1"
        assert TextExplanation.from_dict(json.loads(json.dumps(found.to_dict()))) == found


# What is analysed is what was asked for


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
@pytest.mark.parametrize(
    "given", [{"padding": True}, {"padding": "max_length", "max_length": 32}, {"truncation": True}]
)
def test_a_pipeline_with_other_parameters_is_analysed_by_its_logits(given: Any) -> None:
    model, tok = counting_bert(tokenizer()), tokenizer()
    plain = TextExplainer(TextClassificationPipeline(model=model, tokenizer=tok))("a good film")
    found = TextExplainer(TextClassificationPipeline(model=model, tokenizer=tok, **given))(
        "a good film"
    )
    assert found.settings["score"] == plain.settings["score"] == "logit"
    np.testing.assert_allclose(scores(found), scores(plain))
    for one, other in zip(found.words, plain.words, strict=True):
        assert one.scores[found.target].effect == pytest.approx(other.scores[found.target].effect)


def test_log_odds_of_a_function_are_those_of_its_probabilities() -> None:
    def odds(texts: list[str]) -> np.ndarray:
        return np.array([2.0 * t.count("good") - t.count("bad") for t in texts])

    def probabilities(texts: list[str]) -> np.ndarray:
        positive = 1 / (1 + np.exp(-odds(texts)))
        return np.stack([1 - positive, positive], axis=1)

    names = ["neg", "pos"]
    found = TextExplainer(probabilities, label_names=names, score="logit")(TEXT)
    assert found.settings["score"] == "logit"
    assert list(found.probabilities.values()) == pytest.approx(probabilities([TEXT])[0])
    effects = {word.text: word.scores["pos"].effect for word in found.words}
    assert effects["good"] == pytest.approx(2.0)
    assert effects["bad"] == pytest.approx(-1.0)
    plain = TextExplainer(probabilities, label_names=names)(TEXT)
    assert plain.settings["score"] == "output"
    for score in ("logit", "probability"):
        with pytest.raises(
            BlackBoxError, match=r"which are not probabilities; .* leave out score="
        ):
            TextExplainer(odds, score=score)(TEXT)


# Threads and processes


def test_threads_that_share_a_model_get_the_answers_of_one() -> None:
    """In training mode dropout would change every answer."""
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=300, hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=16, hidden_dropout_prob=0.5, max_position_embeddings=64,
    )  # fmt: skip
    model, tok = BertForSequenceClassification(config).train(), tokenizer()
    tok.backend_tokenizer.enable_truncation(max_length=5)
    before = dict(tok.backend_tokenizer.truncation)
    texts = [f"{TEXT} film {'good ' * k}" for k in range(6)]
    alone = [scores(TextExplainer(model, tok)(text, budget=60)) for text in texts]
    explainers = [TextExplainer(model, tok), TextExplainer(model, tok)]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(3):
            found = pool.map(
                lambda job: scores(explainers[job % 2](texts[job % 6], budget=60)), range(12)
            )
            for job, one in enumerate(found):
                np.testing.assert_allclose(one, alone[job % 6], atol=1e-6)
    assert all(module.training for module in model.modules())
    assert tok.backend_tokenizer.truncation == before


def length_of(texts: list[str]) -> list[float]:
    return [float(len(text)) for text in texts]


@pytest.mark.parametrize(
    "how",
    [{}, {"unit": "token"}, {"unit": "sentence"}, {"ignore": "stopwords"}, {"ignore": ["film"]}],
)
def test_explainers_can_be_sent_to_another_process(how: dict[str, Any]) -> None:
    made = [TextExplainer(**how)]
    if "token" not in how.values():
        made.append(TextExplainer(length_of, **how))
    pipe = TextClassificationPipeline(model=counting_bert(tokenizer()), tokenizer=tokenizer())
    made += [TextExplainer(pipe.model, pipe.tokenizer, **how), TextExplainer(pipe, **how)]
    for explainer in made:
        text = "A good film with good actors. The ending is bad."
        first = scores(explainer(text, budget=60))
        again = pickle.loads(pickle.dumps(explainer))
        assert scores(again(text, budget=60)) == pytest.approx(first)


# Padding


def _tiny(kind: str) -> tuple[Any, Any]:
    torch.manual_seed(0)
    if kind == "bert":
        tok = tokenizer()
        config: Any = BertConfig(
            vocab_size=len(tok), hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
            intermediate_size=16, max_position_embeddings=64, pad_token_id=tok.pad_token_id,
            initializer_range=0.5,
        )  # fmt: skip
        return BertForSequenceClassification(config).eval(), tok
    tok = FAMILIES["byte bpe, roberta"]()
    if kind == "roberta":
        config = RobertaConfig(
            vocab_size=len(tok), hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
            intermediate_size=16, max_position_embeddings=80, pad_token_id=tok.pad_token_id,
            initializer_range=0.5,
        )  # fmt: skip
        return RobertaForSequenceClassification(config).eval(), tok
    if kind == "gpt2":
        config = GPT2Config(
            vocab_size=len(tok), n_embd=16, n_layer=2, n_head=2, n_positions=64,
            pad_token_id=tok.pad_token_id, initializer_range=0.5,
        )  # fmt: skip
        return GPT2ForSequenceClassification(config).eval(), tok
    config = XLNetConfig(
        vocab_size=len(tok), d_model=16, n_layer=2, n_head=2, d_inner=16,
        pad_token_id=tok.pad_token_id, initializer_range=0.5,
    )  # fmt: skip
    return XLNetForSequenceClassification(config).eval(), tok


@pytest.mark.parametrize("kind", ["bert", "roberta", "gpt2", "xlnet"])
def test_the_padding_side_changes_nothing(kind: str) -> None:
    model, tok = _tiny(kind)
    sides = ["left"] if kind == "xlnet" else ["left", "right"]  # XLNet reads the last token
    found = []
    for side in sides:
        tok.padding_side = side
        for batch_tokens in (1, 4096):
            explainer = TextExplainer(model, tok, batch_tokens=batch_tokens)
            explanation = explainer(TEXT, budget=60)
            assert batch_tokens == 1 or explanation.cost["padding"] > 0
            found.append(scores(explanation))
        assert tok.padding_side == side
    for one in found[1:]:
        np.testing.assert_allclose(one, found[0], atol=2e-4)


# Arguments


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ((("a",),), ValueError, "a text is a string, or a pair"),
        (((),), ValueError, "a text is a string, or a pair"),
        ((TEXT, {"budget": "9"}), TypeError, "budget must be a whole number, not str"),
        ((TEXT, {"budget": 9.5}), TypeError, "budget must be a whole number, not float"),
        ((TEXT, {"budget": -3}), ValueError, "needs at least 2 forward passes"),
        ((TEXT, {"seed": "x"}), TypeError, "seed must be a whole number, not str"),
        ((TEXT, {"seed": -1}), ValueError, "seed=-1: must be 0 or more"),
        ((TEXT, {"method": Sobol}), (TypeError, ValueError), "method"),
        ((TEXT, {"method": None}), (TypeError, ValueError), "method"),
    ],
)
def test_wrong_arguments_are_refused_with_a_message(given: Any, error: Any, message: str) -> None:
    text, *more = given
    with pytest.raises(error, match=message):
        TextExplainer(length_of)(text, **(more[0] if more else {}))
