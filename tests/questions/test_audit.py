"""The audit: its bounds against the claim, which faults it sees, further runs, and the table of the shell."""

import json
from typing import Any

import numpy as np
import pytest

import dpviz
from dpviz.__main__ import main
from dpviz.charts.plot import LinePlot
from dpviz.experiments.record import recorded
from dpviz.questions.asked import ask
from dpviz.questions.attack.audit import AUDIT, FAULT, MAKING, MORE, RUNS
from dpviz.questions.attack.audit_runs import FAULTS, HUNDRED, MoreRuns, claim, fault_rows, plan, recorded_scores
from dpviz.questions.source import Held, Missing
from tests.questions.asking import asked, notes

WAYS = ("joint", "interval")  # that give bounds


def test_the_claim_is_that_of_the_recorded_plan() -> None:
    for fault in FAULTS:
        mechanism, steps = plan(fault)
        exact = float(dpviz.epsilon("tight", mechanism=mechanism, steps=steps, delta=0.01))
        assert claim(fault, 0.01) == pytest.approx(exact)
        assert 1.98 < exact <= 2.0


def test_many_runs_show_most_of_the_claim_and_never_all_of_it() -> None:
    """Of few runs little; whether the second thousand adds to the first is up to chance, and so is not asked."""
    few, facts, most = (ask("audit", runs=runs).answer.facts for runs in (200, 1000, 2000))
    assert (few.runs, facts.runs, most.runs) == (200, 1000, 2000)
    assert few.value < 0.5 * facts.claim < min(facts.value, most.value)
    assert max(facts.value, most.value) < facts.claim
    assert facts.shown.interval < facts.shown.joint


def test_the_runs_that_chose_the_threshold_are_not_counted() -> None:
    counts = ask("audit", runs=400).answer.facts.shown.counts
    assert (counts.without, counts.with_it) == (300, 300)


def test_bounds_are_written_rounded_down() -> None:
    written = [ask("audit", runs=runs, estimator=way).answer.facts for runs in (300, 700, 1200) for way in WAYS]
    for facts in written:
        assert 0.0 <= facts.value - float(facts.written) < 0.011


def test_what_is_not_there_is_said() -> None:
    few = asked(AUDIT, aufault="clip", auruns="2000")
    assert few.facts.runs == 1000
    assert "1000 runs a side are there" in notes(AUDIT, few)
    assert "are there" not in notes(AUDIT, asked(AUDIT))


def test_a_link_holds_all_runs_that_can_be_made() -> None:
    most = max(len(recorded_scores(fault).without) for fault in FAULTS)
    assert RUNS.high >= most + HUNDRED * MORE.high


def test_every_fault_is_seen_and_no_fault_is_not() -> None:
    rows = fault_rows(1000, 0.01)
    assert [row["fault seen"] for row in rows] == ["no"] + ["yes"] * (len(FAULTS) - 1)
    assert all(len(row["why"]) > 40 for row in rows)
    assert "something is wrong" in ask("audit", fault="noise").headline
    assert "no contradiction" in ask("audit").headline


def test_one_run_shows_nothing_at_a_large_delta_and_says_why() -> None:
    at = asked(AUDIT, auway="one_run")
    assert at.facts.one_run == 0.0
    assert "2mδ = 20" in notes(AUDIT, at)
    small = asked(AUDIT, auway="one_run", audelta="1e-5")
    assert 0.3 < small.facts.one_run < small.facts.claim
    assert "20,000 runs a side" in notes(AUDIT, small)


def test_the_fit_is_an_estimate_without_a_verdict() -> None:
    at = asked(AUDIT, auway="fit", aufault="noise")
    assert at.facts.value > at.facts.claim
    assert not at.facts.seen
    assert "≈" in AUDIT.headline(at)
    honest = asked(AUDIT, auway="fit").facts
    assert honest.value == pytest.approx(honest.claim, rel=0.15), "its assumption holds for these runs"


def test_further_runs_follow_the_recorded_ones() -> None:
    more = MoreRuns("honest", 2)
    first = 1 + max(trial.seed for trial in recorded("audit").trials)
    assert more.arguments["seeds"] == [first, first + 1]
    made: dict[str, Any] = {"without": [9.0] * 2 * HUNDRED, "with": [9.0] * 2 * HUNDRED}
    values = AUDIT.read(lambda field: field.default) | {"runs": 10_000}
    there = len(recorded_scores("honest").without)
    assert AUDIT.asked(values | {"training": Held(more, made)}).facts.available == there + 2 * HUNDRED
    late = AUDIT.asked(values | {"training": Missing(more, "being made", coming=True)})
    assert (late.facts.available, late.facts.problem) == (there, MAKING)
    assert AUDIT.texts({"training": more}) == {MORE.key: "2"}
    assert AUDIT.texts({"training": MoreRuns("noise", 0)}) == {FAULT.key: "noise"}


def test_the_roc_lies_under_the_best_one_that_the_claim_allows() -> None:
    plot = asked(AUDIT, aushow="roc").plot
    assert isinstance(plot, LinePlot)
    lines = {line.key: line for line in plot.lines}
    best = np.interp(np.asarray(lines["measured"].x), np.asarray(lines["tight"].x), np.asarray(lines["tight"].y))
    assert np.max(np.asarray(lines["measured"].y) - best) < 0.08  # what chance adds
    fault = asked(AUDIT, aushow="roc", aufault="noise").plot
    assert isinstance(fault, LinePlot)
    (ring,) = fault.rings
    assert ring.low is not None
    assert ring.low > np.interp(ring.x, np.asarray(lines["tight"].x), np.asarray(lines["tight"].y))


def test_the_shell_prints_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == fault_rows(1000, 0.01)
    assert main(["audit", "--runs", "400"]) == 0
    told = capsys.readouterr().out
    assert "claimed ε" in told
    assert all(words in told for words, _ in FAULTS.values())
    assert main(["audit", "--runs", "3"]) == 2
    assert "Runs used a side" in capsys.readouterr().err
