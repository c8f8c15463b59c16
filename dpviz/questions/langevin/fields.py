"""Settings of the questions about Langevin samplers, and how their controls lie."""

from __future__ import annotations

from dpviz.fields.declared import choice, flag, number
from dpviz.questions import units
from dpviz.questions.layout import Groups, Item, Layout, Noted, Reader, experts
from dpviz.questions.mechanism import DELTA
from dpviz.questions.question import Setting
from dpviz.questions.shared import IMAGE

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


def layout(*more: Item) -> Layout:
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
