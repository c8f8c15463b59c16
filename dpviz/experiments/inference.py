"""Table 1 of Triastcyn & Faltings 2020, Abalone and Adult: logistic regression by DPVI, for several levels of noise.

The paper refers to Jälkö, Dikmen and Honkela 2017 for model and settings. Their public scripts have T = 1000, q = 0.05,
C = 5 for Abalone and T = 2000, q = 0.005, C = 75 for Adult, C for gradients that are multiplied by N ÷ batch = 1/q; a
prior N(0, I), and AdaGrad with rate 0.1. Here C is for the gradients themselves, steps are SGD's with a rate found by
trial on these data, features are scaled as the data sets here are, and the noise is what the moments accountant asks
for ε = 7.6 and 0.5 (the least of each list, rounded up), and more.
"""

from __future__ import annotations

from typing import Any

from dpviz.accounting.bayesian.accountant import NAME as BAYESIAN
from dpviz.experiments.experiment import Experiment, training_arm

SEEDS = (0, 1, 2, 3, 4)
PLAIN = "none"  # the arm without privacy: no noise to speak of, and a threshold that no gradient reaches
SIGMAS = {"abalone": (1.39, 2.23, 4.09, 7.87, 17.3, 40.0), "adult": (0.74, 0.97, 1.38, 2.56, 6.0, 20.0)}
_SAME: dict[str, Any] = {
    "model": "logistic", "method": "dpvi", "prior_std": 1.0, "learning_rate": 5.0, "momentum": 0.0,
    "evaluation_every": 0,
}  # fmt: skip
_PRIVATE = {BAYESIAN: True, "pairs": 32, "definition": 1, "delta_mu": 1e-10}


def _inference(data: str, title: str, *, batch_size: int, steps: int, max_grad_norm: float) -> Experiment:
    known = _SAME | {"data": data, "batch_size": batch_size, "steps": steps}
    private = known | _PRIVATE | {"max_grad_norm": max_grad_norm}
    return Experiment(
        key=f"inference_{data}",
        title=f"Variational inference on {title}, with several levels of noise and none",
        arms={
            PLAIN: training_arm(**known, max_grad_norm=1e3, noise_multiplier=1e-9),
            **{f"noise_{i}": training_arm(**private, noise_multiplier=s) for i, s in enumerate(SIGMAS[data], 1)},
        },
        seeds=SEEDS,
        measure="dpviz.experiments.inferred:infer",
    )


ABALONE = _inference("abalone", "Abalone", batch_size=157, steps=1000, max_grad_norm=0.25)
ADULT = _inference("adult", "Adult", batch_size=163, steps=2000, max_grad_norm=0.375)
EXPERIMENTS = (ABALONE, ADULT)
