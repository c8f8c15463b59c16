"""Per-example gradients, their norms and clipped sums, for any network.

From outside: `per_example`, `rounding` (what a clipped sum may be off by), `binding`.
"""
