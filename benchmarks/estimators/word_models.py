"""Synthetic word models: what text classifiers do to a bag of words, without the words.

Every model is a function from masks ``(rows, words)`` to scores ``(rows,)``. A few words
matter much and most matter a little, as in real text.
"""

from collections.abc import Callable

import numpy as np

from textsobol.sobol.arrays import Array, Floats

Model = Callable[[Array], Floats]


def word_models(n_words: int, *, seed: int = 0) -> dict[str, Model]:
    """The models by name.

    * ``additive``: a linear score, such as the logit of a bag-of-words classifier.
    * ``sigmoid``: its probability.
    * ``saturated``: a confident classifier, whose probability is flat almost everywhere.
    * ``negation``: a probability whose logit owes as much to pairs ("not good") as to words.
    * ``attention``: words compete for a softmax attention.
    * ``mean``: the probability of the mean word, as in an averaging model.
    * ``keywords``: any of three strong words suffices, beside a faint linear rest.

    The linear part has standard deviation 1 at keep rate 0.5, whatever the number of words.
    """
    rng = np.random.default_rng(seed)
    strong = rng.random(n_words) < max(0.15, 3 / n_words)
    weights = _unit(rng.normal(size=n_words) * np.where(strong, 1.5, 0.1)) * 2
    attention = np.exp(rng.normal(size=n_words))
    pairs = rng.permutation(n_words)[: 2 * (n_words // 6)].reshape(-1, 2)
    pair_weights = _unit(rng.normal(size=len(pairs))) * 4
    keywords = rng.permutation(n_words)[:3]
    strengths = np.array([0.9, 0.8, 0.7])

    def linear(masks: Array) -> Floats:
        return np.asarray(masks @ weights)

    def negation(masks: Array) -> Floats:
        both = (masks[:, pairs[:, 0]] - 0.5) * (masks[:, pairs[:, 1]] - 0.5)
        return _sigmoid(1.5 * (linear(masks) + both @ pair_weights))

    def attended(masks: Array) -> Floats:
        total = np.maximum(masks @ attention, 1e-9)
        return _sigmoid(n_words / 2 * (masks @ (attention * weights)) / total)

    def mean_word(masks: Array) -> Floats:
        n_present = np.maximum(masks.sum(axis=1), 1)
        return _sigmoid(n_words / 2 * linear(masks) / n_present)

    def any_keyword(masks: Array) -> Floats:
        missed = 1 - strengths * masks[:, keywords]
        return np.asarray(1 - missed.prod(axis=1) + 0.05 * linear(masks))

    return {
        "additive": linear,
        "sigmoid": lambda masks: _sigmoid(1.5 * linear(masks) + 0.5),
        "saturated": lambda masks: _sigmoid(5 * linear(masks) + 2),
        "negation": negation,
        "attention": attended,
        "mean": mean_word,
        "keywords": any_keyword,
    }


def _sigmoid(logits: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-logits)))


def _unit(values: Floats) -> Floats:
    return np.asarray(values / np.sqrt((values**2).sum()))
