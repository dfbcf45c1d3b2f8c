"""A question, three documents, and the model's own answer: which document made it say that?

    python prompt_documents.py DIRECTORY

takes any language model of transformers. Without a directory a tiny one is made, in some seconds.
"""

from tiny_language_model import choose_model

from textsobol import Prompt, TextExplainer

DOCUMENTS = [
    "The music is by Anna.",
    "The film was shot in Rome.",
    "The cast is wonderful and the plot is gripping.",
]
QUESTION = "Where was the film shot?"

model = choose_model()

prompt = Prompt(
    "{document}\n\nQuestion: {text}\nAnswer: It was shot in",
    parts={"document": DOCUMENTS},
    features="document",
)
explanation = TextExplainer(model, prompt=prompt, progress=False)(QUESTION)
print(f"{QUESTION} It was shot in{explanation.target}")

for word in explanation.words:
    if word.status == "scored":
        effect = word.scores[explanation.target].effect
        print(f"  {word.name}: {effect:+.2f} to the log-probability of the answer: {word.text}")

explanation.save("documents.html")
print("\nwrote documents.html, with a table of the tokens of the answer")
