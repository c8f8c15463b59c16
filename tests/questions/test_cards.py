"""Every accountant that a page names has its card below the chart."""

import re

import pytest

import dpviz
from dpviz.questions.answer import Folded
from dpviz.questions.catalogue import PAGES
from tests.questions.asking import asked

NAMED = {"compose", "orders", "noise", "budget", "langevin"}
NO_CURVES_OF_ONE = {"trained", "expected"}  # questions about accuracy
ALL = [q for page in PAGES if page.key in NAMED for q in page.questions if q.key not in NO_CURVES_OF_ONE]


@pytest.mark.parametrize("question", ALL, ids=lambda q: q.key)
def test_a_page_of_accountants_has_their_cards(question) -> None:
    blocks = [block for block in question.more["Accountants"](asked(question)) if isinstance(block, Folded)]
    assert blocks
    assert all(block.source.startswith("@") for block in blocks)
    assert len({block.name for block in blocks}) == len(blocks)


@pytest.mark.parametrize("variant", ["paper", "authors"])
def test_all_odometers_and_filters_of_the_budget(variant: str) -> None:
    [stop] = [question for question in ALL if question.key == "stop"]
    told = {block.name for block in stop.more["Accountants"](asked(stop, bodo=variant, conversion="improved"))}
    assert told == {
        "Lécuyer odometer",
        "Lécuyer odometer, authors'",
        "Whitehouse odometer",
        "filter",
        "T fixed in advance: improved",
        "Rogers odometer",
        "PLD",
    }


def test_orders_says_what_to_do_with_it() -> None:
    [orders] = [question for question in ALL if question.key == "orders"]
    blocks = orders.more["Use it"](asked(orders, sigma="2", q="0.004", steps="777", delta="1e-6"))
    text = " ".join(str(block) for block in blocks)
    epsilon = dpviz.epsilon("renyi", noise_multiplier=2.0, sample_rate=0.004, steps=777, delta=1e-6)
    said = re.search(r"Use σ = 2: ε ≤ ([\d.]+) at δ = 1e-6 \(Rényi improved\)", text)
    assert said is not None
    assert epsilon <= float(said[1]) <= 1.01 * epsilon
