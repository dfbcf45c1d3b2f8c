"""What if words were deleted: the classifier's answer after each deletion."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from textsobol.sobol.arrays import Array, Floats
from textsobol.text.explanation import Deletion, Word

MOST_DELETIONS = 20
MOST_LABELS = 5


def deletions(
    answer: Callable[[Array], Floats],
    words: Sequence[Word],
    scored: Sequence[int],
    by_label: Mapping[str, float],
    labels: Sequence[str],
    looked_at: str,
) -> dict[str, tuple[Deletion, ...]]:
    """For each of the likeliest labels, and the one looked at: its words, deleted one by one.

    Words go in the order of their scores, as in the word-deletion benchmark; those that speak
    against the label stay.

    Args:
        answer: masks ``(rows, scored words)`` to what is shown of all labels ``(rows, labels)``.
        words: all words, with their scores.
        scored: numbers of the words that the masks are of.
        by_label: what is shown of the whole text, for all labels.
        labels: the labels that were analysed.
        looked_at: a label that gets a curve even if it is not among the likeliest.
    """
    known = list(by_label)
    orders = {}
    likeliest = sorted(labels, key=lambda name: -by_label[name])[:MOST_LABELS]
    # The last word stays: many a classifier cannot read nothing.
    most = min(MOST_DELETIONS, len(scored) - 1)
    for label in dict.fromkeys((*likeliest, looked_at)):
        values = np.array([words[k].scores[label].score for k in scored])
        strongest = np.argsort(-values, kind="stable")[:most].tolist()
        orders[label] = [place for place in strongest if values[place] > 0]
    masks = [
        _without(order[: k + 1], len(scored))
        for order in orders.values()
        for k in range(len(order))
    ]
    if not masks:
        return dict.fromkeys(orders, ())
    distinct, places = np.unique(np.stack(masks), axis=0, return_inverse=True)
    shares = iter(answer(distinct)[places.ravel()])
    curves = {}
    for label, order in orders.items():
        steps = []
        for place in order:
            share = next(shares)
            prediction = known[int(np.argmax(share))]
            steps.append(Deletion(scored[place], float(share[known.index(label)]), prediction))
        curves[label] = tuple(steps)
    return curves


def _without(places: Sequence[int], n_words: int) -> Array:
    mask = np.ones(n_words, dtype=bool)
    mask[list(places)] = False
    return mask
