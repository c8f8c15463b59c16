"""The noise that a target ε needs, kept by value: some 0.1 s the first time."""

from __future__ import annotations

from functools import lru_cache

from dpviz.accounting.solve import solve


@lru_cache(maxsize=512)
def solved_noise(target: float, method: str, rate: float, steps: int, delta: float) -> float:
    """σ, the least with which `steps` steps cost at most `target` by `method`.

    Raises:
        ValueError: where no noise does, naming target_epsilon.
    """
    try:
        return solve(
            "noise_multiplier", target_epsilon=target, method=method, sample_rate=rate, steps=steps, delta=delta
        )
    except ValueError as problem:
        raise ValueError(f"Expected target_epsilon={target:.12g} to be reachable: {problem}") from None
