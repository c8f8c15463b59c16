"""Votes of PATE's teachers on the shipped digits (after Papernot et al. 2017): four sizes of the ensemble."""

from __future__ import annotations

from dpviz.experiments.experiment import Experiment

TEACHERS = (25, 50, 100, 250)

VOTES = Experiment(
    key="teachers",
    title="Votes of 25 to 250 teachers on 1000 digits",
    arms={str(teachers): {"teachers": teachers} for teachers in TEACHERS},
    seeds=(0,),
    measure="dpviz.training.ensemble:measure",
)
