"""Runs as files: written, checked when read, recomputed, and told as a report."""
