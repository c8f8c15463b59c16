"""An experiment as a value: what is run, with which settings and seeds, and the function that runs it once."""

import platform
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pkgutil import resolve_name
from typing import Any

from dpviz._extras import extra
from dpviz._version import __version__
from dpviz.experiments.record import Trial
from dpviz.training.settings import RunSettings

TRAINED = "dpviz.experiments.trained:train"
_NAME = re.compile(r"[a-z0-9][a-z0-9_]*")


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """Several ways to do one thing, its arms, each done once with every seed.

    Attributes:
        key: Names its record, `records/KEY.json`.
        title: What it is, in words, for the shell and the page.
        arms: Name → settings, JSON values that say everything: what stands in no setting cannot be held against the
            record later.
        seeds: Of all arms alike.
        measure: "module:function", called with an arm's settings and a seed; it returns a dict of JSON values and
            tells of its progress with `dpviz.training.progress`. Only its own module needs PyTorch.
    """

    key: str
    title: str
    arms: Mapping[str, Mapping[str, Any]]
    seeds: tuple[int, ...]
    measure: str

    def __post_init__(self) -> None:
        for name in (self.key, *self.arms):
            if not _NAME.fullmatch(name):
                raise ValueError(
                    f"Expected {name!r} to consist of small letters, digits and _, because it names a file."
                )
        if not self.arms or len(set(self.seeds)) != len(self.seeds) or not self.seeds:
            raise ValueError(
                f"Expected arms and different seeds of {self.key!r}, found {len(self.arms)}, {self.seeds}."
            )

    @property
    def trials(self) -> list[tuple[str, int]]:
        """Arm and seed of everything that is run, seed by seed: what is there early tells most."""
        return [(arm, seed) for seed in self.seeds for arm in self.arms]

    def run(self, arm: str, seed: int) -> Trial:
        """One arm with one seed.

        Raises:
            ValueError: for an arm that it has not, or settings that cannot work.
        """
        if arm not in self.arms:
            raise ValueError(f"Expected an arm of {self.key!r} in {', '.join(self.arms)}; found {arm!r}.")
        with extra("train"):
            measure = resolve_name(self.measure)
        began = time.process_time()
        measured = measure(dict(self.arms[arm]), seed)
        return Trial(
            arm=arm,
            seed=seed,
            date=time.strftime("%Y-%m-%d", time.gmtime()),
            version=__version__,
            device=f"CPU, {platform.machine()}",
            seconds=round(time.process_time() - began, 1),
            found=measured,
        )


def training_arm(**changed: Any) -> dict[str, Any]:
    """The settings of an arm that is measured by `TRAINED`, all of them written out: a default that changes later
    changes no record.

    Its runs are seeded demonstrations on one CPU thread, which anyone can repeat: such a run claims nothing, and the ε
    told of it is what secret noise would allow.
    """
    usual: dict[str, Any] = {
        "secure_noise": False,
        "device": "cpu",
        "threads": 1,
        "evaluation_every": 10,
        "histogram_every": 0,
    }
    settings = RunSettings(**(usual | changed))
    settings.check()
    arm = settings.to_json()
    del arm["seed"]  # each trial has its own
    return arm
