"""The two colours of every picture: words for a label, and words against it."""

# Blue against orange: told apart by people who confuse red and green.
FOR, AGAINST = (33, 102, 172), (217, 95, 2)
