"""Explain a function that is no neural network at all: a small rule for urgent e-mails.

python examples/any_function.py
"""

import re

from textsobol import TextExplainer


def urgency(texts: list[str]) -> list[float]:
    """Points for alarming words; a negation nearby takes them back."""
    points = []
    for text in texts:
        alarming = len(re.findall(r"urgent|immediately|asap|!!+", text, re.IGNORECASE))
        calming = len(re.findall(r"not urgent|no hurry", text, re.IGNORECASE))
        points.append(alarming - 2.0 * calming)
    return points


explainer = TextExplainer(urgency, label_names=["urgency"])
print(explainer("This is not urgent, but please call back immediately if the server is down!!"))
