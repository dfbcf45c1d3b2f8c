"""Measurements; not part of the installed package."""
