"""The two colours of every figure: for a label, and against it."""

# Blue and orange: people who confuse red and green can tell them apart.
FOR, AGAINST = (33, 102, 172), (217, 95, 2)
