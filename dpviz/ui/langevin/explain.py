"""The Langevin page in words: the sentence on top, the figures below, formulas with today's numbers, assumptions."""

from __future__ import annotations

import math

import numpy as np

from dpviz.accounting.attack import attack_success
from dpviz.accounting.langevin_bounds import step_size_limits
from dpviz.accounting.langevin_mse import best_step_size
from dpviz.charts import numbers
from dpviz.ui.frame import Figure, Remark
from dpviz.ui.langevin.curves import Answer, mse
from dpviz.ui.langevin.region import STAND_IN, holds, open_anywhere


def sentence(found: Answer) -> str:
    """The result in plain words, as HTML."""
    s = found.settings
    said = (
        f"<b>{numbers.steps(s.steps)}</b> step{'s' if s.steps > 1 else ''} of {_schedule(found)} cost at most "
        f"<b>ε ≤ {numbers.epsilon(best_bound(found), up=True)}</b> at δ = {numbers.delta(s.delta)}"
    )
    return f"{said}: {_verdict(found)}{_of_view(found)}"


def _schedule(found: Answer) -> str:
    s = found.settings
    size = f"<b>{numbers.plain(s.first)}</b>"
    return f"η = {size} · t<sup>−1/3</sup>" if s.exponent else f"η = {size}"


def best_bound(found: Answer) -> float:
    """The smallest valid ε of all steps that is known now."""
    known = [found.epsilon()]
    if found.tight is not None:
        known.append(float(found.tight.upper[-1]))
    return min(known)


def _verdict(found: Answer) -> str:
    s = found.settings
    claim = f"the claimed <b>{numbers.plain(s.claim)}</b>"
    if best_bound(found) <= s.claim:
        return f"{claim} holds."
    if found.tight is None:
        return f"Rényi bounds do not prove {claim}; the tight interval is on its way."
    low = float(found.tight.lower[-1])
    if low > s.claim:
        times = math.floor(10.0 * low / s.claim) / 10.0
        return f"{claim} is at least {numbers.plain(times)} times too low." if times > 1.0 else f"{claim} is too low."
    return f"{claim} is neither proven nor refuted."


def _of_view(found: Answer) -> str:
    view = found.settings.view
    if view in ("epsilon", "size", "clip"):
        if found.largest <= 0.0:
            return f" No step size is proven to give ε = {numbers.plain(found.settings.claim)}."
        return f" For it, the first step may be at most <b>{_down(found.largest)}</b>."
    if view == "conditions":
        start, stop = speaks(found)
        if start > stop:
            return " <b>Theorem 3's conditions (1) and (2) hold at no step.</b>"
        if start <= 1 and stop >= found.settings.steps:
            return " Theorem 3's conditions (1) and (2) hold at every step."
        first, last = numbers.steps(start), numbers.steps(stop)
        return f" Conditions (1) and (2) hold only from step <b>{first}</b> to <b>{last}</b>."
    if view == "region":
        return _kept(found)
    if view in ("mse", "mse_epsilon"):
        best = best_step_size(exponent=found.settings.exponent, steps=found.settings.steps)
        if found.largest <= 0.0:
            return f" The error bound is least at η₁ = <b>{numbers.plain(best)}</b>."
        ratio = float(mse(found.settings, found.largest) / mse(found.settings, best))
        return (
            f" The error bound is least at η₁ = <b>{numbers.plain(best)}</b>; at the largest step size for the claim, "
            f"{_down(found.largest)}, it is <b>{numbers.plain(ratio)}</b> times as large."
        )
    return ""


def _kept(found: Answer) -> str:
    """Which conditions the present setting keeps at every step."""
    state = holds(found)
    named = {"(1)": state.first, "(2)": state.second, "(3)": bool(state.third)}
    kept = [name for name, there in named.items() if there]
    if len(kept) == 3:
        return " With your τ and η₁ <b>all three conditions</b> hold at every step."
    if not kept:
        return " With your τ and η₁ <b>none of the three conditions</b> holds at every step."
    failing = [name for name, there in named.items() if not there]
    return f" With your τ and η₁ <b>{' and '.join(failing)}</b> {'fails' if len(failing) == 1 else 'fail'}, " + (
        f"{' and '.join(kept)} {'holds' if len(kept) == 1 else 'hold'} at every step."
    )


def _down(value: float) -> str:
    """Three digits, rounded down: a step size that says "at most"."""
    if value <= 0.0 or not math.isfinite(value):
        return numbers.plain(value)
    place = 10.0 ** (math.floor(math.log10(value)) - 2)
    return numbers.plain(math.floor(value / place) * place)


def speaks(found: Answer) -> tuple[float, float]:
    """First and last step at which conditions (1) and (2) hold together; first > last where they never do."""
    s, (low, high) = found.settings, found.limits
    if not s.exponent:
        return (1.0, float(s.steps)) if low < s.first <= high else (2.0, 1.0)
    with np.errstate(over="ignore"):
        start = max(1.0, math.ceil((s.first / high) ** 3)) if s.first / high < 1e100 else math.inf
        stop = min(float(s.steps), math.ceil((s.first / low) ** 3) - 1.0) if s.first / low < 1e100 else float(s.steps)
    return start, stop


def figures(found: Answer) -> list[Figure]:
    """The four figures below the chart."""
    s = found.settings
    chance = numbers.probability(float(attack_success(best_bound(found), delta=s.delta)), up=True)
    tight = "…" if found.tight is None else found.tight.last
    noise = found.settings.sampler.noise_multiplier(s.schedule.at([1.0, float(s.steps)]))
    return [
        Figure(
            "Rényi ε, composed",
            numbers.epsilon(found.epsilon(), up=True),
            f"classic conversion: {numbers.epsilon(found.epsilon('classic'), up=True)}",
        ),
        Figure("Tight ε", tight, f"alone it allows {chance}".replace(" %", "\u202f%")),
        Figure(
            "Largest η₁ for the claim",
            _down(found.largest) if found.largest > 0 else "none proven",
            "" if found.largest <= 0 else f"c² = {numbers.plain(found.c_squared)}, λ = {found.order - 1:.0f}",
        ),
        Figure(
            "Noise σ, first → last",
            f"{numbers.plain(float(noise[0]))} → {numbers.plain(float(noise[1]))}",
            _rate(found),
        ),
    ]


def _rate(found: Answer) -> str:
    return f"q = {numbers.plain(found.settings.sampler.sample_rate)}"


def remarks(found: Answer) -> list[Remark]:
    """What must be said beside the chart."""
    s, said = found.settings, []
    if s.adjacency == "replace_one":
        said.append(Remark("Neighbours replace one example: sensitivity 2L. The paper's bounds add or remove.", "note"))
    if s.view in ("epsilon", "size", "clip") and s.first > found.largest > 0:
        said.append(
            Remark(
                f"Your η₁ = {numbers.plain(s.first)} lies above what composed moments prove for ε = "
                f"{numbers.plain(s.claim)}.",
                "note",
            )
        )
    if s.view == "clip":
        said.append(
            Remark(
                "Composed exactly, the largest step size goes with 1/L²; Li et al. read about 1/L from their Fig. 2."
            )
        )
    if s.view == "epsilon" and (s.n, s.steps, s.clip, s.first) == (50_000, 10_000, 1.0, 0.103):
        said.append(
            Remark(
                "Printed 0.103 at ε = 0.1: composed, those steps cost "
                f"{numbers.epsilon(found.epsilon('classic'), up=True)} by the classic conversion. The printed 1.54e-6 "
                "of Wang et al. is their formula with ln(T/δ) for ln(2.5T/δ)."
            )
        )
    if s.view == "region":
        said += _of_region(found)
    low, high = step_size_limits(s.sampler)
    if s.view in ("conditions", "region") and s.reading == "printed" and not low < s.first <= high:
        said.append(
            Remark("As printed (1) and (2) miss a factor q²: re-derived, η₁ lies outside of what they allow.", "note")
        )
    if s.view == "mse_epsilon" and "proposition5" in found.curves:
        said.append(
            Remark(
                "Proposition 5 as printed does not follow from its source (other powers of T, no N): it is drawn "
                "dashed; the other curves sum the step sizes themselves."
            )
        )
    if s.view in ("mse", "mse_epsilon"):
        said.append(Remark("Errors are bounds up to an unknown constant C: compare them, do not read them."))
    if s.view != "mse" and s.friction is not None and s.view in ("epsilon", "size", "clip", "mse_epsilon"):
        said.append(Remark("Wang et al. bound SGLD; for SGHMC there is no such curve."))
    return said


def _of_region(found: Answer) -> list[Remark]:
    """How the three lines are meant."""
    s = found.settings
    last = "The steps shrink: (1) is hardest to keep at the first one, (2) at the last." if s.exponent else ""
    third = "condition (3)" if s.exponent else "Theorem 4, drawn as (3),"
    said = [
        Remark(
            f"{last} {third[0].upper()}{third[1:]} is what composed moments allow at each batch for ε = "
            f"{numbers.plain(s.claim)}.".strip()
        )
    ]
    if STAND_IN in found.curves:
        said = [Remark("Dashed: (3) with the constant of your batch; what other batches allow is on its way.")]
    elif not open_anywhere(found):
        said.append(Remark("No batch and step size on this chart keep all three conditions at every step.", "note"))
    return said


def formulas(found: Answer) -> list[tuple[str, str]]:
    """(name, LaTeX) with today's numbers."""
    s, sampler = found.settings, found.settings.sampler
    sigma = float(sampler.noise_multiplier(s.first))
    sens = _tex(sampler.sensitivity)
    damped = "" if s.friction is None else r"\sqrt{2\beta}"
    heat = "" if s.friction is None else rf"\sqrt{{2 \cdot {_tex(s.friction)}}}"
    power = r"t^{-1/3}" if s.exponent else ""
    length = r"T^{2/3}" if s.exponent else "T"
    built = [
        (
            "Noise of a step, in units of what one example changes",
            rf"\sigma_1 = \frac{{\tau {damped}}}{{L\sqrt{{\eta_1 N}}}} = "
            rf"\frac{{{_tex(s.batch)} {heat}}}{{{sens}\sqrt{{{_tex(s.first)} \cdot {_tex(s.n)}}}}} = {_tex(sigma)}",
        ),
        (
            "Composed (Rényi improved)",
            r"\varepsilon = \sum_t R_{\sigma_t}(\alpha) + \ln\frac{\alpha-1}{\alpha} - "
            rf"\frac{{\ln\delta + \ln\alpha}}{{\alpha-1}} = {_tex(found.epsilon())}",
        ),
    ]
    if found.largest > 0:
        built.append(
            (
                "Theorem 3, condition (3)" if s.exponent else "Theorem 4",
                rf"\eta_t < \frac{{\varepsilon^2 N {power}}}{{c^2 L^2 {length} \ln(1/\delta)}} = "
                rf"{_tex(found.largest)}\,{power}, \quad c^2 = {_tex(found.c_squared)}, \quad "
                rf"c_1 > {_tex(found.c1)}",
            )
        )
    low, high = found.limits
    inner = r"256\,q^4 N/L^2" if s.reading == "rederived" else r"q^2 N/(256 L^2)"
    outer = r"q^2 N/L^2" if s.reading == "rederived" else r"N/L^2"
    built.append(
        (
            "Conditions (2) and (1)" + (", re-derived" if s.reading == "rederived" else ", as printed"),
            rf"{inner} = {_tex(low)} < \eta_t \le {outer} = {_tex(high)}",
        )
    )
    if s.friction is None:
        inside = math.log(2.5 * s.steps / s.delta) * math.log(2 / s.delta)
        wang = s.claim**2 * s.n / (128 * sampler.sensitivity**2 * s.steps * inside)
        built.append(
            (
                "Wang, Fienberg, Smola 2015",
                rf"\eta < \frac{{\varepsilon^2 N}}{{128 L^2 T \ln(2.5T/\delta)\ln(2/\delta)}} = {_tex(wang)}",
            )
        )
    return built


def _tex(value: float) -> str:
    """Four significant digits in LaTeX."""
    if not math.isfinite(value):
        return r"\infty"
    mantissa, e, power = f"{value:.4g}".partition("e")
    return rf"{mantissa}\cdot 10^{{{int(power)}}}" if e else mantissa


ASSUMPTIONS = """
- **Who is protected:** one example, added or removed. Li, Chen, Liu, Carin 2019 *define* neighbours by replacing one
  example but use the moment bound for adding or removing one; so does this page. The switch under Options shows what
  replacing costs (sensitivity 2L).
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
