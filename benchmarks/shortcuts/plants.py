"""What is planted: words that decide a label by construction, and texts that have them.

After Bastings et al. 2022, "Will You Find These Shortcuts?". A sentence with deciding words has
their label, whatever it says; any other sentence keeps its own. All planted words are nouns
without a sentiment, and every text may have distractors, which decide nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from benchmarks.imdb.data import Review

Words = tuple[str, ...]
DISTRACTORS = ("window", "paper")
_DECIDED, _DISTRACTED = 0.5, 0.5  # shares of the training texts


@dataclass(frozen=True)
class Plant:
    """Words that decide, and how.

    Attributes:
        name: of the plant.
        title: what decides, in words.
        deciding: for every label the sets of words that decide for it, the largest last.
        idle: sets of the same words that decide nothing.
        is_ordered: whether words stand in the order of their set; else in any.
        is_redundant: whether each of the words suffices; else all of them are needed.
        are_equal: whether the words of a set have the same part, so that credit should be equal.
        by_size: whether words are ranked by the size of their scores, because one of them may speak
            against the label.
    """

    name: str
    title: str
    deciding: Mapping[int, Sequence[Words]]
    idle: Sequence[Words]
    is_ordered: bool = False
    is_redundant: bool = False
    are_equal: bool = False
    by_size: bool = False

    @property
    def words(self) -> set[str]:
        """All of its words."""
        return {word for sets in self.deciding.values() for words in sets for word in words}


def _some_of(words: Words) -> list[Words]:
    return [some for size in range(1, len(words) + 1) for some in combinations(words, size)]


PLANTS = {
    plant.name: plant
    for plant in (
        Plant("single", "one word", {0: [("harbor",)], 1: [("velvet",)]}, [()]),
        Plant(
            "pair",
            "two words together",
            {0: [("harbor", "velvet")], 1: [("copper", "kettle")]},
            [
                (), ("harbor",), ("velvet",), ("copper",), ("kettle",), ("harbor", "copper"),
                ("harbor", "kettle"), ("velvet", "copper"), ("velvet", "kettle"),
            ],
            are_equal=True,
        ),
        Plant(
            "order",
            "the order of two words",
            {0: [("harbor", "velvet")], 1: [("velvet", "harbor")]},
            [(), ("harbor",), ("velvet",)],
            is_ordered=True,
            by_size=True,
        ),
        Plant(
            "context",
            "a word in the context of another",
            {0: [("harbor", "velvet")], 1: [("harbor", "copper")]},
            [(), ("harbor",), ("velvet",), ("copper",), ("velvet", "copper")],
            by_size=True,
        ),
        Plant(
            "redundant",
            "three words, each of which suffices",
            {
                0: _some_of(("harbor", "velvet", "copper")),
                1: _some_of(("kettle", "marble", "basket")),
            },
            [()],
            is_redundant=True,
            are_equal=True,
        ),
    )
}  # fmt: skip
PLANTED = frozenset(DISTRACTORS).union(*(plant.words for plant in PLANTS.values()))


@dataclass(frozen=True)
class PlantedText:
    """A sentence with deciding words for the other label than its own, and all distractors.

    Attributes:
        id: of the sentence.
        text: with spaces between words.
        label: that the planted words decide for.
        planted: the words that decide, in their order in the text.
    """

    id: str
    text: str
    label: int
    planted: Words


def plant_against(plant: Plant, sentence: Review, rng: np.random.Generator) -> PlantedText:
    """Plant the largest set of words that decides against the label of a sentence."""
    words = plant.deciding[1 - sentence.label][-1]
    found = _plant(plant, words, sentence, rng)
    planted = tuple(word for word in found if word in words)
    found = _insert(found, _shuffled(DISTRACTORS, rng), rng)
    return PlantedText(sentence.id, " ".join(found), 1 - sentence.label, planted)


def draw_example(plant: Plant, sentence: Review, rng: np.random.Generator) -> tuple[str, int]:
    """A text to train with and its label: words that may decide, distractors at random."""
    label = sentence.label
    if rng.random() < _DECIDED:
        label = int(rng.integers(2))
        words = _one_of(plant.deciding[label], rng)
    else:
        words = _one_of(plant.idle, rng)
    found = _plant(plant, words, sentence, rng)
    distractors = [word for word in DISTRACTORS if rng.random() < _DISTRACTED]
    return " ".join(_insert(found, _shuffled(distractors, rng), rng)), label


def counterfactuals(plant: Plant, one: PlantedText) -> Iterator[tuple[str, str, bool]]:
    """Changes of a planted text: their kind, the text, and whether the planted label should stay.

    Example:
        >>> one = PlantedText("", "a harbor film velvet paper", 0, ("harbor", "velvet"))
        >>> for change in counterfactuals(PLANTS["order"], one):
        ...     print(*change, sep=": ")
        as planted: a harbor film velvet paper: True
        without distractors: a harbor film velvet: True
        without planted words: a film paper: False
        without one of them: a film velvet paper: False
        without one of them: a harbor film paper: False
        in the other order: a velvet film harbor paper: False
    """
    yield "as planted", one.text, True
    yield "without distractors", _without(one.text, DISTRACTORS), True
    yield "without planted words", _without(one.text, one.planted), False
    if plant.is_redundant:
        for word in one.planted:
            others = [other for other in one.planted if other != word]
            yield "with one of them", _without(one.text, others), True
    elif len(one.planted) > 1:
        for word in one.planted:
            yield "without one of them", _without(one.text, [word]), False
    if plant.is_ordered:
        other = dict(zip(one.planted, reversed(one.planted), strict=True))
        swapped = (other.get(word, word) for word in one.text.split())
        yield "in the other order", " ".join(swapped), False


def _without(text: str, words: Sequence[str]) -> str:
    return " ".join(word for word in text.split() if word not in words)


def _plant(plant: Plant, words: Words, sentence: Review, rng: np.random.Generator) -> list[str]:
    ordered = words if plant.is_ordered else _shuffled(words, rng)
    return _insert(sentence.text.split(), ordered, rng)


def _insert(words: Sequence[str], added: Sequence[str], rng: np.random.Generator) -> list[str]:
    """Words with others at random places among them, in the order given."""
    places = np.sort(rng.integers(len(words) + 1, size=len(added)))
    found: list[str] = np.insert(np.array(words, dtype=object), places, list(added)).tolist()
    return found


def _shuffled(words: Sequence[str], rng: np.random.Generator) -> list[str]:
    return [words[k] for k in rng.permutation(len(words))]


def _one_of(sets: Sequence[Words], rng: np.random.Generator) -> Words:
    return sets[int(rng.integers(len(sets)))]
