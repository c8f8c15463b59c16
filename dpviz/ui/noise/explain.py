"""The Noise page in words: sentence, figures, remarks, formulas with today's numbers, assumptions."""

from __future__ import annotations

import math

import numpy as np

from dpviz.accounting.attack import attack_success
from dpviz.charts import numbers
from dpviz.ui.frame import Figure, Remark
from dpviz.ui.noise import words
from dpviz.ui.noise.curves import name_of
from dpviz.ui.noise.result import Result

_VERB = {
    "noise_multiplier": "needs noise",
    "steps": "allows",
    "sample_rate": "allows a sampling rate of",
    "delta": "reaches",
}


def sentence(result: Result) -> str:
    """The result in plain words, as HTML."""
    settings = result.settings
    epsilon = numbers.plain(settings.target)
    chance = numbers.probability(float(attack_success(settings.target, delta=_delta(result))), up=True)
    said = f"To keep <b>ε ≤ {epsilon}</b> (an attacker right at most <b>{chance}</b> of the time)"
    said += f"{_setting(result)}, "
    best, bayesian = result.best(bayesian=False), result.best(bayesian=True)
    if best is None and bayesian is None:
        where = " on this σ axis" if settings.view == "curves" else ""
        return f"{said}no method that is switched on gives an answer{where}: the remarks below say why."
    parts = [f"{name_of(key)} {_claim(result, key)}" for key in (best, bayesian) if key is not None]
    said += "; for data like the sample, ".join(parts) if best else f"for data like the sample, {parts[0]}"
    if best is not None and bayesian is not None and (saved := words.saving(result, bayesian, best)):
        said += f" ({saved})"
    return said + "."


def _delta(result: Result) -> float:
    return 0.0 if result.unknown == "delta" else result.settings.delta


def _setting(result: Result) -> str:
    settings = result.settings
    known = {
        "steps": f"{numbers.steps(settings.steps)} step{'s' if settings.steps > 1 else ''}",
        "noise_multiplier": f"σ = {numbers.plain(settings.sigma)}",
        "sample_rate": f"q = {numbers.plain(settings.rate, digits=4)}",
        "delta": f"δ = {numbers.delta(settings.delta)}",
    }
    del known[result.unknown]
    return " with " + ", ".join(known.values())


def _claim(result: Result, key: str) -> str:
    text = words.value_text(result.unknown, result.needs[key])
    if result.unknown == "steps":
        return f"allows <b>{text} steps</b>"
    symbol = words.SYMBOLS[result.unknown]
    if result.unknown == "delta" and key.startswith("bayesian"):
        symbol = "δ<sub>μ</sub>"
    return f"{_VERB[result.unknown]} <b>{symbol} = {text}</b>"


def figures(result: Result) -> list[Figure]:
    """The four figures below the chart."""
    symbol, built = words.SYMBOLS[result.unknown], []
    best, bayesian, against = result.best(bayesian=False), result.best(bayesian=True), words.reference(result)
    for title, key in ((f"DP: {symbol}", best), (f"Bayesian DP: {symbol}", bayesian)):
        if key is None:
            built.append(Figure(title, "–", "no answer here"))
            continue
        saved = words.saving(result, key, against) if against else ""
        name = f"C at the {name_of(key).split()[-1]}-quantile" if key.startswith("bayesian") else name_of(key)
        built.append(Figure(title, words.value_text(result.unknown, result.needs[key]), name))
        if key == best:
            shown = saved or "–"
            built.append(Figure("Saved against moments" if against == "moments" else "Saved", shown, name_of(key)))
    if best is not None and bayesian is not None:
        built.append(Figure("Bayesian DP against DP", words.saving(result, bayesian, best) or "–", name_of(best)))
    return built[:4]


def remarks(result: Result) -> list[Remark]:
    """Why a method has no answer, and what must be known about one that has."""
    said: list[Remark] = []
    if result.bayesian_problem:
        said.append(Remark(f"Bayesian DP: {result.bayesian_problem}", "problem"))
    for key, answer in result.needs.items():
        curve = result.curves.get(key)
        if answer.problem:
            said.append(Remark(f"{name_of(key)}: {answer.problem}"))
        elif curve is not None and curve.reason:
            said.append(Remark(f"{name_of(key)}: {curve.reason}"))
        elif curve is not None and answer.value is None:
            said.append(Remark(f"{name_of(key)}: stays above the target on this axis.{_floor(result, key)}"))
        elif result.unknown == "steps" and answer.value == 0.0:
            said.append(Remark(f"{name_of(key)}: one step alone costs more than the target."))
    if any(key in ("basic", "strong") for key in result.needs) and result.settings.amplification == "linear":
        said.append(Remark("basic, strong: linear amplification is an approximation, not a valid bound.", "note"))
    warning = tail_warning(result)
    if warning:
        said.append(Remark(warning, "note"))
    if result.sample is not None and not result.sample.gradients.independent:
        said.append(
            Remark("Bayesian DP: all pairs share gradients, so its distances are not independent and γ is not kept.")
        )
    return said


def _floor(result: Result, key: str) -> str:
    """What the largest order charges for doing nothing, where that is what keeps a curve up."""
    curve = result.curves[key]
    last = float(curve.epsilon[-1])
    if not math.isfinite(last):
        return " There it has no finite ε: add noise."
    lowest = curve.bayesian.floor[-1] if curve.bayesian is not None else 0.0
    if key == "moments":
        lowest = math.log(1 / result.settings.delta) / 32
    if lowest >= result.settings.target:
        return f" Its orders end at λ = 32, so no noise brings it below {numbers.epsilon(float(lowest))}."
    return f" At its end ε is {numbers.epsilon(last, up=True)}: let the axis of σ end later (Show)."


def tail_warning(result: Result) -> str:
    """Amber text where one sample carries more than half of an estimate at or beyond a crossing."""
    doubtful = []
    for key, curve in result.curves.items():
        if curve.bayesian is not None and bool(curve.bayesian.tail_dominated.any()):
            last = np.flatnonzero(curve.bayesian.tail_dominated)[-1]
            sigma = np.geomspace(result.settings.low, result.settings.high, curve.epsilon.size)[last]
            doubtful.append((name_of(key), float(sigma), curve.needs))
    if not doubtful:
        return ""
    crossing = [name for name, until, needs in doubtful if needs <= until]
    text = "Dotted: one distance carries more than half of the Bayesian estimate, and more samples may raise it."
    if crossing:
        text += f" That decides the crossing of {', '.join(crossing)}: clip both, or take more samples."
    return text


def formulas(result: Result) -> list[tuple[str, str]]:
    """What is solved, with the target in it."""
    settings, target = result.settings, numbers.plain(result.settings.target)
    symbol = {"noise_multiplier": r"\sigma", "steps": "T", "sample_rate": "q", "delta": r"\delta"}[result.unknown]
    pick = r"\max" if result.unknown in ("steps", "sample_rate") else r"\min"
    built = [
        (
            "every method",
            rf"{symbol}^* = {pick}\{{\,{symbol} : \varepsilon(\sigma, q, T, \delta) \le {target}\,\}}",
        )
    ]
    conversions = {
        "moments": r"\varepsilon = \min_{\lambda \le 32}\ T R(\lambda+1) + \frac{\ln(1/\delta)}{\lambda}",
        "renyi_classic": r"\varepsilon = \min_\alpha\ T R(\alpha) + \frac{\ln(1/\delta)}{\alpha-1}",
        "renyi_improved": r"\varepsilon = \min_\alpha\ T R(\alpha) + \ln\frac{\alpha-1}{\alpha} "
        r"- \frac{\ln\delta + \ln\alpha}{\alpha-1}",
        "closed_form": r"R(\alpha) \le \frac{2 q^2 \alpha}{\sigma^2}\quad (q \le 1/5,\ \sigma \ge 4)",
        "strong": r"\varepsilon = \varepsilon_1\sqrt{2T\ln(1/\delta')} + T\varepsilon_1(e^{\varepsilon_1}-1)",
        "basic": r"\varepsilon = T\,\varepsilon_1",
    }
    for key in result.needs:
        if key in conversions:
            text = words.value_text(result.unknown, result.needs[key])
            text = rf"\text{{{text.replace('−', '-')}}}"
            built.append((name_of(key), rf"{conversions[key]} \le {target}\ \Rightarrow\ {symbol} = {text}"))
    if settings.bayesian is not None and result.sample is not None:
        built.append(
            (
                "Bayesian DP",
                r"\varepsilon_\mu = \min_\lambda \frac1\lambda\left(T\,\hat c(\lambda, T) - \ln(\delta_\mu - \gamma)"
                rf"\right) \le {target},\quad \text{{noise}} = \sigma \cdot \text{{sensitivity}}(C)",
            )
        )
    return built


ASSUMPTIONS = """
- **The answers are on the safe side:** σ and δ are rounded up, q and T down; each was put back into its accountant.
- **Who is protected:** one example, added or removed. Every example joins each batch independently with probability q.
- **σ** is the noise's standard deviation divided by the sensitivity: C for plain norms, 2C for pairs of gradients. DP
  and Bayesian DP get the same noise σ × sensitivity at every clipping quantile.
- **Less noise for Bayesian DP** is a weaker promise: it holds for examples drawn like the sample, with probability
  1 − δ_μ over noise *and* data. Outliers have what DP says at that σ.
- **Clip: DP only** leaves the gradients of Bayesian DP unclipped under the same noise (Triastcyn & Faltings 2020,
  Fig. 4): a heavy tail may then have an infinite true cost.
- **tight** is the numerically exact accountant: what the mechanism itself needs. What lies between it and another
  method is the price of that method's proof.
"""
