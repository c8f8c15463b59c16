"""Fig. 3 of Li, Chen, Liu, Carin 2019: private Bayesian logistic regression on UCI Adult, by four methods.

The paper says δ = 1e-4, ten repetitions, and steps η₁ t^(−1/3); what it does not say is taken from elsewhere in it: the
standard sampler's η₁ = 0.1 (§3.1), T = N (§4.1), L = 1, q = 1/√N (§4.3), a standard Gaussian prior (§4.3).
One-posterior-sample needs bounded likelihoods, so its rows have norm 1 and its parameters lie in a ball, whose radius 8
was chosen by trial on this data. The hybrid of Wang, Fienberg, Smola 2015 spends half of ε on such a sample, and the
other half on Langevin steps from there, as large as their theorem allows, or as large as composing allows.
"""

from __future__ import annotations

from typing import Any

from dpviz.experiments.experiment import Experiment

EXAMPLES = 32_561
DELTA = 1e-4
STEPS = EXAMPLES
BATCH = 180  # √N
CLIP = 1.0
STANDARD = 0.1
FIRST_STEPS = (0.0069, 0.0238, 0.0491, STANDARD)
SAMPLE_EPSILONS = (0.05, 0.1, 0.2, 0.3, 0.5, 1.0)
HYBRID_EPSILONS = (0.1, 0.3, 0.5, 1.0)

_POSTERIOR: dict[str, Any] = {"radius": 8.0, "prior_std": 1.0}
_CHAIN: dict[str, Any] = {"batch_size": BATCH, "steps": STEPS, "prior_std": 1.0, "clip": CLIP}
_SHORT: dict[str, Any] = {"batch_size": BATCH, "steps": 3256, "delta": DELTA, "clip": CLIP} | _POSTERIOR


def named(epsilon: float) -> str:
    """0.05 → "005"."""
    return f"{round(100 * epsilon):03d}"


ADULT_METHODS = Experiment(
    key="adult_posterior",
    title="Bayesian logistic regression on Adult: one posterior sample, hybrid, DP-SGLD",
    arms={
        "baseline": {"method": "chain", "first_step": STANDARD} | _CHAIN | {"clip": None},
        **{f"sgld_{i}": {"method": "chain", "first_step": eta} | _CHAIN for i, eta in enumerate(FIRST_STEPS, 1)},
        **{f"sample_{named(e)}": {"method": "sample", "epsilon": e} | _POSTERIOR for e in SAMPLE_EPSILONS},
        **{
            f"{rule}_{named(e)}": {"method": "hybrid", "epsilon": e, "rule": rule} | _SHORT
            for rule in ("wang", "composed")
            for e in HYBRID_EPSILONS
        },
    },
    seeds=tuple(range(10)),
    measure="dpviz.training.posterior_accuracy:accuracy",
)
EXPERIMENTS = (ADULT_METHODS,)
