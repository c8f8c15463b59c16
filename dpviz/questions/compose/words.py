"""How ε grows, in words: the headline, the numbers below the chart, and formulas with today's numbers."""

from __future__ import annotations

import math

from dpviz.accounting.attack.membership import attack_success
from dpviz.accounting.formula import tex
from dpviz.fields import numbers
from dpviz.mechanisms import Adjacency, Mechanism
from dpviz.questions import guessing, tight_band
from dpviz.questions.answer import Answer, Metric
from dpviz.questions.compose.bayesian import failure_of
from dpviz.questions.compose.curves import ComposeFacts
from dpviz.questions.compose.law import LawCost
from dpviz.questions.kinds import KINDS, kind_of
from dpviz.questions.mechanism import PUBLIC_SIZE
from dpviz.questions.methods import NAMES, method


def headline(a: Answer[ComposeFacts]) -> str:
    """One sentence of fixed meaning, as HTML: steps, the best attack, and what Bayesian DP keeps."""
    steps, right = numbers.steps(a.given["steps"]), chances(a).right
    said = (
        f"After <b>{steps}</b> step{'s' if a.given['steps'] > 1 else ''}, the best attack guesses right "
        f"{a.given['mechanism'].adjacency.secret} at most <b>{right}</b> of the time (chance: 50 %)"
    )
    return said + _bayesian_headline(a) + "."


def _least(a: Answer[ComposeFacts]) -> float:
    """ε of the tightest valid bound after all steps, the tight interval's end where there is no other; inf for none."""
    best, tight = a.facts.tightest(), a.facts.tight
    if best is None:
        return math.inf if tight is None or math.isnan(tight.upper[-1]) else float(tight.upper[-1])
    return float(a.facts.bounds[best].epsilon[-1])


def chances(a: Answer[ComposeFacts]) -> guessing.Guess:
    """How often the best attack is right after all steps."""
    return guessing.guess(_least(a), a.given["delta"], a.facts.accuracy)


def _bayesian_headline(a: Answer[ComposeFacts]) -> str:
    whose, relation, epsilon = "data of this distribution", "≤", math.nan
    if a.facts.law is not None:
        epsilon = a.facts.law.last
    elif a.facts.bayesian is not None:
        found = a.facts.bayesian.main
        whose, relation, epsilon = "data like the sample", "≤" if found.certified else "≈", float(found.epsilon[-1])
    if math.isnan(epsilon):
        return ""
    if math.isinf(epsilon):
        return f"; for {whose}, Bayesian DP proves nothing here"
    return f"; for {whose}, Bayesian DP keeps <b>ε<sub>μ</sub> {relation} {numbers.epsilon(epsilon, up=True)}</b>"


def metrics(a: Answer[ComposeFacts]) -> list[Metric]:
    """The four figures below the chart."""
    best = a.facts.tightest()
    if best is None:
        first = Metric("Tightest valid bound", "–", "no formula for this mechanism" if a.facts.left else "none drawn")
    else:
        bound = a.facts.bounds[best]
        value, order = float(bound.epsilon[-1]), float(bound.order[-1])
        decided = "" if math.isnan(order) else f", order α = {numbers.plain(order)}"
        first = Metric("Tightest valid bound", f"ε ≤ {numbers.epsilon(value, up=True)}", f"{NAMES[best]}{decided}")
    return [first, _tight_metric(a), chances(a).figure, _bayesian_metric(a)]


def _tight_metric(a: Answer[ComposeFacts]) -> Metric:
    if "tight" not in a.given["curves"]:
        return Metric(tight_band.NAME, "–", "off")
    if "tight" in a.facts.left:
        return Metric(tight_band.NAME, "–", "not for this mechanism")
    return Metric(tight_band.NAME, "…") if a.facts.tight is None else a.facts.tight.figure


def _bayesian_metric(a: Answer[ComposeFacts]) -> Metric:
    if a.facts.law is not None:
        cost = a.facts.law.last
        alone = numbers.probability(float(attack_success(cost, delta=failure_of(a.given))), up=True)
        return Metric("Bayesian ε", f"≤ {numbers.epsilon(cost, up=True)}", f"on average over examples; alone: {alone}")
    if a.facts.bayesian is None:
        absent = "not for this mechanism" if "bayesian" in a.facts.left else "switched off"
        return Metric("Bayesian ε", "–", "not defined here" if a.facts.problem else absent)
    found, printed = a.facts.bayesian.main, a.facts.bayesian.printed
    value = numbers.epsilon(float(found.epsilon[-1]), up=True)
    if not found.certified:
        size = numbers.plain(float(found.effective_size[-1]))
        rests = f"asymptotic, as printed; rests on {size} of {numbers.steps(a.facts.bayesian.size)} distances"
        return Metric("Bayesian ε, no bound", f"≈ {value}", rests)
    beside = "" if printed is None else numbers.epsilon(float(printed.epsilon[-1]), up=True)
    return Metric("Bayesian ε, certified", f"≤ {value}", f"asymptotic, as printed: ≈ {beside}")


def formulas(a: Answer[ComposeFacts]) -> list[tuple[str, str]]:
    """(name, LaTeX) of each curve with the numbers of the last step."""
    g = a.given
    mechanism: Mechanism = g["mechanism"]
    built = [(f"one step: {mechanism.text}", mechanism.latex)]
    built += [
        (NAMES[key], method(key, g["amplification"], g["order"] or 0).latex(mechanism, g["steps"], g["delta"]))
        for key, bound in a.facts.bounds.items()
        if math.isfinite(float(bound.epsilon[-1]))
    ]
    if a.facts.accuracy is not None:
        right = rf"\text{{right guesses}} \le \tfrac12(1+\delta(0)) = {tex(a.facts.accuracy.upper)}"
        built.append(("best attack, from the whole privacy curve", right))
    if a.facts.law is not None and math.isfinite(a.facts.law.last):
        built.append((NAMES["bayesian"], law_latex(a.facts.law, g["definition"], failure_of(g))))
    if a.facts.bayesian is not None:
        found = a.facts.bayesian.main
        value, order = float(found.epsilon[-1]), float(found.order[-1]) - 1
        if math.isfinite(value):
            slack = -math.log(failure_of(g) - g["failure"])
            built.append(
                (
                    NAMES["bayesian" if found.certified else "bayesian_printed"],
                    r"\varepsilon_\mu = \frac1\lambda\left(T\,\hat c(\lambda, T) - \ln(\delta_\mu-\gamma)\right) = "
                    rf"\frac{{1}}{{{order:.0f}}}\left({tex(order * value - slack)} + {tex(slack)}\right) "
                    rf"= {tex(value)}",
                )
            )
    return built


def law_latex(found: LawCost, definition: str, delta_mu: float) -> str:
    """Both conversions of E_d[A(α, d)^T], A the moment of order α of one step's likelihood ratio at distance d."""
    order = float(found.bound.order[-1])
    if math.isnan(order):
        return rf"\varepsilon_\mu = {tex(found.last)}"
    mean = r"\frac{1}{\alpha-1}\ln\mathrm E_d\!\left[A(\alpha, d)^T\right]"
    less = r" + \ln\tfrac{\alpha-1}{\alpha} - \tfrac{\ln\alpha}{\alpha-1}" if definition == "2" else ""
    given = rf"\alpha = {tex(order)},\ \delta_\mu = {tex(delta_mu)}"
    return rf"\varepsilon_\mu = {mean} - \frac{{\ln\delta_\mu}}{{\alpha-1}}{less} = {tex(found.last)},\quad {given}"


POISSON = """**Sampling:** every example joins each batch independently with probability q (Poisson). Shuffled or
  fixed-size batches are not covered by these numbers.
- """
BAYESIAN = """
- **Bayesian DP** is a weaker promise: it holds for examples drawn from the same distribution, with probability 1 −
  δ_μ over noise *and* data. Outliers are covered by the DP curves alone. Of a sample, *certified* (solid) is a bound
  that fails with probability γ at most, for every distribution whose distances clipping keeps below d_max and at
  every sample size: independent draws, C as if fixed ahead. *Asymptotic, as printed* (dashed) is the authors'
  estimate, Eq. 14, which keeps γ only as the sample grows. For pairs of gradients the distance is ‖g − g′‖ and the
  sensitivity 2C; for plain norms it is the norm and C. Both get the same noise.
- **A known distribution** of norms needs no sample and no γ: its cost is an integral, bounded by a sum from above. An
  example may have another norm at every step; the band beside it is the tight value where each keeps its rank.
- **Strong form and guarantee:** the strong form bounds a tail, P(loss ≥ ε_μ) ≤ δ_μ (Triastcyn & Faltings 2020,
  Definition 1), converted as by the moments accountant; samples are accounted so. It implies the guarantee, which
  bounds the probability of every set of outputs as (ε, δ)-DP does (Definition 2, Proposition 1), converted as by
  Rényi improved. That is the promise: it survives whatever is done to an output without the data (Proposition 2). The
  strong form need not, for merging outputs may raise the loss of what they become.
- **Pairs** are what the authors of Bayesian DP measure. Where batches are sampled, the distance of two examples
  bounds neither what adding one costs (equal gradients have distance 0) nor always what replacing one does. Norms
  bound adding and removing.
"""


def assumptions(a: Answer[ComposeFacts]) -> str:
    """What all curves take for granted, as Markdown."""
    mechanism: Mechanism = a.given["mechanism"]
    key = kind_of(mechanism)
    adjacency = mechanism.adjacency
    release = POISSON + KINDS[key].assumes if key else f"**The mechanism:** {mechanism.text}."
    public = PUBLIC_SIZE if adjacency in (Adjacency.ADD_REMOVE, Adjacency.PERSON) else ""
    return f"""
- **Who is protected:** {adjacency.unit}. {adjacency.neighbours} give outputs that an
  attacker can tell apart only as far as ε and δ allow.
- {release} All intermediate results may be seen by the attacker.
- **δ** is the probability with which the promise may fail. It should be far below 1/N.
- **The best attack** knows everything but {adjacency.secret}, an even bet before it sees the results. How
  often its guess is right follows from the whole privacy curve: (1 + δ(0))/2, with δ(0) at ε = 0 from the tight
  accountant.
- **One (ε, δ) alone** shows a corner of that curve and allows more, (e^ε + δ)/(1 + e^ε): this is what papers state.
  **P(A)**, at the curves' ends, is what ε alone allows, 1/(1 + e^−ε) (Triastcyn & Faltings 2020, Eq. 1).
{"" if "bayesian" in a.facts.left else BAYESIAN.strip()}
{public}"""
