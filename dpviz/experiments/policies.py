"""Early stops on digits, with fixed noise and fine-tuning, as in Fig. 2(d) of Lécuyer 2021.

σ, q, δ and a count's noise are the paper's, by batches of 102 of 10,000 examples where it has 512 of 50,000: an epoch
costs the same. Steps are of a length with which σ = 1 takes some five epochs to the paper's goal of 80 %, as there.
"""

from __future__ import annotations

from typing import Any

from dpviz.experiments.experiment import TRAINED, Experiment, training_arm

EPOCH = 99  # steps: 10,000 ÷ 102, rounded up
SEEDS = (0, 1, 2)
_SAME: dict[str, Any] = {"batch_size": 102, "delta": 1e-6, "learning_rate_end": 1.0, "evaluation_every": EPOCH}


def _early(model: str, learning_rate: float) -> Experiment:
    """To 80 % by a private count after every epoch: with σ = 1, and from σ = 2 downwards."""
    goal = {"target_accuracy": 0.8, "target_measure": "private", "count_every": 1, "count_noise": 100.0}
    known = _SAME | goal | {"model": model, "learning_rate": learning_rate, "steps": 30 * EPOCH}
    return Experiment(
        key=f"early_{model}",
        title=f"To 80 % on digits: fixed noise, fine-tuning ({model})",
        arms={
            "fixed": training_arm(**known, noise_multiplier=1.0),
            "tune": training_arm(**known, noise_multiplier=2.0, policy="fine_tuning"),
        },
        seeds=SEEDS,
        measure=TRAINED,
    )


EXPERIMENTS = (
    _early("cnn", 0.1),
    _early("scattering", 0.01),
)
