"""PATE on a page: which number may be published, what the curves are, what the visitor's votes are."""

import math

import numpy as np
import pytest

import dpviz
from dpviz.questions.answer import Answer
from dpviz.questions.papers.pate import PATE
from dpviz.questions.papers.pate_votes import recorded_votes, votes_with
from tests.questions.asking import asked, asked_whole, curves


def ends(a: Answer[object]) -> dict[str, float]:
    return {key: float(values[-1]) for key, values in curves(a).items()}


CONFIDENT = {"panoise": "confident", "paens": "250", "pasigma": "25", "pat": "150", "pasig1": "75"}


@pytest.mark.parametrize("texts", [{}, CONFIDENT, {"panoise": "lnmax", "pab": "4", "paens": "250"}], ids=str)
def test_curves_are_the_librarys(texts: dict[str, str]) -> None:
    answer = asked(PATE, **texts)
    g, found = answer.given, ends(answer)
    gaussian = g["release"] != "lnmax"
    noise = {"noise_std": g["noise_std"]} if gaussian else {"noise_scale": g["noise_scale"]}
    checked = g["release"] == "confident"
    fixed = noise | ({"threshold_std": g["threshold_std"]} if checked else {})
    assert found["renyi"] == dpviz.pate.pate_epsilon(1000, delta=1e-5, method="renyi", **fixed)
    votes = recorded_votes(g["recorded_teachers"])
    known = dpviz.pate.pate_epsilon_at(votes, delta=1e-5, **fixed, **({"threshold": g["threshold"]} if checked else {}))
    assert known[-1] <= found["votes"] * (1 + 1e-12) <= 1.03 * known[-1]
    if gaussian:
        assert found["tight"] == dpviz.pate.pate_epsilon(1000, delta=1e-5, method="tight", **fixed)
        assert found["votes"] < found["tight"] < found["renyi"]
    else:
        assert "tight" not in found


def test_what_may_be_published_lies_above_what_may_not() -> None:
    """And what is no promise is dashed. Few teachers: publishing costs more than it saves."""
    answer = asked(PATE, paens="250", pasigma="20")
    assert answer.facts.at_votes < answer.facts.released < answer.facts.public
    assert [line.key for line in answer.plot.lines if line.approximate] == ["votes", "released"]
    dear, nothing = asked(PATE, paens="25", pasigma="10").facts, asked(PATE, pasigma="100").facts
    assert dear.released > dear.public
    assert nothing.at_votes == nothing.public


@pytest.mark.parametrize(("teachers", "share"), [(250, 0.9), (2, 0.1), (10, 0.1), (1000, 1.0), (37, 0.33)])
def test_alike_votes_are_all_there(teachers: int, share: float) -> None:
    votes = votes_with(teachers, share)[0]
    assert votes.sum() == teachers
    assert votes[0] == votes.max()
    assert votes[0] == max(round(share * teachers), math.ceil(teachers / 10))
    assert votes[1:].max() - votes[1:].min() <= 1


@pytest.mark.parametrize("texts", [{"paens": "250", "pasigma": "20"}, CONFIDENT, {"pavotes": "alike"}], ids=str)
def test_the_sanitised_curve_is_the_librarys(texts: dict[str, str]) -> None:
    answer = asked(PATE, seed="3", paqueries="300", **texts)
    g = answer.given
    votes = recorded_votes(g["recorded_teachers"])[:300]
    if g["votes"] == "alike":
        votes = np.tile(votes_with(g["teachers"], g["agreement"]), (300, 1))
    noise = {name: g[name] for name in ("noise_std", "threshold_std") if name == "noise_std" or "panoise" in texts}
    release = dpviz.pate.SmoothRelease(4.0, 0.5 * -0.5 * math.log(0.75), 3.0, 4.0, 0.01)
    draw = np.random.default_rng((1, 3))
    found = dpviz.pate.pate_epsilon_released(votes, delta=1e-5, release=release, draw=draw, **noise)
    assert ends(answer)["released"] == pytest.approx(found[-1], rel=1e-9)
    assert answer.facts.released == ends(answer)["released"]


def test_the_student_comes_later_and_follows_the_noise() -> None:
    assert asked(PATE).facts.student is None
    plain, noisy = (asked_whole(PATE, **texts).facts.student for texts in ({}, {"pasigma": "100"}))
    assert (plain.answered, noisy.answered) == (1000, 1000)
    assert noisy.accuracy < 0.6 < 0.85 < min(plain.accuracy, plain.right)
    checked, none = (asked_whole(PATE, **t).facts for t in (CONFIDENT, CONFIDENT | {"pat": "1000", "pasig1": "1"}))
    assert checked.student.answered == pytest.approx(checked.answered, abs=60)
    assert none.student.answered == 0
    assert PATE.slow[0].key(asked(PATE, pavotes="alike")) is None
