"""How the house is built: lines, the walk of one explanation, imports, pinned outputs."""
