"""A prompt makes a language model a classifier: which words made it call a review positive?

    python prompt_sentiment.py DIRECTORY

takes any language model of transformers. Without a directory a tiny one is made, in some seconds.
"""

from tiny_language_model import choose_model

from textsobol import Prompt, TextExplainer

PROMPT = "Review: {text}\nSentiment:"
ANSWERS = {"positive": " positive", "negative": " negative"}
REVIEW = "The plot is gripping and the cast is wonderful and the ending is dull."

model = choose_model()

explainer = TextExplainer(model, prompt=Prompt(PROMPT, answers=ANSWERS), progress=False)
explanation = explainer(REVIEW)
print(explanation)

# What the model says without any review is subtracted: small models prefer some labels.
calibrated = Prompt(PROMPT, answers=ANSWERS, calibrate="N/A")
probabilities = TextExplainer(model, prompt=calibrated, progress=False)(REVIEW).probabilities
print(f"\nCalibrated: positive {probabilities['positive']:.3f}")
