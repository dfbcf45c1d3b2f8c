"""What gate gradients gain, against flips and against other methods."""
