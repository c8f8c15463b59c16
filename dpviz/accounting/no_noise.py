"""The δ at which no noise is needed: the event that an example is ever drawn fits into it.

Of T Poisson samples with rate q an example is in none with probability (1 − q)^T; then it leaves no trace, whatever is
released. So any mechanism is (0, δ)-DP for δ ≥ 1 − (1 − q)^T, and those that are drawn may be published as they are:
formally a guarantee, and none that anyone should want.
"""

import math

from dpviz.accounting.no_answer import no_answer


def chance_of_being_drawn(sample_rate: float, steps: float) -> float:
    """1 − (1 − q)^T, rounded up; q in [0, 1], T ≥ 0."""
    if sample_rate == 1.0:
        return float(steps > 0.0)
    return min(-math.expm1(steps * math.log1p(-sample_rate)) * (1.0 + 1e-12), 1.0)


def no_noise_needed(delta: float, sample_rate: float, steps: float) -> str:
    """What to tell someone who asks for a private run where `solve` answers that no noise is needed."""
    chance = chance_of_being_drawn(sample_rate, steps)
    return str(no_answer("no_noise_needed", delta=delta, chance=chance, steps=steps, rate=sample_rate))
