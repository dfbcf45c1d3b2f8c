"""Deletion of shares of the words of texts of any length, between the model's own bounds."""
