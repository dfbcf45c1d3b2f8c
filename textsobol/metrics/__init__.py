"""How good an explanation is, and how much two of them agree."""
