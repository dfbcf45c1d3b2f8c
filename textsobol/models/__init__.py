"""Models of our own: the GloVe bi-LSTM, and the one that is bundled."""

from pathlib import Path

BUNDLED = Path(__file__).parent / "imdb-bilstm"
"""Directory of the bundled sentiment classifier."""
