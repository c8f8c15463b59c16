"""All recorded experiments. One more is one file here, and one name in this list."""

from __future__ import annotations

from dpviz.experiments import policies, teachers
from dpviz.experiments.experiment import Experiment

EXPERIMENTS: dict[str, Experiment] = {one.key: one for one in (*policies.EXPERIMENTS, teachers.VOTES)}
