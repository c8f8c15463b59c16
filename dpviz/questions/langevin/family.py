"""What the questions about Langevin samplers share: settings, how their controls lie, axes, and the question itself."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dpviz.charts.marks import Line, Region
from dpviz.charts.plot import Axis
from dpviz.fields import numbers
from dpviz.fields.declared import choice, flag, number
from dpviz.fields.field import Field
from dpviz.questions import units
from dpviz.questions.answer import Answer, Slow
from dpviz.questions.cards import cards
from dpviz.questions.langevin.chain import TIGHT, Chain
from dpviz.questions.layout import Groups, Layout, Noted, Reader, experts
from dpviz.questions.mechanism import DELTA
from dpviz.questions.presets import presets
from dpviz.questions.question import Question, Setting
from dpviz.questions.shared import IMAGE
from dpviz.questions.words import words

FIRST = number("leta")
DECAY = choice("ldecay")
STEPS = number("lsteps")
CLAIM = number("leps")
SIZE = number("ln")
BATCH = number("ltau")
CLIP = number("lclip")
SAMPLER = choice("lalg")
FRICTION = number("lbeta")
REPLACE = flag("lreplace")
CONVERSION = choice("lconv")

# What every question about a sampler asks for: the keywords of `Chain`.
SETTINGS: dict[str, Setting] = {
    "step_size": FIRST,
    "decay": DECAY,
    "steps": STEPS,
    "claim": CLAIM,
    "n": SIZE,
    "batch_size": BATCH,
    "clip": CLIP,
    "delta": DELTA,
    "sampler": SAMPLER,
    "friction": FRICTION,
    "replace_one": REPLACE,
    "conversion": CONVERSION,
}


def layout(*more: Field[Any]) -> Layout:
    """The controls of `SETTINGS`, and one question's own among the steps'."""

    def groups(get: Reader) -> Groups:
        size = get(SIZE)
        beyond = f"A batch cannot exceed N = {size:.0f}." if get(BATCH) > size else ""
        friction = () if get(SAMPLER) == "sgld" else (FRICTION,)
        return {
            "Steps": (FIRST, DECAY, STEPS, CLAIM, *more),
            "Data": (SIZE, Noted(BATCH, beyond), CLIP, units.suggested(SIZE, get)),
            "Options": (SAMPLER, *friction, *experts(REPLACE, CONVERSION, IMAGE)),
        }

    return groups


def at_most(epsilon: float) -> str:
    """ε in a table, rounded up."""
    return numbers.epsilon(epsilon, digits=4, up=True)


def four_digits(value: float) -> str:
    return numbers.epsilon(value, digits=4)


def finite(lines: Sequence[Line]) -> list[float]:
    """All y that are numbers."""
    values = np.concatenate([np.asarray(line.y, dtype=np.float64) for line in lines])
    return [float(v) for v in values[np.isfinite(values)]]


def log_axis(title: str, column: str) -> Axis:
    return Axis(title, column=column, log=True, hover=f"{title} = %{{x:.4~g}}")


EPSILON_AXIS = log_axis("ε", "epsilon")


def wang_region(chain: Chain) -> tuple[Region, ...]:
    """The ε for which the theorem of Wang et al. does not hold."""
    return () if chain.momentum else (Region(chain.wang_limit, math.inf, "Wang et al.: T too small"),)


def about(
    option: str,
    answer: Callable[..., Answer[Any]],
    *keys: str,
    slow: tuple[Slow[Any], ...] = (TIGHT,),
    **own: Field[Any],
) -> Question[Any]:
    """A question about a sampler, with presets of these keys, and settings of its own."""
    return Question(
        key=f"langevin_{option}",
        option=option,
        settings={**SETTINGS, **own},
        answer=answer,
        **words("langevin", option),
        presets=presets(*keys),
        slow=slow,
        layout=layout(*own.values()),
        # Below every chart: the cards of the accountants that count the steps, whichever theorem a curve is of.
        more={"Accountants": lambda _: cards(("moments", "renyi_improved", "renyi_classic", "tight"))},
    )
