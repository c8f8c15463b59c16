"""A chart of the methods' answers side by side: a dot a method."""

import math

from dpviz.accounting.methods import BAYESIAN, Tight
from dpviz.charts import Axis, Dot, DotPlot, look
from dpviz.fields import numbers
from dpviz.questions import LATER
from dpviz.questions.needed import Need
from dpviz.questions.noise.curves import name_of
from dpviz.questions.noise.needs import Needs

WRITTEN_AS = {"noise_multiplier": "plain", "steps": "steps", "sample_rate": "plain", "delta": "delta"}


def hue(key: str) -> str:
    base, _, quantile = key.partition(".")
    return look.QUANTILES[quantile] if quantile else look.style(base).color


def answers(facts: Needs) -> DotPlot:
    """The answers side by side, from the least to the most favourable, compared with one of them."""
    unknown, against = facts.unknown, facts.reference
    symbol, target = facts.symbol, numbers.plain(facts.target)
    dots = []
    for key, need in ordered(facts):
        text, saved, called = facts.text(key), facts.saving(key, against), name_of(key)
        bound = facts.bounds(key) and (facts.certified or not key.startswith(BAYESIAN))
        name = f"{called}: the mechanism itself" if key == Tight.name else called
        dots.append(
            Dot(
                name,
                need.value,
                text,
                f"{name}: {symbol} = <b>{text}</b>" + (f", {saved}" if saved else ""),
                hue(key),
                note=saved,
                label=called + ("" if bound else " (no bound)"),
                key=key,
                instead="" if need.waits or need.value is not None else "none: see below",
                why=LATER if need.waits else need.why,
            )
        )
    return DotPlot(
        Axis(facts.title, name=f"{symbol} for ε ≤ {target}", column=unknown, log=True, kind=WRITTEN_AS[unknown]),
        tuple(dots),
        reference=facts.needs[against].value if against else None,
        compared=f"against {name_of(against)}" if against else "compared",
        summary=f"{facts.title} for ε ≤ {target}",
    )


def ordered(facts: Needs) -> list[tuple[str, Need]]:
    """From the least to the most favourable; without an answer first, tight on its way right after all DP methods."""
    favourable = 1.0 if facts.unknown in ("steps", "sample_rate") else -1.0

    def place(item: tuple[str, Need]) -> tuple[float, bool]:
        need = item[1]
        if need.waits:
            others = [other for other in facts.needs.items() if not (other[0].startswith(BAYESIAN) or other[1].waits)]
            return max((place(other)[0] for other in others), default=math.inf), True
        return -math.inf if need.value is None else favourable * need.value, False

    return sorted(facts.needs.items(), key=place)
