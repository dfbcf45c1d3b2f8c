"""Models elsewhere: asked politely, and never twice for the same text."""
