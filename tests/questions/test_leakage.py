"""What a trained network gives away: runs of a store and small networks, the numbers, the script."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpviz
from dpviz.accounting.attack.best_accuracy import best_accuracy
from dpviz.accounting.claims import Claim
from dpviz.fields import numbers
from dpviz.gradients.leakage import compare_distances, threshold_attack
from dpviz.mechanisms.sampled_gaussian import ReplaceOneGaussian, SampledGaussian
from dpviz.questions.answer import Answer
from dpviz.questions.asked import ask
from dpviz.questions.leakage import DISTANCES, MEMBERSHIP
from dpviz.questions.leakage.facts import LeakageFacts
from dpviz.questions.leakage.fields import NETWORK
from dpviz.questions.leakage.stored import of_run, weights_of
from dpviz.questions.networks import Limit, RunNetwork, SmallNetwork
from dpviz.questions.source import Missing
from dpviz.runs.engine import Engine, engine
from dpviz.training.covered import NOT_COVERED
from dpviz.training.leakage import leakage_of_run, leakage_of_small_network
from tests.questions.asking import asked, of_preset, run_script
from tests.trained import TINY, recorded, trained

QUICK = {"lkrun": "small", "lksteps": "20", "model": "logistic", "lkexamples": "60"}
CALLED = {"lkmodel" if key == "model" else key: text for key, text in QUICK.items()}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    """A store of one's own, empty."""
    monkeypatch.setenv("DPVIZ_HOME", str(tmp_path))
    made = engine()
    yield made
    made.shutdown()


def network(**texts: str) -> Any:
    return NETWORK.read(lambda field: field.parse(texts[field.key]) if field.key in texts else field.default)


def missing(answer: Answer[LeakageFacts], *texts: str) -> list[str]:
    """What headlines and notes do not hold."""
    headlines = [question.headline(answer) for question in (DISTANCES, MEMBERSHIP)]
    words = " ".join([*headlines, *(note.text for note in DISTANCES.notes(answer))])
    return [text for text in texts if text not in words]


def test_numbers_are_the_librarys(home: Engine, tmp_path: Path) -> None:
    run_id = recorded(home, start_from="other.pt")
    answer = asked(DISTANCES, lkexamples="200", seed="7")
    facts, claim = answer.facts, Claim.from_json(trained("dp_sgd")[1]["claim"])
    sample = leakage_of_run(TINY, weights=home.weights(run_id), examples=200, seed=7)
    assert facts.comparison == compare_distances(sample.train_distances, sample.test_distances)
    random = np.random.default_rng(7)
    assert facts.attack == threshold_attack(sample.train_losses, sample.test_losses, random=random)
    assert (facts.network.run, facts.network.claim) == (run_id, claim)
    claimed = facts.network.claimed
    assert claimed is not None
    assert (claimed.epsilon, claimed.added) == (claim.epsilon, claim.guess)
    assert claimed.added <= dpviz.attack_success(claim.epsilon, delta=TINY.delta)
    assert claimed.added < claimed.success <= 2.0 * claimed.added - 0.5
    replayed = replace(facts.network, claim=claim.as_demonstration())
    assert missing(answer, numbers.probability(claimed.success, up=True), f"without noise, so they are {NOT_COVERED}",
                   "did not use these data") == []  # fmt: skip
    shown = replace(answer, facts=replace(facts, network=replayed))
    assert missing(shown, "so no bound holds; with secret noise, no guess could be") == []


@pytest.mark.parametrize("method", ["dp_sgd", "sgd", ""])
def test_the_script_measures_the_same(home: Engine, method: str) -> None:
    if method:
        bayesian = {"bayesian": float("inf")} if method == "dp_sgd" else {}
        recorded(home, method, name="First 'try'\n", told={"epsilon": bayesian})
    made = ask("membership", **{"lkexamples": 60} if method else CALLED)
    assert made.answer.facts.network.bayesian == ((float("inf"), TINY.delta) if method == "dp_sgd" else None)
    facts, answer = made.answer.facts, run_script(made.script(), made).answer
    assert (answer.facts.comparison, answer.facts.attack) == (facts.comparison, facts.attack)
    assert answer.facts.network.bounds == facts.network.bounds
    assert answer.plot.rows == made.answer.plot.rows


def test_what_a_run_claims_is_what_is_drawn(home: Engine) -> None:
    """A budget, and Bayesian DP beside it; what other accountants read is no bound on an attack."""
    budget = Claim(epsilon=50.0, delta=1e-5, accountant="filter", covers="adaptive").to_json()
    told = {"reason": "budget", "claim": budget, "epsilon": {"bayesian": 0.1, "odometer": 60.0}}
    recorded(home, told=told, filter_epsilon=50.0, policy="adaptive_noise", delta_mu=1e-8)
    bounds = of_run(home.runs()[0]).bounds
    assert [(b.key, b.epsilon, b.delta) for b in bounds] == [("claim", 50.0, 1e-5), ("bayesian", 0.1, 1e-8)]
    found = asked(MEMBERSHIP, lkexamples="40")
    assert missing(found, "filter's budget") == []
    plot = found.plot
    assert [bar.success for bar in plot.bounds] == [bound.success for bound in bounds]
    assert [NOT_COVERED in bar.note for bar in plot.bounds] == [False, True]
    assert [NOT_COVERED in row[0] for row in plot.rows if row[0].startswith("bound")] == [False, True]
    assert [NOT_COVERED in name for name in plot.numbers if name.startswith("bound")] == [False, True]


@pytest.mark.parametrize("epsilon", [float("inf"), float("nan"), "low", None])
def test_nothing_claimed_bounds_nothing(home: Engine, epsilon: object) -> None:
    none = Claim.nothing("what was seen decides about its steps").to_json()
    recorded(home, told={"claim": none, "epsilon": {"bayesian": epsilon}})
    found = asked(DISTANCES, lkexamples="40")
    assert found.facts.network.claimed is None
    assert [b.success for b in found.facts.network.bounds] == [1.0]
    assert missing(found, "no ε limits better attacks, because what was seen decides") == []


def test_an_attack_above_its_bound_is_an_alarm(home: Engine) -> None:
    recorded(home)
    answer = asked(MEMBERSHIP, lkexamples="40")

    def but(**changed: Any) -> Answer[LeakageFacts]:
        return replace(answer, facts=replace(answer.facts, **changed))

    assert missing(but(attack=answer.facts.attack._replace(low=0.999)), "is above the bound") == []
    assert missing(answer, "is above the bound") != []
    for means, spreads in ((0.01, 0.5), (0.5, 0.01)):
        both = answer.facts.comparison._replace(welch_p=means, levene_p=spreads)
        assert missing(but(comparison=both), "<b>differ</b>") == []


def test_nothing_measured_yet_or_ever() -> None:
    """Bounds stand, the rest is said; a pinned measurement is not drawn for one that is not there; files have all."""
    there = asked(DISTANCES, **QUICK)
    counts = there.plot.data()["quantity"].value_counts()
    names = ("train_distance [not covered by ε]", "test_loss", "attack_accuracy [not covered by ε]")
    assert [counts[name] for name in names] == [30, 60, 1]
    ever = ("could not be measured", "The disk is full.")
    for coming, words, said in ((True, "measuring …", ("Measuring",)), (False, "nothing to draw", ever)):
        values = {"network": Missing(network(**QUICK), "The disk is full.", coming), "log_distance": True}
        answer = DISTANCES.asked(values)
        assert missing(answer, *said) == []
        assert [metric.value for metric in DISTANCES.metrics(answer)] == ["–", "–", "–", "100 %"]
        for plot in (answer.plot, answer.plot.with_pinned([("seed 1", there.plot)])):
            assert plot.chart().figure["layout"]["annotations"][0]["text"] == words
        assert len(answer.plot.data()) == len(answer.plot.table()) == 0


def test_pins_are_named_by_what_differs(home: Engine) -> None:
    recorded(home, name="One & <all>")
    run, small = asked(DISTANCES, lkexamples="40"), asked(DISTANCES, **QUICK)
    both = run.plot.with_pinned([("seed 1", run.plot), ("seed 2", small.plot)])
    assert [sample.name for sample in both.samples[2:]] == [
        "seed 1: train",
        "seed 1: test",
        "logistic regression, 20 plain steps: train",
        "logistic regression, 20 plain steps: test",
    ]
    assert "One &amp; &lt;all&gt;: train" in [s.name for s in small.plot.with_pinned([("", run.plot)]).samples]


def test_a_link_names_the_run_and_the_sample(home: Engine) -> None:
    """By its id, so that it stays this run when a newer one has ended."""
    run_id = recorded(home)
    recorded(home, "sgd")
    made = ask("leakage", lkrun=run_id, lkexamples=40)
    assert made.link == f"/leakage?lkview=distances&lkrun={run_id}&lkexamples=40&v=3"
    assert ask("membership", **CALLED | {"lkseed": 3}).link == (
        "/leakage?lkview=attack&lkrun=small&lkexamples=60&seed=3&model=logistic&lksteps=20&v=3"
    )


def test_only_what_decides_a_measurement_is_in_its_name(home: Engine) -> None:
    """What is only said of it is in the answer's: another title, another claim, another sentence."""
    base, stands_in = network(**QUICK), network(**QUICK | {"lkrun": "newest"})
    assert stands_in.measured == base.measured
    assert stands_in.key != base.key
    others = [{"lksteps": "8"}, {"lkexamples": "32"}, {"seed": "1"}, {"model": "mlp"}]
    assert len({base.measured, *(network(**QUICK | one).measured for one in others)}) == 5
    recorded(home)
    run: RunNetwork = network()
    said = ({"title": "x"}, {"claim": None}, {"bayesian": (0.1, 1e-8)})
    decides = ({"run": "x"}, {"attempt": 2}, {"examples": 8}, {"seed": 1})
    for changed in (*said, *decides):
        other = replace(run, **changed)  # type: ignore[arg-type]
        assert (other.measured == run.measured) == (changed in said)
        assert other.key != run.key


def test_the_newest_run_stands_in_for_none(home: Engine) -> None:
    coming = DISTANCES.asked({"network": Missing(network(), ""), "log_distance": True})
    assert missing(coming, "This small network was trained on the included digits") == []
    assert type(network(lkrun="small")) is SmallNetwork
    plain, private = recorded(home, "sgd"), recorded(home)
    assert network().run == private
    home.weights(private).unlink()
    assert network().run == plain


def test_paths_of_imported_runs_are_not_followed(home: Engine, tmp_path: Path) -> None:
    path = tmp_path / "elsewhere.pt"
    path.write_bytes(b"weights")
    run_id = recorded(home, told={"weights": str(path)})
    home.weights(run_id).unlink()
    record = home.run(run_id)
    assert weights_of(record) == path
    assert weights_of(replace(record, imported=True)) is None


@pytest.mark.parametrize(
    ("sigma", "rate", "steps"), [(4.0, 0.01, 1_000), (1.0, 0.02, 200), (2.0, 1.0, 3), (0.6, 0.5, 5)]
)
def test_the_bound_is_above_the_best_attack_on_an_exchange(sigma: float, rate: float, steps: int) -> None:
    """The attack tells members from others: the best one on the mechanism that replaces an example is within reach."""
    delta, run = 1e-5, {"steps": steps}
    added, replaced = SampledGaussian(sigma, rate), ReplaceOneGaussian(sigma, rate)
    epsilon = float(dpviz.epsilon("tight", mechanism=added, delta=delta, **run))
    limit = Limit("claim", "", "", epsilon, delta, best_accuracy(mechanism=added, **run).upper)
    best = best_accuracy(mechanism=replaced, **run).lower
    assert limit.added < best <= limit.success <= 1.0


def test_the_bound_that_is_drawn_and_said_is_that_of_an_exchange(home: Engine) -> None:
    recorded(home)
    answer = asked(MEMBERSHIP, lkexamples="40")
    claimed = answer.facts.network.claimed
    assert claimed is not None
    shown, added = (numbers.probability(value, up=True) for value in (claimed.success, claimed.added))
    assert shown != added
    assert (
        missing(answer, f"no guess can be right more than <b>{shown}</b>") == [] or answer.facts.network.demonstration
    )
    [metric] = [one for one in MEMBERSHIP.metrics(answer) if one.name == "Bound on every attack"]
    assert metric.value == shown
    assert f"{added} if added" in metric.note
    assert answer.plot.bounds[0].success == claimed.success
    assert f"≤ {shown} ·" in answer.plot.bounds[0].text


def test_what_a_paper_s_preset_shows_is_recorded_and_nothing_is_trained_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpviz.questions.source.resolve_name", lambda _: pytest.fail("trained"))
    facts = of_preset(DISTANCES, "bdp2").facts
    assert facts.sample is not None
    assert facts.sample.train_distances.size == facts.sample.test_distances.size == 1000
    assert facts.sample.train_accuracy == pytest.approx(
        float(np.mean(facts.sample.train_losses < np.log(2.0))), abs=0.1
    )
    assert facts.comparison.welch_p > 0.05, "as the paper found"
    recorded_of = SmallNetwork("cnn", 500, 2000, 0)
    assert recorded_of.recorded is facts.sample
    others = [replace(recorded_of, **{name: 40}) for name in ("training_step", "examples", "seed")]
    assert [other.recorded for other in (*others, replace(recorded_of, model="mlp"))] == [None] * 4


@pytest.mark.sweep
def test_the_recorded_network_is_measured_alike_again() -> None:
    stored = SmallNetwork("cnn", 500, 2000, 0).recorded
    again = leakage_of_small_network("cnn", training_step=500, examples=2000, seed=0)
    assert stored is not None
    assert again.description == stored.description
    # Another machine rounds otherwise, which training enlarges.
    assert again.train_distances.mean() == pytest.approx(stored.train_distances.mean(), rel=0.05)
    assert again.test_losses.mean() == pytest.approx(stored.test_losses.mean(), rel=0.05)
