"""Bounds of audits against closed forms and binomial sums, and below the true ε in all but few of many audits."""

import math

import numpy as np
import pytest
from scipy import stats

from dpviz._remember import MEMORY
from dpviz.accounting.audit.counts import (
    CONFIDENCE,
    Counts,
    _order,
    highest_rate,
    interval_bound,
    joint_bound,
    lowest_rate,
)
from dpviz.accounting.audit.gaussian_fit import fitted_epsilon, fitted_mu
from dpviz.accounting.audit.one_run import OneRunGuesses, guessed, one_run_bound, p_value
from dpviz.accounting.audit.scores import log_likelihood, log_likelihood_of_known
from dpviz.accounting.audit.threshold import ThresholdAttack, attacked, chosen_threshold, parts
from dpviz.accounting.pld.bounds import tight_epsilon
from dpviz.mechanisms import RandomisedResponse, SampledGaussian

STEP = SampledGaussian(1.117, 1.0)  # the plan of the recorded audit
DELTA = 0.01


def scores(random: np.random.Generator, runs: int, *, noise: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Of runs of the recorded plan without the example and with it; `noise`: what was added, of what is claimed."""
    joins = random.random((runs, 1)) < STEP.sample_rate
    sums = [noise * STEP.noise_multiplier * random.standard_normal((runs, 1)) + there for there in (0.0, joins)]
    kwargs = {"signal": 1.0, "noise": STEP.noise_multiplier, "rate": STEP.sample_rate}
    return tuple(log_likelihood(each, **kwargs) for each in sums)


@pytest.mark.parametrize(("count", "trials"), [(0, 10), (3, 10), (10, 10), (17, 500)])
def test_rates_solve_the_binomial_tails(count: int, trials: int) -> None:
    """Clopper and Pearson's definition."""
    if count < trials:
        assert stats.binom.cdf(count, trials, highest_rate(count, trials, 0.975)) == pytest.approx(0.025)
    if count:
        assert stats.binom.sf(count - 1, trials, lowest_rate(count, trials, 0.975)) == pytest.approx(0.025)
    assert highest_rate(trials, trials, 0.975) == 1.0
    assert lowest_rate(0, trials, 0.975) == 0.0


def test_no_false_alarm_in_n_runs_has_a_closed_form() -> None:
    counts = Counts(alarms=0, without=500, hits=500, with_it=500)
    each = 0.025 ** (1.0 / 500)
    assert interval_bound(counts, DELTA) == pytest.approx(math.log((each - DELTA) / (1.0 - each)))


def p_at(counts: Counts, epsilon: float, alarm: float, delta: float) -> float:
    """The probability of at least so many hits and at most so many alarms: less than that of all that show as much."""
    hit = min(1.0, math.exp(epsilon) * alarm + delta)
    fewer = stats.binom.cdf(counts.alarms, counts.without, alarm)
    return float(fewer * stats.binom.sf(counts.hits - 1, counts.with_it, hit))


@pytest.mark.parametrize("counts", [Counts(8, 50, 23, 50), Counts(10, 500, 80, 500), Counts(0, 30, 12, 40)])
def test_the_joint_bound_refuses_no_pair_of_rates_that_explains_the_counts(counts: Counts) -> None:
    """The corner event alone lies within what the test adds up: rates under which it is likely are never refused."""
    bound = joint_bound(counts, DELTA)
    assert bound > interval_bound(counts, DELTA)
    for alarm in np.linspace(1e-4, 0.5, 100):
        assert p_at(counts, bound - 1e-6, alarm, DELTA) <= 1.0 - CONFIDENCE


def exact_joint_bound(counts: Counts, delta: float, rates: int = 4000) -> float:
    """The joint bound by the probability of every outcome, at many rates of false alarms one by one."""
    outside = (1.0 - CONFIDENCE) / 50.0
    ends = (
        lowest_rate(counts.alarms, counts.without, 1.0 - outside / 2.0),
        highest_rate(counts.alarms, counts.without, 1.0 - outside / 2.0),
    )
    hits, alarms = np.arange(counts.with_it + 1)[:, None], np.arange(counts.without + 1)
    shown = _order(hits, alarms, counts, delta)
    there = shown >= shown[counts.hits, counts.alarms]
    there = np.array([[there[: h + 1, a:].any() for a in range(counts.without + 1)] for h in range(counts.with_it + 1)])
    each = np.linspace(*ends, rates)[:, None]
    of_alarms = stats.binom.pmf(alarms, counts.without, each)

    def refused(epsilon: float) -> bool:
        of_hits = stats.binom.pmf(hits.T, counts.with_it, np.minimum(1.0, np.exp(epsilon) * each + delta))
        return bool(np.einsum("rh,ha,ra->r", of_hits, there, of_alarms).max() + outside <= 1.0 - CONFIDENCE)

    if not refused(0.0):
        return 0.0
    bottom, top = 0.0, 20.0
    for _ in range(30):
        middle = 0.5 * (bottom + top)
        bottom, top = (middle, top) if refused(middle) else (bottom, middle)
    return bottom


OUTCOMES = [Counts(1, 20, 9, 20), Counts(0, 20, 16, 30), Counts(3, 40, 12, 15), Counts(0, 15, 15, 15)]


@pytest.mark.parametrize("delta", [1e-9, 0.01, 0.1])
@pytest.mark.parametrize("counts", OUTCOMES)
@pytest.mark.parametrize("cells", [1, 3, 48, 6000])
def test_the_joint_bound_is_that_of_the_exact_test(
    counts: Counts, delta: float, cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of few cells it lies below; of many it is the same."""
    monkeypatch.setattr("dpviz.accounting.audit.counts.CELLS", cells)
    MEMORY.clear()
    bound, exact = joint_bound(counts, delta), exact_joint_bound(counts, delta)
    MEMORY.clear()
    assert exact > 0.2
    assert bound <= exact + 1e-6
    if cells == 6000:
        assert bound == pytest.approx(exact, abs=3e-3)


def test_counts_that_show_nothing_give_no_bound() -> None:
    for counts in (Counts(5, 50, 5, 50), Counts(50, 50, 50, 50), Counts(0, 50, 0, 50), Counts(40, 50, 1, 50)):
        assert interval_bound(counts, DELTA) == joint_bound(counts, DELTA) == 0.0


def rate_above(bound: object, epsilon: float, alarm: float, hit: float, runs: int) -> float:
    """The exact probability that a bound on such counts exceeds ε."""
    alarms, hits = np.arange(runs + 1), np.arange(runs + 1)
    shown = np.array([[bound(Counts(int(a), runs, int(h), runs), DELTA) for h in hits] for a in alarms])  # type: ignore[operator]
    weights = stats.binom.pmf(alarms, runs, alarm)[:, None] * stats.binom.pmf(hits, runs, hit)
    return float(weights[shown > epsilon + 1e-9].sum())


@pytest.mark.parametrize("alarm", [0.05, 0.3])
@pytest.mark.parametrize("bound", [interval_bound, joint_bound])
def test_a_bound_exceeds_the_truth_in_at_most_one_of_twenty_audits(bound: object, alarm: float) -> None:
    """By adding up all outcomes of 12 runs a side whose rates lie at the edge of what (ε, δ) allows."""
    epsilon = 0.8
    hit = math.exp(epsilon) * alarm + DELTA
    assert rate_above(bound, epsilon, alarm, hit, 12) <= 1.0 - CONFIDENCE


@pytest.mark.parametrize("bound", [interval_bound, joint_bound])
def test_over_200_audits_a_bound_stays_below_the_claim_and_half_the_noise_is_seen(bound: object) -> None:
    """Seeded, at the recorded plan with 1,000 runs a side. The median shows half of ε."""
    claim = float(tight_epsilon(STEP, [1], DELTA).lower[0])
    assert 1.98 < claim < 2.0
    shown: dict[float, list[float]] = {1.0: [], 0.5: []}
    for noise, bounds in shown.items():
        for seed in range(200):
            _, counts = attacked(*scores(np.random.default_rng(seed), 1000, noise=noise), DELTA)
            bounds.append(bound(counts, DELTA))  # type: ignore[operator]
    assert np.mean(np.array(shown[1.0]) > claim) <= 1.0 - CONFIDENCE
    assert np.mean(np.array(shown[0.5]) > claim) > 0.9
    assert np.median(shown[1.0]) > (0.5 if bound is joint_bound else 0.35) * claim


def test_the_threshold_is_chosen_on_runs_that_are_not_counted() -> None:
    without, with_it = scores(np.random.default_rng(0), 400)
    attack, counts = attacked(without, with_it, DELTA)
    assert (counts.without, counts.with_it) == (300, 300)
    first, rest = parts(without)
    assert sorted([*first, *rest]) == sorted(without)
    assert attack == chosen_threshold(first, parts(with_it)[0], DELTA, runs=300)
    assert counts == attack.counts(rest, parts(with_it)[1])
    with pytest.raises(ValueError, match="Expected at least 4 runs a side, found 3 and 400"):
        attacked(without[:3], with_it, DELTA)


def test_both_directions_are_tried() -> None:
    """Where the example makes a low score impossible, the event is a low score, and the roles are exchanged."""
    random = np.random.default_rng(1)
    without, with_it = random.random(400), 0.3 + 0.7 * random.random(400)
    attack, counts = attacked(without, with_it, DELTA)
    assert attack.mirrored
    assert counts.alarms == int((parts(with_it)[1] <= attack.threshold).sum())
    assert counts == ThresholdAttack(attack.threshold, mirrored=True).counts(parts(without)[1], parts(with_it)[1])
    assert joint_bound(counts, DELTA) > 2.0


def test_randomised_response_shows_nearly_its_epsilon() -> None:
    """Its two outputs are the best attack: hits p, false alarms 1 − p. 40 audits of 3,000 counted runs a side."""
    truth, delta = 0.9, 1e-6
    exact, shown = RandomisedResponse(truth).epsilon, []
    for seed in range(40):
        random = np.random.default_rng(seed)
        without, with_it = random.random(4000) < 1.0 - truth, random.random(4000) < truth
        _, counts = attacked(without.astype(float), with_it.astype(float), delta)
        assert counts.alarms < 500 < 2500 < counts.hits
        shown.append((interval_bound(counts, delta), joint_bound(counts, delta)))
    interval, joint = np.array(shown).T
    assert np.all(interval < joint)
    assert 0.92 * exact < np.median(interval) < np.median(joint) < exact
    assert np.mean(joint > exact) <= 2.0 * (1.0 - CONFIDENCE)  # of 40


def test_a_gaussian_fit_finds_the_gaussian_mechanism() -> None:
    random = np.random.default_rng(0)
    without, with_it = 3.0 * random.standard_normal(200_000), 3.0 * (1.0 + random.standard_normal(200_000))
    assert fitted_mu(without, with_it) == pytest.approx(1.0, rel=0.01)
    exact = float(tight_epsilon(SampledGaussian(1.0), [1], DELTA).upper[0])
    assert fitted_epsilon(without, with_it, DELTA) == pytest.approx(exact, rel=0.02)
    assert fitted_epsilon(with_it, without, DELTA) == 0.0
    assert fitted_epsilon(np.zeros(5), np.ones(5), DELTA) == math.inf


def brute_p(guesses: OneRunGuesses, epsilon: float, delta: float) -> float:
    """Theorem 5.2 of Steinke, Nasr & Jagielski 2023 by single probabilities."""
    m, r, v = guesses
    accuracy = 1.0 / (1.0 + math.exp(-epsilon))
    each = [math.comb(r, k) * accuracy**k * (1.0 - accuracy) ** (r - k) for k in range(r + 1)]
    below = [sum(each[v - i : v]) / i for i in range(1, v + 1)]
    return min(1.0, sum(each[v:]) + 2.0 * m * delta * max(below, default=0.0))


@pytest.mark.parametrize("guesses", [OneRunGuesses(100, 20, 17), OneRunGuesses(40, 40, 30), OneRunGuesses(9, 3, 0)])
@pytest.mark.parametrize("delta", [0.0, 1e-5, 0.01])
def test_p_of_one_run_is_that_of_the_theorem(guesses: OneRunGuesses, delta: float) -> None:
    for epsilon in (0.0, 0.3, 2.0):
        assert p_value(guesses, epsilon=epsilon, delta=delta) == pytest.approx(brute_p(guesses, epsilon, delta))
    bound = one_run_bound(guesses, delta)
    if bound:
        assert brute_p(guesses, bound, delta) <= 0.05 + 1e-9 < brute_p(guesses, bound + 0.01, delta)
    else:
        assert brute_p(guesses, 0.01, delta) > 0.05


def test_guesses_are_of_the_highest_and_the_lowest_scores() -> None:
    members = np.array([True, True, True, False, True, False, True, False, False, True])
    guesses = guessed(np.arange(10.0), members, share=0.4)
    assert guesses == OneRunGuesses(10, 4, 1)  # says out of 0 and 1, in of 8 and 9


def test_one_run_of_randomised_response_stays_below_its_epsilon() -> None:
    """200 runs with 400 canaries each: above in at most one of twenty, and mostly more than half."""
    truth, random, shown = 0.88, np.random.default_rng(0), []
    for _ in range(200):
        members = random.random(400) < 0.5
        right = random.random(400) < truth
        shown.append(one_run_bound(guessed((members == right).astype(float), members, share=1.0), 0.0))
    exact = RandomisedResponse(truth).epsilon
    assert np.mean(np.array(shown) > exact) <= 0.05
    assert np.median(shown) > 0.7 * exact


def test_likelihoods_are_those_of_the_densities() -> None:
    random = np.random.default_rng(0)
    sums, noise, rate = random.normal(size=(5, 3)), 0.7, 0.3
    density = stats.norm(scale=noise).pdf
    ratio = np.prod((1.0 - rate) + rate * density(sums - 1.0) / density(sums), axis=1)
    assert log_likelihood(sums, signal=1.0, noise=noise, rate=rate) == pytest.approx(np.log(ratio))
    whole = np.prod(density(sums - 1.0) / density(sums), axis=1)
    assert log_likelihood(sums, signal=1.0, noise=noise, rate=1.0) == pytest.approx(np.log(whole))
    known = log_likelihood_of_known(sums, np.ones(sums.shape), noise)
    assert known == pytest.approx(np.log(whole))
    epoch = np.mean(density(sums - 1.0) / density(sums), axis=1)
    assert log_likelihood(sums, signal=1.0, noise=noise, together=3) == pytest.approx(np.log(epoch))
