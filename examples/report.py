"""Many texts in one page, and one text explained in several ways.

Run:  python examples/report.py            # writes report.html and comparison.html
"""

import argparse
from pathlib import Path

from textsobol import Sobol, TextExplainer, save_comparison, save_report

REVIEWS = [
    ("A gripping, beautifully acted film with a wonderful score.", "POSITIVE"),
    ("Dull, clumsy and far too long. I want my two hours back.", "NEGATIVE"),
    ("Not bad at all: the cast is fun and the story moves.", "POSITIVE"),
    ("I expected a masterpiece and got a boring, predictable mess.", "NEGATIVE"),
    ("The worst thing about this great film is that it ends.", "POSITIVE"),
    ("Great actors, wasted on an awful script.", "NEGATIVE"),
]

parser = argparse.ArgumentParser(description="Write a report of six reviews.")
parser.add_argument("--out", type=Path, default=Path(), help="directory for the files")
asked = parser.parse_args()

explainer = TextExplainer()
texts = [text for text, _ in REVIEWS]
explanations = list(explainer.many(texts))
for explanation in explanations:
    print(f"{explanation.prediction}, mostly {explanation.top(1)[0]}  {explanation.text}")

report = asked.out / "report.html"
save_report(explanations, report, truth=[label for _, label in REVIEWS], title="Six reviews")

# The same text, with half of its words or most of them kept, and by the paper's estimator.
ways = {
    "half of the words kept": explanations[4],
    "most words kept": explainer(texts[4], method=Sobol(keep=0.9)),
    "the paper's estimator": explainer(texts[4], method=Sobol(estimator="jansen", base_masks=32)),
}
comparison = asked.out / "comparison.html"
save_comparison(ways, comparison)
print(f"wrote {report} and {comparison}")
