"""Variational inference as an experiment's measure: accuracies, and what Bayesian DP makes of its gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpviz.accounting.bayesian.accountant import NAME as BAYESIAN
from dpviz.training.events import Event
from dpviz.training.loop import FreeRun, run
from dpviz.training.progress import advance, task
from dpviz.training.settings import RunSettings


def infer(settings: dict[str, Any], seed: int) -> dict[str, Any]:
    """Infer once.

    Returns:
        "examples": N; "steps"; "charged": [[σ, q, steps], …]; "test_accuracy": of the posterior's mean;
        "posterior_accuracy": of predictions averaged over its draws; "epsilon_mu": ε_μ at δ_μ, None where no distances
        were measured; "clipped": share of all gradients that were longer than C.
    """
    asked = RunSettings.from_json(settings | {"seed": seed})
    examples: list[int] = []
    clipped: list[float] = []

    def take(event: Event) -> None:
        if event["kind"] == "started":
            examples.append(event["examples"])
        elif event["kind"] == "step":
            clipped.extend(share for share in event["clipped"] if share is not None)
            advance(event["count"])

    with task("inferring", "steps", asked.last_step):
        summary = run(asked, take, FreeRun())
    return {
        "examples": examples[0],
        "steps": summary["steps"],
        "charged": summary["mechanisms"],
        "test_accuracy": summary["test_accuracy"],
        "posterior_accuracy": summary["posterior_accuracy"],
        "epsilon_mu": summary["epsilon"].get(BAYESIAN),
        "clipped": round(float(np.mean(clipped)), 6),
    }
