"""Whether a record is of an experiment as it stands."""

from collections.abc import Mapping
from typing import Any

from dpviz.experiments.experiment import Experiment
from dpviz.experiments.record import ExperimentRecord
from dpviz.training.settings import RunSettings

_OF_A_RUN = frozenset(RunSettings().to_json())


def same_settings(experiment: Experiment, record: ExperimentRecord) -> bool:
    """Whether it was made with these arms and seeds; a run's setting that came later has its default."""

    def meant(arms: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        return {
            arm: RunSettings.from_json(dict(each)) if _OF_A_RUN.issuperset(each) else dict(each)
            for arm, each in arms.items()
        }

    trials = sorted((trial.arm, trial.seed) for trial in record.trials)
    return trials == sorted(experiment.trials) and meant(record.settings) == meant(experiment.arms)
