"""Remote models: call them with retries, and never pay twice for the same text."""
