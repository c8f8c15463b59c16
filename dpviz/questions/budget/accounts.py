"""What the blocks that passed cost by each accountant, had they been planned: steps of unequal noise and rate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from dpviz.accounting.composition import Basic, Strong
from dpviz.accounting.ledger import Ledger
from dpviz.accounting.renyi.accountant import Moments, Renyi
from dpviz.fields import numbers
from dpviz.questions.answer import Answer, Note
from dpviz.questions.methods import NAMES, method
from dpviz.questions.question import Block

if TYPE_CHECKING:
    from dpviz.questions.budget.spend import SpendFacts

ADDED = {
    Basic.name: "Σε_i",
    Strong.name: "√(2 ln(1/δ′) Σε_i²) + Σε_i(e^ε_i − 1)",
    Moments.name: "Σα_i(λ), best λ ≤ 32",
    Renyi("classic").family: "ΣR_i(α), best α",
    Renyi("improved").family: "ΣR_i(α), best α",
}
KEYS = tuple(ADDED)


def accounts(a: Answer[SpendFacts]) -> list[Block]:
    """A row for each accountant, the tight interval where it is there."""
    if not a.facts.taken:
        return [Note("Nothing is spent: add a block, and what it costs by each accountant stands here.")]
    rows = []
    for key, added in ADDED.items():
        ledger = Ledger(method(key, "exact"))
        for block in a.facts.taken:
            ledger.spend(block.mechanism, block.steps)
        value = float(ledger.bound(a.given["delta"]).epsilon)
        rows.append({"accountant": NAMES[key], "adds up": added, "ε": numbers.epsilon(value, digits=4, up=True)})
    if (tight := a.facts.tight) is not None and not tight.soon:
        rows.append({"accountant": "tight interval", "adds up": "losses themselves", "ε": tight.last})
    return [
        Note(
            "Each holds for these blocks had they been planned before the first step. Basic and strong composition "
            "see of a step only its ε_i and δ_i; steps may be unequal in both (Lécuyer 2021, §2.1)."
        ),
        pd.DataFrame(rows),
    ]
