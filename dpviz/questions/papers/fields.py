"""Settings of the papers' views."""

from __future__ import annotations

from dpviz.fields.declared import choice, flag, number
from dpviz.questions.printed.adult import ACCOUNTING

# Abadi et al. 2016
CLAIMED, TAIL_EPSILON, LOSS_EPSILON = number("pteps"), number("ptail"), number("ploss")
DIRECTION, SPAN, LOG_DENSITY = choice("pdir"), choice("pspan"), flag("plogd")
WITH, WITHOUT = number("pwith"), number("pwithout")

# Triastcyn & Faltings 2020
ORDER_1, ORDER_3, SEED = number("plam"), number("plam3"), number("pseed")
PANEL, CLIP_AT, UNCLIPPED = choice("pquant"), choice("pclip"), flag("punclip")
INFERRED = choice("pinfer")
ZEROS, ONES = number("rzeros"), number("rones")
EACH, MANY = number("geps"), number("gk")

# Mironov, Talwar, Zhang 2019; Lécuyer 2021; Li et al. 2019
SIGMAS = tuple(number(key) for key in ("psig1", "psig2", "psig3"))
NOISE_KIND = choice("pnoise")
PART = choice("ppart")
ACCOUNTED = choice("pacc", options=ACCOUNTING)

# PATE
VOTES, ENSEMBLE = choice("pavotes"), choice("paens", options={arm: arm for arm in ("25", "50", "100", "250")})
CROWD, AGREEMENT, RELEASE = number("pak"), number("paagree"), choice("panoise")
VOTE_NOISE, THRESHOLD, CHECK_NOISE, LAPLACE = number("pasigma"), number("pat"), number("pasig1"), number("pab")
QUERIES, ONE_SIDED, DRAW = number("paqueries"), flag("paone"), number("padraw")
ORDER, SMOOTHNESS, PUBLISHED_NOISE = number("paalpha"), number("pabeta"), number("pasigss")
