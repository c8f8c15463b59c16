"""Noise for a risk: the numbers are the library's, on the safe side; words follow the risk."""

from typing import Any

import numpy as np
import pytest

import dpviz
from dpviz.accounting.attack.trade_off import Detection, Risk
from dpviz.mechanisms import Mechanism, PersonRows, SampledGaussian
from dpviz.questions.answer import soon
from dpviz.questions.asked import ask
from dpviz.questions.layout import of_texts
from dpviz.questions.needed import TOLERANCE
from dpviz.questions.noise.risk import BY_NAME, RISK, RISK_FIRST, odds, risk_at

GIVEN: dict[str, Any] = {"noise_multiplier": 4.0, "sample_rate": 0.01, "steps": 10_000, "delta": 1e-5}
ASKED: dict[str, tuple[dict[str, float], dict[str, float], str]] = {
    "advantage": ({"after": 0.1}, {"target_advantage": 0.1}, "right at most <b>55 of 100</b> times"),
    "tpr": ({"after": 0.02}, {"target_tpr": 0.02, "fpr": 0.01}, "finds at most <b>2 of 100</b> members"),
    "posterior": (
        {"after": 0.8, "before": 0.5},
        {"target_posterior": 0.8, "prior": 0.5, "delta": 1e-5},
        "belief in membership of 50 of 100 grows to at most <b>80 of 100</b>",
    ),
    "reconstruction": (
        {"after": 0.02, "before": 0.001},
        {"target_reconstruction": 0.02, "prior": 0.001},
        "guesses 1 of 1000 records reconstructs at most <b>20 of 1000</b>",
    ),
    "mu": ({"mu": 0.25}, {"target_mu": 0.25, "delta": 1e-5}, "<b>μ = 0.25</b>"),
}


def test_every_risk_is_offered() -> None:
    assert set(BY_NAME) == set(RISK.options) == set(ASKED)


@pytest.mark.parametrize("risk", ASKED)
@pytest.mark.one_of(2)
def test_the_noise_is_the_librarys(risk: str) -> None:
    setting, target, words = ASKED[risk]
    answer = ask("risk", risk=risk, **GIVEN, **setting)
    facts = answer.answer.facts
    plan = {"method": "tight", "sample_rate": 0.01, "steps": 10_000}
    sigma = dpviz.solve("noise_multiplier", **plan, **target, tolerance=TOLERANCE)  # type: ignore[call-overload]
    assert facts.need.value == pytest.approx(sigma, rel=2 * TOLERANCE)
    assert words in RISK_FIRST.headline(answer.answer)
    assert f"<b>σ = {facts.text}</b>" in RISK_FIRST.headline(answer.answer)
    here = BY_NAME[risk](*(list(target.values())[1:])).of(dpviz.SampledGaussian(4.0, 0.01), 10_000)
    assert facts.here == here
    assert facts.epsilon == dpviz.epsilon("tight", **(GIVEN | {"noise_multiplier": facts.need.value}))
    # More noise, less risk; the answer lies where the curve meets the target.
    assert (np.diff(facts.y) <= 1e-6 * facts.y[0]).all()
    assert facts.y[facts.x >= facts.need.value].max() <= facts.target <= facts.y[facts.x < facts.need.value].min()


@pytest.mark.parametrize(("risk", "before"), [("advantage", 0.01), ("tpr", 0.01), ("mu", 0.01), ("posterior", 0.5)])
@pytest.mark.one_of(2)
def test_the_curve_lies_nowhere_below_the_risk(risk: str, before: float) -> None:
    """Chords did where the curve is not convex, by up to 0.02."""
    answer = ask("risk", risk=risk, before=before, after=0.9, mu=2.0, **GIVEN).answer
    (line,) = answer.plot.lines  # type: ignore[attr-defined]
    (trace,) = (one for one in answer.plot.chart().figure["data"] if one["name"] == line.name)
    assert trace["line"]["shape"] == "hv"
    at = np.asarray(line.x)
    for noise in np.geomspace(at[0], at[-1], 37)[1::3].tolist():
        drawn = line.y[np.searchsorted(at, noise, side="right") - 1]
        given = {"fpr": before, "prior": before, "delta": GIVEN["delta"]}
        true = BY_NAME[risk](*(given[name] for name in BY_NAME[risk].given)).of(SampledGaussian(noise, 0.01), 10_000)
        assert drawn >= true


def test_where_nothing_is_left_to_lose_no_less_noise_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """That took most of the time with 20 rows of a person, whose risk is certainty for a third of the axis."""
    looked_at = []

    def noted(risk: Risk, mechanism: Mechanism, steps: int, noise: float) -> float:
        looked_at.append(noise)
        return risk_at(risk, mechanism, steps, noise)

    monkeypatch.setattr("dpviz.questions.noise.risk.risk_at", noted)
    facts = ask("risk", risk="tpr", rows=20, **GIVEN).answer.facts
    axis = [noise for noise in looked_at if noise in facts.x]
    assert len(axis) < 0.75 * facts.x.size
    assert (facts.y[facts.x < min(axis)] == 1.0).all()
    for noise, y in zip(facts.x[::8], facts.y[::8], strict=True):
        exact = Detection(0.01).of(PersonRows(float(noise), 0.01, 20), 10_000)
        assert exact <= y <= exact + 1e-9


def test_before_its_slow_parts_it_has_no_number() -> None:
    quick = soon(RISK_FIRST.asked(dict(ask("risk").answer.given)), RISK_FIRST.slow)
    assert [metric.value for metric in RISK_FIRST.metrics(quick)] == ["…", "…", "…"]
    assert "With <b>σ = …</b>, an attack" in RISK_FIRST.headline(quick)


def test_what_has_no_answer_says_why() -> None:
    with pytest.raises(ValueError, match="must lie above 5 %"):
        ask("risk", before=0.05, after=0.05)
    slow = ask("risk", steps=10**8)
    assert "too slow beyond" in " ".join(note.text for note in RISK_FIRST.notes(slow.answer))
    nothing = ask("risk", risk="advantage", after=0.5, sample_rate=1e-9, steps=10)
    assert nothing.answer.facts.need.value == 0.0
    assert "no noise is needed" in " ".join(note.text for note in RISK_FIRST.notes(nothing.answer))


@pytest.mark.parametrize(
    ("share", "beside", "text"),
    [(0.05, 1.0, "5 of 100"), (0.02, 0.001, "20 of 1000"), (0.5, 1.0, "50 of 100"), (1e-5, 1.0, "1 of 100\u202f000"),
     (0.50045, 1.0, "50.045 of 100"), (0.15, 1.0, "15 of 100"), (0.1234567, 0.001, "123.4567 of 1000")],
)  # fmt: skip
def test_odds(share: float, beside: float, text: str) -> None:
    assert odds(share, beside) == text


def test_sliders_of_a_risk_stop_where_the_target_lies_above_the_risk_without_the_release() -> None:
    """Below there is no answer: a hand that pulls either to an end keeps its chart."""
    for texts in ({}, {"risk": "posterior", "riskbefore": "0.3"}, {"riskafter": "0.4"}):
        get = of_texts(texts)
        bounded = [one for group in RISK_FIRST.groups(get).values() for one in group if one.within]
        stops = {one.fields[0].key: one.stops(one.fields[0]) for one in bounded}
        assert stops.keys() == {"riskafter", "riskbefore"}
        for key, texts_there in stops.items():
            for end in (texts_there[0], texts_there[-1]):
                RISK_FIRST.asked(RISK_FIRST.read(of_texts(texts | {key: end})))
