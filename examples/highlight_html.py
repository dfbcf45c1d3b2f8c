"""Look at an explanation: write a page with the words highlighted, and a plot.

Run:  python examples/highlight_html.py            # writes review.html and review.png
      python examples/highlight_html.py --open     # and opens the page in a browser
"""

import argparse
import webbrowser
from pathlib import Path

from textsobol import TextExplainer

REVIEW = """A gripping, beautifully acted film, ruined by its dull ending.

The script is not good: clumsy, lifeless, and far too long. Still, I liked the music and the
wonderful photography."""

parser = argparse.ArgumentParser(description="Write a page with a review's words highlighted.")
parser.add_argument("--out", type=Path, default=Path(), help="directory for the files")
parser.add_argument("--open", action="store_true", help="open the page in a browser")
asked = parser.parse_args()

explainer = TextExplainer()  # the bundled classifier of film reviews
# whatif: what does the model say when the strongest words are deleted one after another?
# interactions: which of the six strongest words work together?
explanation = explainer(REVIEW, whatif=True, interactions=6)
explanation.show()

page = asked.out / "review.html"
explanation.save(page)
explanation.save(asked.out / "review.png")
print(f"wrote {page} and {asked.out / 'review.png'}")
if asked.open:
    webbrowser.open(page.resolve().as_uri())
