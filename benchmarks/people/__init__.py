"""Do explanations mark what people mark? Plausibility, which is not faithfulness."""
