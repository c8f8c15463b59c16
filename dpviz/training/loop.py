"""One loop for all methods: trains, accounts step by step, and tells about it in events.

    >>> summary = run(RunSettings(), print, FreeRun())

Events are dicts of JSON values. All have "kind", "step" (steps done so far) and "time" (seconds since the start):

"started"     "settings", "examples" (N), "test_examples", "sample_rate" (q of the first step), "plan": {"steps": T,
              "mechanisms": [[σ, q, count], …]} as planned, "device", "threads", "parameters" (their number), "data" and
              "model" (in words), "noise_source" (in words), "fallback_layers", "unprotected": what in these events
              is measured on the training data and not covered by ε.
"step"        A stretch of steps; every list has one entry a step: "first" (number of the first, from 1), "count",
              "mechanisms": [[σ, q, count], …] of everything charged in the stretch, in order, equal neighbours merged,
              "charges": how many mechanisms were charged up to and with each step (counts of correct predictions are
              charged too), "batch_size", "expected_batch_size", "loss" (mean over the batch, None if it is empty),
              "clipped" (share of the batch that was clipped), "non_finite", "learning_rate", "seconds",
              "epsilon": {"moments" "renyi" "odometer" and, with Bayesian accounting, "bayesian": a list each},
              "distances": a list of pair distances a step (Bayesian accounting only; [] where too few examples: the
              worst case was charged), "norms": {"step", "edges", "counts", "max_grad_norm"} or None,
              "noise": {"sum_norm": ‖sum of clipped gradients‖, "noise_norm": ‖noise‖} of the last step in slow motion,
              else None.
"evaluation"  "train_loss", "test_loss", "test_accuracy" (public test data), "posterior_accuracy" or None,
              "train_accuracy" on a fixed part of the training data (not covered by ε).
"count"       A private count: "count", "accuracy" (count / N), "rose", "noise_multiplier" (σ from now on),
              "batch_size", "mechanism": [σ, q, 1].
"note"        "text": something that changed or should be known.
"done"        The plan's end, or a goal: "reason" ("plan", "target", "budget", "goal"), "text" and the numbers of the summary.
"stopped"     The control said stop; the same numbers.
"failed"      "text" and the same numbers, up to there.

The events together hold every mechanism that was charged, so that `recompute` finds every recorded ε again.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, Protocol

from dpviz.training.settings import RunSettings

Event = dict[str, Any]
Order = Literal["go", "pause", "stop", "step"]


class Control(Protocol):
    """How a run is held: asked at most four times a second while it runs, and at every step in slow motion.

    "go" runs on, "pause" waits, "step" takes one step of a paused run (each answer "step" is one step), "stop" ends
    the run, which then still writes its last events.
    """

    def poll(self) -> Order: ...


class FreeRun:
    """A control that lets the run go on to its end."""

    def poll(self) -> Order:
        return "go"


def run(
    settings: RunSettings,
    emit: Callable[[Event], None],
    control: Control,
    *,
    slow: float = 0.0,
    weights_to: Path | None = None,
) -> dict[str, Any]:
    """Train as `settings` say and tell about it.

    Args:
        settings: What to do.
        emit: Called with each event, in order, from this thread; an exception in it ends the run.
        control: How the run is held.
        slow: Seconds to wait after each step (slow motion); each step is then an event of its own.
        weights_to: Where the parameters are saved at the end, for `start_from` and for attacks; None for nowhere.

    Returns:
        The summary, which the last event also holds: "state" ("done", "stopped" or "failed"), "reason", "steps",
        "seconds", "epsilon" (a number for each accountant), "test_accuracy", "test_loss", "mechanisms" (all,
        run-length encoded), "charges".

    Raises:
        ValueError: for settings that cannot work; nothing was emitted then.
        DataUnavailable: if the data is not here; nothing was emitted then.
    """
    raise NotImplementedError
