"""Settings of the papers' figures."""

from __future__ import annotations

from dpviz.fields.declared import choice, flag, number
from dpviz.questions.printed.adult import ACCOUNTING

ORDER_1 = number("plam")
ORDER_3 = number("plam3")
PANEL = choice("pquant")
CLIP_AT = choice("pclip")
UNCLIPPED = flag("punclip")
SEED = number("pseed")
CLAIMED = number("pteps")
WITH = number("pwith")
WITHOUT = number("pwithout")
ACCOUNTED = choice("pacc", options=ACCOUNTING)
TAIL_EPSILON = number("ptail")
FIRST_SIGMA = number("psig1")
SECOND_SIGMA = number("psig2")
THIRD_SIGMA = number("psig3")
INFERRED = choice("pinfer")
LOSS_EPSILON = number("ploss")
DIRECTION = choice("pdir")
SPAN = choice("pspan")
LOG_DENSITY = flag("plogd")
NOISE_KIND = choice("pnoise")
