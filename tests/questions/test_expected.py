"""Accuracy against ε: each point is what was recorded or printed, and only what keeps the target is counted."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import dpviz
from dpviz.accounting.claims import Claim
from dpviz.experiments.record import recorded as record_of
from dpviz.questions.noise.expected import DATA, EXPECTED, points
from dpviz.questions.noise.expected_methods import METHODS, PublishedMethod
from dpviz.questions.printed import BY_KEY
from dpviz.runs.engine import Engine, engine
from tests.questions.asking import linked, notes
from tests.trained import recorded, trained


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    """A store of one's own, empty."""
    monkeypatch.setenv("DPVIZ_HOME", str(tmp_path))
    made = engine()
    yield made
    made.shutdown()


@pytest.mark.parametrize("delta", [1e-5, 1e-7])
def test_the_epsilon_of_a_recorded_run_is_the_libraries_at_the_delta_asked_for(delta: float) -> None:
    [point] = [p for p in linked(EXPECTED, f"delta={delta}").facts.measured if "60,000" in p.method]
    record = record_of("reached_mnist")
    [(sigma, batch, steps)] = record.of("whitened_3")[0].found["schedule"]
    run = {"noise_multiplier": sigma, "sample_rate": batch / 60_000, "steps": int(steps), "delta": delta}
    assert point.epsilon == dpviz.epsilon("tight", **run)
    assert (point.delta, point.runs) == (delta, 3)
    accuracies = record.values("whitened_3", "test_accuracy")
    assert (point.accuracy, point.low, point.high) == (accuracies.mean(), accuracies.min(), accuracies.max())


PRINTED = [("sgld_svhn", ["svhn-dp-sgld"]), ("pate_mnist", ["mnist-pate(100)", "mnist-pate(1000)"])]


@pytest.mark.parametrize(("method", "ends"), PRINTED)
def test_published_points_are_those_of_the_papers_table(method: str, ends: list[str]) -> None:
    [table] = [each for each in METHODS if each.key == method]
    assert isinstance(table, PublishedMethod)
    for (epsilon, accuracy), end in zip(table.printed, ends, strict=True):
        assert epsilon == BY_KEY[f"sg-table1-{end}"].number
        data, _, name = end.partition("-")
        printed = BY_KEY[f"sg-table1-accuracy-{data}-{name}"].printed
        assert 100.0 * accuracy == pytest.approx(float(printed.removesuffix(" %")))


def test_only_what_keeps_target_and_delta_is_counted() -> None:
    facts = linked(EXPECTED, "target=3&delta=1e-5").facts
    assert facts.best_measured.accuracy == max(p.accuracy for p in facts.measured if p.epsilon <= 3.0)
    assert "98.8 %" in EXPECTED.headline(linked(EXPECTED, "target=3")).replace("\u00a0", " ")
    adult = linked(EXPECTED, "accdata=adult")  # DP-SGLD was accounted at δ = 1e-4
    assert adult.facts.best_measured.delta <= 1e-5
    assert "DP-SGLD (δ = 1e-4)" in notes(EXPECTED, adult)
    assert "Not counted" not in notes(EXPECTED, linked(EXPECTED, "accdata=adult&delta=1e-4"))
    assert "on CIFAR-10 satisfies both" in EXPECTED.headline(linked(EXPECTED, "accdata=cifar10&target=0.5"))


@pytest.mark.parametrize("data", DATA.options)
def test_every_point_is_drawn_and_stands_in_the_table(data: str) -> None:
    answer = linked(EXPECTED, f"accdata={data}")
    facts, plot = answer.facts, answer.plot
    plane = plot.plane()
    assert len(plot.rings) == len(facts.measured)
    assert len(plot.points) == len(facts.published)
    assert all(plane.shows(mark.x, mark.y) for mark in (*plot.rings, *plot.points))
    assert len(points(answer)[0]) == len(facts.measured) + len(facts.published)


def test_own_runs_stand_at_their_claims(home: Engine) -> None:
    recorded(home, name="Mine")
    recorded(home, "sgd", name="Not private")
    claim = Claim.from_json(trained("dp_sgd")[1]["claim"])
    [own] = linked(EXPECTED, "accdata=abalone").facts.own
    assert own.method.startswith("Mine")
    assert (own.epsilon, own.delta, own.runs) == (claim.epsilon, claim.delta, 1)
    assert own.accuracy == trained("dp_sgd")[1]["test_accuracy"]
    assert len(linked(EXPECTED, "accdata=abalone").plot.rings) == 7
    assert linked(EXPECTED, "accdata=mnist").facts.own == ()
    assert linked(EXPECTED, "accdata=abalone&accown=0").facts.own == ()
