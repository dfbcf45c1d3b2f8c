"""Many texts: explain them in a resumable job, read the results, summarise their words."""

from textsobol.corpus.estimate import estimate_corpus
from textsobol.corpus.job import explain_corpus
from textsobol.corpus.results import ExplainedTexts, read_explanations

__all__ = ["ExplainedTexts", "estimate_corpus", "explain_corpus", "read_explanations"]
