"""Per-example gradients, their norms and clipped sums, for networks of listed layers or one example at a time.

From outside: `per_example`, `one_at_a_time`, `rounding` (what a clipped sum may be off by).
"""
