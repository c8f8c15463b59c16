"""Settings of the questions about attackers."""

from __future__ import annotations

from dpviz.fields.declared import choice, flag, number

EPSILON = number("aeps")
PRIOR = number("aprior")
LARGEST = number("amax")
LOG_RATES = flag("arocl")
NOISE = choice("anoise")
RESIDENTS = number("apeople")
FACTOR = number("afactor")
SHARE = number("ashare")
RELEASES = number("aruns")
SEED = number("aseed")
