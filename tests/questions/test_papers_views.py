"""Views of single statements of the papers: what they draw and say, against sums and integrals done elsewhere."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import beta, binom

from dpviz.gradients.norm_families import FAMILIES
from dpviz.questions.asked import ask
from dpviz.questions.papers.abadi import LOSS
from dpviz.questions.papers.bayesian import RARE, TOGETHER
from dpviz.questions.papers.clipping import CLIPPING
from dpviz.questions.papers.sampled import THEOREM_5
from tests.questions.asking import asked
from tests.questions.test_papers import curve

# --- the privacy loss -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("direction", ["remove", "add"])
@pytest.mark.parametrize("span", ["one", "all"])
def test_the_areas_are_the_probabilities(direction: str, span: str) -> None:
    """The grey area is P(L > ε), the one below the orange curve δ."""
    texts = {"pdir": direction, "pspan": span, "ploss": "0.002" if span == "one" else "0.3"}
    answer = asked(LOSS, **texts)
    x, y = curve(answer, "density")
    tail = answer.plot.bands[0]  # type: ignore[attr-defined]
    grey = np.trapezoid(np.asarray(tail.upper), np.asarray(tail.x))
    at, counted = curve(answer, "counted")
    seen = np.isfinite(counted)
    f = answer.facts
    assert np.trapezoid(y, x) == pytest.approx(1.0, abs=0.01)
    assert grey == pytest.approx(f.beyond, rel=0.02)
    assert np.trapezoid(counted[seen], at[seen]) == pytest.approx(f.delta, rel=0.02)
    assert f.delta < f.beyond
    back = asked(LOSS, **texts | {"pdir": "add" if direction == "remove" else "remove"})
    assert back.facts.delta == f.other
    assert back.facts.other == f.delta


def test_a_mean_loss_is_the_divergence_at_order_one() -> None:
    """R(α) tends to it as α tends to 1; T steps have T times as much."""
    one, many = (asked(LOSS, pspan=span).facts.mean for span in ("one", "all"))
    assert many == pytest.approx(1e4 * one)
    from dpviz import renyi_divergence

    near = float(renyi_divergence(noise_multiplier=4.0, sample_rate=0.01, orders=[1.001])[0])  # type: ignore[index]
    assert one == pytest.approx(near, rel=2e-3)


def test_a_tail_that_the_chart_does_not_reach_is_said() -> None:
    answer = asked(LOSS, ploss="50")
    assert "below 1e-12" in LOSS.headline(answer)
    assert any("far beyond" in note.text for note in LOSS.notes(answer))
    with pytest.raises(ValueError, match="sampling rate above 0"):
        asked(LOSS, q="0")
    with pytest.raises(ValueError, match="Raise the noise"):
        asked(LOSS, sigma="0.001", pspan="one")


# --- clipping ---------------------------------------------------------------------------------------------------------


def test_errors_are_those_of_drawn_gradients() -> None:
    """A million examples of the minority's family, clipped one by one."""
    draw = np.random.default_rng(0)
    rare = draw.random(1_000_000) < 0.05
    norms = np.where(rare, 10.0, 0.5) * draw.weibull(2.0, rare.size)
    ways = np.where(rare[:, None], [0.0, 1.0], [1.0, 0.0])
    held = np.minimum(norms, 1.0)
    mean, clipped = (ways * norms[:, None]).mean(axis=0), (ways * held[:, None]).mean(axis=0)
    f = asked(CLIPPING, cthr="1", sigma="2", cbatch="500", cdim="400").facts
    assert f.kept == pytest.approx(held.sum() / norms.sum(), rel=5e-3)
    assert f.over == pytest.approx((norms > 1).mean(), rel=1e-2)
    assert f.bias == pytest.approx(np.hypot(*(mean - clipped)) / np.hypot(*mean), rel=1e-2)
    angle = math.degrees(math.atan2(mean[1], mean[0]) - math.atan2(clipped[1], clipped[0]))
    assert f.turned == pytest.approx(angle, rel=1e-2)
    assert f.signal == pytest.approx(np.hypot(*clipped) / (2.0 * math.sqrt(400) / 500), rel=1e-2)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_best_threshold_has_the_least_error(family: str) -> None:
    answer = asked(CLIPPING, cfam=family)
    x, both = curve(answer, "both")
    assert answer.facts.least == both.min()
    assert x[both.argmin()] == answer.facts.best
    more = asked(CLIPPING, cfam=family, sigma="20").facts
    assert more.best <= answer.facts.best, "more noise asks for a smaller C"


def test_without_clipping_there_is_no_sensitivity() -> None:
    answer = asked(CLIPPING, con="off", cfam="spread")
    assert "no finite sensitivity" in CLIPPING.headline(answer)
    # exponential norms: the median of the largest of n is −ln(1 − 2^(−1/n))
    assert answer.facts.million == pytest.approx(-math.log(-math.expm1(-math.log(2) / 1e6)), rel=1e-6)
    groups = CLIPPING.groups(lambda field: "off" if field.key == "con" else field.default)
    assert [field.key for field in groups["Question"]] == ["con", "cfam"]  # type: ignore[union-attr]


# --- Bayesian DP: what no sample has shown, and several at once -------------------------------------------------------


def test_a_hundred_zeros_give_one_in_a_hundred() -> None:
    answer = asked(RARE, **{k: v for k, v in RARE.presets[0].values.items() if k != "pview"})
    assert answer.facts.posterior == pytest.approx(0.01, rel=1e-9)
    assert "<b>ρ̂ = 0.01</b>" in RARE.headline(answer)


@pytest.mark.parametrize(("zeros", "ones", "failure"), [(100, 0, 0.05), (40, 3, 0.01), (7, 7, 0.3)])
def test_the_bound_for_every_share_is_missed_as_often_as_it_says(zeros: int, ones: int, failure: float) -> None:
    f = asked(RARE, rzeros=str(zeros), rones=str(ones), gamma=str(failure)).facts
    assert binom.cdf(ones, zeros + ones, f.exact) == pytest.approx(failure, rel=1e-9)
    assert beta.sf(f.posterior, ones + 1, zeros + 1) == pytest.approx(failure, rel=1e-9)
    assert f.posterior < f.exact


def test_the_flat_priors_estimate_may_be_missed_more_often_for_one_share() -> None:
    """What the note says: at ρ just above ρ̂(N₁ = 0) a sample without any C comes more often than γ."""
    f = asked(RARE, rzeros="100", gamma="0.05").facts
    assert (1 - f.posterior) ** 100 > 0.05
    assert (1 - f.exact) ** 100 == pytest.approx(0.05)


def test_no_zeros_say_nothing() -> None:
    assert asked(RARE, rzeros="0").facts.exact == 1.0


def test_several_at_once() -> None:
    f = asked(TOGETHER, geps="0.5", gdmu="1e-5", gk="5").facts
    assert f.basic == pytest.approx((2.5, 5e-5))
    assert f.group == pytest.approx((2.5, 5 * math.exp(2.5) * 1e-5))
    assert f.largest * math.exp(f.largest * 0.5) * 1e-5 < 1 < (f.largest + 1) * math.exp((f.largest + 1) * 0.5) * 1e-5
    assert "no δ below 1" in TOGETHER.headline(asked(TOGETHER, gk="50"))


# --- sampled Gaussian, Theorem 5 --------------------------------------------------------------------------------------


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_theorem_5_is_seen_for_both_noises(noise: str) -> None:
    answer = asked(THEOREM_5, pnoise=noise, sigma="1", b="1", q="0.1")
    f = answer.facts
    assert f.holds
    assert not f.same
    assert f.ratio > 1.1
    _, added = curve(answer, "added")
    assert (added < -math.log1p(-0.1)).all()
    assert "at every order" in THEOREM_5.headline(answer)


def test_without_sampling_both_directions_are_one() -> None:
    answer = asked(THEOREM_5, q="1")
    assert answer.facts.same
    assert (answer.facts.removed, answer.facts.added) == pytest.approx((64 / 32, 64 / 32))


def test_how_many_times_more_at_most_is_rounded_up() -> None:
    found = ask("theorem5", noise_multiplier=200)
    assert 1.0 < found.answer.facts.ratio < 1.005
    assert "at most 1.01 times as much" in found.headline
