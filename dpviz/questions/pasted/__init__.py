"""Pasted texts, read for a private training: programs, settings, logs and accountants' histories. None is ever run."""
