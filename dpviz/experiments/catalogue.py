"""All recorded experiments, as `experiments.toml` lists them. One more is one table there."""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dpviz.experiments.experiment import TRAINED, Experiment, training_arm
from dpviz.experiments.record import Trial

RUNS = TRAINED.partition(":")[0]  # the module whose measures are training runs


def read(text: str) -> Iterator[Experiment]:
    """The experiments of a TOML file; "none" is a setting without a value. Arms of training hold all its settings."""
    tables = tomllib.loads(text)
    same: dict[str, dict[str, Any]] = tables.pop("same", {})
    for key, table in tables.items():
        measure, shared = table.get("measure", TRAINED), [same[name] for name in table.get("same", ())]
        arms = {}
        for arm, own in table["arms"].items():
            layers = [*shared, table.get("settings", {}), *(same[name] for name in own.pop("same", ())), own]
            settings = {key: None if value == "none" else value for layer in layers for key, value in layer.items()}
            arms[arm] = training_arm(**settings) if measure.startswith(RUNS) else settings
        yield Experiment(key=key, title=table["title"], arms=arms, seeds=tuple(table["seeds"]), measure=measure)


_TEXT = Path(__file__).with_name("experiments.toml").read_text("utf-8")
EXPERIMENTS = {experiment.key: experiment for experiment in read(_TEXT)}


def again(key: str, arm: str, seed: int) -> Trial:
    """What one arm finds with one seed, here and now."""
    return EXPERIMENTS[key].run(arm, seed)
