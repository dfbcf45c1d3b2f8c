"""scikit-learn's classifiers of texts: their own probabilities, margins and names."""

import pickle
from typing import Any

import numpy as np
import pytest

from textsobol import BlackBoxError, Sobol, TextExplainer

pytest.importorskip("sklearn")

from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV, Ridge, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import ComplementNB, MultinomialNB
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import LinearSVC

TEXTS = [
    "a good film", "good actors and a good plot", "really good", "the plot is good",
    "a bad film", "bad actors and a long plot", "really bad", "the ending is bad",
    "a long film", "long and slow", "the film is long", "so long and so slow a plot",
]  # fmt: skip
TWO = ["pos"] * 4 + ["neg"] * 8
THREE = ["pos"] * 4 + ["neg"] * 4 + ["slow"] * 4
TEXT = "The plot is good but the ending is bad and long."
MASKS = np.random.default_rng(0).random((40, 11)) < 0.6


def fit(final: Any, labels: Any = TWO, vectorizer: Any = None) -> Any:
    return make_pipeline(vectorizer or TfidfVectorizer(), final).fit(TEXTS, labels)


def masked_texts() -> list[str]:
    words = TEXT.removesuffix(".").split()
    return [" ".join(np.array(words)[mask]) + "." for mask in MASKS]


EXACT = [
    LogisticRegression(C=10),
    LogisticRegressionCV(cv=2, l1_ratios=(0.0,), use_legacy_attributes=False, scoring="accuracy"),
    SGDClassifier(loss="log_loss", random_state=0),
    SGDClassifier(loss="modified_huber", random_state=0),
    CalibratedClassifierCV(LinearSVC(), cv=2),
    MultinomialNB(),
    ComplementNB(),
    RandomForestClassifier(20, random_state=0),
    OneVsRestClassifier(LogisticRegression()),
    GridSearchCV(LogisticRegression(), {"C": [1, 10]}, cv=2),
]


@pytest.mark.parametrize("labels", [TWO, THREE])
@pytest.mark.parametrize("final", EXACT, ids=lambda final: type(final).__name__)
def test_probabilities_are_the_librarys(final: Any, labels: list[str]) -> None:
    pipe = fit(final, labels)
    explainer = TextExplainer(pipe, batch_texts=7)
    explanation = explainer(TEXT, method=Sobol(base_masks=2))
    names = pipe.classes_.tolist()
    assert list(explanation.probabilities) == names
    own = dict(zip(names, pipe.predict_proba([TEXT])[0], strict=True))
    assert explanation.probabilities == pytest.approx(own, abs=2e-7)
    assert explanation.prediction == max(own, key=lambda name: own[name])
    masked = explainer.masked(TEXT)
    expected = pipe.predict_proba(masked_texts())
    np.testing.assert_allclose(masked.predict_masks(MASKS), expected, atol=2e-7)
    p = np.clip(expected, 1e-7, 1 - 1e-7)
    np.testing.assert_allclose(masked.score_masks(MASKS), np.log(p / (1 - p)), rtol=1e-6, atol=1e-6)
    assert explanation.settings["score"] == "logit"


@pytest.mark.parametrize("labels", [TWO, THREE])
def test_log_odds_do_not_saturate_where_the_library_knows_them(labels: list[str]) -> None:
    """Probabilities of a sure model round to 0 and 1; what it decides by does not."""
    pipe = fit(LogisticRegression(C=1e9, max_iter=10_000), labels, CountVectorizer())
    texts = ["good " * 40, "bad " * 40]
    assert pipe.predict_proba(texts).max() > 1 - 1e-12
    scores = TextExplainer(pipe).masked("good " * 40).score_masks(np.ones((1, 40), dtype=bool))
    assert np.abs(scores).max() > 40
    bayes = fit(MultinomialNB(), labels, CountVectorizer())
    masked = TextExplainer(bayes).masked("good " * 60 + "bad")
    without = np.arange(61) < 60
    own, other = masked.score_masks(np.array([without, ~without | without]))
    assert own.max() > 17
    assert bayes.classes_[own.argmax()] == "pos"
    assert other.max() < own.max() - 0.1, "a word against it still counts"


def test_margins_are_not_called_probabilities() -> None:
    for labels, n in ((TWO, 2), (THREE, 3)):
        pipe = fit(LinearSVC(), labels)
        explanation = TextExplainer(pipe)(TEXT, method=Sobol(base_masks=2))
        assert explanation.settings["score"] == "output"
        margins = np.atleast_1d(pipe.decision_function([TEXT])[0])
        expected = [-margins[0], margins[0]] if n == 2 else margins
        assert list(explanation.probabilities.values()) == pytest.approx(list(expected))
        assert explanation.prediction == pipe.predict([TEXT])[0]
        with pytest.raises(BlackBoxError, match=r"not probabilities; .* leave out score="):
            TextExplainer(pipe, score="logit")(TEXT, method=Sobol(base_masks=2))


def test_bound_methods_know_their_names() -> None:
    pipe = fit(LogisticRegression(), THREE)
    explanation = TextExplainer(pipe.predict_proba)(TEXT, method=Sobol(base_masks=2))
    own = dict(zip(pipe.classes_, pipe.predict_proba([TEXT])[0], strict=True))
    assert explanation.probabilities == pytest.approx(own)
    assert explanation.settings["given"]["name"] == (
        "Pipeline(TfidfVectorizer, LogisticRegression).predict_proba"
    )
    binary = fit(LinearSVC())
    explanation = TextExplainer(binary.decision_function)(TEXT, method=Sobol(base_masks=2))
    assert explanation.probabilities == pytest.approx({"pos": binary.decision_function([TEXT])[0]})
    with pytest.raises(ValueError, match="predict gives labels, not scores; give the Pipeline"):
        TextExplainer(pipe.predict)


def test_several_labels_at_once() -> None:
    targets = np.array([[label == "pos", label != "slow"] for label in THREE], dtype=int)
    pipe = fit(OneVsRestClassifier(LogisticRegression()), targets)
    explainer = TextExplainer(pipe, label_names=["good", "short"])
    explanation = explainer(TEXT, method=Sobol(base_masks=2))
    own = dict(zip(["good", "short"], pipe.predict_proba([TEXT])[0], strict=True))
    assert explanation.probabilities == pytest.approx(own)


def test_numbered_classes_keep_their_numbers_or_get_names() -> None:
    pipe = fit(LogisticRegression(), [int(label == "pos") for label in TWO])
    explanation = TextExplainer(pipe)(TEXT, method=Sobol(base_masks=2))
    assert list(explanation.probabilities) == ["0", "1"]
    assert "label_names" in explanation.settings["hint"]
    named = TextExplainer(pipe, label_names=["neg", "pos"])(TEXT, method=Sobol(base_masks=2))
    assert list(named.probabilities.values()) == list(explanation.probabilities.values())
    with pytest.raises(ValueError, match="this model has its own: neg, pos"):
        TextExplainer(fit(LogisticRegression()), label_names=["pos", "neg"])


def test_classifiers_of_other_libraries_in_a_pipeline() -> None:
    lightgbm = pytest.importorskip("lightgbm")
    final = lightgbm.LGBMClassifier(n_estimators=5, min_child_samples=1, verbose=-1)
    dense = FunctionTransformer(lambda counts: counts.toarray().astype(float))
    pipe = make_pipeline(CountVectorizer(), dense, final).fit(TEXTS, THREE)
    masked = TextExplainer(pipe).masked(TEXT)
    np.testing.assert_allclose(
        masked.predict_masks(MASKS), pipe.predict_proba(masked_texts()), atol=2e-7
    )
    assert masked.labels == ["neg", "pos", "slow"]


def test_a_regressor_has_one_score() -> None:
    pipe = fit(Ridge(), [float(label == "pos") for label in TWO])
    explanation = TextExplainer(pipe, label_names=["rating"])(TEXT, method=Sobol(base_masks=2))
    assert explanation.probabilities == pytest.approx({"rating": pipe.predict([TEXT])[0]})


def test_what_cannot_be_explained_is_told_why() -> None:
    with pytest.raises(ValueError, match=r"Pipeline\(.*\) is not fitted: call fit"):
        TextExplainer(make_pipeline(TfidfVectorizer(), LogisticRegression()))
    bare = LogisticRegression().fit(TfidfVectorizer().fit_transform(TEXTS), TWO)
    with pytest.raises(ValueError, match="LogisticRegression was fitted on numbers, not on texts"):
        TextExplainer(bare)
    with pytest.raises(TypeError, match="of type TfidfVectorizer; give"):
        TextExplainer(TfidfVectorizer().fit(TEXTS))
    with pytest.raises(ValueError, match="tokenizer= goes with a model"):
        TextExplainer((bare, TfidfVectorizer()))
    hard = fit(NearestCentroid())
    if not hasattr(hard, "predict_proba") and not hasattr(hard, "decision_function"):
        with pytest.raises(ValueError, match="gives labels only"):
            TextExplainer(hard)


def test_an_error_names_the_text() -> None:
    def refuse(text: str) -> str:
        if "good" not in text:
            raise LookupError("no good")
        return text

    pipe = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(TEXTS, TWO)
    pipe.steps[0][1].preprocessor = refuse
    with pytest.raises(BlackBoxError, match=r"LookupError: no good \(text: '(?!.*good).*'\)"):
        TextExplainer(pipe)(TEXT, method=Sobol(base_masks=2))


def test_what_was_given_is_recorded_and_not_changed() -> None:
    import sklearn

    pipe = fit(LogisticRegression())
    before = pickle.dumps(pipe)
    explanation = TextExplainer(pipe)(TEXT, method=Sobol(base_masks=2))
    assert pickle.dumps(pipe) == before
    name = "Pipeline(TfidfVectorizer, LogisticRegression)"
    assert explanation.settings["given"] == {
        "kind": "scikit-learn", "name": name, "version": sklearn.__version__,
    }  # fmt: skip
    assert explanation.settings["model"] == name
    again = pickle.loads(pickle.dumps(TextExplainer(pipe)))(TEXT, method=Sobol(base_masks=2))
    assert again.words == explanation.words
