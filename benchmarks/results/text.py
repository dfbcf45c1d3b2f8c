"""What RESULTS.md says around its tables."""

from benchmarks.results.questions import PASSES

HEADER = """# Results on one page

Which method of explaining a text classifier answers which question best? Written by `python -m
benchmarks.results` from the raw lines of all benchmarks: no number on this page is typed by hand.
Apart from the number of passes, methods are run with their defaults. Choices were made on training
texts; the [pages of the benchmarks](#all-pages) say where that was not so. The models and texts of
every question are listed under [Conditions](#conditions)."""
VERDICTS = """## Who is best

Our default against the best rival of each question and family of models, on the same
texts: **{counts}**, of {n}. The default also searches for a path, which takes up to half of a small
budget; with all passes spent on scores, as by rivals, it is {without}, of the {n_without} questions
where that was measured.

First: the 95 % interval of the paired difference is above 0; behind: below 0; else level. In
brackets the difference of ours to that rival and its interval, turned so that above 0 is better for
ours. The best rival is picked on the same texts, which favours it. Being first among few rivals
means little, so their number is given. With few texts, "level" often only means that more texts are
needed. Intervals are not corrected for the number of comparisons."""
HOW_TO_READ = f"""Means over texts; in a column all methods of a family have the same texts.
**Bold**: the best attribution; <u>underlined</u>: the next; empty: not measured. Arrows say which
way is better. Attributions score every word; searches look for deletions, optimise what deletion
measures, and are not marked. Methods that can choose have {PASSES} passes a word unless the
[conditions](#conditions) say otherwise, others their own number. "Own budget" is what our default
takes unless told otherwise, far more in short texts; it is not marked where rivals had fewer."""
PLOT_CAPTION = (
    "A panel for every question: methods, their means and 95 % intervals, a colour for every "
    "family of models"
)
PAGES = """## All pages

| page | question | data |
|---|---|---|
| [The league](imdb/LEAGUE.md) | Which method deletes best at the same number of forward passes? | IMDB test reviews |
| [Word deletion](imdb/RESULTS.md) | The paper's benchmark; keep rates; two seeds; intervals; the sanity check | the same |
| [Held-out masks](heldout/RESULTS.md) | Whose scores predict what the model says of fresh masks? | IMDB, SST-2, AG News, the texts of SPEX |
| [Deletion by shares](deletion/RESULTS.md) | Comprehensiveness and sufficiency, between the bounds of each model | reviews of their natural length |
| [Planted words](shortcuts/RESULTS.md) | Does it find the words that decide? | SST-2 with planted words |
| [Agreement with people](people/RESULTS.md) | Do explanations mark the words that people mark? | toxic posts, film reviews |
| [Language models](prompts/RESULTS.md) | How well do explanations of a prompt's answers delete and insert? | SST-2 sentences; SmolLM2-135M |
| [Gates](gates/RESULTS.md) | What do gate gradients gain, and what do they cost? | IMDB test reviews, planted words |
| [Estimators](estimators/RESULTS.md) | Do estimates converge, and do intervals contain the true value? | models whose truth is known |
| [Speed](speed/RESULTS.md) | How long does an explanation take, beside its bare forward passes and other packages? | MiniLM, two CPU cores |
| [Many texts](corpus/RESULTS.md) | Time and memory of jobs; what a million reviews cost | IMDB |
| [Pictures](imagenet/RESULTS.md) | Deletion, insertion and the pointing game | photographs of ImageNet |"""  # noqa: E501
