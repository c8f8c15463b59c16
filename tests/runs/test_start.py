"""What is said while the workers start."""

from __future__ import annotations

from dpviz.runs.cluster.launch import Start


def test_from_nothing_to_the_first_that_is_up() -> None:
    start = Start(workers=3, begun=10.0)
    assert start.words(12.4) == "The workers are starting, 2 s so far: loading Dask (stage 1 of 4)."
    start.scheduler = True
    assert start.words(14.0).endswith("4 s so far: Python starts (stage 2 of 4).")
    start.changed(1, "loading", 14.0)
    start.changed(2, "loading", 14.0)
    assert start.words(15.0).endswith("2 of 3 loading PyTorch (stage 3 of 4).")
    start.changed(1, "connecting", 16.0)
    assert start.words(16.0).endswith("1 of 3 loading PyTorch, 1 of 3 connecting (stage 4 of 4).")
    start.changed(1, "up", 17.0)
    assert start.words(17.0) == ""


def test_one_that_ended_is_told_of_and_waited_for_anew() -> None:
    start = Start(workers=1, begun=0.0, scheduler=True)
    start.changed(1, "up", 3.0)
    start.changed(1, "ended", 100.0)
    assert start.failed == 1
    said = start.words(101.0)
    assert said == "The workers are starting, 1 s so far: Python starts (stage 2 of 4). 1 ended and was started again."
    start.changed(2, "up", 104.0)
    start.changed(2, "replaced", 200.0)
    assert start.failed == 1
    assert "0 s so far" in start.words(200.0)
