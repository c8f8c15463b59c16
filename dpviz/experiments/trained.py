"""A training run as an experiment's measure: it keeps what was released and what was reached."""

from __future__ import annotations

from typing import Any

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
    asked = RunSettings.from_json(settings | {"seed": seed})
    kept = _Kept()
    with task("training", "steps", asked.last_step):
        summary = run(asked, kept.take, FreeRun())
    claim = summary.get("claim") or {}
    claim = claim.get("with_secret_noise") or claim
    return {
        "examples": kept.examples,
        "steps": summary["steps"],
        "reason": summary["reason"],
        "epsilon": claim.get("epsilon"),
        "test_accuracy": summary["test_accuracy"],
        "evaluations": kept.evaluations,
        "schedule": kept.schedule,
        "counts": kept.counts,
    }


class _Kept:
    """What of a run's events a record keeps."""

    def __init__(self) -> None:
        self.examples = 0
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
            advance(event["count"])

    def _step(self, event: Event) -> None:
        batches = event["expected_batch_size"]
        sigmas = [sigma for sigma, _, count in event["mechanisms"] for _ in range(int(count))]
        for sigma, batch in zip(sigmas or [0.0] * len(batches), batches, strict=True):
            if self.schedule and self.schedule[-1][:2] == [sigma, batch]:
                self.schedule[-1][2] += 1
            else:
                self.schedule.append([sigma, batch, 1])
