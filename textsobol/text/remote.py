"""A remote model as a classifier of masked texts."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from textsobol.endpoints.answers import AnswerReader
from textsobol.endpoints.client import RemoteCost
from textsobol.endpoints.model import Remote
from textsobol.errors import LabelMismatchError, RemoteError
from textsobol.steps import Forwarded, Tick
from textsobol.text.classifiers import Prepared
from textsobol.text.functions import FunctionClassifier
from textsobol.text.text_model import NamedFunction
from textsobol.text.words import Span


class RemoteClassifier(FunctionClassifier):
    """A classifier that gets its scores from `Remote.ask`.

    Args:
        model: the remote model.
        label_names: names of all labels; by default those of its first answer.
    """

    def __init__(self, model: Remote, label_names: Sequence[str] | None) -> None:
        super().__init__(NamedFunction(model, model.name), label_names, batch_texts=1)
        self._model = model
        self.activation = model.settings.activation
        self._reader = AnswerReader(label_names, self.activation)
        # A digest: the identity itself may hold secrets.
        digest = hashlib.blake2b(model.settings.identity.encode(), digest_size=8).hexdigest()
        self.details |= {"activation": self.activation, "identity": digest}

    def prepare(
        self, texts: Sequence[str], spans: Sequence[Sequence[Span]], perturbation: str
    ) -> Prepared:
        """The masked texts of a text, whose calls are counted for this text alone."""
        if len(texts) != 1:
            raise ValueError("a remote model classifies single texts, not pairs")
        cost = RemoteCost()
        engine = partial(self._ask, cost)
        return replace(super().prepare(texts, spans, perturbation), engine=engine, cost=cost)

    def _ask(self, cost: RemoteCost, texts: Sequence[str], tick: Tick) -> Forwarded:
        """Outputs of each of the texts, from the cache or from the model."""
        read = self._reader.outputs
        try:
            answers = self._model.ask(texts, check=read, cost=cost, tick=tick)
        except RemoteError as error:
            if isinstance(error.__cause__, LabelMismatchError):
                # The answer that set the labels is as likely to be wrong as this one.
                first_text = self._reader.reset()
                if first_text is not None:
                    self._model.forget(first_text)
            raise
        return Forwarded(np.array([read(answers[text], text) for text in texts]))

    def labels(self, n_outputs: int) -> list[str]:
        """The names given, those of the answers, or numbers."""
        names = self._reader.names
        return [str(k) for k in range(n_outputs)] if names is None else names
