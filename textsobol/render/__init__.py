"""Explanations as pages, plots and terminal output."""
