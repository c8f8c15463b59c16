"""What tuning costs: reference numbers, and the best of K runs in full on small mechanisms."""

import math
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import gammaln, ndtr

import dpviz
from dpviz._arrays import Array
from dpviz.accounting import tuning
from dpviz.accounting.tuning import LAWS
from dpviz.fields import number
from dpviz.mechanisms import Laplace, PersonRows, RandomAllocation, SampledGaussian
from tests.accounting.references import library_epsilon

STEP = SampledGaussian(1.1, 256 / 60_000)
RUN: dict[str, Any] = {"mechanism": STEP, "steps": 3510, "delta": 1e-5}


@pytest.mark.parametrize(
    ("law", "runs", "method", "epsilon"),
    [
        ("geometric", 10, "renyi", 2.661),
        ("geometric", 40, "renyi", 3.132),
        ("geometric", 40, "tight", 2.222),
        ("negative_binomial", 40, "renyi", 2.846),
        ("negative_binomial", 40, "tight", 2.104),
        ("poisson", 10, "renyi", 2.803),
        ("poisson", 40, "renyi", 6.412),
        ("poisson", 10, "tight", 2.278),
        ("poisson", 40, "tight", 4.629),
    ],
)
def test_reference_numbers(law: Any, runs: float, method: Any, epsilon: float) -> None:
    assert dpviz.tuned_epsilon(**RUN, law=law, runs=runs, method=method) == pytest.approx(epsilon, abs=1.5e-3)


@pytest.mark.parametrize("method", ["tight", "renyi"])
def test_a_fixed_number_of_runs_costs_what_all_of_them_cost(method: Any) -> None:
    """As the library dp-accounting composes 40 · 3510 steps; and a part of a run is none."""
    found = dpviz.tuned_epsilon(**RUN, law="fixed", runs=40, method=method)
    all_of_them = library_epsilon((1.1, 256 / 60_000, 40 * 3510, 1e-5), 1e-3, above=True, dots=True)
    assert 0.99 * all_of_them < found < (1.01 if method == "tight" else 1.1) * all_of_them
    with pytest.raises(ValueError, match=r"runs=1\.5.*whole"):
        dpviz.tuned_epsilon(**RUN, law="fixed", runs=1.5, method=method)


@pytest.mark.parametrize("mean", [1.5, 5.0, 40.0])
@pytest.mark.parametrize("eta", [-0.3, 0.0, 0.5, 1.0, 2.0])
def test_the_number_of_runs_has_the_mean_that_is_asked_for(eta: float, mean: float) -> None:
    """Its law, Pr[K = k] ∝ Γ(k + η)/k! (1 − γ)^k, added up term by term; of η = 0 the logarithmic one."""
    log_odds = tuning.log_odds_of_mean(eta, mean)
    k = np.arange(1.0, 200_000.0)
    log = gammaln(k + eta) - gammaln(k + 1.0) - k * np.logaddexp(0.0, -log_odds)
    weight = np.exp(log - log.max())
    assert float(k @ weight / weight.sum()) == pytest.approx(mean, rel=1e-6)


@pytest.mark.parametrize(("method", "epsilon"), [("tight", 1.9821), ("renyi", 2.5466)])
def test_reference_numbers_of_the_logarithmic_law(method: Any, epsilon: float) -> None:
    found = dpviz.tuned_epsilon(**RUN, law="negative_binomial", shape=0.0, runs=40, method=method)
    assert found == pytest.approx(epsilon, rel=2e-3)  # the numerical one may change by its width


def test_a_score_that_reads_the_data_uncounted_shows_them_whatever_the_bound_says() -> None:
    """Runs that toss a coin and release it cost nothing; the best of 40 by "is it the private bit?" nearly is that bit.

    K is geometric with γ = 1/40: no run shows the bit with probability E[2^−K] = 0.0244.
    """
    hidden = 1 / 40 / 2 / (1 - (1 - 1 / 40) / 2)
    assert 1 - hidden == pytest.approx(0.976, abs=5e-4)
    bound = dpviz.tuned_epsilon(mechanism=SampledGaussian(1e6, 1.0), steps=1, delta=1e-5, runs=40)
    assert bound < 0.001 < 3.6 < math.log((1 - hidden) / hidden), "so the condition on the score cannot be left out"


def test_the_condition_on_the_score_stands_wherever_the_number_does() -> None:
    assert "by any score" not in (tuning.__doc__ or "")
    for text in (tuning.__doc__ or "", dpviz.tuned_epsilon.__doc__ or ""):
        assert "from public data" in " ".join(text.split()).replace("or public", "or from public")
        assert "private" in text
    card = dpviz.guarantee(mechanism=STEP, steps=10, delta=1e-5, runs=40)
    assert "score that picks the best" in card.markdown()
    assert "score that reads the private data" in number("tried").help


def best_of(mass: Array, score: Array, law: str, runs: float) -> Array:
    """The law of the best of K outcomes, ties to the later one; last the chance that there was no run."""
    order = np.argsort(score, kind="stable")
    below = np.concatenate([[0.0], np.minimum(np.cumsum(mass[order]), 1.0)])
    if law == "poisson":
        generating = np.exp(runs * (below - 1.0))
    elif law == "fixed":
        generating = below**runs
    else:  # the negative binomial law with η, and γ by bisection
        eta = 1.0 if law == "geometric" else 0.5
        gamma = brentq(lambda g: eta * (1 - g) / (g * (1 - g**eta)) - runs, 1e-6, 1 - 1e-6)
        generating = ((1 - (1 - gamma) * below) ** -eta - 1) / (gamma**-eta - 1)
    best = np.empty(mass.size)
    best[order] = np.diff(generating)
    return np.append(best, generating[0])


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("sigma", "rate"), [(2.0, 1.0), (1.0, 0.1), (0.8, 0.01), (4.0, 0.5)])
def test_the_bound_is_never_below_the_truth(sigma: float, rate: float, law: Any) -> None:
    """One step, released with the best of several scores: the whole law of the search is known."""
    z = np.linspace(-9.0 * sigma, 1.0 + 9.0 * sigma, 20_001)
    without = np.diff(ndtr(z / sigma))
    member = (1 - rate) * without + rate * np.diff(ndtr((z - 1.0) / sigma))
    middle = (z[1:] + z[:-1]) / 2
    closest = math.inf
    for runs in (2.0 if law == "fixed" else 1.5, 5.0, 40.0):
        for delta in (1e-2, 1e-5):
            step = {"noise_multiplier": sigma, "sample_rate": rate, "steps": 1, "delta": delta}
            bounds = [dpviz.tuned_epsilon(**step, runs=runs, law=law, method=m) for m in ("tight", "renyi")]
            assert bounds[0] <= bounds[1] * (1 + 1e-9)
            one = dpviz.epsilon("tight", **step)
            for score in (middle, -middle, np.abs(middle - 0.5)):
                tuned = [best_of(mass, score, law, runs) for mass in (member, without)]
                for p, q in (tuned, tuned[::-1]):
                    assert np.maximum(p - math.exp(bounds[0]) * q, 0.0).sum() <= delta * (1 + 1e-9)
                    closest = min(closest, delta / np.maximum(p - math.exp(one) * q, 1e-300).sum())
    assert closest < 0.5  # what is not charged for tuning would be missed here


@pytest.mark.parametrize(("law", "eta"), [("geometric", 1.0), ("negative_binomial", 0.5)])
def test_the_cost_of_choosing_counts_as_often_as_the_theorem_says(law: Any, eta: float) -> None:
    """Laplace noise of ε = 1; the best score is a sign of the one world, the next one a rare sign of the other."""
    below, above = 0.5 * np.exp([-1.0, 0.0]), 0.5 * np.exp([-5.0, -6.0])  # 0 and 6, with the example and without it
    p, q = (
        best_of(np.array([a, b, 1.0 - a - b]), np.array([3.0, 2.0, 1.0]), law, 1000.0)
        for a, b in zip(below, above, strict=True)
    )
    given: dict[str, Any] = {"mechanism": Laplace(1.0), "steps": 1, "delta": 1e-6, "runs": 1000.0, "law": law}
    bounds = [dpviz.tuned_epsilon(**given, method=method) for method in ("tight", "renyi")]
    shown = max(math.log((a - 1e-6) / b) for a, b in zip(p[:2].tolist(), q[:2].tolist(), strict=True))
    assert 0.95 * (2.0 + eta) < shown <= min(bounds)
    assert bounds[0] <= 2.0 + eta + 1e-3


def test_more_runs_cost_more_and_one_costs_nothing() -> None:
    assert dpviz.tuned_epsilon(**RUN, runs=1) == pytest.approx(dpviz.epsilon("tight", **RUN))
    one = dpviz.tuned_epsilon(**RUN, runs=1, law="poisson")  # one on average, often more
    assert dpviz.epsilon("tight", **RUN) < 0.99 * one < dpviz.tuned_epsilon(**RUN, runs=1.01, law="poisson")
    laws: list[Any] = [*LAWS]
    for law in laws:
        few = 1 if law == "fixed" else 1.01
        several = [dpviz.tuned_epsilon(**RUN, runs=runs, law=law) for runs in (few, 2, 4, 16, 64, 256)]
        assert several == sorted(several)
        assert several[0] >= dpviz.epsilon("tight", **RUN)
        longer = dpviz.tuned_epsilon(**RUN | {"steps": 5000}, runs=4, law=law)
        assert longer > several[2] > dpviz.tuned_epsilon(**RUN | {"delta": 1e-4}, runs=4, law=law)
    assert dpviz.tuned_epsilon(**RUN | {"steps": 0}, runs=4) == 0.0
    given = {"noise_multiplier": 1.1, "sample_rate": 256 / 60_000, "steps": 3510, "delta": 1e-5}
    assert dpviz.tuned_epsilon(**given) == dpviz.tuned_epsilon(**RUN, runs=40.0)


def test_other_mechanisms() -> None:
    rows = dpviz.tuned_epsilon(mechanism=PersonRows(1.1, 256 / 60_000, 2), steps=1000, delta=1e-5, runs=10)
    assert rows > dpviz.epsilon("tight", mechanism=PersonRows(1.1, 256 / 60_000, 2), steps=1000, delta=1e-5)
    allocation: dict[str, Any] = {"mechanism": RandomAllocation(1.1, 234), "steps": 15, "delta": 1e-5}
    assert 1.09 < dpviz.tuned_epsilon(**allocation, runs=10) < 2.2
    for more, why in (
        ({"law": "poisson"}, "Rényi divergence of a step, which is not known here.*Choose another law"),
        ({"method": "renyi"}, "one random batch of 234 an epoch: the Rényi divergence of a step is needed"),
    ):
        with pytest.raises(ValueError, match=why):
            dpviz.tuned_epsilon(**allocation, **more)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"runs": 0.5}, "runs=0.5 >= 1"),
        ({"law": "uniform"}, "law='uniform' to be one of geometric, negative_binomial, poisson, fixed"),
        ({"law": "negative_binomial", "shape": -1.0}, "shape=-1 in"),
        ({"method": "moments"}, "method='moments' to be one of tight, renyi"),
        ({"sample_rate": 0.1}, "Leave it out"),
        ({"steps": 1.5}, "steps"),
    ],
)
def test_bad_arguments(change: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        dpviz.tuned_epsilon(**RUN | change)
