"""What is said to use proves the target by the library itself, and what the tight accountant spares is no more than
there is."""

import re

import pytest

import dpviz
from dpviz.fields import numbers
from dpviz.questions.compose.question import GROWTH
from dpviz.questions.compose.question import plan_of as present
from dpviz.questions.noise.shared import plan_of
from dpviz.questions.noise.solve import SOLVE
from dpviz.questions.use import Plan, bibliography, paragraph, spared, tight_epsilon, use_it, used
from tests.questions.asking import asked

SETTINGS = [{"target": "2"}, {"target": "0.7", "q": "256/60000", "steps": "2345"}, {"target": "8", "delta": "1e-7"}]
SHOWN = Plan(4.126, 0.01, 10_000, 1e-5, "renyi_improved", "exact")


@pytest.mark.parametrize("unknown", ["noise_multiplier", "steps", "sample_rate", "delta"])
@pytest.mark.parametrize("setting", SETTINGS, ids=lambda s: s["target"])
def test_the_rounded_answer_still_proves_the_target(unknown, setting):
    answer = asked(SOLVE, solvefor=unknown, noisecurves="moments.renyi_improved", **setting)
    plan = plan_of(answer)
    assert plan.epsilon <= float(setting["target"])
    value, exact = plan.known[unknown], answer.facts.needs[plan.key].value
    safe = value <= exact if unknown in ("steps", "sample_rate") else value >= exact
    assert safe
    assert value == pytest.approx(exact, rel=6e-3)


def test_what_is_spared_is_computed_and_never_more_than_there_is():
    plan = plan_of(asked(SOLVE, target="2", noisecurves="moments"))
    found = re.fullmatch(r"The PLD accountant allows ([\d.]+) % less noise: σ = ([\d.]+)\.", spared(plan))
    share, sigma = float(found[1]) / 100, float(found[2])
    known = {"sample_rate": 0.01, "steps": 10_000, "delta": 1e-5}
    assert dpviz.epsilon("tight", noise_multiplier=sigma, **known) <= 2.0
    least = dpviz.solve("noise_multiplier", target_epsilon=2.0, method="tight", tolerance=4e-4, **known)
    assert least <= sigma <= 1.001 * least
    assert 0.0 < share <= 1 - sigma / plan.noise_multiplier
    for unknown, words in (("steps", "more steps"), ("sample_rate", "higher sampling rate")):
        sentence = spared(plan_of(asked(SOLVE, solvefor=unknown, noisecurves="moments")))
        assert float(re.search(rf"([\d.]+) % {words}", sentence)[1]) > 1.0


def test_compose_takes_what_is_set_and_its_tightest_bound():
    plan = present(asked(GROWTH, sigma="1.1", q="256/60000", steps="7031", curves="strong.moments.renyi_improved"))
    assert plan.known == {"noise_multiplier": 1.1, "sample_rate": 256 / 60000, "steps": 7031.0, "delta": 1e-5}
    assert plan.key == "renyi_improved"
    assert f"ε ≤ {numbers.epsilon(plan.epsilon, up=True)}" in used(plan)


def test_one_order_alone_is_said():
    answer = asked(GROWTH, curves="strong.renyi_improved", lam="7")
    plan = present(answer)
    assert plan.epsilon == answer.facts.bounds["renyi_improved"].epsilon[-1]
    assert "(Rényi improved, λ = 7)" in used(plan)
    assert "order α = 8 alone" in paragraph(plan)
    assert "alone" not in paragraph(present(asked(GROWTH, curves="strong", lam="7")))


def test_the_paragraph_says_what_decides():
    text = paragraph(SHOWN)
    for part in ("Poisson", "q = 0.01", "100 epochs", "σ = 4.126", "C = 1", "δ = 1e-5", "adding or removing", "public"):
        assert part in text
    said = float(re.search(r"privacy with ε = ([\d.]+)", text)[1])
    assert SHOWN.epsilon <= said <= 1.01 * SHOWN.epsilon
    tight = float(re.search(r"give ε = (\d+\.\d+)", text)[1])
    assert tight_epsilon(SHOWN) <= tight <= 1.01 * tight_epsilon(SHOWN)


def test_what_the_paragraph_cites_is_in_its_bibliography():
    first, *folded = use_it(lambda: SHOWN)
    assert first.text.startswith("Use σ = 4.126: ε ≤ 1.00")
    assert [block.name for block in folded][:2] == ["Paragraph for the paper", "BibTeX"]
    keys = re.findall(r"@\w+\{(\w+),", bibliography(SHOWN))
    assert set(keys) >= {"abadi2016", "mironov2019", "balle2020", "doroshenko2022"}
    assert len(set(keys)) == len(keys)
