"""Settings of the papers' figures."""

from __future__ import annotations

from dpviz.fields.field import Choice, Flag, Number, even_ticks, log_ticks
from dpviz.questions.printed.adult import ACCOUNTING


def _order(key: str, default: float, where: str) -> Number:
    return Number(
        key=key,
        symbol="λ",
        label="Fixed order λ",
        default=default,
        low=1.0,
        high=32.0,
        whole=True,
        ticks=tuple(float(i) for i in range(1, 33)),
        ends=("many steps", "few steps"),
        example=f"{default:.0f}",
        help=f"The one order at which the paper draws both curves: {default:.0f} in {where}. Any order gives a bound; "
        "the best one gives the least.",
    )


ORDER_1, ORDER_3 = _order("plam", 16.0, "Fig. 1"), _order("plam3", 24.0, "Figs. 3 and 4")
PANEL = Choice(
    key="pquant",
    label="Noise at this quantile of the norms",
    default="0.75",
    options={"0.05": "1a: 0.05", "0.25": "1b: 0.25", "0.75": "1c: 0.75", "0.95": "1d: 0.95"},
    tall=True,
    help="C is this quantile of the gradients' norms, and the noise is 2σC with σ = 1, for DP and Bayesian DP alike.",
)
CLIP_AT = Choice(
    key="pclip",
    label="C at this quantile of the norms",
    default="0.5",
    options={"0.01": "0.01", "0.05": "0.05", "0.5": "0.50", "0.95": "0.95", "0.99": "0.99"},
    tall=True,
    help="Fig. 3 has 0.01, 0.50 and 0.99, Fig. 4 has 0.05, 0.50 and 0.95.",
)
UNCLIPPED = Flag(
    key="punclip",
    label="Bayesian DP unclipped (Fig. 4)",
    default=False,
    help="Fig. 3 clips gradients for both; Fig. 4 clips them for DP alone, under the same noise.",
)
SEED = Number(
    key="pseed",
    label="Draw",
    default=0.0,
    low=0.0,
    high=1e9,
    whole=True,
    example="0",
    help="Seed of the synthetic gradients: another draw, another curve.",
)
CLAIMED = Number(
    key="pteps",
    symbol="ε",
    label="ε to be kept",
    default=2.0,
    low=0.01,
    high=100.0,
    ticks=log_ticks(0.05, 50.0, 16),
    ends=("strict", "loose"),
    example="2",
    help="The ε of the theorem. It holds for ε < c₁q²T.",
)
WITH = Number(
    key="pwith",
    symbol="p",
    label="Answer if Bob is in",
    default=0.9,
    low=0.0,
    high=1.0,
    ticks=even_ticks(0.0, 1.0, 0.01),
    ends=("never “cancer”", "always “cancer”"),
    example="0.9",
    help="How often a model that was trained with Bob's record says that he has cancer.",
)
WITHOUT = Number(
    key="pwithout",
    symbol="p′",
    label="Answer if Bob is not in",
    default=0.3,
    low=0.0,
    high=1.0,
    ticks=even_ticks(0.0, 1.0, 0.01),
    ends=("never “cancer”", "always “cancer”"),
    example="0.3",
    help="How often a model that never saw Bob's record says so.",
)
ACCOUNTED = Choice(
    key="pacc",
    label="ε counts",
    default="replaced",
    options=ACCOUNTING,
    tall=True,
    help="Both papers define neighbours by replacing one example; Li et al. then use a bound for adding or removing "
    "one. As printed: posterior samples by 4ρB, Langevin steps by moments for one added or removed.",
)
TAIL_EPSILON = Number(
    key="ptail",
    symbol="ε",
    label="ε to look at",
    default=1.26,
    low=1e-3,
    high=1e4,
    example="1.26",
    help="Where the headline reads δ.",
)


def _sigma(index: int, default: float) -> Number:
    return Number(
        key=f"psig{index}",
        symbol=f"σ{'₁₂₃'[index - 1]}",
        label=f"Noise σ{'₁₂₃'[index - 1]}",
        default=default,
        low=0.1,
        high=1e3,
        ticks=tuple(sorted({*log_ticks(0.5, 200.0, 24), default})),
        ends=("less noise", "more noise"),
        example="4",
        help="Noise multiplier of one curve. Theorem 11 asks for σ ≥ 4.",
    )


FIRST_SIGMA, SECOND_SIGMA, THIRD_SIGMA = _sigma(1, 4.0), _sigma(2, 8.0), _sigma(3, 20.0)
INFERRED = Choice(
    key="pinfer",
    label="Data set",
    default="abalone",
    options={"abalone": "Abalone", "adult": "Adult"},
    help="Abalone: has a shell ten rings or more? Adult: does a person earn more than $50,000?",
)
LOSS_EPSILON = Number(
    key="ploss",
    symbol="ε",
    label="Tail beyond ε",
    default=0.5,
    low=1e-6,
    high=1e4,
    ticks=log_ticks(0.001, 20.0, 16),
    ends=("near", "far out"),
    example="0.5",
    help="From here on losses are shaded: what lies beyond is what δ is for.",
)
DIRECTION = Choice(
    key="pdir",
    label="Neighbouring data sets",
    default="remove",
    options={"remove": "Example removed", "add": "Example added"},
    help="Removed: outputs come with the example, and are compared with those without it. Added: the other way round. "
    "A promise must hold in both directions.",
)
SPAN = Choice(
    key="pspan",
    label="Loss of",
    default="all",
    options={"one": "One step", "all": "All T steps"},
    help="Losses of steps add up: the distribution after T steps is that of a sum of T of them.",
)
LOG_DENSITY = Flag(key="plogd", label="Log density", default=False, help="Logarithmic axis of the density.")
NOISE_KIND = Choice(
    key="pnoise",
    label="Noise",
    default="gaussian",
    options={"gaussian": "Gaussian", "laplace": "Laplace"},
    help="The theorem is about any noise that is symmetric about a centre; these two have accountants here.",
)
