"""Which ε may be said of a run: it depends on how the run ended, and on what decided about its steps."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpviz.charts.training import NAME
from dpviz.runs.records import RunRecord
from dpviz.runs.tables import RunView
from dpviz.training.settings import RunSettings
from dpviz.ui.tight_band import TightBand
from dpviz.ui.train.plan import Plan


@dataclass(frozen=True)
class Claim:
    """An upper bound on ε at δ, the accountant that proves it, and whether it reads the end as if it were planned."""

    epsilon: float
    method: str
    as_planned: bool = False


def settings_of(record: RunRecord) -> RunSettings | None:
    """The run's settings; None where it was made by something else than `dpviz.training`."""
    try:
        return RunSettings.from_json(record.settings)
    except (ValueError, TypeError):
        return None


def decided_ahead(settings: RunSettings) -> bool:
    """Whether nothing that was seen decides about the steps."""
    return settings.policy == "fixed" and settings.past_plan == "stop"


def readings(view: RunView) -> dict[str, float]:
    """The last ε of every accountant, private counts included; of the summary where there is one."""
    found: dict[str, float] = {}
    for table in (view.steps, view.counts):  # a count that came after the last step has added to it
        for name, values in table.items():
            if name.startswith("epsilon.") and values.size:
                key = name.removeprefix("epsilon.")
                found[key] = max(found.get(key, 0.0), float(values[-1]))
    final = view.final.get("epsilon")
    if isinstance(final, dict):
        found |= {name: float(value) for name, value in final.items() if isinstance(value, (int, float))}
    return found


def claim(view: RunView, settings: RunSettings, plan: Plan | None, tight: TightBand | None) -> Claim | None:
    """The least ε that holds for what the run has released; None where nothing was charged or nothing holds.

    Bayesian DP, a weaker promise, is never claimed here.
    """
    if not settings.private:
        return None
    found = readings(view)
    if not found:
        return None
    running = not view.record.over
    if decided_ahead(settings) and (running or view.final.get("reason") == "plan"):
        known: dict[str, float] = {name: found[name] for name in ("renyi", "moments", "tight") if name in found}
        # While it runs the tight interval lags behind: naming it now and then would make the sentence jump.
        still = view.record.over or view.record.state == "paused"
        if still and tight is not None and tight.x.size and tight.x[-1] == view.record.steps:
            known["tight"] = float(tight.upper[-1])
        return _least(known, as_planned=running)
    lasting: dict[str, float] = {"odometer": found["odometer"]} if "odometer" in found else {}
    if settings.policy == "fixed" and plan is not None and np.isfinite(plan.total):
        # However many of them it takes: the most was decided ahead, also where it re-plans by itself.
        ahead = settings.past_plan == "stop"
        lasting["the whole plan" if ahead else f"all {settings.last_step} steps it may take"] = plan.total
    if settings.filter_epsilon is not None:
        lasting["filter budget"] = settings.filter_epsilon
    return _least(lasting)


def over_attempts(said: Claim | None, settings: RunSettings, every: float) -> Claim | None:
    """What holds for a run that was started again with other noise: all attempts were seen, so all are charged.

    Args:
        said: what holds for the latest attempt alone.
        settings: the run's settings.
        every: the Rényi ε of everything that all attempts charged.
    """
    if said is None or not decided_ahead(settings):
        return None
    return Claim(max(said.epsilon, every), "Rényi, all attempts", said.as_planned)


def _least(known: dict[str, float], as_planned: bool = False) -> Claim | None:
    finite = {name: value for name, value in known.items() if math.isfinite(value)}
    if not finite:
        return None
    best = min(finite, key=lambda name: finite[name])
    return Claim(finite[best], NAME.get(best, best), as_planned)
