"""One run of a recorded experiment again, in the process beside the app."""

from __future__ import annotations

from dpviz.experiments.catalogue import EXPERIMENTS
from dpviz.experiments.record import Trial


def again(key: str, arm: str, seed: int) -> Trial:
    """What one arm finds with one seed, here and now."""
    return EXPERIMENTS[key].run(arm, seed)
