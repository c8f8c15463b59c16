"""A Langevin chain is simulated with the steps whose ε is stated, and its cloud is as wide as theory says."""

import math

import numpy as np
import pytest

from dpviz.accounting.langevin.cost import Langevin
from dpviz.accounting.schedules import PowerSchedule
from dpviz.questions.catalogue import QUESTIONS
from dpviz.questions.langevin.posterior import NOISE, POSTERIOR, REACH, batches_of, data, ellipse, path_of, posterior_of
from tests.questions.asking import answer_to, asked_whole

NO_CLIP, NO_GRADIENT = 1e4, 1e-9


def answer(query=""):
    return answer_to(f"langevin_posterior?{query}")


def test_the_posterior_is_that_of_least_squares():
    x, y = data(400)
    slope, intercept = np.polyfit(x, y, 1)
    law = posterior_of(400)
    assert law.mean == pytest.approx([intercept, slope], rel=1e-9)
    # The variance of a slope is s² ÷ Σ(x − x̄)², that of the mean response at x̄ is s²/N.
    assert law.covariance[1, 1] == pytest.approx(NOISE**2 / ((x - x.mean()) ** 2).sum(), rel=1e-9)
    at_mean = np.array([1.0, x.mean()])
    assert at_mean @ law.covariance @ at_mean == pytest.approx(NOISE**2 / 400, rel=1e-9)


def test_an_ellipse_has_its_share_of_the_posterior_and_its_edge_lies_at_one_distance():
    law = posterior_of(1000)
    draws = np.random.default_rng(1).multivariate_normal(law.mean, law.covariance, 20_000)
    for name, reach in REACH.items():
        share = np.mean(law.distance(draws) <= reach)
        assert share == pytest.approx(float(name.split()[0]) / 100.0, abs=0.015)
        x, *edges = ellipse(law, reach)
        for y in edges:
            assert law.distance(np.stack([x, y], 1)) == pytest.approx(np.full(x.size, reach), rel=1e-6)


def test_an_ellipse_is_named_once():
    notes = answer("steps=500").plot.chart(500).figure["layout"]["annotations"]
    names = [note["name"] for note in notes if note.get("name", "").startswith("line")]
    assert sorted(names) == ["line 68 % of the posterior", "line 95 % of the posterior"]


@pytest.mark.parametrize(("noise", "heat"), [("algorithm1", 1.0), ("sgld", 2.0)])
def test_a_path_on_all_examples_has_the_stationary_law_of_its_recursion(noise, heat):
    """θ' − μ = (I − ηH)(θ − μ) + N(0, heat η/N): the covariance is heat η/N (I − (I − ηH)²)⁻¹."""
    n, eta = 200, 5.0
    law = posterior_of(n)
    curvature = np.linalg.inv(law.covariance) / n
    kept = np.eye(2) - eta * curvature
    expected = heat * eta / n * np.linalg.inv(np.eye(2) - kept @ kept)
    chain = Langevin(n, n, NO_CLIP, noise=noise)
    path = path_of(chain, PowerSchedule(eta, 0.0, 20_000), 3)[1000:]
    deviations = np.sqrt(np.diag(expected))
    assert np.abs(path.mean(axis=0) - law.mean) == pytest.approx([0.0, 0.0], abs=0.2 * deviations.max())
    assert np.cov(path.T) / np.outer(deviations, deviations) == pytest.approx(
        expected / np.outer(deviations, deviations), abs=0.12
    )


def test_noise_added_to_a_step_is_the_multiplier_that_is_accounted_for():
    for given in ({"noise": "sgld"}, {"noise": "algorithm1"}, {"friction": 0.2}):
        chain = Langevin(5000, 100, NO_GRADIENT, **given)
        schedule = PowerSchedule(0.3, 1 / 3, 4000)
        path = path_of(chain, schedule, 1)
        moves = np.diff(path, axis=0, prepend=np.zeros((1, 2)))
        kept = 0.0 if chain.friction is None else 1.0 - chain.friction
        noise = moves - kept * np.concatenate([np.zeros((1, 2)), moves[:-1]])
        sizes = schedule.at(np.arange(1.0, 4001.0))
        # In units of what one example moves a step, ηL/τ.
        multipliers = noise / (sizes * chain.clip / chain.batch_size)[:, None]
        assert np.std(multipliers / chain.noise_multiplier(sizes)[:, None]) == pytest.approx(1.0, abs=0.03)


def test_no_example_moves_a_step_further_than_is_accounted_for():
    """Of one example alone: the same noise with and without its gradient."""
    schedule = PowerSchedule(0.3, 0.0, 50)
    quiet = path_of(Langevin(1, 1, NO_GRADIENT), schedule, 2)
    for clip in (1e-3, 0.1, 10.0):
        [first, *_] = path_of(Langevin(1, 1, clip), schedule, 2) - quiet
        assert np.hypot(*first) <= 0.3 * clip * (1.0 + 1e-6)
    assert np.hypot(*(path_of(Langevin(1, 1, 1e-3), schedule, 2)[0] - quiet[0])) == pytest.approx(3e-4, rel=1e-3)


@pytest.mark.parametrize("rate", [0.003, 0.4, 1.0])
def test_every_example_joins_every_step_by_itself_with_the_same_probability(rate):
    n, steps = 50, 4000
    ends, example = batches_of(5, n, rate, steps)
    sizes = np.diff(ends, prepend=0)
    joined = np.zeros((steps, n))
    np.add.at(joined, (np.repeat(np.arange(steps), sizes), example), 1)
    assert joined.max() <= 1
    within = 5.0 * math.sqrt(rate * (1.0 - rate) / (n * steps))
    assert joined.mean() == pytest.approx(rate, abs=within + 1e-12)
    assert joined.mean(axis=0) == pytest.approx(np.full(n, rate), abs=within * math.sqrt(n) + 1e-12)
    assert joined.sum(axis=1).var() == pytest.approx(n * rate * (1.0 - rate), rel=0.15, abs=1e-12)
    if rate == 0.4:
        assert np.corrcoef(joined[:, 0], joined[:, 1])[0, 1] == pytest.approx(0.0, abs=0.08)
        assert np.corrcoef(joined[1:, 0], joined[:-1, 0])[0, 1] == pytest.approx(0.0, abs=0.08)


@pytest.mark.parametrize(
    "query", ["", "ldecay=fixed&lnoise=sgld", "steps=37&lreplace=1", "lalg=sghmc&lbeta=0.5", "steps=1000000&lclip=0.2"]
)
def test_its_epsilon_is_that_of_the_question_of_cost(query):
    cost = answer_to(f"langevin_cost?{query}").facts
    here = answer(query).facts
    assert here.epsilon == cost.epsilon
    assert here.other == cost.other or math.isnan(cost.other)
    assert answer(f"{query}&seed=9").facts.epsilon == cost.epsilon


def test_the_last_point_costs_no_more_than_all_and_nothing_is_said_of_it_for_falling_steps():
    f = answer("ldecay=fixed&lnoise=sgld&n=1000&ltau=500&steps=20000&leta=0.5").facts
    assert f.last_point < f.epsilon
    same = f"llast=1&lsmooth={2.0 / NOISE**2}&ldecay=fixed&lnoise=sgld&n=1000&ltau=500&steps=20000&leta=0.5"
    assert f.last_point == pytest.approx(answer_to(f"langevin_cost?{same}").facts.last[-1], rel=1e-12)
    assert math.isnan(answer("steps=100").facts.last_point)
    assert "none proven" in str(POSTERIOR.metrics(answer("steps=100")))


def test_small_steps_cost_less_and_large_ones_make_the_cloud_wide():
    small, middle, large = (answer(f"ldecay=fixed&lnoise=sgld&leta={eta}").facts for eta in (0.01, 0.1, 1))
    assert small.epsilon < middle.epsilon < large.epsilon
    assert small.spread < middle.spread < large.spread
    assert middle.spread == pytest.approx(1.0, abs=0.25)
    assert large.inside < middle.inside < 1.0


def test_the_claim_is_judged_when_the_interval_is_there():
    def note(**texts):
        return str(QUESTIONS["langevin_posterior"].metrics(asked_whole(POSTERIOR, **texts)))

    assert "claimed 0.1: too low" in note(steps="10000", ldecay="fixed")
    assert "claimed 5: holds" in note(steps="1000", target="5")
    assert "claimed 0.1: …" in str(POSTERIOR.metrics(answer("ldecay=fixed")))


def test_a_long_chain_is_shown_in_part_and_a_seed_is_its_path():
    long = answer("steps=1000000")
    assert not long.facts.whole
    assert len(long.facts.path) <= 20_000
    assert any("The chart shows the first" in note.text for note in POSTERIOR.notes(long))
    short = answer("steps=500")
    assert short.facts.whole
    assert (answer("steps=500").facts.path == short.facts.path).all()
    assert (answer("steps=500&seed=2").facts.path != short.facts.path).any()


def test_fewer_steps_are_the_beginning_of_the_same_path():
    for query in ("", "ldecay=fixed&n=300&ltau=300", "ldecay=fixed&n=300&ltau=0.5"):
        long = answer(f"{query}&steps=3000").facts.path
        for steps in (1, 2, 700, 2500):
            assert (answer(f"{query}&steps={steps}").facts.path == long[:steps]).all()


@pytest.mark.parametrize("query", ["n=10000000", "lalg=sgnht", "n=1&ltau=1"])
def test_what_is_not_simulated_is_refused_with_a_way_out(query):
    with pytest.raises(ValueError, match=r"try|Choose"):
        answer(query)
