"""``python -m textsobol`` is the command ``textsobol``."""

from textsobol.cli import app

app()
