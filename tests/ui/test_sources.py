"""Frames are drawn without a session: with the samples that the page holds, and with no other."""

from dataclasses import replace
from typing import Any

from dpviz.gradients.families import draw_norms
from dpviz.questions.gradients import File, Measured
from dpviz.questions.leakage.stored import of_run
from dpviz.questions.networks import SmallNetwork
from dpviz.questions.source import Held, Missing, Source
from dpviz.runs.engine import Engine
from dpviz.ui import sources
from tests.trained import invented, recorded


def refused(value: Source[Any], held: Any) -> bool:
    try:
        return sources.with_held({"it": value}, {"it": held})["it"] is not held
    except ValueError:
        return True


def test_the_same_sample_and_no_other(engine: Engine) -> None:
    """A run is read from the store again and is the same; whatever is said of it differs, it is another."""
    small = SmallNetwork("mlp", 20, 40, 0)
    held = Held(small, invented(small.arguments))
    assert not refused(SmallNetwork("mlp", 20, 40, 0), held)
    assert refused(SmallNetwork("mlp", 30, 40, 0), held)
    assert refused(small, None)
    kept = sources.resolved(SmallNetwork("cnn", 500, 2000, 0))
    assert isinstance(kept, Held), "recorded: nothing is measured for it"
    assert sources.with_held({"it": kept.of}, {"it": None})["it"].sample() is kept.sample()
    recorded(engine)
    run = of_run(engine.runs()[0])
    assert not refused(of_run(engine.runs()[0]), Missing(run, "It comes.", True))
    assert refused(replace(run, attempt=2), Missing(run, "It comes.", True))
    assert refused(Measured("mlp", 100, 2000, 0), held)
    assert sources.with_held({"it": 3.0}, {"it": None}) == {"it": 3.0}
    # A file is whichever is held: no field says which, it was chosen beside them.
    sample = draw_norms("weibull", count=10, seed=1, shape=2.0)
    assert not refused(File(), Held(File("norms.npy", "column 1"), sample))
    assert not refused(File(), Missing(File(), "No file yet."))
