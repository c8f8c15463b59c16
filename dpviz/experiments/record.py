"""The record of an experiment: one small JSON file with the result, date, version and device of each arm and seed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from dpviz._arrays import Array
from dpviz._remember import remembered

COMMAND = "make papers"


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One arm with one seed.

    Attributes:
        arm, seed: Which.
        date: "2026-11-22", in UTC.
        version: Of dpviz.
        device: In words.
        seconds: Of computing: the process's time on its core.
        found: What was measured, JSON values.
    """

    arm: str
    seed: int
    date: str
    version: str
    device: str
    seconds: float
    found: Mapping[str, Any]


class Spread(NamedTuple):
    """One number over seeds: mean, lowest and highest."""

    mean: float
    lowest: float
    highest: float

    @classmethod
    def of(cls, values: npt.ArrayLike) -> Spread:
        """Of values (seeds,), at least one.

        >>> Spread.of([1.0, 2.0, 6.0])
        Spread(mean=3.0, lowest=1.0, highest=6.0)
        """
        each = np.asarray(values, dtype=np.float64)
        if not each.size:
            raise ValueError("Expected one value or more, found none.")
        return cls(float(each.mean()), float(each.min()), float(each.max()))


@dataclass(frozen=True, kw_only=True)
class ExperimentRecord:
    """All of an experiment.

    Attributes:
        key: The experiment's.
        command: What made it.
        settings: Arm → its settings as they were.
        trials: What each arm found with each seed.
    """

    key: str
    command: str
    settings: Mapping[str, Mapping[str, Any]]
    trials: tuple[Trial, ...]

    def of(self, arm: str) -> list[Trial]:
        """The trials of one arm, by seed.

        Raises:
            ValueError: if there is none.
        """
        trials = sorted((trial for trial in self.trials if trial.arm == arm), key=lambda trial: trial.seed)
        if not trials:
            raise ValueError(f"Expected an arm of {self.key!r} in {', '.join(self.settings)}; found {arm!r}.")
        return trials

    def result(self, settings: Mapping[str, Any], seed: int) -> Mapping[str, Any] | None:
        """What was measured with exactly these settings and this seed; None where nothing was."""
        trials = [t for t in self.trials if t.seed == seed and self.settings[t.arm] == settings]
        return trials[0].found if trials else None

    def values(self, arm: str, name: str) -> Array:
        """One measured number of each seed, (seeds,)."""
        return np.array([trial.found[name] for trial in self.of(arm)], dtype=np.float64)

    def spread(self, arm: str, name: str) -> Spread:
        return Spread.of(self.values(arm, name))

    @property
    def made(self) -> str:
        """How it was made, for a page: "3 seeds, CPU, x86_64, 2026-11-22, dpviz 0.1.0, 12 min of computing"."""
        seeds = len({trial.seed for trial in self.trials})
        seconds = sum(trial.seconds for trial in self.trials)
        took = f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"
        devices, versions = (
            " and ".join(sorted({getattr(t, name) for t in self.trials})) for name in ("device", "version")
        )
        dates = sorted({trial.date for trial in self.trials})
        when = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
        return f"{seeds} seed{'s' if seeds > 1 else ''}, {devices}, {when}, dpviz {versions}, {took} of computing"

    def to_text(self) -> str:
        """The file's text: JSON, a line an arm's settings and a line a trial."""
        settings = ",\n  ".join(f"{json.dumps(arm)}: {_line(each)}" for arm, each in self.settings.items())
        trials = ",\n  ".join(_line(asdict(trial)) for trial in self.trials)
        return (
            f'{{"experiment": {json.dumps(self.key)}, "command": {json.dumps(self.command)},\n'
            f' "settings": {{\n  {settings}}},\n "trials": [\n  {trials}]}}\n'
        )

    @classmethod
    def from_text(cls, text: str) -> Self:
        """From `to_text`.

        Raises:
            ValueError: for other text.
        """
        try:
            stored = json.loads(text)
            trials = tuple(Trial(**each) for each in stored["trials"])
            return cls(key=stored["experiment"], command=stored["command"], settings=stored["settings"], trials=trials)
        except (KeyError, TypeError) as problem:
            raise ValueError(f"Expected the record of an experiment: {problem}.") from None


def _line(value: Any) -> str:
    return json.dumps(value, allow_nan=False, ensure_ascii=False)


def folder() -> Path:
    """Where the package keeps its records."""
    return Path(str(resources.files("dpviz.experiments"))) / "records"


def recorded(key: str) -> ExperimentRecord:
    """The record that the package holds of the experiment `key`.

    Raises:
        ValueError: if there is none.
    """
    file = folder() / f"{key}.json"
    if not file.exists():
        raise ValueError(f"Expected a record of {key!r}, found none: run '{COMMAND}' to create it.")
    return _read(str(file), file.stat().st_mtime_ns)


@remembered
def _read(file: str, _: int) -> ExperimentRecord:
    """The record in this file, read again after a change."""
    return ExperimentRecord.from_text(Path(file).read_text(encoding="utf-8"))
