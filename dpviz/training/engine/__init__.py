"""Per-example gradients, their norms and clipped sums, for any network, one example at a time.

From outside: `per_example`, `rounding` (what a clipped sum may be off by), `binding`.
"""
