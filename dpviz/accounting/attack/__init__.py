"""Bounds on membership attacks: from ε and δ, from a whole privacy profile, and by the best test."""
