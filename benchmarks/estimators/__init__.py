"""How good and how fast the estimator core is, on models whose truth is known."""
