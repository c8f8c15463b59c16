"""What is reached is drawn as it was recorded, at no less than it cost, and comes to what was hoped for."""

from __future__ import annotations

import numpy as np
import pytest

import dpviz
from dpviz.charts.plot import LinePlot
from dpviz.experiments.reached import CIFAR, DELTA, EPSILONS, MODELS, REACHED, WHOLE, arm
from dpviz.experiments.record import recorded
from dpviz.questions.papers.reached import REACHED_VIEW
from tests.questions.asking import asked


@pytest.mark.parametrize("experiment", [REACHED, WHOLE, CIFAR], ids=lambda e: e.key)
def test_noise_is_the_least_of_its_epsilon(experiment: object) -> None:
    for name, settings in experiment.arms.items():  # type: ignore[attr-defined]
        epsilon, trial = float(name.rpartition("_")[2]), recorded(experiment.key).of(name)[0]  # type: ignore[attr-defined]
        [(sigma, batch, steps)] = trial.found["schedule"]
        assert sigma == settings["noise_multiplier"]
        known = {"sample_rate": batch / trial.found["examples"], "steps": steps, "delta": DELTA}
        assert float(dpviz.epsilon("tight", noise_multiplier=sigma, **known)) <= epsilon
        assert float(dpviz.epsilon("tight", noise_multiplier=0.998 * sigma, **known)) > epsilon


def test_the_view_draws_the_record() -> None:
    answer, record = asked(REACHED_VIEW), recorded(REACHED.key)
    assert isinstance(answer.plot, LinePlot)
    assert [line.key for line in answer.plot.lines] == list(MODELS)
    for line in answer.plot.lines:
        assert list(line.x) == list(EPSILONS)
        medians = [np.median(record.values(arm(line.key, e), "test_accuracy")) for e in EPSILONS]
        assert list(line.y) == pytest.approx(medians)
    for model, found in answer.facts.models.items():
        for one in found:
            assert one.epsilon <= one.planned
            values = record.values(arm(model, one.planned), "test_accuracy")
            assert one.accuracies == tuple(values)
    whole = float(np.median(recorded(WHOLE.key).values("whitened_3", "test_accuracy")))
    assert answer.plot.rings[-1].y == whole
    assert f"<b>{100 * whole:.1f}\u00a0%</b>" in REACHED_VIEW.headline(answer)
    (table,) = REACHED_VIEW.more["The runs"](answer)
    assert len(table) == sum(len(one.arms) for one in (REACHED, WHOLE, CIFAR))  # type: ignore[arg-type]
