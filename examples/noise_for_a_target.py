"""How much noise do I need for ε = 3? The unknown of (ε, δ, σ, q, T), by the accountant of your choice."""

from math import ceil

import dpviz

plan = {"sample_rate": 256 / 60_000, "steps": 14_062, "delta": 1e-5}
for method in ("moments", "renyi", "tight"):
    sigma = dpviz.solve("noise_multiplier", method=method, target_epsilon=3.0, **plan)
    print(f"{method:8} σ = {ceil(sigma * 1e4) / 1e4:.4f} is enough")  # rounded up: less would not be

# The same budget, spent otherwise: how many steps does less noise allow?
shorter = {"sample_rate": 256 / 60_000, "delta": 1e-5, "noise_multiplier": 0.8}
steps = dpviz.solve("steps", method="tight", target_epsilon=3.0, **shorter)
print(f"With σ = 0.8 the budget lasts for {steps:,} steps.")
