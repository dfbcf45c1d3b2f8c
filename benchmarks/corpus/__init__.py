"""What a corpus job costs, and whether it survives."""
