"""What does my training cost? ε of one plan by several accountants, and what an attacker gains.

The plan: 60 epochs of Poisson batches, 256 of 60,000 examples on average, with noise multiplier 1.1.
"""

from math import ceil, floor

import dpviz


def up(value: float) -> str:
    """Three decimals, rounded up: a bound that is rounded down is none."""
    return f"{ceil(value * 1e3) / 1e3:.3f}"


plan = {"noise_multiplier": 1.1, "sample_rate": 256 / 60_000, "steps": 14_062}
for method in ("strong", "moments", "renyi", "tight"):
    print(f"{method:8} ε ≤ {up(dpviz.epsilon(method, delta=1e-5, **plan))}")

lower = dpviz.epsilon("tight", delta=1e-5, bound="lower", **plan)
print(f"No accountant can prove less than ε = {floor(lower * 1e3) / 1e3:.3f}.")

right = dpviz.best_accuracy(**plan).upper
print(f"No attack on one example is right more than {up(100 * right)} % of the time (guessing: 50 %).")

# The same numbers, if every epoch is shuffled and cut into batches instead: a loader's usual way.
shuffled = dpviz.Shuffled(1.1, batches=234)
print(f"shuffled ε ≤ {up(dpviz.epsilon('tight', mechanism=shuffled, steps=60, delta=1e-5))}")
