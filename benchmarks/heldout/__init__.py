"""How well scores predict the model on masks that were not used, and how near they are to truth."""
