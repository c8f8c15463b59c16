"""Words of both questions about a trained network: headline, four numbers, cautions, formulas, assumptions."""

from collections.abc import Callable, Iterator
from html import escape

from dpviz.fields import numbers
from dpviz.gradients.leakage import CONFIDENCE, Attack
from dpviz.questions import Formula, Metric, Note, Words
from dpviz.questions.leakage.facts import LeakageFacts, attack_interval
from dpviz.questions.networks import Limit, Network
from dpviz.training.covered import NOT_COVERED

ASSUMPTIONS = """
- **Distances** are ‖g − g′‖ of the unclipped gradients of disjoint pairs of examples, at the network after training.
  Pairs are disjoint so that distances are independent, as both tests assume.
- **The tests** ask whether training examples look different from test examples. With few pairs they miss small
  differences; with many they detect differences too small to attack. A test that does not reject proves nothing.
- **Train and test must be alike.** If the two sets were collected differently, the tests and the attack also
  detect that difference, which then looks like leakage. An untrained network shows how large it is.
- **The attack** calls examples with a low loss members. Its threshold is chosen on one half of the examples and tested
  on the other. It is one simple attack. Better attacks exist, and a low accuracy of this one does not bound theirs.
- **Its interval** (Clopper–Pearson) is about this one network: how often the guess would be right on further examples.
- **The bounds** hold for every attack that tells members from others, on average over trainings. For such an attack,
  one example was exchanged for another: one was removed and one added. So the bound is the smaller of two: that of a
  group of two, with 2ε and δ(1 + exp(ε)); and ½ plus twice what an added example allows beyond ½. What an added example
  allows comes from the whole privacy curve of the run's plan if that is one mechanism, otherwise from
  (exp(ε) + δ)/(1 + exp(ε)). It stands in the table too.
- **Bayesian DP** guarantees this for examples drawn like the data, not for every possible one.
- **Averages:** accuracy is an average over examples. A few may be found with certainty although most are not.
"""


def leakage_words(result: Callable[[LeakageFacts, Attack], str]) -> Words[LeakageFacts]:
    """The words of a question whose headline says this `result` of a network that was measured."""

    def headline(f: LeakageFacts) -> str:
        title = f"<b>{escape(f.network.title)}</b>"
        if f.problem:
            return f"{title} could not be measured."
        if f.attack is None:
            examples = f"<b>{numbers.steps(f.network.examples)}</b>"
            return f"Measuring {title}: gradients of {examples} training and {examples} test examples …"
        return f"{title}: {result(f, f.attack)}"

    return Words(headline, metrics, notes, formulas, ASSUMPTIONS)


def metrics(f: LeakageFacts) -> Iterator[Metric]:
    if f.attack is None:
        yield Metric("Attack by loss", "–", f.unmeasured)
    else:
        interval = f"{round(100 * CONFIDENCE)} %: {attack_interval(f.attack)}"
        yield Metric("Attack by loss", numbers.probability(f.attack.accuracy), interval)
    if f.comparison is None:
        yield Metric("Equal mean distances?", "–", f.unmeasured)
        yield Metric("Equal variances?", "–", f.unmeasured)
    else:
        both = f.comparison
        means = f"Welch: {numbers.plain(both.train_mean)} train, {numbers.plain(both.test_mean)} test"
        spreads = f"Levene: std {numbers.plain(both.train_std)}, {numbers.plain(both.test_std)}"
        yield Metric("Equal mean distances?", f"p {numbers.p_equals(both.welch_p)}", means)
        yield Metric("Equal variances?", f"p {numbers.p_equals(both.levene_p)}", spreads)
    yield bound_metric(f.network)


def bound_metric(network: Network) -> Metric:
    """What the claim allows every attack, or why there is none."""
    if (bound := network.claimed) is None:
        return Metric("No bound", "100 %", "trained without noise" if network.claim is None else network.claim.reason)
    exchanged = f"one example exchanged, {numbers.chance_up(bound.added)} if added"
    promise = f"{bound.name}, ε ≤ {numbers.up(bound.epsilon)}; {exchanged}"
    return Metric("Bound on every attack", numbers.chance_up(bound.success), promise)


def notes(f: LeakageFacts) -> Iterator[Note]:
    if f.problem:
        yield Note(f.problem, "problem")
    if f.stands_in:
        yield Note(
            "There is no run with weights yet. This small network was trained on the included digits without noise, "
            f"so it is {NOT_COVERED}.",
            "caution",
        )
    yield Note(
        f"These numbers are measured on the training data without noise, so they are {NOT_COVERED}: publishing them "
        "costs additional privacy.",
        "note" if f.stands_in else "caution",  # its digits are public
    )
    nothing_found = f.attack is not None and not f.told_apart
    yield Note(
        "A test that does not reject and an attack that fails do not prove that nothing leaks.",
        "caution" if nothing_found else "note",
    )
    yield from measurement_notes(f)
    yield from claim_notes(f.network)


def measurement_notes(f: LeakageFacts) -> Iterator[Note]:
    """An attack above its bound, examples and pairs that were missing, and how the attack guesses."""
    bound = f.network.claimed
    if f.attack is not None and bound is not None and f.attack.low > bound.success:
        yield Note(
            f"The whole interval of the attack is above the bound {numbers.chance_up(bound.success)}. By chance this "
            "happens 1 in 40 times; otherwise the bound does not fit this run. Try another seed and more examples.",
            "problem",
        )
    if f.sample is not None and f.sample.examples < f.network.examples:
        there = f.sample.examples
        yield Note(f"There are only {there} test examples, so {there} of each kind were used.", "caution")
    if f.sample is not None and f.sample.excluded_pairs:
        yield Note(f"{f.sample.excluded_pairs} pairs have no distance because a gradient is not finite.", "caution")
    if f.attack is not None:
        yield Note(how_it_guesses(f.attack))


def how_it_guesses(attack: Attack) -> str:
    """The threshold, how it was chosen, and what it finds among the other examples."""
    called = f"a loss ≤ {numbers.plain(attack.threshold)} is called a member"
    if attack.threshold < -1e308:
        called = "nobody is called a member"
    return (
        f"The attack: {called}. The threshold was chosen on half of the examples (accuracy there: "
        f"{numbers.probability(attack.chosen_accuracy)}). The accuracy shown is that of the other "
        f"{numbers.steps(attack.guesses)}: {numbers.probability(attack.hit_rate)} of their members and "
        f"{numbers.probability(attack.false_alarm_rate)} of their non-members are called members."
    )


def claim_notes(network: Network) -> Iterator[Note]:
    """Under which conditions the run's claim holds, and what it covers where that is not a whole plan."""
    claim = network.claim
    if claim is None:
        return
    if claim.shown.holds:
        for condition in network.started:
            yield Note(f"The bounds hold on condition that {condition}.", "caution")
    if not claim.holds:
        yield Note(f"{claim.coverage}.", "caution")
    elif claim.covers != "plan":
        yield Note(f"The claim ε ≤ {numbers.up(claim.epsilon)} ({claim.name}): {claim.coverage}.", "caution")


def formulas(f: LeakageFacts) -> Iterator[Formula]:
    if f.comparison is not None:
        both = f.comparison
        yield Formula(
            "Welch's t-test of equal means",
            r"t = \frac{\bar d_{\rm train} - \bar d_{\rm test}}{\sqrt{s_1^2/m_1 + s_2^2/m_2}} ="
            rf" {numbers.tex(both.welch_t)},\quad \nu = {numbers.tex(both.welch_df)},\quad"
            rf" p = {numbers.tex(both.welch_p)}",
        )
        yield Formula(
            "Levene's test of equal variances, deviations from the medians (Brown & Forsythe 1974)",
            r"W = (m-2)\,\frac{\sum_i m_i(\bar z_i - \bar z)^2}{\sum_i\sum_j (z_{ij} - \bar z_i)^2} ="
            rf" {numbers.tex(both.levene_w)},\quad z_{{ij}} = |d_{{ij}} - \tilde d_i|,\quad"
            rf" p = {numbers.tex(both.levene_p)}",
        )
    if f.attack is not None:
        hits, alarms = numbers.tex(f.attack.hit_rate), numbers.tex(f.attack.false_alarm_rate)
        yield Formula(
            "Attack (Yeom et al. 2018), with the interval of Clopper & Pearson 1934",
            rf"\mathrm{{accuracy}} = \tfrac12({hits} + 1 - {alarms}) ="
            rf" \tfrac{{ {f.attack.right} }}{{ {f.attack.guesses} }} = {numbers.tex(f.attack.accuracy)} \in"
            rf" [{numbers.tex(f.attack.low)},\ {numbers.tex(f.attack.high)}]",
        )
    if f.network.claimed is not None:
        yield from bound_formulas(f.network.claimed)


def bound_formulas(bound: Limit) -> Iterator[Formula]:
    """What the claim allows where one example is added, and where one is exchanged."""
    yield Formula(
        f"Bound on every guess whether one example was added, from ε and δ alone, {bound.name}",
        rf"P(A) \le \frac{{e^{{\varepsilon}} + \delta}}{{1 + e^{{\varepsilon}}}} = {numbers.tex_up(bound.pair)} \quad"
        rf" (\varepsilon = {numbers.tex_up(bound.epsilon)},\ \delta = {numbers.tex(bound.delta)})",
    )
    yield Formula(
        "Bound on every guess that tells members from others: one example exchanged; a, that of one example added",
        r"\min\left\{\frac{e^{2\varepsilon} + \delta(1 + e^{\varepsilon})}{1 + e^{2\varepsilon}},"
        rf"\ 2a - \tfrac12\right\}} = {numbers.tex_up(bound.success)},\quad a = {numbers.tex_up(bound.added)}",
    )
