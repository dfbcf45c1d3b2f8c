"""Look at an explanation: write a page with the words highlighted, and a plot.

The plot needs matplotlib: pip install -c constraints.txt ".[plot]"

Run:  python examples/highlight_html.py            # writes review.html and review.png
      python examples/highlight_html.py --open     # and opens the page in a browser
"""

import argparse
import webbrowser
from pathlib import Path

from textsobol import Sobol, TextExplainer

REVIEW = (
    "A gripping, beautifully acted film, ruined by its dull ending.\n\n"
    "For an hour I was delighted: the music is wonderful, the two leads are a joy to watch, and "
    "the first murder is staged with real wit. Then the script gives up. The detective explains "
    "everything, twice, in a clumsy and lifeless monologue, and the last half hour is not good at "
    "all. What a waste of a great cast! Still, I liked the photography, and I have seen worse."
)

parser = argparse.ArgumentParser(description="Write a page with a review's words highlighted.")
parser.add_argument("--out", type=Path, default=Path(), help="directory for the files")
parser.add_argument("--open", action="store_true", help="open the page in a browser")
asked = parser.parse_args()

explainer = TextExplainer()  # the bundled classifier of film reviews
# interactions: which of the six strongest words work together?
explanation = explainer(REVIEW, method=Sobol(interactions=6))
explanation.show()

page = asked.out / "review.html"
explanation.save(page)
explanation.save(asked.out / "review.png")
print(f"wrote {page} and {asked.out / 'review.png'}")
if asked.open:
    webbrowser.open(page.resolve().as_uri())
