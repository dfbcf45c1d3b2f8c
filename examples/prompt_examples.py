"""The examples of a few-shot prompt are features, too: which of them pushed the answer, and where?

    python prompt_examples.py DIRECTORY

takes any language model of transformers. Without a directory a tiny one is made, in some seconds.
"""

from tiny_language_model import choose_model

from textsobol import Prompt, TextExplainer

EXAMPLES = [
    "Review: The plot is boring.\nSentiment: negative",
    "Review: The cast is funny and the music is warm.\nSentiment: positive",
    "Review: The ending is awful.\nSentiment: negative",
]
REVIEW = "The music is wonderful and the plot is clumsy."

model = choose_model()

prompt = Prompt(
    "{example}\n\nReview: {text}\nSentiment:",
    answers={"positive": " positive", "negative": " negative"},
    parts={"example": EXAMPLES},
    features=["example", "text"],  # each example as a whole, and the words of the review
)
explanation = TextExplainer(model, prompt=prompt, progress=False)(REVIEW, target="negative")
print(explanation)

print("\nWhat each example does to the log-odds of 'negative':")
for word in explanation.words:
    if word.name:
        label = word.text.rpartition(": ")[2]
        print(f"  {word.name} ({label}) {word.scores['negative'].effect:+.3f}")
