"""All results on one page: which method answers which question best, and where ours is not it."""
