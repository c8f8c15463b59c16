"""Both questions in words: headline, metrics, notes, formulas with today's numbers, assumptions."""

from __future__ import annotations

import math

import numpy as np

from dpviz.accounting.attack.best_accuracy import Accuracy
from dpviz.fields import numbers
from dpviz.gradients.law_bound import threshold_over_median
from dpviz.questions import guessing
from dpviz.questions.answer import Answer, Metric, Note
from dpviz.questions.gradients import Law
from dpviz.questions.mechanism import PUBLIC_SIZE
from dpviz.questions.methods import NAMES, method
from dpviz.questions.needed import SYMBOLS
from dpviz.questions.noise.curves import SigmaAxis, dp_at, name_of
from dpviz.questions.noise.needs import ANY, Needs, mechanism
from dpviz.questions.tight_band import noise_grid

VERBS = {
    "noise_multiplier": "needs noise",
    "steps": "allows",
    "sample_rate": "allows a sampling rate of",
    "delta": "reaches",
}
NO_NOISE = (
    "no noise is needed: nothing is released, or δ is at least 1 − (1 − q)^T, the chance that an example is ever "
    "drawn. Such a δ promises nothing to the examples that are drawn: lower it."
)


def headline(a: Answer[Needs]) -> str:
    """The result in plain words, as HTML."""
    f = a.facts
    said = f"To keep <b>ε ≤ {numbers.plain(f.target)}</b>{_setting(a)}, "
    best, bayesian = f.best(bayesian=False), f.best(bayesian=True)
    if best is None and bayesian is None:
        where = " on this σ axis" if drawn(a) else ""
        return f"{said}no method that is switched on gives an answer{where}: the notes below say why."
    parts = [f"{_long_name(f, key)} {_claim(f, key)}{_kind(f, key)}" for key in (best, bayesian) if key]
    data = "" if f.known else "for data like the sample, "
    said += f"; {data}".join(parts) if best else f"{data}{parts[0]}"
    if bayesian is not None and (saved := f.saving(bayesian, f.compared)):
        said += f" ({saved})"
    return f"{said}.{_attacker(a, best)}"


def drawn(a: Answer[Needs]) -> bool:
    """Whether this is the question that draws ε along σ."""
    return "lowest_noise" in a.given


def _long_name(f: Needs, key: str) -> str:
    """A method in a sentence: "Bayesian DP with C at the 0.50-quantile"."""
    if not key.startswith("bayesian"):
        return NAMES[key]
    at = f"C at the {_quantile(key)}-quantile"
    return f"Bayesian DP of this distribution, {at}," if f.known else f"Bayesian DP with {at}"


def _quantile(key: str) -> str:
    return name_of(key).rpartition(" ")[2]


def _attacker(a: Answer[Needs], best: str | None) -> str:
    """How often the best attack on the mechanism that DP's best method allows is right."""
    f = a.facts
    if best is None:
        return ""
    where = f"After {f.text(best)} steps" if f.unknown == "steps" else f"With {SYMBOLS[f.unknown]} = {f.text(best)}"
    if f.unknown == "delta":
        where = "There"
    chance = chances(a)
    if chance.curve is None:
        return ""
    said = f" {where} an attacker is right at most <b>{chance.right}</b> of the time"
    if chance.by_curve:
        return f"{said} (chance: 50 %; ε and δ alone would allow {chance.alone})."
    return f"{said}, by ε and δ alone."


def chances(a: Answer[Needs]) -> guessing.Guess:
    """How often the best attack is right at the target, on the mechanism of DP's best answer, at the δ of it."""
    delta = a.given["delta"]
    if a.facts.unknown == "delta":
        best = a.facts.best(bayesian=False)
        value = a.facts.needs[best].value if best else None
        delta = 1.0 if value is None else min(value, 1.0)
    known = Accuracy(0.5, 1.0) if mechanism(a) is None else a.facts.accuracy
    return guessing.guess(a.facts.target, delta, known)


def _setting(a: Answer[Needs]) -> str:
    g = a.given
    known = {
        "steps": f"{numbers.steps(g['steps'])} step{'s' if g['steps'] > 1 else ''}",
        "noise_multiplier": f"σ = {numbers.plain(g['noise_multiplier'])}",
        "sample_rate": f"q = {numbers.plain(g['sample_rate'], digits=4)}",
        "delta": f"δ = {numbers.delta(g['delta'])}",
    }
    del known[a.facts.unknown]
    return " with " + ", ".join(known.values())


def _claim(f: Needs, key: str) -> str:
    text = f.text(key)
    if f.unknown == "steps":
        return f"allows <b>{'any number of' if text == ANY else text} steps</b>"
    if f.unknown == "noise_multiplier" and f.needs[key].value == 0.0:
        return "needs <b>no noise</b>"
    symbol = SYMBOLS[f.unknown]
    if f.unknown == "delta" and key.startswith("bayesian"):
        symbol = "δ<sub>μ</sub>"
    return f"{VERBS[f.unknown]} <b>{symbol} = {text}</b>"


def _kind(f: Needs, key: str) -> str:
    """Which of Bayesian DP's two numbers an answer is."""
    if not key.startswith("bayesian") or f.known:
        return ""
    return ", certified" if f.certified else ", by an asymptotic estimate that is no bound"


def metrics(a: Answer[Needs]) -> list[Metric]:
    """The four figures below the chart."""
    f, symbol = a.facts, SYMBOLS[a.facts.unknown]
    best, bayesian = f.best(bayesian=False), f.best(bayesian=True)
    kind = "this distribution" if f.known else "certified" if f.certified else "estimate, no bound"
    weak = f"C at {_quantile(bayesian)}, {kind}" if bayesian else ""
    built = [
        _need(f, f"DP: {symbol}", best, name_of(best) if best else ""),
        _need(f, f"Bayesian DP: {symbol}", bayesian, weak),
    ]
    saved, against = f.saving(bayesian, f.compared) if bayesian else "", f.compared
    built.append(
        Metric("Bayesian DP against DP", saved or "–", f"against {name_of(against)}" if saved and against else "")
    )
    if "tight" in f.needs:
        built.append(_need(f, f"The mechanism itself: {symbol}", "tight", "tight accountant"))
    elif drawn(a) and (here := _here(a)):
        least = min(here, key=lambda key: here[key])
        value = numbers.epsilon(here[least], up=True)
        built.append(Metric(f"ε at my σ = {numbers.plain(a.given['noise_multiplier'])}", value, name_of(least)))
    else:
        built.append(chances(a).figure)
    return built


def _here(a: Answer[Needs]) -> dict[str, float]:
    """ε at the chosen σ by each of DP's bounds."""
    g, sigma = a.given, np.array([a.given["noise_multiplier"]])
    plan = SigmaAxis(1.0, 2.0, g["sample_rate"], g["steps"])
    keys = [key for key in a.facts.needs if key in a.facts.valid and not key.startswith("bayesian")]
    found = {key: float(dp_at(key, g["amplification"], plan, g["delta"], sigma)[0][0]) for key in keys}
    return {key: math.inf if math.isnan(epsilon) else epsilon for key, epsilon in found.items()}


def _need(f: Needs, title: str, key: str | None, name: str) -> Metric:
    return Metric(title, f.text(key), name) if key else Metric(title, "–", "no answer here")


def notes(a: Answer[Needs]) -> list[Note]:
    """Why a method has no answer, and what must be known about one that has."""
    told: dict[str, list[str]] = {}
    for key in a.facts.needs:
        if text := _missing(a, key):
            told.setdefault(text, []).append(name_of(key))
    built = [*a.facts.problem, *(Note(f"{_joined(names)}: {text}") for text, names in told.items())]
    if warning := tail_warning(a):
        built.append(Note(warning, "caution"))
    return [*built, *_bayesian_kind(a)]


def _bayesian_kind(a: Answer[Needs]) -> list[Note]:
    """Whether Bayesian DP's answers are bounds, and what they stand for."""
    f = a.facts
    if f.known and not f.problem:
        return _known_distribution(a, f.known)
    if not f.size or f.problem:
        return []
    if not f.independent:
        text = "all pairs share gradients, so its distances are not independent: γ is not kept, and only the estimate "
        return [Note(f"Bayesian DP: {text}as printed is drawn. Disjoint pairs give a bound.")]
    if not f.certified:
        return [Note("Bayesian DP, unclipped: no distance is the largest, so there is only the estimate as printed.")]
    if not drawn(a):
        return [Note("Bayesian DP: certified answers, not those of the estimate as printed.")]
    text = "Bayesian DP: solid is certified, dashed the asymptotic estimate as printed, which is no bound."
    few = [name_of(key) for key in f.needs if _unseen_decides(a, key)]
    if few:
        text += (
            f" {_joined(few)}: where it crosses, most of the bound stands for large distances that "
            f"{numbers.steps(f.size)} samples cannot exclude at γ; more of them lower it."
        )
    return [Note(text)]


def _known_distribution(a: Answer[Needs], known: Law) -> list[Note]:
    """Which promise of Bayesian DP this is, and what a high quantile costs."""
    f = a.facts
    of = {"weibull": "Weibull", "lognormal": "log-normal", "halfnormal": "half-normal"}[known.family]
    shape = "" if known.family == "halfnormal" else f" of shape {numbers.plain(known.shape)}"
    said = (
        f"Bayesian DP of this distribution: norms are {of}{shape}, so there is no sample and no γ. The promise is "
        "Definition 2, converted as Rényi improved is: compare these two."
    )
    key = f.best(bayesian=True)
    value = f.needs[key].value if key else None
    sigma = value if f.unknown == "noise_multiplier" else float(a.given["noise_multiplier"])
    if key and sigma:
        over = threshold_over_median(known.family, known.shape, float(_quantile(key)))
        said += (
            f" With C at the {_quantile(key)}-quantile, {numbers.plain(over)} × the median norm, the noise σC is "
            f"{numbers.plain(sigma * over)} × the median norm: what a higher quantile saves in σ it costs in C."
        )
    return [Note(said)]


def _unseen_decides(a: Answer[Needs], key: str) -> bool:
    curve = a.facts.curves[key]
    if curve.bayesian is None or not np.isfinite(curve.needs):
        return False
    sigma = noise_grid(a.given["lowest_noise"], a.given["largest_noise"])
    return bool(curve.bayesian.tail_dominated[int(np.abs(sigma - curve.needs).argmin())])


def _missing(a: Answer[Needs], key: str) -> str:
    """Why a method has no answer, or what limits it; empty when all is well."""
    f, need, curve = a.facts, a.facts.needs[key], a.facts.curves.get(key)
    if need.waits:
        return ""
    if not f.bounds(key):
        return method(key, a.given["amplification"]).kind_reason
    if curve is not None and curve.reason:
        return curve.reason
    if curve is not None and need.value is None:
        return f"above the target on all of this axis.{_floor(a, key)}"
    if need.value is None:
        none = f"no {SYMBOLS[f.unknown]} gives ε ≤ {numbers.plain(f.target)}"
        return f"{none}{': ' + need.why.rstrip('.') if need.why else ' here'}."
    if f.unknown == "delta" and key.startswith("bayesian") and need.value < 1.01 * a.given["failure"]:
        return "δ_μ cannot fall below γ, the estimator's own failure (Show)."
    if f.unknown == "noise_multiplier" and need.value == 0.0:
        return NO_NOISE
    if f.unknown == "steps" and need.value == 0.0:
        return "one step alone costs more than the target."
    return ""


def _joined(names: list[str]) -> str:
    """ "Bayesian 0.01, 0.50": the common first word once."""
    first = names[0].partition(" ")[0]
    if len(names) > 1 and all(name.startswith(f"{first} ") for name in names):
        return f"{first} {', '.join(name.partition(' ')[2] for name in names)}"
    return ", ".join(names)


def _floor(a: Answer[Needs], key: str) -> str:
    """What the largest order charges for doing nothing, where that is what keeps a curve up."""
    curve = a.facts.curves[key]
    last = float(curve.epsilon[-1])
    if not math.isfinite(last):
        return " There it has no finite ε: add noise."
    lowest = float(curve.bayesian.floor[-1]) if curve.bayesian is not None else 0.0
    if key == "moments":
        lowest = math.log(1 / a.given["delta"]) / 32
    if lowest >= a.facts.target:
        return f" Its orders end at λ = 32, so no noise brings it below {numbers.epsilon(lowest)}."
    return f" At its end ε is {numbers.epsilon(last, up=True)}: let the axis of σ end later (Show)."


def tail_warning(a: Answer[Needs]) -> str:
    """Amber text where one sample carries more than half of an estimate at or beyond a crossing."""
    doubtful = [curve for curve in a.facts.curves.values() if curve.dotted]
    if not doubtful:
        return ""
    sigma = noise_grid(a.given["lowest_noise"], a.given["largest_noise"])
    crossing = [curve.name for curve in doubtful if curve.needs <= sigma[curve.dotted - 1]]
    text = "Dotted: one distance carries more than half of the Bayesian estimate, and more samples may raise it."
    if crossing:
        text += f" That decides the crossing of {', '.join(crossing)}: clip both, or take more samples."
    return text


def formulas(a: Answer[Needs]) -> list[tuple[str, str]]:
    """What is solved, with the target in it."""
    f, target = a.facts, numbers.plain(a.facts.target)
    symbol = {"noise_multiplier": r"\sigma", "steps": "T", "sample_rate": "q", "delta": r"\delta"}[f.unknown]
    pick = r"\max" if f.unknown in ("steps", "sample_rate") else r"\min"
    goal = rf"\{{\,{symbol} : \varepsilon(\sigma, q, T, \delta) \le {target}\,\}}"
    built = [("every method", rf"{symbol}^* = {pick}{goal}")]
    for key in f.needs:
        if key != "tight" and not key.startswith("bayesian"):
            proof = rf"\varepsilon = {method(key, a.given['amplification']).formula}"
            text = rf"\text{{{f.text(key).replace('−', '-')}}}"
            built.append((name_of(key), rf"{proof} \le {target}\ \Rightarrow\ {symbol} = {text}"))
    if f.known:
        built.append(
            (
                "Bayesian DP",
                r"\varepsilon_\mu = \min_\alpha \frac{\ln \mathbb E_d A(\alpha, d)^T - \ln(\alpha\delta_\mu)}"
                rf"{{\alpha - 1}} + \ln\frac{{\alpha - 1}}{{\alpha}} \le {target},\quad \text{{noise}} = \sigma C",
            )
        )
    if f.size:
        built.append(
            (
                "Bayesian DP",
                r"\varepsilon_\mu = \min_\lambda \frac1\lambda\left(T\,\hat c(\lambda, T) - \ln(\delta_\mu - \gamma)"
                rf"\right) \le {target},\quad \text{{noise}} = \sigma \cdot \text{{sensitivity}}(C)",
            )
        )
    return built


ASSUMPTIONS = (
    """
- **The answers are on the safe side:** σ and δ are rounded up, q and T down; each was put back into its accountant.
- **Who is protected:** one example, added or removed. Every example joins each batch independently with probability q.
  Other mechanisms, a person with several rows among them, cannot be solved for here yet: Compose has them.
- **σ** is the noise's standard deviation divided by the sensitivity: C for plain norms, 2C for pairs of gradients. DP
  and Bayesian DP get the same noise σ × sensitivity at every clipping quantile.
- **Less noise for Bayesian DP** is a weaker promise: it holds for examples drawn like the sample, with probability
  1 − δ_μ over noise *and* data. Outliers have what DP says at that σ. Distances of pairs, which its authors measure,
  bound neither adding nor always replacing one example where batches are sampled; norms bound adding and removing.
  *Certified* answers (solid) fail with probability γ at most, at every sample size and whatever the search looked at:
  independent draws, distances that clipping keeps below d_max, C as if fixed ahead. *As printed* (dashed) is the
  authors' estimate, which keeps γ only as the sample grows.
- **A known distribution** of norms needs no sample and no γ: its ε_μ is a sum from above, at all of Rényi's orders, so
  it never lies above Rényi improved at the same σ. A higher quantile gives a larger C, and the noise is σC.
- **Clip: DP only** leaves the gradients of Bayesian DP unclipped under the same noise (Triastcyn & Faltings 2020,
  Fig. 4): a heavy tail may then have an infinite true cost.
- **The best attack** on that mechanism, at even odds, is right as its whole privacy curve says, (1 + δ(0))/2; one
  (ε, δ) alone allows more, (e^ε + δ)/(1 + e^ε), which is what papers state. P(A) = 1/(1 + e^−ε), at the curves' ends,
  is what ε alone allows (Triastcyn & Faltings 2020, Eq. 1).
- **tight** is the numerically exact accountant: what the mechanism itself needs. What lies between it and another
  method is the price of that method's proof.
"""
    + PUBLIC_SIZE
)
