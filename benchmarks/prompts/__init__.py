"""Prompts as classifiers: how often they are right, and how faithful explanations of them are."""
