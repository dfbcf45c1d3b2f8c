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
other = next(label for label in explanation.labels if label != explanation.prediction)
for word, score, (low, high) in explanation.for_label(other).top(3):
    print(f"{word:12} {score:+.2f}  ({low:+.2f} to {high:+.2f})")

sentences = TextExplainer(unit="sentence")("Lovely music. Awful acting. I fell asleep twice.")
print("\nSentence by sentence:")
print(sentences)
