"""Settings of the questions about budgets."""

from __future__ import annotations

from dpviz.accounting.adaptive.trajectory import MARGIN_EPOCHS
from dpviz.fields.declared import choice, field, flag, number, several
from dpviz.questions.budget.blocks import Blocks

TARGET = number("beps")
VARIANT = choice("bodo")
CONVERSION = choice("bconv")
CURVES = several("bcurves")
BLOCKS = field(Blocks, "bblocks")
POLICIES = several("bpol")
SHOWN = choice("bshow")
ACCOUNT = choice("bread")
ONE_ORDER = flag("bunion")
MARGIN = number("bmargin", default=float(MARGIN_EPOCHS))
EPOCHS = number("bepochs")
NOISE_STEP = number("bnstep")
BATCH_STEP = number("bbstep")
TOP = number("btop")
PACE = number("bpace")
GOAL = number("bgoal")
RUNS = choice("brun")
NETWORK = choice("bnet")
SEED = number("bseed")
