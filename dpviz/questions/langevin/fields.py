"""Settings of the questions about Langevin samplers, and how their controls lie."""

from __future__ import annotations

from dpviz.fields.field import Choice, Flag, Number, log_ticks
from dpviz.questions import units
from dpviz.questions.layout import Groups, Item, Layout, Noted, Reader, experts
from dpviz.questions.mechanism import DELTA
from dpviz.questions.question import Setting
from dpviz.questions.shared import IMAGE

FIRST = Number(
    key="leta",
    symbol="η₁",
    label="Step size η₁",
    default=0.1,
    low=1e-12,
    high=1e6,
    ticks=log_ticks(1e-7, 10.0, 8),
    ends=("small steps, more private", "large steps"),
    example="0.1",
    help="Step size of the first step. The noise has variance η/N: a smaller step drowns each gradient more. "
    "Usual: 0.1.",
)
DECAY = Choice(
    key="ldecay",
    label="Schedule",
    default="third",
    options={"third": "η₁ ÷ ∛t", "fixed": "fixed η"},
    help="Decreasing as in Theorem 3 of Li et al. 2019, or fixed as in Theorem 4.",
)
STEPS = Number(
    key="lsteps",
    symbol="T",
    label="Steps T",
    default=10_000.0,
    low=1.0,
    high=1e12,
    whole=True,
    ticks=tuple(float(round(t)) for t in log_ticks(1.0, 1e7, 12)),
    ends=("stop early", "sample long"),
    example="10000",
    help="Number of steps; one epoch is N/τ steps.",
)
CLAIM = Number(
    key="leps",
    symbol="ε",
    label="Claimed ε",
    default=0.1,
    low=1e-6,
    high=100.0,
    ticks=log_ticks(0.01, 10.0, 16),
    ends=("strict", "loose"),
    example="0.1",
    help="The ε that is wanted, or that a paper claims for these steps.",
)
SIZE = Number(
    key="ln",
    symbol="N",
    label="Data set N",
    default=50_000.0,
    low=2.0,
    high=1e12,
    whole=True,
    ticks=tuple(float(round(t)) for t in log_ticks(100.0, 1e7, 12)),
    ends=("few people", "many people"),
    example="50000",
    help="Number of examples.",
)
BATCH = Number(
    key="ltau",
    symbol="τ",
    label="Batch τ",
    default=224.0,
    low=1e-3,
    high=1e12,
    ticks=tuple(float(round(t)) for t in log_ticks(1.0, 1e5, 12)),
    ends=("small batches", "large batches"),
    example="224",
    help="Expected batch size; each example joins with probability q = τ/N. Li et al. take τ = √N.",
)
CLIP = Number(
    key="lclip",
    symbol="L",
    label="Gradient norm L",
    default=1.0,
    low=1e-6,
    high=1e6,
    ticks=log_ticks(0.01, 100.0, 12),
    ends=("clip hard", "clip little"),
    example="1",
    help="Every example's gradient is clipped to this norm. Li et al. take 1 and 4.",
)
SAMPLER = Choice(
    key="lalg",
    label="Sampler",
    default="sgld",
    options={"sgld": "SGLD", "sghmc": "SGHMC", "sgnht": "SGNHT"},
    help="Langevin dynamics, or with momentum, where the noise has variance 2βη/N: Hamiltonian, or with a thermostat, "
    "whose friction follows the momentum. What becomes of the noisy gradient costs nothing, so both cost the same.",
)
FRICTION = Number(
    key="lbeta",
    symbol="β",
    label="Friction β",
    default=0.1,
    low=1e-6,
    high=1.0,
    ticks=log_ticks(0.001, 1.0, 12),
    ends=("much momentum, less noise", "no momentum"),
    example="0.1",
    help="Share of the momentum that is lost at each step, of SGNHT the first; β = ½ has the noise of SGLD.",
)
REPLACE = Flag(
    key="lreplace",
    label="Replace one example",
    default=False,
    help="Li et al. define neighbours by replacing one example, but use a bound for adding or removing one, and so "
    "does this page. Replacing can change a sum by 2L instead of L.",
)
CONVERSION = Choice(
    key="lconv",
    label="Accountant of the step sizes",
    default="classic",
    options={"classic": "Moments", "improved": "Improved"},
    help="Moments: whole orders and the classic tail bound, as the paper's accountant. Improved: the same moments with "
    "the conversion of Canonne, Kamath, Steinke 2020; its step sizes are larger and as safe.",
)

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
