"""Words, token-aware masks, classifiers, and the explanation of a text."""
