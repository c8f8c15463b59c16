"""Runs of papers that the form can be filled with."""

from __future__ import annotations

from dpviz.experiments.experiment import Experiment
from dpviz.experiments.inference import ABALONE, ADULT
from dpviz.training.settings import RunSettings


def _of(experiment: Experiment, arm: str) -> RunSettings:
    """A recorded run as a run of one's own: with secret noise, on whatever there is, seen on its way."""
    usual = RunSettings()
    return RunSettings.from_json(dict(experiment.arms[arm])).with_(
        secure_noise=True,
        device=usual.device,
        threads=usual.threads,
        evaluation_every=50,
        histogram_every=usual.histogram_every,
    )


_TABLE_1 = "Bayesian DP, Table 1"
# Key → its name and its settings.
PREPARED: dict[str, tuple[str, RunSettings]] = {
    "bdpabalone": (f"{_TABLE_1}: Abalone", _of(ABALONE, "noise_1")),
    "bdpadult": (f"{_TABLE_1}: Adult", _of(ADULT, "noise_4")),
}
