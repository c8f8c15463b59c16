"""Rebuilt data: the price of the counts is Compose's, and the picture shows the bits that are counted."""

import math
from typing import Any

import numpy as np
import pytest

import dpviz
from dpviz.charts.plot import LinePlot
from dpviz.questions.attack.reconstruction import picture


def asked(**settings: Any) -> Any:
    return dpviz.ask("reconstruction", **settings).answer


@pytest.mark.parametrize(("counts", "noise_std"), [(400, 3.0), (17, 5.0), (2000, 100.0)])
def test_the_price_is_that_of_so_many_steps_on_compose(counts: int, noise_std: float) -> None:
    facts = asked(counts=counts, noise_std=noise_std).facts
    same: dict[str, Any] = {"noise_multiplier": noise_std, "sample_rate": 1.0, "steps": counts}
    assert facts.epsilon == pytest.approx(dpviz.epsilon("tight", delta=1e-5, **same), rel=1e-8)
    assert facts.most == pytest.approx(dpviz.best_accuracy(**same).upper, rel=1e-6)
    assert facts.mu == pytest.approx(math.sqrt(counts) / noise_std)


@pytest.mark.parametrize("against", ["sigma", "counts", "epsilon"])
def test_the_ring_and_the_curve_are_of_the_chosen_noise(against: str) -> None:
    answer = asked(against=against, counts=200, noise_std=4.0, bits=50)
    facts, plot = answer.facts, answer.plot
    [ring] = plot.rings
    assert ring.y == facts.right / 50
    assert ring.x == pytest.approx({"sigma": 4.0, "counts": 200.0, "epsilon": facts.epsilon}[against])
    rebuilt, most = plot.lines
    assert rebuilt.at(ring.x) == pytest.approx(facts.mean, abs=1e-9)
    assert (np.diff(rebuilt.x) > 0.0).all()
    assert most.at(ring.x) == pytest.approx(facts.most, abs=1e-9)


def test_more_noise_lowers_epsilon_and_what_any_attack_can_reach() -> None:
    each = [asked(noise_std=s).facts for s in (1.0, 3.0, 30.0, 300.0)]
    for name in ("epsilon", "most", "mean"):
        values = [getattr(one, name) for one in each]
        assert values == sorted(values, reverse=True)


def test_the_picture_shows_every_bit_and_every_error_once() -> None:
    answer = asked(bits=70, counts=140, noise_std=4.0)
    [shown] = picture(answer)
    assert isinstance(shown, LinePlot)
    dots = {one.name: np.asarray(one.x).size for one in shown.dots}
    assert dots["secret: one"] + dots["secret: zero"] == 70
    assert dots["secret: one"] == int(answer.facts.secret.sum())
    wrong = dots["rebuilt: one, wrong"] + dots["rebuilt: zero, wrong"]
    assert wrong == 70 - answer.facts.right > 0
    assert wrong + dots["rebuilt: one"] + dots["rebuilt: zero"] == 70


def test_the_same_seed_gives_the_same_picture() -> None:
    one, other = (picture(asked(seed=5))[0].chart().figure for _ in range(2))
    assert one == other
    assert one != picture(asked(seed=6))[0].chart().figure
