"""Conditions (1) and (2) of Theorem 3 as printed, and as re-derived."""

from __future__ import annotations

from dpviz.accounting.langevin.bounds import step_size_limits
from dpviz.questions.answer import Answer, Note
from dpviz.questions.fields import Choice
from dpviz.questions.langevin.chain import ChainFacts

READING = Choice(
    key="lread",
    label="Conditions (1) and (2)",
    default="rederived",
    options={"rederived": "Re-derived", "printed": "As printed"},
    help="App. A of Li et al. loses a factor q²; re-derived, (1) and (2) are σ ≥ 1 and q < 1/(16σ).",
)


def misread(a: Answer[ChainFacts]) -> list[Note]:
    """A word where the printed conditions allow what the re-derived ones do not."""
    low, high = step_size_limits(a.facts.chain.setting)
    if a.given["reading"] != "printed" or low < a.facts.chain.step_size <= high:
        return []
    return [Note("As printed (1) and (2) miss a factor q²: re-derived, η₁ lies outside of what they allow.", "caution")]
