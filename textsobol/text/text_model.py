"""`TextModel`: what an own class needs so that it can be explained like a library's model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

# What a model's numbers are, and how they become what is shown; see `outputs`.
ACTIVATION_OF = {
    "scores": "none",
    "probabilities": "sigmoid",  # of their log-odds, which are analysed
    "log-odds": "sigmoid",
    "logits": "softmax",
}


class TextModel(Protocol):
    """A text classifier of your own: names of the labels, and scores of texts.

    Nothing has to be inherited; `TextExplainer` takes any object with these two members. It may
    also have ``name`` and ``version``, which explanations record, and ``returns``, which says what
    ``predict`` returns:

    - ``"scores"``, any numbers, which are analysed and shown as they are (the default);
    - ``"probabilities"``, whose log-odds are analysed;
    - ``"logits"``, the numbers before softmax;
    - ``"log-odds"``, the numbers before sigmoid, each label by itself.

    Example:
        >>> from textsobol import TextExplainer
        >>> class Mood:
        ...     labels = ["sad", "happy"]
        ...     returns = "probabilities"
        ...
        ...     def predict(self, texts):
        ...         happy = [0.9 if "good" in text else 0.2 for text in texts]
        ...         return [[1 - each, each] for each in happy]
        >>> explanation = TextExplainer(Mood())("a good film")
        >>> explanation.prediction, explanation.top(1)[0].word
        ('happy', 'good')
        >>> explanation.settings["given"]
        {'kind': 'TextModel', 'name': 'Mood'}
    """

    @property
    def labels(self) -> Sequence[str]:
        """Names of the labels, in the order of the scores."""

    def predict(self, texts: list[Any]) -> Any:
        """Scores ``(texts, labels)``, as an array, a tensor or lists.

        Of pairs, ``texts`` has tuples (premise, hypothesis).
        """


@dataclass(frozen=True)
class NamedFunction:
    """A function of texts and what is known of it: every kind of model becomes one.

    Attributes:
        function: from a list of texts to scores.
        name: the model's name in an explanation.
        labels: the model's own labels, or ``None``.
        returns: what the scores are; a key of `ACTIVATION_OF`.
    """

    function: Callable[[list[Any]], Any]
    name: str
    labels: Sequence[str] | None = None
    returns: str = "scores"


def from_text_model(model: Any) -> NamedFunction | None:
    """The function of a `TextModel`, or of an object with ``predict`` alone; else ``None``."""
    predict, labels = getattr(model, "predict", None), getattr(model, "labels", None)
    if not callable(predict) or (labels is None and callable(model)):
        return None
    if isinstance(labels, str) or callable(labels):
        raise ValueError(f"{type(model).__name__}.labels must be a list of names, not {labels!r}")
    returns = getattr(model, "returns", "scores")
    if returns not in ACTIVATION_OF:
        raise ValueError(
            f"{type(model).__name__}.returns is {returns!r}; known: {', '.join(ACTIVATION_OF)}"
        )
    name = str(getattr(model, "name", "") or type(model).__name__)
    names = None if labels is None else [str(label) for label in labels]
    return NamedFunction(predict, name, names, returns)
