"""Quick upper ends of ε(δ) and of the best attack: never below the truth, at most 1 % above the slow ones."""

from __future__ import annotations

import numpy as np
import pytest

from dpviz.accounting.attack.best_accuracy import best_accuracy
from dpviz.accounting.attack.membership import profile_roc
from dpviz.accounting.pld.bounds import tight_epsilon, tight_epsilon_of_events, tight_profile
from dpviz.accounting.pld.quick import quick_profile, quick_tight, quick_tight_of_events
from dpviz.fields.parameters import PARAMETERS
from dpviz.mechanisms import Laplace, Mechanism, ReplaceOneGaussian, SampledGaussian
from dpviz.questions.mechanism import RATE, SIGMA, STEPS

KINDS = (SampledGaussian, ReplaceOneGaussian, Laplace)


def near(mechanism: Mechanism, steps: int, delta: float) -> None:
    quick, slow = quick_tight(mechanism, steps, delta), tight_epsilon(mechanism, steps, delta)
    exact = best_accuracy(mechanism=mechanism, steps=steps)
    assert slow.lower <= quick.epsilon
    assert exact.lower <= quick.accuracy <= 1.0
    assert quick.accuracy <= 1.01 * exact.upper
    if slow.upper <= 50.0:
        assert quick.epsilon <= 1.01 * float(slow.upper)


@pytest.mark.parametrize("kind", KINDS)
def test_random_settings(kind: type[Mechanism]) -> None:
    draw = np.random.default_rng(21)
    for _ in range(6):
        scale, rate = np.exp(draw.uniform(np.log([0.4, 1e-4]), np.log([30.0, 1.0])))
        steps, delta = int(np.exp(draw.uniform(0.0, np.log(1e5)))), float(np.exp(draw.uniform(-25.0, -5.0)))
        near(kind(float(scale), float(rate)), steps, delta)  # type: ignore[call-arg]


# Losses of −40 and less are one number as exp(loss) − 1: where there are such, no grid is found, and Rényi's bound is.
@pytest.mark.filterwarnings("ignore:(divide by zero|invalid value) encountered:RuntimeWarning")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "every", [pytest.param(1, marks=(pytest.mark.long, pytest.mark.timeout(3600))), 80], ids=["all stops", "some"]
)
@pytest.mark.one_of(3)
def test_along_every_slider_around_the_defaults(kind: type[Mechanism], every: int) -> None:
    scales = PARAMETERS["scale"] if kind is Laplace else SIGMA
    for scale in scales.ticks[::every]:
        near(kind(scale, RATE.default), int(STEPS.default), 1e-5)  # type: ignore[call-arg]
    for rate in RATE.ticks[::every]:
        near(kind(scales.default, rate), int(STEPS.default), 1e-5)  # type: ignore[call-arg]
    for steps in STEPS.ticks[::every]:
        near(kind(scales.default, RATE.default), int(steps), 1e-5)  # type: ignore[call-arg]
    for log_delta in np.linspace(-12.0, -1.0, 45)[::every]:
        near(kind(scales.default, RATE.default), int(STEPS.default), 10.0**log_delta)  # type: ignore[call-arg]


def test_unlike_steps_together() -> None:
    events = [(SampledGaussian(4.0, 0.01), 3000), (SampledGaussian(1.0, 0.002), 200)]
    quick, slow = quick_tight_of_events(events, 1e-6), tight_epsilon_of_events(events, 1e-6)
    assert slow.lower <= quick.epsilon <= 1.01 * slow.upper
    assert quick.accuracy > max(best_accuracy(mechanism=m, steps=t).lower for m, t in events)


def test_nothing_released() -> None:
    for mechanism, steps in ((SampledGaussian(1.0, 0.0), 10), (SampledGaussian(1.0, 0.5), 0)):
        quick = quick_tight(mechanism, steps, 1e-5)
        assert quick.epsilon == 0.0
        assert quick.accuracy == pytest.approx(0.5, abs=1e-12)


@pytest.mark.parametrize(
    ("sigma", "rate", "steps"),
    [
        (4, 0.01, 10_000),
        (0.52, 0.01, 10_000),
        (0.5, 1e-3, 10_000),
        (1, 1e-4, 10_000),
        (0.4, 1e-4, 10**6),
        (1, 0.1, 1000),
    ],
)
def test_the_whole_curve_allows_attacks_no_more(sigma: float, rate: float, steps: int) -> None:
    """Also where ε is large, and the curve near 1 for most of its length."""
    mechanism, fpr = SampledGaussian(sigma, rate), np.array([1e-5, 1e-3, 0.01, 0.1])
    quick, exact = (
        profile_roc(fpr, epsilon=found.epsilon, delta=np.clip(found.upper, 0.0, 1.0))
        for found in (quick_profile(mechanism, steps, 120), tight_profile(mechanism, steps, 120))
    )
    assert np.all(quick <= 1.01 * exact)
    assert np.all(quick >= fpr)
