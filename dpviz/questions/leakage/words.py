"""What both questions say: the headline, the four numbers, notes, formulas with today's numbers, assumptions."""

from __future__ import annotations

import math
from html import escape

from dpviz.accounting.claims import DEMONSTRATION, rounded_up
from dpviz.accounting.formula import tex
from dpviz.fields import numbers
from dpviz.gradients.leakage import CONFIDENCE, Attack, Comparison, Leakage
from dpviz.questions.answer import Answer, Metric, Note
from dpviz.questions.guessing import alone
from dpviz.questions.leakage.found import Found, p_value
from dpviz.questions.networks import Network, StandIn
from dpviz.training.events import NOT_COVERED

LEVEL = 0.05
MEASURED = (
    f"Measured on the training data itself and without noise: {NOT_COVERED}. Publishing these numbers would cost "
    "privacy of its own. A test that does not reject, and an attack that fails, are no proof that nothing leaks."
)


def headline(a: Answer[Found]) -> str:
    f = a.facts
    title = f"<b>{escape(f.network.title)}</b>"
    if f.problem:
        return f"{title} could not be measured."
    if f.attack is None:
        count = numbers.steps(f.network.examples)
        return f"Measuring {title}: gradients of <b>{count}</b> training and <b>{count}</b> test examples …"
    return f"{title}: {_distances(f.comparison)} {_attack(f.attack, f.network)}"


def _distances(both: Comparison | None) -> str:
    if both is None or math.isnan(both.welch_p):
        return "its gradients allow no test."
    means, spreads = escape(_sign(both.welch_p)), escape(_sign(both.levene_p))
    p = f"means <b>p {means}</b>, variances <b>p {spreads}</b>"
    if both.welch_p < LEVEL or both.levene_p < LEVEL:
        return f"gradient distances of train and test <b>differ</b> ({p})."
    return f"gradient distances of train and test <b>cannot be told apart</b> ({p})."


def _sign(p: float) -> str:
    said = p_value(p)
    return said if said.startswith("<") else f"= {said}"


def _attack(attack: Attack, network: Network) -> str:
    right = f"A guess by loss is right <b>{numbers.probability(attack.accuracy)}</b> of the time"
    bound, claim = network.claimed, network.claim
    if bound is None:
        return f"{right}; nothing bounds a better one{'' if claim is None else escape(f', for {claim.reason}')}."
    most = f"right more than <b>{numbers.probability(bound.success, up=True)}</b> of the time"
    said = f"ε ≤ {numbers.epsilon(bound.epsilon, up=True)}"
    if network.demonstration:
        return (
            f"{right}. <b>{DEMONSTRATION}</b>, so nothing bounds who does that; with secret noise no guess could be "
            f"{most} ({said})."
        )
    return f"{right}; no guess can be {most} ({said}{alone(claim)})."


def metrics(a: Answer[Found]) -> list[Metric]:
    f, bound, claim = a.facts, a.facts.network.claimed, a.facts.network.claim
    none = "too few finite gradients" if f.attack else "not measured" if f.problem else "measuring …"
    built = [Metric(name, "–", none) for name in ("Attack by loss", "Equal means?", "Equal variances?")]
    if f.attack is not None:
        interval = f"{numbers.probability(f.attack.low)} to {numbers.probability(f.attack.high)}"
        said = f"{round(100 * CONFIDENCE)} %: {interval}"
        built[0] = Metric("Attack by loss", numbers.probability(f.attack.accuracy), said)
    if (both := f.comparison) is not None:
        means = f"Welch: {numbers.plain(both.train_mean)} train, {numbers.plain(both.test_mean)} test"
        spreads = f"Levene: std {numbers.plain(both.train_std)}, {numbers.plain(both.test_std)}"
        built[1:] = [
            Metric("Equal means?", f"p {_sign(both.welch_p)}", means),
            Metric("Equal variances?", f"p {_sign(both.levene_p)}", spreads),
        ]
    if bound is None:
        return [*built, Metric("No bound", "100 %", "trained without noise" if claim is None else claim.reason)]
    said = f"{bound.name}, ε ≤ {numbers.epsilon(bound.epsilon, up=True)}{alone(claim)}"
    return [*built, Metric("Bound on every attack", numbers.probability(bound.success, up=True), said)]


def notes(a: Answer[Found]) -> list[Note]:
    f, claim = a.facts, a.facts.network.claim
    built = [Note(f.problem, "problem")] if f.problem else []
    if isinstance(f.network, StandIn):
        text = (
            "No run has ended here with its weights yet: a small network stands in, trained on the shipped digits "
            "without clipping or noise."
        )
        built.append(Note(text, "caution"))
    built.append(Note(MEASURED))
    if f.sample is not None and f.attack is not None:
        built += _about(f.sample, f.attack, f.network)
    if claim is not None and claim.shown.holds:
        built += [Note(f"Its bounds stand on condition that {text}.", "caution") for text in f.network.started]
    if claim is not None and (claim.covers != "plan" or not claim.holds):
        said = f"The claim ε ≤ {numbers.epsilon(claim.epsilon, up=True)} ({claim.name}): " if claim.holds else ""
        built.append(Note(f"{said}{claim.coverage}."))
    return built


def _about(sample: Leakage, attack: Attack, network: Network) -> list[Note]:
    built = []
    bound, threshold = network.claimed, attack.threshold
    if bound is not None and attack.low > bound.success:
        text = (
            f"The whole interval of the attack lies above the bound {numbers.probability(bound.success)}: by chance "
            "that happens once in 40 times, else the bound does not fit this run. Try another seed and more examples."
        )
        built.append(Note(text, "problem"))
    if sample.examples < network.examples:
        built.append(
            Note(f"There are no more test examples: {sample.examples} of each kind were looked at.", "caution")
        )
    if sample.left_out:
        built.append(Note(f"{sample.left_out} pairs have no distance: a gradient is not finite.", "caution"))
    rule = f"a loss ≤ {numbers.plain(threshold)} is called a member"
    text = (
        f"The attack: {rule if threshold > -math.inf else 'nobody is called a member'}. Half of the examples chose "
        f"this threshold ({numbers.probability(attack.chosen_accuracy)} right there); the accuracy is that of the "
        f"other {numbers.steps(attack.guesses)}, of which {numbers.probability(attack.hit_rate)} of members and "
        f"{numbers.probability(attack.false_alarm_rate)} of non-members are called members."
    )
    return [*built, Note(text)]


def formulas(a: Answer[Found]) -> list[tuple[str, str]]:
    built, both, attack, bound = [], a.facts.comparison, a.facts.attack, a.facts.network.claimed
    if both is not None:
        built += [
            (
                "Welch's t-test of equal means",
                r"t = \frac{\bar d_{\rm train} - \bar d_{\rm test}}{\sqrt{s_1^2/m_1 + s_2^2/m_2}} = "
                rf"{tex(both.welch_t)},\quad \nu = {tex(both.welch_df)},\quad p = {tex(both.welch_p)}",
            ),
            (
                "Levene's test of equal variances, deviations from the medians (Brown & Forsythe 1974)",
                r"W = (m-2)\,\frac{\sum_i m_i(\bar z_i - \bar z)^2}{\sum_i\sum_j (z_{ij} - \bar z_i)^2} = "
                rf"{tex(both.levene_w)},\quad z_{{ij}} = |d_{{ij}} - \tilde d_i|,\quad p = {tex(both.levene_p)}",
            ),
        ]
    if attack is not None:
        name = "Attack (Yeom et al. 2018), with the interval of Clopper & Pearson 1934"
        latex = (
            rf"\mathrm{{accuracy}} = \tfrac12({tex(attack.hit_rate)} + 1 - {tex(attack.false_alarm_rate)}) = "
            rf"\tfrac{{{attack.right}}}{{{attack.guesses}}} = {tex(attack.accuracy)} \in "
            rf"[{tex(attack.low)},\ {tex(attack.high)}]"
        )
        built.append((name, latex))
    if bound is not None:
        name = f"What ε and δ alone allow every guess at even odds, {bound.name}"
        pair, epsilon = (tex(rounded_up(value, 4)) for value in (bound.pair, bound.epsilon))
        latex = (
            r"P(A) \le \frac{e^{\varepsilon} + \delta}{1 + e^{\varepsilon}} = "
            rf"{pair} \quad (\varepsilon = {epsilon},\ \delta = {tex(bound.delta)})"
        )
        built.append((name, latex))
    return built


ASSUMPTIONS = """
- **Distances** are ‖g − g′‖ of the gradients of disjoint pairs of examples, not clipped, at the network that training
  left behind. Pairs are disjoint so that distances are independent, as both tests assume.
- **The tests** ask whether training examples look different from test examples. With few pairs they miss small
  differences, with many they find differences that help no attacker; not rejecting proves nothing.
- **Train and test must be alike.** Where the two sets were collected differently, tests and attack see that difference
  too, and call it leakage. An untrained network shows how much of it there is.
- **The attack** calls those members whose loss is low. Its threshold is chosen on one half of the examples and judged
  on the other. It is one simple attack: better ones exist, and a low accuracy says nothing about those.
- **Its interval** (Clopper–Pearson) is about this one network: how the guess would do on further examples.
- **The bounds** hold for every attack, on average over trainings: the run's claim, by the whole privacy curve of its
  plan where that is one mechanism, else by (e^ε + δ)/(1 + e^ε), which is what ε and δ alone allow when the question is
  whether one example was added. Here members are told from others, as if one example had been exchanged for another:
  strictly that is one removed and one added, 2ε. The table gives both; the chart shows the stricter one.
- **Bayesian DP** promises this for examples drawn like the data, not for every imaginable one.
- **Averages:** accuracy is an average over examples. A few may be found with certainty where most are not at all.
"""
