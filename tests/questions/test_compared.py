"""A preset's printed values stand beside what the same settings give here."""

from typing import Any

import pytest

from dpviz.charts.plot import LinePlot
from dpviz.questions.catalogue import QUESTIONS
from dpviz.questions.presets import PRESETS, Preset
from dpviz.questions.question import Question
from tests.questions.asking import of_preset

# Drawn in the colours of other curves, or on axes that stand for something else.
APART = {
    "1.54e-6 for Wang et al. 2015",
    "1.45 (adaptive, under 8 epochs to 80 %)",
    "3.24 (not adaptive, 6 epochs to 80 %)",
}
WITH_POINTS = [(one, preset) for one in QUESTIONS.values() for preset in one.presets if preset.points]


def beside(question: Question[Any], preset: Preset) -> str:
    """What the note says."""
    answer = of_preset(question, preset.key)
    assert isinstance(answer.plot, LinePlot)
    return answer.plot.compared(preset.points)


@pytest.mark.parametrize(("question", "preset"), WITH_POINTS, ids=lambda one: one.key)
def test_every_printed_value_is_there(question: Question[Any], preset: Preset) -> None:
    said = beside(question, preset)
    for point in preset.points:
        if point.printed_value not in APART:
            assert f"{point.printed_value} · here " in said


def test_the_values_are_those_of_the_curves() -> None:
    said = beside(QUESTIONS["compose"], PRESETS["abadi2"])
    assert said.startswith("Printed 1.26 (moments) · here 1.259; 2.55 (moments) · here 2.576, because the paper's own ")
    assert "; 9.34 (strong composition) · here 9.354, because the paper does not state its exact rule; " in said
    assert "24.22 (strong composition) · here 24.25, because" in said
