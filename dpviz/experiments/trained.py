"""A training run as an experiment's measure: it keeps what was released, what was reached and what gradients showed."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpviz.accounting.bayesian.accountant import NAME as BAYESIAN
from dpviz.training.events import Event
from dpviz.training.loop import FreeRun, run
from dpviz.training.progress import advance, task
from dpviz.training.settings import RunSettings


def train(settings: dict[str, Any], seed: int) -> dict[str, Any]:
    """Train once.

    Returns:
        "examples": N; "steps"; "reason": why it ended (see `dpviz.training.events`); "epsilon": what secret noise would
        let it claim, None where nothing; "test_accuracy"; "evaluations": [[step, test accuracy], …]; "schedule": the
        steps that ran, [[σ, expected batch, how many], …], equal neighbours merged; "counts": private counts, [[after
        step, count, noise], …].
    """
    kept, summary = _run(settings, seed)
    claim = summary.get("claim") or {}
    return {
        "examples": kept.examples,
        **{name: summary[name] for name in ("steps", "reason", "test_accuracy")},
        "epsilon": (claim.get("with_secret_noise") or claim).get("epsilon"),
        "evaluations": kept.evaluations,
        "schedule": kept.schedule,
        "counts": kept.counts,
    }


def infer(settings: dict[str, Any], seed: int) -> dict[str, Any]:
    """Train once by variational inference.

    Returns:
        "examples": N; "steps"; "charged": [[σ, q, steps], …]; "test_accuracy": of the posterior's mean;
        "posterior_accuracy": of predictions averaged over its draws; "epsilon_mu": ε_μ at δ_μ, None where no distances
        were measured; "clipped": share of all gradients that were longer than C.
    """
    kept, summary = _run(settings, seed)
    return {
        "examples": kept.examples,
        "charged": summary["mechanisms"],
        **{name: summary[name] for name in ("steps", "test_accuracy", "posterior_accuracy")},
        "epsilon_mu": summary["epsilon"].get(BAYESIAN),
        "clipped": round(float(np.mean(kept.clipped)), 6),
    }


def _run(settings: dict[str, Any], seed: int) -> tuple[_Kept, dict[str, Any]]:
    asked, kept = RunSettings.from_json(settings | {"seed": seed}), _Kept()
    with task("training", "steps", asked.last_step):
        return kept, run(asked, kept.take, FreeRun())


class _Kept:
    """What of a run's events a record keeps."""

    def __init__(self) -> None:
        self.examples = 0
        self.clipped: list[float] = []
        self.evaluations: list[list[float]] = []
        self.schedule: list[list[float]] = []
        self.counts: list[list[float]] = []

    def take(self, event: Event) -> None:
        if event["kind"] == "started":
            self.examples = event["examples"]
        elif event["kind"] == "evaluation":
            self.evaluations.append([event["step"], round(event["test_accuracy"], 6)])
        elif event["kind"] == "count":
            self.counts.append([event["step"], round(event["count"], 3), event["mechanism"][0]])
        elif event["kind"] == "step":
            self._step(event)
            self.clipped.extend(share for share in event["clipped"] if share is not None)
            advance(event["count"])

    def _step(self, event: Event) -> None:
        batches = event["expected_batch_size"]
        sigmas = [sigma for sigma, _, count in event["mechanisms"] for _ in range(int(count))]
        for sigma, batch in zip(sigmas or [0.0] * len(batches), batches, strict=True):
            if not self.schedule or self.schedule[-1][:2] != [sigma, batch]:
                self.schedule.append([sigma, batch, 0])
            self.schedule[-1][2] += 1
