"""The IMDB benchmark: train, run and report."""
