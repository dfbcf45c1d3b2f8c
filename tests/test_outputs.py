"""What is analysed of a model's outputs, against plain formulas."""

import numpy as np
import pytest
import torch
from scipy.special import logsumexp

from textsobol.outputs import compute_probabilities, compute_score_tensor, compute_scores


@pytest.mark.parametrize("n_labels", [2, 3, 50])
@pytest.mark.parametrize("scale", [0.1, 5.0, 400.0])
def test_log_odds_of_many_labels(n_labels: int, scale: float) -> None:
    outputs = scale * np.random.default_rng(0).normal(size=(20, n_labels))
    every = range(n_labels)
    expected = np.stack(
        [outputs[:, k] - logsumexp(np.delete(outputs, k, axis=1), axis=1) for k in every], axis=1
    )
    np.testing.assert_allclose(
        compute_scores(outputs, "softmax", "logit", every), expected, rtol=1e-12
    )
    some = [n_labels - 1, 0]
    np.testing.assert_array_equal(
        compute_scores(outputs, "softmax", "logit", some),
        compute_scores(outputs, "softmax", "logit", every)[:, some],
    )


@pytest.mark.parametrize("activation", ["softmax", "sigmoid", "none"])
@pytest.mark.parametrize("score", ["logit", "probability", "output"])
def test_tensors_and_arrays_agree(activation: str, score: str) -> None:
    outputs = np.random.default_rng(0).normal(size=(4, 6))
    labels = [5, 1]
    tensor = compute_score_tensor(torch.tensor(outputs), activation, score, labels)
    plain = compute_scores(outputs, activation, score, labels)
    np.testing.assert_allclose(tensor.numpy(), plain, rtol=1e-12)
    if score == "output" or activation == "none":
        np.testing.assert_array_equal(plain, outputs[:, labels])


@pytest.mark.parametrize("activation", ["softmax", "sigmoid", "none"])
def test_log_odds_and_probabilities(activation: str) -> None:
    outputs = np.random.default_rng(0).normal(size=(5, 3)) * 3
    shown = compute_probabilities(outputs, activation)
    every = range(outputs.shape[1])
    odds = compute_scores(outputs, activation, "logit", every)
    if activation == "none":
        np.testing.assert_array_equal(shown, outputs)
        np.testing.assert_array_equal(odds, outputs)
    else:
        np.testing.assert_allclose(odds, np.log(shown / (1 - shown)), atol=1e-9)
        np.testing.assert_array_equal(
            compute_scores(outputs, activation, "probability", every), shown
        )
    sure = compute_scores(np.array([[800.0, -800.0]]), "softmax", "logit", [0, 1])
    assert np.isfinite(sure).all()
