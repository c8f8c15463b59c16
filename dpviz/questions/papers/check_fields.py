"""Settings of a claim that is checked."""

from __future__ import annotations

from dpviz.fields.declared import choice, number, several

BATCH = number("kbatch")
EPOCHS = number("kepochs")
NOISE = number("ksigma")
CLAIM = number("kclaim")
SAMPLER = choice("ksampler")
ADJACENCY = choice("kadj")
UNSETTLED = several("kopen")
