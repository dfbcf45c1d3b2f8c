"""The two colours of every figure: for a label, and against it."""

# Blue and orange are distinct for people who confuse red and green.
FOR, AGAINST = (33, 102, 172), (217, 95, 2)
