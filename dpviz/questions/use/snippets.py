"""Code that trains with exactly a plan's numbers, for each library; each defines `train` and says its own ε.

Poisson batches are drawn by q itself, not by a batch size, and sums are divided by the expected batch: what ε counts.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from string import Template

from dpviz.questions.use.plan import CLIP, Plan

_TEXTS = tomllib.loads(Path(__file__).with_name("snippets.toml").read_text("utf-8"))

# Library → the release that its code was written for and run with.
RELEASES = {key: library["name"] for key, library in _TEXTS["libraries"].items()}


def snippets(plan: Plan) -> dict[str, str]:
    """Library → Python source."""
    numbers = Template(_TEXTS["numbers"]).substitute(
        sigma=repr(plan.noise_multiplier),
        rate=repr(plan.sample_rate),
        steps=f"{plan.steps:_}",
        clip=repr(CLIP),
        delta=repr(plan.delta),
    )
    parts = {"numbers": numbers, "account": _TEXTS["account"]}
    return {key: Template(library["source"]).substitute(parts) for key, library in _TEXTS["libraries"].items()}
