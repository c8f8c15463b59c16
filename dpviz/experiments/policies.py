"""Policies that adapt while training, on digits: budgets as in Fig. 1, early stopping as in Fig. 2(d) of Lécuyer 2021.

σ, q and δ are the paper's, by batches of 102 of 10,000 examples where it has 512 of 50,000: an epoch costs the same.
The budgets' runs have a fifth of its 100 baseline epochs, 10 between counts and 50 that must be left, and a count's
noise is the paper's share of the data: 20 of 10,000. Counts before an early stop have its noise itself, 100: what they
cost is what the figure is about. Steps are as long as each model's usual ones, for a batch of 102 in place of 1024; for
early stops shorter, so that σ = 1 takes some five epochs to the paper's goal of 80 % (there it takes six).
"""

from __future__ import annotations

from typing import Any

from dpviz.experiments.experiment import TRAINED, Experiment, training_arm

EPOCH = 99  # steps: 10,000 ÷ 102, rounded up
SEEDS = (0, 1, 2)
_SAME: dict[str, Any] = {"batch_size": 102, "delta": 1e-6, "learning_rate_end": 1.0, "evaluation_every": EPOCH}


def _budgets(model: str, learning_rate: float) -> Experiment:
    """A fixed plan, and what the policies do with the budget of that plan."""
    known = _SAME | {"model": model, "learning_rate": learning_rate, "noise_multiplier": 1.0, "steps": 20 * EPOCH}
    longer = {"past_plan": "replan", "most_steps": 200 * EPOCH}
    adapted = known | longer | {"count_noise": 20.0, "count_every": 2, "margin_epochs": 10}
    return Experiment(
        key=f"budget_{model}",
        title=f"One budget on digits: fixed plan, adaptive noise, adaptive batch ({model})",
        arms={
            "fixed": training_arm(**known),
            "noise": training_arm(**adapted, policy="adaptive_noise"),
            "batch": training_arm(**adapted, policy="adaptive_batch"),
        },
        seeds=SEEDS,
        measure=TRAINED,
    )


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
    _budgets("cnn", 0.5),
    _budgets("scattering", 0.8),
    _early("cnn", 0.1),
    _early("scattering", 0.01),
)
