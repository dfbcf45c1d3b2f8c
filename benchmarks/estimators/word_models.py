"""Synthetic word models: what text classifiers do to a bag of words, without the words.

Every model is a function from masks ``(masks, words)`` to scores ``(masks,)``. A few words
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


def logic_games(*, seed: int = 0) -> dict[str, Model]:
    """Scores that jump: all that matters happens in a few contexts. At least six words.

    * ``and``: two words decide only together. ``and3``: three.
    * ``or``: either of two words suffices. ``or3``: any of three.
    * ``and, rest``: as ``and``, beside two words with an effect of their own.
    * ``majority``: three of five words are needed.
    * ``xor``: either of two words, but not both. ``xor, rest``: beside a word of its own.
    * ``lookup``: every combination of six words has a random score.
    """
    table = np.random.default_rng(seed).normal(size=2**6)
    places = 1 << np.arange(6)
    return {
        "and": lambda z: z[:, :2].all(axis=1) * 1.0,
        "and3": lambda z: z[:, :3].all(axis=1) * 1.0,
        "and, rest": lambda z: z[:, :2].all(axis=1) + 0.2 * z[:, 2] - 0.3 * z[:, 3],
        "or": lambda z: z[:, :2].any(axis=1) * 1.0,
        "or3": lambda z: z[:, :3].any(axis=1) * 1.0,
        "majority": lambda z: (z[:, :5].sum(axis=1) >= 3) * 1.0,
        "xor": lambda z: (z[:, 0] ^ z[:, 1]) * 1.0,
        "xor, rest": lambda z: (z[:, 0] ^ z[:, 1]) + 1.0 * z[:, 2],
        "lookup": lambda z: table[z[:, :6] @ places],
    }


def _sigmoid(logits: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-logits)))


def _unit(values: Floats) -> Floats:
    return np.asarray(values / np.sqrt((values**2).sum()))
