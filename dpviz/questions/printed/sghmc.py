"""DP-SGHMC's rows in Table 1 of Li, Chen, Liu, Carin 2019, whose friction is not given: what comes out at β = 0.1."""

from __future__ import annotations

from typing import Any

import dpviz
from dpviz.accounting.langevin.cost import Langevin, langevin_tight
from dpviz.questions.printed.claim import Recomputed, tight


def mnist_sghmc() -> Recomputed:
    """One epoch of MNIST with the steps of DP-SGLD and β = 0.1."""
    schedule = dpviz.PowerSchedule(0.1, 1.0 / 3.0, 245)
    bound = dpviz.langevin_epsilon(schedule, n=60_000, batch_size=245, clip=4, delta=1e-5, friction=0.1)
    interval = langevin_tight(Langevin(60_000, 245, 4, 0.1), schedule, 1e-5, 20)
    return tight(interval, float(bound), "after one epoch; value: Rényi, interval: tight")


def svhn_sghmc() -> Recomputed:
    """20 epochs of SVHN with the steps of DP-SGLD and β = 0.1."""
    schedule = dpviz.PowerSchedule(0.1, 1.0 / 3.0, round(20 * 604_388 / 777))
    found = dpviz.langevin_epsilon(schedule, n=604_388, batch_size=777, clip=1, delta=1e-6, friction=0.1)
    return Recomputed(float(found), said="upper bound after 20 epochs")


SGHMC: dict[str, dict[str, Any]] = {
    "MNIST": {
        "why": "σ = τ√(2β/(ηN))/L. With β = 0.1 the first epoch costs far more than is printed; without momentum "
        "(β = 1) 20 epochs come near it.",
        "link": "langevin?preset=sgmnisthmc",
        "recompute": mnist_sghmc,
    },
    "SVHN": {
        "why": "σ = τ√(2β/(ηN))/L. With β = 0.1 20 epochs cost less than is printed.",
        "link": "langevin?preset=sgsvhnhmc",
        "recompute": svhn_sghmc,
    },
}
