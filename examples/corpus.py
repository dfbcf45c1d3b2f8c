"""Many texts: explain them into a directory, read them again, and look at the words of all texts.

Run:  python examples/corpus.py            # writes reviews.csv, explained/ and report.html

If it is interrupted, run it again to resume.
"""

import argparse
import csv
from pathlib import Path

from textsobol import TextExplainer, explain_corpus
from textsobol.corpus.view import corpus_view, save_words
from textsobol.render.report import render_report

REVIEWS = [
    "A gripping, beautifully acted film with a wonderful score.",
    "Dull, clumsy and far too long. I want my two hours back.",
    "Not bad at all: the cast is fun and the story moves.",
    "I expected a masterpiece and got a boring, predictable mess.",
    "",  # a text that cannot be explained does not stop the others
    "The worst thing about this great film is that it ends.",
    "Great actors, wasted on an awful script.",
    "A great film, and far too short.",
]

parser = argparse.ArgumentParser(description="Explain the reviews of a table.")
parser.add_argument("--out", type=Path, default=Path(), help="directory for the files")
asked = parser.parse_args()

table = asked.out / "reviews.csv"
with table.open("w", newline="", encoding="utf-8") as file:
    writer = csv.writer(file)
    writer.writerows([("id", "text"), *((f"review-{k}", text) for k, text in enumerate(REVIEWS))])

# From the command line: textsobol corpus reviews.csv --id-column id --out explained/
explained = explain_corpus(
    TextExplainer(), table, id_column="id", out=asked.out / "explained", seed=0
)
for name, explanation in explained.items():
    print(f"{name}  {explanation.prediction}, mostly {explanation.top(1)[0]}")
for name, error in explained.failures():
    print(f"{name}  {error}")

# From the command line: textsobol report explained/ --html report.html --csv words.csv
view = corpus_view(explained)
for found in [*view.words[:3], *view.phrases[:2]]:
    print(f"{found.word!r} in {found.texts} texts: mean score {found.score:+.3f} for {found.label}")
(asked.out / "report.html").write_text(render_report(explained, view=view), encoding="utf-8")
save_words([*view.words, *view.phrases], asked.out / "words.csv")
