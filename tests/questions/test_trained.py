"""Policies in recorded runs: what is drawn and said is what the records hold, read by today's accountants."""

import numpy as np
import pytest

from dpviz.accounting.adaptive.odometer import OdometerAccountant
from dpviz.accounting.ledger import Ledger
from dpviz.charts import LinePlot
from dpviz.experiments.record import Trial, recorded
from dpviz.fields import numbers
from dpviz.mechanisms import SampledGaussian
from dpviz.questions.budget.courses import Course, courses, mean_and_range
from dpviz.questions.budget.shared import NAMES
from dpviz.questions.budget.trained import TRAINED, zoomed
from dpviz.training.accounts.counting import baseline
from dpviz.training.accounts.live import promised
from dpviz.training.settings import RunSettings
from tests.questions.asking import asked, lines, notes, of_preset

KEYS = ("budget_cnn", "budget_scattering", "early_cnn", "early_scattering")


def spent(trial: Trial, variant: str) -> float:
    """The odometer of all that the trial released."""
    size, ledger = trial.found["examples"], Ledger(OdometerAccountant(variant))
    for sigma, batch, count in trial.found["schedule"]:
        ledger.spend(SampledGaussian(sigma, batch / size), count)
    for _, _, noise in trial.found["counts"]:
        ledger.spend(SampledGaussian(noise))
    return float(ledger.bound(1e-6).epsilon)


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("variant", ["paper", "authors"])
def test_every_run_ends_where_its_record_says(key: str, variant: str) -> None:
    found, record = courses(key, variant), recorded(key)
    for arm, runs in found.arms.items():
        for run, trial in zip(runs, record.of(arm), strict=True):
            assert run.accuracy.tolist() == [accuracy for _, accuracy in trial.found["evaluations"]]
            assert run.accuracy[-1] == trial.found["test_accuracy"]
            assert run.odometer[-1] == pytest.approx(spent(trial, variant), rel=1e-12)
            assert (np.diff(run.odometer) >= 0).all()
            assert run.noise_multiplier[-1] == trial.found["schedule"][-1][0]
            assert run.batch_size[-1] == trial.found["schedule"][-1][1]
            assert run.reason == trial.found["reason"]


@pytest.mark.parametrize("network", ["cnn", "scattering"])
def test_adaptive_runs_use_up_the_budget_of_the_fixed_plan(network: str) -> None:
    found = courses(f"budget_{network}", "paper")
    settings = RunSettings.from_json(dict(found.record.settings["noise"]))
    assert found.budget == promised(settings, 10_000)
    counts = sum(count for mechanism, count in baseline(settings, 10_000) if mechanism.noise_multiplier == 20.0)
    assert counts == 10
    for arm in ("noise", "batch"):
        for run in found.arms[arm]:
            assert run.reason == "budget"
            assert 0.97 * found.budget < run.planned[-1] <= found.budget
    assert all(run.reason == "plan" and run.epochs[-1] == pytest.approx(20) for run in found.arms["fixed"])


def test_an_epoch_costs_what_the_papers_does() -> None:
    """98 steps at q = 512/50000 there, 99 at 102/10000 here."""
    ledgers = [Ledger(OdometerAccountant("authors")) for _ in range(2)]
    for ledger, rate, steps in zip(ledgers, (512 / 50_000, 102 / 10_000), (98, 99), strict=True):
        ledger.spend(SampledGaussian(1.0, rate), 6 * steps)
    there, here = (float(ledger.bound(1e-6).epsilon) for ledger in ledgers)
    assert here == pytest.approx(there, rel=0.005)


class TestTogether:
    RUNS = tuple(
        Course(*np.array(values, dtype=float), reason="plan")  # type: ignore[call-arg]
        for values in (
            [[0, 1, 2], [2, 2, 2], [8, 8, 8], [0.1, 0.5, 0.6], [0, 1, 2], [0, 1, 3]],
            [[0, 1.5, 3], [2, 1, 1], [8, 4, 4], [0.1, 0.4, 0.7], [0, 3, 6], [0, 1, 3]],
        )
    )

    def test_mean_lowest_and_highest_up_to_where_the_first_ends(self) -> None:
        epochs, mean, lowest, highest = mean_and_range(self.RUNS, "planned")
        assert epochs.tolist() == [0, 1, 2]
        assert mean == pytest.approx([0, 1.5, 3])
        assert lowest == pytest.approx([0, 1, 2])
        assert highest == pytest.approx([0, 2, 4])

    def test_settings_are_those_of_the_next_evaluation(self) -> None:
        _, _, lowest, highest = mean_and_range(self.RUNS, "batch_size")
        assert (lowest.tolist(), highest.tolist()) == ([8, 4, 4], [8, 8, 8])


@pytest.mark.parametrize(("runs", "shown", "name"), [
    ("budget", "epsilon", "planned"), ("budget", "accuracy", "accuracy"), ("budget", "batch", "batch_size"),
    ("early", "epsilon", "odometer"), ("early", "noise", "noise_multiplier"), ("early", "accuracy", "accuracy"),
])  # fmt: skip
def test_what_is_drawn_is_mean_and_spread(runs: str, shown: str, name: str) -> None:
    a = asked(TRAINED, brun=runs, bshow=shown, bpol="fixed.noise.batch.tune", bodo="authors")
    assert set(lines(a)) == {"budget": {"fixed", "noise", "batch"}, "early": {"fixed", "tune"}}[runs]
    for key, line in lines(a).items():
        _, mean, lowest, highest = mean_and_range(a.facts.arms[key], name)
        np.testing.assert_array_equal(line.y, mean)
        np.testing.assert_array_equal(line.spread, (lowest, highest))
    assert TRAINED.printed(a) == (runs == "early" and shown == "epsilon"), "printed values lie on the axis of ε alone"
    if shown == "accuracy":
        low, high = zoomed(a.plot.lines)  # type: ignore[attr-defined]
        assert 0.3 < low <= min(float(np.min(line.y[1:])) for line in lines(a).values()) < high == 1.0


@pytest.mark.parametrize(("preset", "arm", "quantity"), [
    ("fo1a", "noise", "accuracy"), ("fo1b", "batch", "planned"), ("fo2c", "fixed", "accuracy"),
    ("fo2d", "fixed", "odometer"),
])  # fmt: skip
def test_a_policy_has_one_number_which_is_the_mean_of_its_runs_ends(preset: str, arm: str, quantity: str) -> None:
    """Figure 2d said 3.01 where its curve ended, with the first run, and 3.08 in its headline."""
    a = of_preset(TRAINED, preset)
    plot, runs = a.plot, a.facts.arms[arm]
    assert isinstance(plot, LinePlot)
    assert plot.names_on_lines
    ring = plot.rings[list(a.facts.arms).index(arm)]
    ends = [float(getattr(run, quantity)[-1]) for run in runs]
    assert (ring.x, ring.y) == pytest.approx((np.mean([run.epochs[-1] for run in runs]), np.mean(ends)))
    assert (ring.low, ring.high) == (min(ends), max(ends))
    if preset in ("fo1a", "fo2d"):
        said = f"<b>{'ε = ' * (quantity == 'odometer')}{ring.name}</b>"
        assert said.replace("\u00a0", " ") in TRAINED.headline(a).replace("\u00a0", " ")


def test_figure_2d_says_the_printed_values_and_those_found() -> None:
    a = of_preset(TRAINED, "fo2d")
    costs = {key: [run.odometer[-1] for run in runs] for key, runs in a.facts.arms.items()}
    assert max(costs["tune"]) < 0.5 * min(costs["fixed"])
    told = notes(TRAINED, a)
    assert "ε = 1.45 in under 8 epochs" in told
    assert "3.24 in 6" in told
    for key in ("fixed", "tune"):
        assert f"ε = {numbers.epsilon(float(np.mean(costs[key])), up=True)}" in told
    assert a.plot.x.shown[1] > 8, "the printed values lie on the chart"  # type: ignore[attr-defined]


def test_figure_1_says_how_much_longer() -> None:
    a = of_preset(TRAINED, "fo1b")
    ends = {
        key: (np.mean([run.epochs[-1] for run in runs]), np.mean([run.accuracy[-1] for run in runs]))
        for key, runs in a.facts.arms.items()
    }
    told = notes(TRAINED, a)
    assert "up to 3 times as long" in told
    for key in ("noise", "batch"):
        gained = f"{100 * (ends[key][1] - ends['fixed'][1]):+.1f}".replace("-", "−")
        assert f"{NAMES[key]} {ends[key][0] / ends['fixed'][0]:.2f} times as long, {gained} points" in told
    assert a.facts.record.made in told
    assert "seeded" in told
    assert f"ε = {numbers.epsilon(a.facts.budget, up=True)}" in TRAINED.headline(a)
