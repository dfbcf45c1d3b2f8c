"""Explain a film review with the bundled classifier, and keep the answer.

python examples/explain_review.py
"""

from textsobol import TextExplainer

REVIEW = (
    "The cast is wonderful and the first hour is gripping, but the ending is so dull "
    "and predictable that I left the cinema disappointed."
)

explainer = TextExplainer()
explanation = explainer(REVIEW)
print(explanation)

print("\nFor the other label, from the same forward passes:")
other = next(label for label in explanation.targets if label != explanation.prediction)
for each in explanation.for_target(other).top(3):
    print(each)  # a record: each.word, each.score, each.low, each.high, each.effect ...

print("\nWhat would change the prediction?")
print(explanation.flip)

print("\nHow it adds up, in log-odds:")
print(
    f"{explanation.baseline:+.2f} on average over masked texts, "
    f"{explanation.additive:+.2f} by the words one by one, "
    f"{explanation.remainder:+.2f} by what they do together"
)

sentences = TextExplainer(unit="sentence")("Lovely music. Awful acting. I fell asleep twice.")
print("\nSentence by sentence:")
print(sentences)
