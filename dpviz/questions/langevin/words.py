"""What the questions about Langevin samplers say alike."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dpviz import library as dpviz
from dpviz.accounting.formula import tex
from dpviz.accounting.langevin.cost import langevin_bound
from dpviz.accounting.langevin.step_sizes import step_size_limits
from dpviz.charts.marks import Line, Region
from dpviz.charts.plot import Axis
from dpviz.fields import numbers
from dpviz.fields.field import Field
from dpviz.questions.answer import Answer, Metric, Note, Slow
from dpviz.questions.cards import cards
from dpviz.questions.langevin.chain import TIGHT, Chain, ChainFacts, step_sizes
from dpviz.questions.langevin.fields import SETTINGS, layout
from dpviz.questions.mechanism import PUBLIC_SIZE
from dpviz.questions.presets import Preset
from dpviz.questions.question import Question
from dpviz.questions.tight_band import NAME

ASSUMPTIONS = (
    """
- **Who is protected:** one example, added or removed. Li, Chen, Liu, Carin 2019 *define* neighbours by replacing one
  example but use the moment bound for adding or removing one; so does this page. The switch under Options shows what
  replacing costs: both examples then join a batch together or not at all (Koskela, Jälkö, Honkela 2020).
- **Algorithm:** their Algorithm 1: gradients clipped to L, batches drawn independently with probability q = τ/N, noise
  of variance η_t/N in each coordinate, every iterate published. The prior does not depend on the data.
- **Composed** curves bound what the noise of these very steps proves, whatever any theorem says. They group steps of
  nearly equal size, always to the safe side.
- **Largest step sizes** come from the same composition with whole orders: the constants c₂ and c are what makes
  conditions (3) of Theorem 3 and of Theorem 4 exact for that accountant.
- **The paper's claims:** its Table 1 says ε = 0.10 for MNIST and 0.12 for SVHN. Composed, the MNIST steps cost 0.2 to
  0.7 tightly (one to a hundred epochs; the number is not given) and 1.3 to 1.5 by Rényi bounds, which are far from
  tight for a few steps with little noise; the SVHN claim holds. The idea stands:
  default step sizes do give some privacy.
- **Errors** are the paper's bounds on the mean squared error, up to an unknown constant.
"""
    + PUBLIC_SIZE
)

NO_WANG = Note("Wang et al. bound SGLD; for samplers with momentum there is no such curve.")


def wang_note(chain: Chain) -> Note:
    """What their step size for the claim really costs, or why there is none."""
    if chain.momentum:
        return NO_WANG
    claim, size = numbers.plain(chain.claim), float(step_sizes(chain, "wang", chain.claim))
    if math.isnan(size):
        return Note(
            f"The theorem of Wang et al. does not hold for ε = {claim}: it needs at least "
            f"{numbers.steps(chain.wang_steps)} steps at this sampling rate.",
            "caution",
        )
    steps = dpviz.PowerSchedule(size, 0.0, chain.steps)
    cost = float(langevin_bound(chain.setting, steps, delta=chain.delta).epsilon[-1])
    return Note(
        f"The step size of Wang et al. for ε = {claim} is {numbers.plain(numbers.down(size))}; composed, its steps "
        f"cost {numbers.epsilon(cost, up=True)}."
    )


REPLACED = Note(
    "Neighbours replace one example. The paper's conditions (1) and (2) are about adding or removing one.", "caution"
)
THERMOSTAT = Note(
    "The thermostat is post-processing: its friction is made of momenta, and those of noisy gradients alone. So SGNHT "
    "costs what SGHMC costs with the same β, the one that its noise has."
)


def headline(a: Answer[ChainFacts]) -> str:
    """What the steps cost, and what becomes of the claim, as HTML."""
    chain = a.facts.chain
    size = f"<b>{numbers.plain(chain.step_size)}</b>"
    schedule = f"η = {size} · t<sup>−1/3</sup>" if chain.exponent else f"η = {size}"
    return (
        f"<b>{numbers.steps(chain.steps)}</b> step{'s' if chain.steps > 1 else ''} of {schedule} cost at most "
        f"<b>ε ≤ {numbers.epsilon(a.facts.epsilon(), up=True)}</b> at δ = {numbers.delta(chain.delta)} by Rényi "
        f"divergences: {verdict(a.facts)}"
    )


def verdict(f: ChainFacts) -> str:
    claim = f"the claimed <b>{numbers.plain(f.chain.claim)}</b>"
    if f.best <= f.chain.claim:
        return f"{claim} holds."
    if f.tight is None:
        return f"{claim} …"
    low = float(f.tight.lower[-1])
    if low > f.chain.claim:
        times = math.floor(10.0 * low / f.chain.claim) / 10.0
        return f"{claim} is at least {numbers.plain(times)} times too low." if times > 1.0 else f"{claim} is too low."
    return f"{claim} is neither proven nor refuted."


def metrics(a: Answer[ChainFacts]) -> list[Metric]:
    f, chain = a.facts, a.facts.chain
    noise = chain.setting.noise_multiplier(chain.schedule.at([1.0, float(chain.steps)]))
    constants = f"c² = {numbers.plain(float(f.allowed.c_squared[-1]))}, λ = {float(f.allowed.order[-1]) - 1:.0f}"
    largest = (numbers.plain(numbers.down(f.largest)), constants) if f.largest > 0 else ("none proven", "")
    first, last = (numbers.plain(float(sigma)) for sigma in noise)
    renyi, classic = (numbers.epsilon(f.epsilon(conversion), up=True) for conversion in ("improved", "classic"))
    return [
        Metric("Rényi ε, composed", renyi, f"classic conversion: {classic}"),
        tight(f),
        Metric("Largest η₁ for the claim", *largest),
        Metric("Noise σ, first → last", f"{first} → {last}", f"q = {numbers.plain(chain.setting.sample_rate)}"),
    ]


def tight(f: ChainFacts) -> Metric:
    """The tight ε of all steps: its upper end rounded up, its lower end down, and what it alone would allow."""
    if f.tight is None:
        return Metric(NAME, "…")
    chance = numbers.probability(float(dpviz.attack_success(f.best, delta=f.chain.delta)), up=True)
    least = numbers.epsilon(numbers.down(float(f.tight.lower[-1]), 4), digits=4)
    note = f"≥ {least}; alone it allows {chance}".replace(" %", "\u202f%")
    return Metric(NAME, f"≤ {numbers.epsilon(float(f.tight.upper[-1]), up=True)}", note)


def notes(a: Answer[ChainFacts]) -> list[Note]:
    chain = a.facts.chain
    return [*([REPLACED] if chain.replace_one else []), *([THERMOSTAT] if chain.sampler == "sgnht" else [])]


def formulas(a: Answer[ChainFacts]) -> list[tuple[str, str]]:
    """(name, LaTeX) with today's numbers."""
    f, chain = a.facts, a.facts.chain
    setting = chain.setting
    sigma = float(setting.noise_multiplier(chain.step_size))
    damped = r"\sqrt{2\beta}" if chain.momentum else ""
    heat = rf"\sqrt{{2 \cdot {tex(chain.friction)}}}" if chain.momentum else ""
    length = r"T^{2/3}" if chain.exponent else "T"
    power = r"t^{-1/3}" if chain.exponent else ""
    built = [
        (
            "Noise of a step, in units of the gradient norm L",
            rf"\sigma_1 = \frac{{\tau {damped}}}{{L\sqrt{{\eta_1 N}}}} = "
            rf"\frac{{{tex(chain.batch_size)} {heat}}}{{{tex(setting.clip)}"
            rf"\sqrt{{{tex(chain.step_size)} \cdot {tex(chain.n)}}}}} = {tex(sigma)}",
        ),
        (
            "Composed (Rényi improved)",
            r"\varepsilon = \sum_t R_{\sigma_t}(\alpha) + \ln\frac{\alpha-1}{\alpha} - "
            rf"\frac{{\ln\delta + \ln\alpha}}{{\alpha-1}} = {tex(f.epsilon())}",
        ),
    ]
    if f.largest > 0:
        built.append(
            (
                "Theorem 3, condition (3)" if chain.exponent else "Theorem 4",
                rf"\eta_t < \frac{{\varepsilon^2 N {power}}}{{c^2 L^2 {length} \ln(1/\delta)}} = "
                rf"{tex(f.largest)}\,{power}, \quad c^2 = {tex(float(f.allowed.c_squared[-1]))}, \quad "
                rf"c_1 > {tex(float(f.allowed.c1[-1]))}",
            )
        )
    built.append(limits_formula(chain, a.given.get("reading", "rederived")))
    if not chain.momentum:
        wang = float(step_sizes(chain, "wang", chain.claim))
        value = rf"= {tex(wang)}" if math.isfinite(wang) else r"\text{ does not hold: } T \text{ is too small}"
        limit = rf"\text{{if }} T \ge \frac{{\varepsilon^2}}{{32 q^2 \ln(2/\delta)}} = {tex(chain.wang_steps)}"
        norm = "(2L)^2" if chain.replace_one else "L^2"
        built.append(
            (
                "Wang, Fienberg, Smola 2015",
                rf"\eta < \frac{{\varepsilon^2 N}}{{128 {norm} T \ln(2.5T/\delta)\ln(2/\delta)}} {value} \quad {limit}",
            )
        )
    return built


def limits_formula(chain: Chain, reading: str) -> tuple[str, str]:
    """Conditions (2) and (1)."""
    low, high = step_size_limits(chain.setting, reading)
    printed = reading == "printed"
    inner = r"q^2 N/(256 L^2)" if printed else r"256\,q^4 N/L^2"
    outer = r"N/L^2" if printed else r"q^2 N/L^2"
    return (
        f"Conditions (2) and (1), {'as printed' if printed else 're-derived'}",
        rf"{inner} = {tex(low)} < \eta_t \le {outer} = {tex(high)}",
    )


def at_most(epsilon: float) -> str:
    """ε in a table, rounded up."""
    return numbers.epsilon(epsilon, digits=4, up=True)


def four_digits(value: float) -> str:
    return numbers.epsilon(value, digits=4)


def finite(lines: Sequence[Line]) -> list[float]:
    """All y that are numbers."""
    found = np.concatenate([np.asarray(line.y, dtype=np.float64) for line in lines])
    return [float(v) for v in found[np.isfinite(found)]]


def log_axis(title: str, column: str) -> Axis:
    return Axis(title, column=column, log=True, hover=f"{title} = %{{x:.4~g}}")


EPSILON_AXIS = log_axis("ε", "epsilon")


def wang_region(chain: Chain) -> tuple[Region, ...]:
    """The ε for which the theorem of Wang et al. does not hold."""
    return () if chain.momentum else (Region(chain.wang_limit, math.inf, "Wang et al.: T too small"),)


def about(
    option: str,
    title: str,
    answer: Callable[..., Answer[Any]],
    adds: Callable[[Answer[Any]], str] = lambda _: "",
    more: Callable[[Answer[Any]], list[Note]] = lambda _: [],
    *,
    presets: tuple[Preset, ...] = (),
    slow: tuple[Slow[Any], ...] = (TIGHT,),
    **own: Field[Any],
) -> Question[Any]:
    """A question about a sampler: what `adds` and `more` say follows what all say; `own` settings follow too."""
    return Question(
        key=f"langevin_{option}",
        option=option,
        title=title,
        settings={**SETTINGS, **own},
        answer=answer,
        headline=lambda a: headline(a) + adds(a),
        metrics=metrics,
        notes=lambda a: [*notes(a), *more(a)],
        formulas=formulas,
        assumptions=ASSUMPTIONS,
        presets=presets,
        slow=slow,
        layout=layout(*own.values()),
        # Below every chart: the cards of the accountants that count the steps, whichever theorem a curve is of.
        more={"Accountants": lambda _: cards(("moments", "renyi_improved", "renyi_classic", "tight"))},
    )
