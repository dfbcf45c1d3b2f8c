"""Language models as classifiers: a prompt with a text in it, and log-probabilities of answers."""
