"""How fast explanations are, as ratios measured in one run."""
