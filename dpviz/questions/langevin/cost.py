"""What do these steps really cost? ε along the steps of a sampler."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dpviz.charts import look
from dpviz.charts.marks import Band, Column, Guide, Line
from dpviz.charts.plot import Axis, LinePlot
from dpviz.fields import numbers
from dpviz.questions.answer import Answer, Slow
from dpviz.questions.langevin.chain import Chain, ChainFacts, known, step_marks, tight_interval, tight_key, with_tight
from dpviz.questions.langevin.words import about, at_most, finite
from dpviz.questions.presets import presets


def cost(**setting: Any) -> Answer[ChainFacts]:
    """ε of the steps so far by two conversions of Rényi divergences; keywords as in `Chain`."""
    chain = Chain(**setting)
    x = step_marks(chain.steps)
    facts = known(chain, marks=x)
    lines = tuple(
        Line(
            key,
            f"Rényi {key}",
            x,
            facts.cost[key].epsilon,
            f"renyi_{key}",
            color=look.GREEN,
            hover=(Column("α", facts.cost[key].order, key="order"),),
            kept=key == "improved",
        )
        for key in ("classic", "improved")
    )
    top = max([*finite(lines), chain.claim])  # ε from 0, so that the claim shows beside what the steps cost
    noise = chain.setting.noise_multiplier(chain.schedule.at(x))
    plot = LinePlot(
        x=Axis("steps", log=True, kind="steps", hover="%{x:,d} steps", write=numbers.steps),
        y=Axis(
            "ε",
            column="epsilon",
            shown=(0.0, 1.08 * top) if 0.0 < top < 1e300 else None,
            write=at_most,
            lowest="best",
            reading="attack",
        ),
        lines=lines,
        guides=(Guide("y", chain.claim, f"claimed ε = {chain.claim:g}", told=False),),
        columns=(Column("σ of that step", noise, key="noise_multiplier"),),
    )
    return Answer(plot, facts)


def with_band(a: Answer[ChainFacts], found: Band) -> Answer[ChainFacts]:
    """The interval in the chart, too."""
    assert isinstance(a.plot, LinePlot)
    return replace(with_tight(a, found), plot=replace(a.plot, bands=(found,)))


COST = about(
    "cost",
    "What do these steps really cost?",
    cost,
    presets=presets("sgmnist", "sgsvhn", "sgmnisthmc", "sgsvhnhmc", "sgexample"),
    slow=(Slow(tight_key, tight_interval, with_band),),
)
