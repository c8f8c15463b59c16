"""Settings of the questions that choose a family of gradient norms."""

from __future__ import annotations

from dpviz.fields.field import Choice, Number, log_ticks
from dpviz.gradients.norm_families import FAMILIES

FAMILY = Choice(
    key="cfam",
    label="Gradient norms",
    default="minority",
    options={key: family.name for key, family in FAMILIES.items()},
    tall=True,
    help="Alike: Weibull norms of shape 4. Spread out: exponential. Heavy tail: Weibull of shape 0.5. A minority: one "
    "example in twenty has gradients twenty times as large, at a right angle to the others'.",
)
CLIPPED = Choice(
    key="con",
    label="Clipping",
    default="on",
    options={"on": "On", "off": "Off"},
    help="On: every gradient longer than C is scaled down to C. Off: one example may move the sum by any amount.",
)
THRESHOLD = Number(
    key="cthr",
    symbol="C",
    label="Threshold C",
    default=1.0,
    low=1e-4,
    high=1e4,
    ticks=log_ticks(0.01, 100.0, 12),
    ends=("clips nearly all", "clips none"),
    example="1",
    help="Longest gradient that one example may add to the sum, in the units of the norms, whose mean is about 1.",
)
EXAMPLES = Number(
    key="cbatch",
    symbol="B",
    label="Expected batch",
    default=1024.0,
    low=1.0,
    high=1e9,
    whole=True,
    ticks=tuple(float(2**i) for i in range(21)),
    ends=("noise weighs more", "noise weighs less"),
    example="1024",
    help="Examples whose gradients are added up before the noise; the sum is divided by it.",
)
COORDINATES = Number(
    key="cdim",
    symbol="d",
    label="Coordinates d",
    default=10_000.0,
    low=1.0,
    high=1e12,
    whole=True,
    ticks=tuple(float(round(d)) for d in log_ticks(1.0, 1e9, 4)),
    ends=("small network", "large network"),
    example="10000",
    help="Parameters of the network. Noise of std σC in each of d coordinates has a length of about σC√d.",
)
