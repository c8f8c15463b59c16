import numpy as np
import pytest

import dpviz
from dpviz.accounting.langevin.cost import langevin_epsilon
from dpviz.accounting.renyi.accountant import Renyi
from dpviz.accounting.schedules import PowerSchedule
from dpviz.mechanisms import SampledGaussian
from dpviz.questions.train.plan import plan
from dpviz.training.accounts.counting import baseline
from dpviz.training.accounts.live import LiveAccounts, budget_filter, promised
from dpviz.training.accounts.stepwise import Trajectory
from dpviz.training.plan import mechanism_at
from dpviz.training.settings import RunSettings
from tests.training.small import told_anew

STEP = SampledGaussian(2.0, 0.1)


def test_a_count_is_charged_to_every_account():
    accounts = LiveAccounts(RunSettings(bayesian=True), examples=10_000)
    accounts.step(STEP, [0.05] * 20)
    before = accounts.epsilons()
    accounts.count(SampledGaussian(5.0, 1.0))
    after = accounts.epsilons()
    assert sum(count for _, count in accounts.events) == 2
    for name in ("moments", "renyi", "mixture", "bayesian"):
        assert after[name] > before[name]


@pytest.mark.parametrize(("policy", "epochs"), [("adaptive_noise", 1), ("adaptive_batch", 2), ("fine_tuning", 1)])
def test_an_adaptive_run_promises_its_baseline_which_just_fits(policy, epochs):
    settings = RunSettings(policy=policy, count_every=epochs)
    promise, plan = promised(settings, 10_000), baseline(settings, 10_000)
    step, count = SampledGaussian(2.0, 0.1024), SampledGaussian(settings.count_noise)
    assert plan == ((step, 150), (count, 15 // epochs))
    assert baseline(settings.with_(policy="fixed"), 10_000) == plan[:1]
    least = float(dpviz.accountant("renyi").of_events(plan, 1e-5).epsilon)
    assert least <= promise <= 1.001 * least
    budget = LiveAccounts(settings, examples=10_000).budget
    assert budget.target_epsilon == promise
    for number in range(1, 151):  # as a run takes them
        budget.spend(step)
        if number % (10 * epochs) == 0:
            budget.spend(count)
    assert not budget.allows(step)


def test_a_budget_that_was_set_is_the_promise():
    settings = RunSettings(policy="adaptive_noise", filter_epsilon=2.5)
    assert promised(settings, 10_000) == 2.5
    assert LiveAccounts(settings, examples=10_000).budget.target_epsilon == 2.5
    assert promised(settings.with_(policy="fixed"), 10_000) is None
    assert promised(RunSettings(method="sgd"), 10_000) is None
    free = LiveAccounts(RunSettings(), examples=10_000)
    assert free.budget is None
    free.reserve(SampledGaussian(0.01, 1.0))


def test_only_an_adaptive_budget_keeps_to_one_order():
    settings = RunSettings(filter_epsilon=3.0)
    fixed, adaptive = (budget_filter(settings.with_(policy=name), 10_000) for name in ("fixed", "adaptive_noise"))
    assert adaptive.accountant.orders.size == 1
    assert fixed.accountant.orders.size > 100
    assert 0 < adaptive.remaining_steps(STEP) <= fixed.remaining_steps(STEP)


def test_a_changed_record_is_noticed():
    settings = RunSettings(steps=3, count_noise=20.0)
    started, step, count = (
        {"kind": kind, "step": at, "time": 0.0, "epsilon": {}, **content}
        for kind, at, content in (
            ("started", 0, {"settings": settings.to_json(), "examples": 10_000}),
            ("step", 3, {"first": 1, "count": 3, "mechanisms": [[2.0, 0.1, 3]], "distances": None}),
            ("count", 0, {"mechanism": [20.0, 1.0, 1]}),
        )
    )
    first = told_anew([started, step])
    assert [at for at, _ in first] == [1, 2, 3]
    step["mechanisms"] = [[2.0, 0.1, 2], [1.9, 0.1, 1]]
    assert told_anew([started, step])[1] == first[1]
    assert told_anew([started, step])[2][1]["renyi"] > first[2][1]["renyi"]
    accounts = LiveAccounts(settings, examples=10_000)
    accounts.count(SampledGaussian(20.0, 1.0))
    accounts.step(SampledGaussian(2.0, 0.1), None)
    assert told_anew([started, count, step])[0][1] == accounts.epsilons()


@pytest.mark.parametrize("together", [1, 4, 30])
def test_readings_are_the_epsilons_after_each_step_however_often_one_looks(together):
    settings = RunSettings(bayesian=True, steps=40, delta_mu=1e-8, estimator_failure=1e-12)
    one, many = (LiveAccounts(settings, examples=10_000) for _ in range(2))
    draw, after, found = np.random.default_rng(0), [], []
    for step in range(30):
        mechanism = SampledGaussian(2.0 if step < 12 else 1.5, 0.1)
        distances = draw.uniform(0.0, 0.2, 0 if step % 7 == 3 else 20)
        for accounts in (one, many):
            accounts.step(mechanism, distances)
            if step in (5, 6):
                accounts.count(SampledGaussian(50.0, 1.0))
            if step == 20:
                accounts.bayesian.replan(60)
        after.append(one.epsilons())
        if (step + 1) % together == 0 or step == 29:
            readings = many.readings()
            found.extend(dict(zip(readings, values, strict=True)) for values in zip(*readings.values(), strict=True))
    assert len(found) == 30
    for step in {*range(30)} - {5, 6, 20}:  # there the count, or the new plan, is in it too
        assert found[step] == pytest.approx(after[step], rel=1e-12)
    assert many.epsilons() == pytest.approx(one.epsilons(), rel=1e-12)
    assert all(values == [] for values in many.readings().values())
    assert one.events == many.events
    assert sum(count for _, count in many.events) == 32


def test_a_step_past_the_plan_is_refused_by_the_bayesian_account_and_charged_to_the_others():
    accounts = LiveAccounts(RunSettings(bayesian=True, steps=1), examples=10_000)
    accounts.step(STEP, [])
    before = accounts.epsilons()
    with pytest.raises(ValueError, match="at most 1 steps"):
        accounts.step(STEP, [])
    after = accounts.epsilons()
    assert after["renyi"] > before["renyi"]
    assert {len(values) for values in accounts.readings().values()} == {1}


@pytest.mark.parametrize(
    ("method", "changed", "sampler"),
    [
        ("dp_sgld", {}, {"noise": "sgld"}),
        ("dp_sgld", {"langevin_noise": "algorithm1"}, {}),
        ("dp_sghmc", {"friction": 0.3}, {"friction": 0.3}),
        ("dp_sgnht", {"friction": 0.3}, {"friction": 0.3}),
    ],
)
def test_a_langevin_run_reads_what_its_page_and_its_plan_say(method, changed, sampler):
    """Every step has another σ: page, plan, run and record share one table."""
    settings = RunSettings(method=method, learning_rate=0.1, batch_size=245, max_grad_norm=4.0, steps=60, **changed)
    accounts = LiveAccounts(settings, examples=60_000)
    for step in range(1, 61):
        accounts.step(mechanism_at(settings, step, 60_000), None)
    page = langevin_epsilon(
        PowerSchedule(0.1, settings.step_exponent, 60), n=60_000, batch_size=245, clip=4.0, delta=settings.delta,
        **sampler,
    )  # fmt: skip
    assert accounts.epsilons()["renyi"] == pytest.approx(page, rel=1e-9)
    for name, epsilon in accounts.epsilons().items():
        assert epsilon == pytest.approx(float(plan(settings, 60_000).epsilon[name][-1]), rel=1e-12)


def test_a_budget_for_changing_noise_refuses_where_the_account_reads_it():
    settings = RunSettings(method="dp_sgld", learning_rate=0.1, batch_size=245, max_grad_norm=4.0, steps=60)
    planned = plan(settings, 60_000).epsilon["renyi"]
    settings = settings.with_(filter_epsilon=float(planned[20]) * (1 + 1e-9))
    accounts = LiveAccounts(settings, examples=60_000)
    for step in range(1, 61):
        mechanism = mechanism_at(settings, step, 60_000)
        if not accounts.budget.allows(mechanism):
            break
        accounts.reserve(mechanism)
        accounts.step(mechanism, None)
    assert 1 < step < 60
    assert accounts.epsilons()["renyi"] <= settings.filter_epsilon
    accounts.step(mechanism, None)
    assert accounts.epsilons()["renyi"] > settings.filter_epsilon


def test_noise_too_small_for_numbers_reads_as_infinite():
    charges = [SampledGaussian(1e-200, 1.0), SampledGaussian(1.0, 0.1)]
    assert np.isinf(Trajectory(Renyi(), 1e-5).read(charges)).all()
