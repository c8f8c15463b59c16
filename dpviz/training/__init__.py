"""Private training: the only package that imports torch."""
