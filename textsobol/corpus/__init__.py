"""Many texts: a job that explains them, what it leaves behind, and the words of them all."""
