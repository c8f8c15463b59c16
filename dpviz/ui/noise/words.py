"""How the page writes an answer: rounded to the safe side, with its symbol."""

from __future__ import annotations

import math
from decimal import ROUND_FLOOR, Decimal

from dpviz.accounting.solve import LARGEST_STEPS
from dpviz.charts import numbers
from dpviz.ui.noise.answers import Answer
from dpviz.ui.noise.result import Result

SYMBOLS = {"noise_multiplier": "σ", "steps": "T", "sample_rate": "q", "delta": "δ"}
TITLES = {
    "noise_multiplier": "noise multiplier σ needed",
    "steps": "steps T allowed",
    "sample_rate": "sampling rate q allowed",
    "delta": "δ reached (δ_μ for Bayesian DP)",
}
ANY = "any"
NO_NOISE = (
    "no noise is needed: nothing is released, or δ is at least 1 − (1 − q)^T, the chance that an example is ever "
    "drawn. Such a δ promises nothing to the examples that are drawn: lower it."
)
KINDS = {"noise_multiplier": "plain", "steps": "steps", "sample_rate": "plain", "delta": "delta"}


def rounded_down(value: float, digits: int = 3) -> str:
    """`value` with `digits` significant digits, never above it."""
    if value == 0 or not math.isfinite(value):
        return numbers.plain(value)
    exact = Decimal(value)
    place = Decimal(1).scaleb(exact.adjusted() - digits + 1)
    return numbers.plain(float(exact.quantize(place, rounding=ROUND_FLOOR)), digits=digits)


def delta_up(value: float) -> str:
    """δ with three significant digits, never below it."""
    if value <= 0 or not math.isfinite(value):
        return numbers.delta(value)
    exponent = math.floor(math.log10(value))
    mantissa = math.ceil(value / 10.0**exponent * 100 * (1 - 1e-12)) / 100 if exponent > -300 else 10.0
    return numbers.delta(float(f"{mantissa}e{exponent}"))


def value_text(unknown: str, answer: Answer) -> str:
    """The number alone: σ and δ rounded up, q down; "–" where there is none, "…" where it is on its way."""
    if answer.waits:
        return "…"
    value = answer.value
    if value is None or math.isnan(value):
        return "–"
    if unknown == "steps":
        if value >= LARGEST_STEPS:  # beyond, whole numbers are no longer told apart
            return ANY if math.isinf(value) else "9e15 or more"
        return numbers.steps(value)
    if unknown == "sample_rate":
        return rounded_down(value)
    return delta_up(value) if unknown == "delta" else numbers.epsilon(value, up=True)


def saving(result: Result, key: str, reference: str) -> str:
    """What `key` saves against `reference`: "−24 % noise", "1.8 × the steps"; empty where nothing can be compared."""
    mine, other = result.needs[key].value, result.needs[reference].value
    if mine is None or other is None or not (0 < mine < math.inf and 0 < other < math.inf) or key == reference:
        return ""
    ratio = mine / other
    if result.unknown == "noise_multiplier":
        change = 100 * (ratio - 1)
        return (
            f"{'−' if change < 0 else '+'}{abs(change):.0f} % noise" if abs(change) < 1000 else f"{_times(ratio)} noise"
        )
    if result.unknown == "delta":
        return f"δ × {numbers.delta(ratio)}" if abs(ratio - 1) > 0.005 else "the same"
    return f"{_times(ratio)} {'the steps' if result.unknown == 'steps' else 'the rate'}"


def _times(ratio: float) -> str:
    return f"{numbers.plain(ratio)} ×"


def reference(result: Result) -> str | None:
    """What the others are compared with: the moments accountant, as papers do, else another one with an answer."""
    answered = [
        key
        for key, answer in result.needs.items()
        if result.valid(key) and answer.value is not None and 0 < answer.value < math.inf
    ]
    for key in ("moments", "renyi_classic", "renyi_improved", *answered):
        if key in answered:
            return key
    return None
