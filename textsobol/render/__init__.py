"""Explanations as something to look at."""
