"""What a pasted program trains with: its settings, what it leaves open, and its ε along the steps."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpviz
from dpviz.accounting.adaptive.one_order import one_order_filter
from dpviz.fields import numbers
from dpviz.questions.asked import Asked
from dpviz.questions.budget.blocks import BLOCKS
from dpviz.questions.check.translation import spending

HISTORY = "[(1.1, 0.01, 3000), (0.9, 0.01, 500)]\ndelta = 1e-6"
CASES = json.loads(Path(__file__).with_name("pasted_texts.json").read_text("utf-8"))["cases"]
SHUFFLED = "sigma=1.1 n=60000 batch_size=256 epochs=15 shuffle=True max_grad_norm=1 adjacency=add_remove delta=1e-5"


def translated(code: str, **settings: Any) -> Asked:
    return dpviz.ask("translate", code=code, **settings)


def band(asked: Asked) -> Any:
    (only,) = asked.answer.plot.bands  # type: ignore[attr-defined]
    return only


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_its_epsilon_is_that_of_the_check_of_a_claim(case: dict[str, Any]) -> None:
    given = {} if "delta" in case["text"] else {"delta": 1e-5}
    here: Any = translated(case["text"], **given).answer
    checked: Any = dpviz.ask("check", code=case["text"], **given).answer
    assert here.facts.epsilon == checked.facts.high
    if not set(here.given["unsettled"]) - {"kclaim", "clip"}:
        assert case["least"] <= here.facts.epsilon <= case["most"]


def test_a_history_has_the_epsilon_after_each_of_its_blocks() -> None:
    asked = translated(HISTORY, adjacency="add_remove")
    events = [(dpviz.SampledGaussian(1.1, 0.01), 3000), (dpviz.SampledGaussian(0.9, 0.01), 500)]
    drawn, (line,) = band(asked), asked.answer.plot.lines  # type: ignore[attr-defined]
    np.testing.assert_array_equal(drawn.x[-2:], [3000, 3500])
    for k, marked in ((1, 3000), (2, 3500)):
        tight = dpviz.accountant("tight", bound="upper").of_events(events[:k], 1e-6).epsilon
        assert drawn.upper[k - 3] == pytest.approx(float(tight), rel=1e-9)
        renyi = dpviz.accountant("renyi").of_events(events[:k], 1e-6).epsilon
        assert float(renyi) <= line.y[list(line.x).index(marked)] <= 1.001 * float(renyi)
    assert f"3000 steps at σ = 1.1, q = 0.01; 500 steps at σ = 0.9, q = 0.01: ε ≤ {numbers.up(drawn.upper[-1])}" in (
        asked.headline
    )


def test_passes_over_shuffled_batches_are_counted_as_such() -> None:
    asked = translated(SHUFFLED)
    most = dpviz.epsilon("tight", mechanism=dpviz.Shuffled(1.1, 234), steps=15, delta=1e-5)
    assert asked.answer.facts.epsilon == pytest.approx(float(most), rel=1e-9)
    assert "σ = 1.1, batches of 256 of 60\u202f000, 15 epochs" in asked.headline
    assert any("batch = 256 (line 1)" in sentence for sentence in asked.understood)


def test_what_is_not_understood_is_named_and_nothing_is_a_bound_then() -> None:
    asked = translated("sigma=1.1 batch_size=256 epochs=15 max_grad_norm=1")
    assert asked.headline.startswith("The text does not settle N and δ. ")
    assert any("no bound for the program" in note for note in asked.to_json()["notes"])
    settled = translated(SHUFFLED)
    assert settled.headline.startswith("As described, the program trains with")
    assert not any("no bound" in note for note in settled.to_json()["notes"])


def test_what_the_text_does_not_say_is_read_as_the_headline_says() -> None:
    headline = translated("sigma=1.1 n=60000 batch_size=256 epochs=15 max_grad_norm=1 delta=1e-5").headline
    assert "(read: batches as Poisson samples, one example added or removed)" in headline


def test_a_random_number_of_runs_costs_what_the_check_says() -> None:
    settings = {"tried": 40, "law": "poisson", "sampler": "poisson"}
    here: Any = dpviz.ask("translate", **settings).answer
    checked: Any = dpviz.ask("check", **settings).answer
    one: Any = dpviz.ask("translate").answer
    assert here.facts.epsilon == checked.facts.high > one.facts.epsilon


def test_counted_steps_are_spent_on_the_budget_that_they_need() -> None:
    answer: Any = translated(HISTORY, adjacency="add_remove").answer
    (way,) = spending(answer.facts.program)
    blocks = BLOCKS.parse(way.texts[BLOCKS.key])
    assert [(block.sigma, block.rate, block.steps) for block in blocks] == [(1.1, 0.01, 3000), (0.9, 0.01, 500)]
    events = [(block.mechanism, block.steps) for block in blocks]
    for share, fits in ((1.0, True), (0.99, False)):
        target = share * float(way.texts["target"])
        budget = one_order_filter([(events[0][0], 1)], target_epsilon=target, delta=1e-6)
        budget.spend(*events[0])
        assert (budget.remaining_steps(events[1][0]) >= events[1][1]) == fits
    shuffled: Any = translated(SHUFFLED).answer
    assert spending(shuffled.facts.program) == []
