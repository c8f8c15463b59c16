"""Settings of both questions."""

from __future__ import annotations

from dpviz.fields.declared import choice, flag, number, several
from dpviz.questions.methods import OFFERED

TARGET = number("target")
UNKNOWN = choice("solvefor")
METHODS = several("noisecurves", options=OFFERED)
TIGHT = flag("noisetight")
QUANTILES = several("noiseq")
LOW = number("noisefrom")
HIGH = number("noiseto")
LOG_Y = flag("noiselogy")
