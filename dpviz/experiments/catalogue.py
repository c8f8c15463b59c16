"""All recorded experiments. One more is one file here, and one name in this list."""

from __future__ import annotations

from dpviz.experiments import adult, inference, policies, reached, teachers
from dpviz.experiments.experiment import Experiment

_ALL = (*policies.EXPERIMENTS, *inference.EXPERIMENTS, *adult.EXPERIMENTS, teachers.VOTES, *reached.EXPERIMENTS)
EXPERIMENTS: dict[str, Experiment] = {one.key: one for one in _ALL}
