"""Audits: lower bounds on ε from attacks on runs with and without one example, or on one run with many of them.

A bound says that ε is at least so large, but with a small probability. It proves nothing from above: an attack that
finds nothing may be a weak attack.
"""
