"""What RESULTS.md says around its tables."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Measure:
    """A column of the results.

    Attributes:
        name: of the column.
        title: in tables.
        said: what it is.
        higher_is_better: which way is better.
        has_interval: whether tables of methods show intervals, too.
    """

    name: str
    title: str
    said: str
    higher_is_better: bool = True
    has_interval: bool = False

    @property
    def is_near(self) -> bool:
        """Whether it asks about masks near the whole text."""
        return self.name.endswith("keep 0.9")

    @property
    def is_r2(self) -> bool:
        """Whether it can fall below any number."""
        return self.name.startswith("r2")


_MASKS = {
    "keep 0.5": "half of the words kept, independently",
    "keep 0.9": "words kept with probability 0.9",
    "deletions": "words deleted in random order, any number of them equally likely",
}
_VALUES = {
    "total": "total Sobol indices at keep rate 0.5",
    "banzhaf": "Banzhaf values, the mean effects at keep rate 0.5",
    "shapley": "Shapley values",
}
MEASURES = (
    *(
        Measure(f"r2 {name}", f"R², {name}", f"Share of the variance of fresh masks ({said}) that "
                "the method's own additive model predicts.", has_interval=name == "keep 0.5")
        for name, said in _MASKS.items()
    ),
    *(
        Measure(f"lds {name}", f"LDS, {name}",
                f"Rank correlation of predicted and true scores of fresh masks ({said}).")
        for name, said in _MASKS.items()
    ),
    *(
        Measure(f"rmse {name}", f"Error of {said.split(',')[0]}",
                f"Root mean square error of {said}, in units of their root mean square; of methods "
                "that estimate them.", higher_is_better=False)
        for name, said in _VALUES.items()
    ),
    *(
        Measure(f"rho {name}", f"Rank correlation with {said.split(',')[0]}",
                f"Rank correlation of the words' scores with converged {said}"
                + (" (of sizes)." if name == "total" else "."))
        for name, said in _VALUES.items()
    ),
)  # fmt: skip
NO_MODEL = tuple(
    Measure(
        f"fitted {name}",
        f"R² after a fit, {name}",
        f"R² of fresh masks ({said}) with the scale and intercept that suit these masks best: all "
        "that can be said of methods without an additive model of their own, and an upper bound "
        "for the others. It costs no passes, so it is not compared with the R² above.",
    )
    for name, said in _MASKS.items()
)
HEADER = """# Held-out masks and index error

Written by `python -m benchmarks.heldout report`; raw lines in `results/`.

**Held-out masks.** A method scores the words of a text with a number of forward passes. Its scores
then predict the model's log-odds of the predicted label for fresh masks, which no method was given.
The additive model is the method's own: for Sobol indices the mean over masks and the effects around
the keep rate; for Shapley and Owen values the score of the empty text and the values (Lundberg &
Lee 2017); for LIME and ridge regression the fitted line. Occlusion and RISE define none: they are
in the tables after a fit, and in those of rank correlation (LDS, the linear datamodelling score).
Words of a group that was masked as one share its effect equally. An R² below -1 counts as -1.
Shapley values are made to add up to the whole text, not to predict half of it: that is what their
R² shows, while LDS asks for the order only.

**Index error.** Converged values come from many base masks with their flips, of another seed;
Shapley values from as many walks; both from all masks where these are no more. The truth has an
error of its own, about `sqrt(passes a word / base masks)` of that of `flip`.

**Budget.** With k passes a word a text of d words has 1 + k (d + 1) forward passes, all that is
scored included; what needs more is left out of a column. Occlusion always has d + 1. Methods of a
column are compared on the same texts. Very short texts have no more than 2^d masks, so that some
fresh masks were seen; this helps every method.

Methods are run with their defaults; nothing was tuned on these texts. "Ours, without a path" spends
all passes on scores, "the default" about 30 % on the path."""
NOT_RUN = """**Not measured here.** interpreto replaces words by mask tokens, another function of
masks than deletion; its scores are in the league of `benchmarks/imdb`. ProxySPEX takes 1 to 4
seconds of a processor for each explanation of 30 words and was left out (also in that league).
OddSHAP, RegressionMSR and ProxySHAP are those of shapiq 1.8.0 with xgboost 3.4.1, in a Python 3.12
of their own; the other rivals are of the versions below. The MiniLM models leave out methods of
which another implementation is measured (shapiq's and captum's KernelSHAP, captum's Shapley
sampling, kADD-SHAP, SVARM, Partition SHAP), for the time that they take."""
SUMMARY = (
    "Ours, without a path, against the best rival with 2, 4, 8, 16 and 32 passes a word: how often "
    "first · level · behind, as the tables below say for each number of passes. With few texts "
    "level often means that more texts are needed. Ours predicts masks of its own keep rate: for "
    "masks near the whole text it also stands with keep=0.9; all rivals have their defaults."
)
SPEX = (
    "R² of fresh masks at keep rate 0.5, by forward passes a word, on texts of SPEX (Kang et al. "
    "2025). Published there, of a DistilBERT: 0.30 to 0.67 for LIME and 0.44 to 0.85 for SPEX, "
    "with 969 to 31,018 masks a text. Models and lengths differ (ours are the shorter texts): the "
    "measure is the same, the numbers stand beside each other and decide nothing."
)
PAIRS = (
    "R² with the pairs of the six highest words minus R² without, of the same explanation "
    "(interactions=6), with 95 % intervals. Columns: forward passes a word."
)
