"""The ImageNet benchmark: run and report."""
