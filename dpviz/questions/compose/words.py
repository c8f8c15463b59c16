"""Words of the question how ε grows with steps."""

import math
from collections.abc import Iterator

from dpviz.accounting.bound import Bound
from dpviz.accounting.meanings import DELTA, DELTA_MU
from dpviz.accounting.methods import BAYESIAN, Tight
from dpviz.accounting.tuning import SCORE
from dpviz.fields import numbers
from dpviz.mechanisms import SampledGaussian
from dpviz.questions import LATER, Formula, Metric, Note, setting
from dpviz.questions.compose.distribution import LawCost
from dpviz.questions.compose.facts import LONGER, ComposeFacts
from dpviz.questions.compose.options import BayesianOptions
from dpviz.questions.compose.sample import Beside, Promise
from dpviz.questions.guessing import capital, limit
from dpviz.questions.kinds import T, assumed
from dpviz.questions.methods import NAMES, WITH_ORDERS, without
from dpviz.questions.tight_band import tight_figures


def headline(f: ComposeFacts) -> str:
    steps = f.mechanism.step + (f"s{f.mechanism.several}" if f.steps > 1 else "")
    grown = f"After <b>{setting(T[f.mechanism.step], numbers.steps(f.steps))}</b> {steps}"
    grown += ", no ε is proven" if math.isinf(f.epsilon) else f", <b>ε ≤ {numbers.up(f.epsilon)}</b>"
    if not f.numerical and f.tightest is not None:
        grown += f" ({NAMES[f.tightest]})"
    if f.possible and not set(f.curves).intersection(f.possible):
        grown = without_curves(f)
    elif (later := f.later_epsilon) is not None and math.isfinite(later):
        grown += f"; after {numbers.steps(LONGER * f.steps)}, ε ≤ {numbers.up(later)}"
    secret = f.mechanism.adjacency.secret
    guess = f.guess
    attack = f"How often a guess at {secret} can be right is {LATER}."
    if guess.bound is not None:
        attack = f"{capital(limit(f'guess at {secret}', guess.bound))}."
    weaker = f" Bayesian DP (weaker): ε_μ ≤ {numbers.up(f.promise)}." if f.law else ""
    return f"{grown}. {attack}{weaker}" + (f" {best_of_runs(f)}" if f.tried > 1 else "")


def without_curves(f: ComposeFacts) -> str:
    """That the chart is empty, and which curves there are."""
    why = "No curve that is switched on exists for this mechanism" if f.curves else "No curve is switched on"
    *others, last = (f"<b>{NAMES[key]}</b>" for key in f.possible)
    return f"{why}: switch on {', '.join(others)}{' or ' * bool(others)}{last} under Show"


def best_of_runs(f: ComposeFacts) -> str:
    cost = "costs ε ≤ …"
    if f.untuned:
        cost = "has no bound here"
    elif f.tuned is not None:
        cost = f"costs <b>ε ≤ {numbers.up(f.tuned)}</b>"
    mean = "" if f.runs_law == "fixed" else " (on average)"
    return f"This holds for one run; the best of {numbers.steps(f.tried)} runs{mean} {cost}."


def metrics(f: ComposeFacts) -> Iterator[Metric]:
    if f.tightest is not None:
        yield smallest_bound(f.bounds[f.tightest], f.tightest)
    if f.law:
        yield Metric("Bayesian ε", f"≤ {numbers.up(f.promise)}", "weaker: not for outliers")
    if f.bayesian:
        yield sample_bound(f.bayesian)
    if Tight.name in f.curves and Tight.name not in f.excluded:
        yield from tight_figures(f.tight)
    yield f.guess.figure


def smallest_bound(bound: Bound, accountant: str) -> Metric:
    order = "" if math.isnan(bound.order[-1]) else f", order α = {numbers.plain(bound.order[-1])}"
    return Metric("Best bound by formula", f"ε ≤ {numbers.up(bound.epsilon[-1])}", f"{NAMES[accountant]}{order}")


def sample_bound(promise: Promise) -> Metric:
    if promise.printed is not None:
        asymptotic = f"for data like the sample; asymptotic: ≈ {numbers.up(promise.printed.epsilon[-1])}"
        return Metric("Bayesian ε, certified", f"≤ {numbers.up(promise.last)}", asymptotic)
    effective = numbers.plain(promise.main.effective_size[-1])
    size = f"asymptotic; effectively {effective} of {numbers.steps(promise.size)} distances"
    return Metric("Bayesian ε, no bound", f"≈ {numbers.up(promise.last)}", size)


def notes(f: ComposeFacts) -> Iterator[Note]:
    yield from f.problem
    yield from extreme_notes(f)
    yield from tuning_notes(f)
    yield from curve_notes(f)
    if f.law:
        yield from distribution_notes(f, f.law)
    if f.bayesian:
        yield from sample_notes(f, f.bayesian)
    if f.tight and f.tight.reason:
        yield Note(f"PLD interval: {f.tight.reason}")
    if f.law and f.options.samples is not None:
        yield from sampled_distribution_notes(f, f.law)
    if f.bayesian:
        yield from last_order_note(f.options, f.bayesian)
        yield from tail_note(f, f.bayesian)


def extreme_notes(f: ComposeFacts) -> Iterator[Note]:
    """What the ends of the sliders mean."""
    if isinstance(f.mechanism, SampledGaussian) and f.mechanism.sample_rate == 1.0:
        yield Note("q = 1: every example is in every step, so sampling protects nobody. All protection is noise.")
    if f.steps == 1:
        yield Note("One step is one point. With more steps the chart shows how ε grows.")


def tuning_notes(f: ComposeFacts) -> Iterator[Note]:
    if f.untuned:
        yield Note(f"The best of several runs: {f.untuned}", "caution")
    elif f.tried > 1 and f.runs_law == "fixed":
        yield Note(
            "All curves and figures are those of one run. The ε of the best of several runs adds up what all of them "
            "cost, at the same δ: their number is fixed in advance, and the best follows from what they release. "
            f"{SCORE} If results decide during the search how many runs there are, no ε here covers them."
        )
    elif f.tried > 1:
        yield Note(
            "All curves and figures are those of one run. The ε of the best of several runs holds at the same δ under "
            f"four conditions. The number of runs is drawn at random ({f.runs_words}, mean {numbers.steps(f.tried)}), "
            "in advance and independently of the data, and kept secret. The settings of each run are drawn in the same "
            "way. Only the best run is released (Papernot & Steinke 2022; Koskela, Redberg, Wang 2024). "
            f"{SCORE} If the number of runs is fixed, choose “fixed”: their costs add up."
        )


def curve_notes(f: ComposeFacts) -> Iterator[Note]:
    """Why curves have no value, where their orders end, and which there are none of."""
    order = f.options.order
    for key in f.bounds:
        if reason := f.reason(key):
            yield Note(f"{NAMES[key]}: {reason}")
    for key, bound in f.bounds.items():
        if order is None and bound.at_grid_end[-1]:
            best = f"{NAMES[key]}: at T the best order is the"
            if bound.order[-1] > 2.5:
                largest = f"{best} largest one tried, α = {numbers.plain(bound.order[-1])}."
                floor = numbers.down(bound.floor[-1])
                yield Note(f"{largest} With these orders, ε cannot be less than {floor}, however much noise there is.")
            else:
                yield Note(f"{best} smallest one tried, α = {numbers.plain(bound.order[-1])}.")
    if order is not None and WITH_ORDERS & set(f.curves):
        yield Note(
            f"Every curve with orders is drawn at λ = {order} (α = {order + 1}). Another λ may give a smaller ε."
        )
    yield from map(Note, without(f.excluded))


def distribution_notes(f: ComposeFacts, law: LawCost) -> Iterator[Note]:
    """Whose steps are counted, whether the orders end too soon, and whether hardly anything is gained."""
    yield from another_person(f)
    if math.isinf(law.last):
        return
    if f.options.order is None and law.floor is not None:
        yield Note(
            "Bayesian DP: the best order is larger than those tried. With these orders, ε_μ cannot be less than "
            f"{numbers.down(law.floor)}."
        )
    elif f.hardly:
        yield Note(
            f"Bayesian DP is hardly better than DP here: {numbers.percent(1 - f.options.quantile)} of the gradients "
            "are clipped to C, where they cost as much as the worst case. A higher clipping quantile leaves fewer of "
            "them."
        )


def of_same(f: ComposeFacts) -> str:
    """Its ε_μ, where it is drawn: " (ε_μ ≤ 0.845)"."""
    return f" (ε_μ ≤ {numbers.up(f.same.last)})" if f.same else ""


def another_person(f: ComposeFacts) -> Iterator[Note]:
    """What an ε_μ is worth that counts another person in each step."""
    if f.options.reading == "another":
        yield Note(
            "The Bayesian curve counts another person in each step, so it protects nobody who takes part in all of "
            f"them. What Bayesian DP promises has the same person in every step{of_same(f)}: see “Bayesian curve”, an "
            "expert setting of Gradients.",
            "caution",
        )


def sample_notes(f: ComposeFacts, promise: Promise) -> Iterator[Note]:
    """What the bound or the estimate of a sample rests on."""
    yield from another_person(f)
    if math.isinf(promise.last):
        yield Note(
            "Bayesian DP: the cost of the largest distance overflows, so ε_μ is infinite here. Set “Clip” to “Both”."
        )
    if f.options.divergence == "printed":
        yield Note(
            "Bayesian DP uses ψ_R as printed in Theorem 3, an upper bound of first order in q. It is not needed: "
            "adding an example never costs more than ψ_L. The switch is “Cost ψ of a step”, under Gradients."
        )
    if not promise.independent:
        yield Note(
            "Bayesian DP: pairs share gradients, so the distances are not independent and γ does not hold. Only the "
            "estimate as printed is drawn. Disjoint pairs give a bound.",
            "caution",
        )
    elif f.options.clip != "both":
        infinite = " The true cost of this distribution is infinite." if f.beside and f.beside.infinite else ""
        yield Note(
            "Bayesian DP without clipping: there is no largest distance, so there is no bound, only the estimate as "
            f"printed.{infinite}",
            "caution",
        )
    if promise.main.certified and promise.main.tail_dominated[-1]:
        yield Note(
            f"Most of the certified bound of Bayesian DP ({numbers.percent(promise.main.largest_share[-1])}) covers "
            f"large distances that {numbers.steps(promise.size)} samples cannot rule out at γ = "
            f"{numbers.delta(f.options.failure)}. With the largest distance at every step, ε_μ would be "
            f"{numbers.up(promise.worst or 0.0)}.{more_samples(f.beside)}"
        )
    if f.too_low:
        first, estimate, truth, at_end = f.too_low
        below = f" (at T it is {numbers.up(estimate)}, the true cost at least {numbers.down(truth)})" if at_end else ""
        yield Note(
            f"The estimate as printed is not a bound: from t = {numbers.steps(first)} on it is below the true cost of "
            f"this distribution{below}.",
            "caution",
        )


def more_samples(beside: Beside | None) -> str:
    """How many samples would halve the certified bound; empty while it is not known, and where none are asked for."""
    if beside is None or math.isnan(beside.samples):
        return ""
    if math.isinf(beside.samples):
        return " No number of samples like these would halve the bound."
    return f" About {numbers.plain(beside.samples, digits=2)} samples would halve it."


def sampled_distribution_notes(f: ComposeFacts, law: LawCost) -> Iterator[Note]:
    """What a sample of the known distribution says, or why it cannot say anything."""
    options = f.options
    assert options.samples is not None
    if options.reading != "planned":
        yield Note(
            "A sample of norms can only be shown for planned steps: set “Bayesian curve” to “The same person: t is the "
            "plan”.",
            "caution",
        )
    elif options.failure >= options.delta_mu:
        yield Note(
            f"Nothing is left of δ_μ = {numbers.delta(options.delta_mu)}: the sample's failure probability γ = "
            f"{numbers.delta(options.failure)} uses it up. Choose a smaller γ.",
            "problem",
        )
    if f.sampled:
        certified, estimate = (float(ends[-1]) for ends in (f.sampled.cost.certified, f.sampled.cost.estimate))
        proven = f"ε_μ ≤ {numbers.up(certified)}" if math.isfinite(certified) else "nothing"
        yield Note(
            f"{numbers.steps(options.samples)} norms of this distribution prove {proven} (γ = "
            f"{numbers.delta(options.failure)}); the known distribution gives ε_μ ≤ {numbers.up(law.last)}. The "
            f"estimate as printed, {numbers.up(estimate)}, is not a bound and is about the strong form.",
            "caution",
        )


def last_order_note(options: BayesianOptions, promise: Promise) -> Iterator[Note]:
    if options.order is None and promise.floor_binds:
        order, floor = promise.main.order[-1] - 1, promise.main.floor[-1]
        yield Note(
            f"Bayesian DP: at T the best order is the largest one tried, λ = {order:.0f}. With these orders, ε_μ "
            f"cannot be less than {numbers.down(floor)}."
        )


def tail_note(f: ComposeFacts, promise: Promise) -> Iterator[Note]:
    """That a single distance makes up most of the estimate, and what helps."""
    estimate, place = promise.estimate, promise.dominated
    if estimate is None or place is None:
        return
    share, unclipped = float(estimate.largest_share[-1]), f.options.clip == "dp"
    text = (
        f"From t = {numbers.steps(f.grid[place])} on, a single distance makes up more than half of the Bayesian "
        "estimate (dotted curve)."
    )
    if math.isfinite(share):
        text += (
            f" At T its share is {100 * share:.0f} %. The estimate then has the precision of a sample of "
            f"{numbers.plain(estimate.effective_size[-1])} distances, not of {numbers.steps(promise.size)}."
        )
    if unclipped:
        text += " Without clipping, a heavy tail may have an infinite true cost: with more samples the curve would keep"
        text += " rising."
    clip = "set “Clip” to “Both”, " if unclipped else ""
    yield Note(f"{text} Do not trust the dotted part: {clip}add noise, or draw more samples.", "caution")


def formulas(f: ComposeFacts) -> Iterator[Formula]:
    yield Formula(f"one step: {f.mechanism.text}", f.mechanism.latex)
    for key, bound in f.bounds.items():
        if math.isfinite(bound.epsilon[-1]):
            yield Formula(NAMES[key], f.accountants[key].latex(f.mechanism, f.steps, f.delta))
    if f.accuracy:
        yield Formula(
            "best attack accuracy, from the whole privacy curve",
            rf"\text{{right guesses}} \le \tfrac12(1+\delta(0)) = {numbers.tex_up(f.accuracy.upper)}",
        )
    if f.law and math.isfinite(f.law.last):
        yield Formula(NAMES[BAYESIAN], distribution_latex(f.options, f.law))
    if f.bayesian and not math.isinf(f.bayesian.last):
        key = BAYESIAN if f.bayesian.main.certified else "bayesian_printed"
        yield Formula(NAMES[key], sample_latex(f.options, f.bayesian))


def distribution_latex(options: BayesianOptions, law: LawCost) -> str:
    """ε_μ of a known distribution; its value alone where no order decided."""
    alpha, value = float(law.bound.order[-1]), numbers.tex_up(law.last)
    if math.isnan(alpha):
        return rf"\varepsilon_\mu = {value}"
    improved = r" + \ln\tfrac{\alpha-1}{\alpha} - \tfrac{\ln\alpha}{\alpha-1}" if options.definition == "2" else ""
    return (
        r"\varepsilon_\mu = \frac{1}{\alpha-1}\ln\mathrm E_d\!\left[A(\alpha, d)^T\right]"
        rf" - \frac{{\ln\delta_\mu}}{{\alpha-1}}{improved} = {value},"
        rf"\quad \alpha = {numbers.tex(alpha)},\ \delta_\mu = {numbers.tex(options.delta_mu)}"
    )


def sample_latex(options: BayesianOptions, promise: Promise) -> str:
    order, slack = float(promise.main.order[-1]) - 1, -math.log(options.delta_mu - options.failure)
    return (
        r"\varepsilon_\mu = \frac1\lambda\left(T\,\hat c(\lambda, T) - \ln(\delta_\mu-\gamma)\right) ="
        rf" \frac{{1}}{{{order:.0f}}}\left({numbers.tex(order * promise.last - slack)} + {numbers.tex(slack)}\right)"
        rf" = {numbers.tex_up(promise.last)}"
    )


BAYESIAN_ASSUMPTIONS = f"""
- **Bayesian DP** is a weaker guarantee. It holds for examples drawn from the same distribution, on average over them;
  only the DP curves cover outliers. **δ_μ:** {DELTA_MU} For a sample, *certified* (solid) is a bound that
  fails with probability at most γ. It holds at every sample size and for every distribution. It assumes independent
  draws, a C that is fixed in advance, and clipping that keeps distances below d_max. *Asymptotic, as printed* (dashed)
  is the authors' estimate, Eq. 14, which reaches the failure probability γ only as the sample grows. For pairs of
  gradients the distance is ‖g − g′‖, at most 2C, and the noise is σ × 2C; for norms it is the norm, at most C, and the
  noise is σ × C. DP and Bayesian DP get the same noise.
- **A known distribution** of norms needs no sample and no γ: its cost is an integral, computed as a sum that bounds it
  from above. An example may have a different norm at every step. The band beside the curve is the PLD
  value if an example's gradient norm keeps the same quantile in all steps.
- **Strong form and guarantee:** the strong form bounds a tail, P(loss ≥ ε_μ) ≤ δ_μ (Triastcyn & Faltings 2020,
  Definition 1), with the conversion of the moments accountant; samples are accounted in this form. It implies the
  guarantee (Definition 2, Proposition 1), which bounds the probability of every set of outputs as (ε, δ)-DP does. The
  guarantee uses the improved Rényi conversion. The guarantee is preserved under post-processing (Proposition 2). The
  strong form need not be: merging outputs can raise the privacy loss.
- **Pairs** are what the authors of Bayesian DP measure. With sampled batches, the distance of two examples does not
  bound the cost of adding one: equal gradients have distance 0. It does not always bound the cost of replacing one
  either. Norms bound the cost of adding or removing one."""


def assumptions(f: ComposeFacts) -> str:
    return f"""{assumed(f.mechanism)}
- **δ:** {DELTA}
- **The attacker** knows everything except {f.mechanism.adjacency.secret}; before the results, both answers are
  equally likely. How often the best attack is right follows from the whole privacy curve: (1 + δ(0))/2, where δ(0),
  the δ at ε = 0, comes from the PLD accountant.
- **One pair (ε, δ)** is one point of that curve. From (ε, δ) alone follows only (exp(ε) + δ)/(1 + exp(ε)).
  **P(A)**, which the pointer tells, is what follows from ε alone: 1/(1 + exp(−ε)) (Triastcyn & Faltings 2020,
  Eq. 1).{"" if BAYESIAN in f.excluded else BAYESIAN_ASSUMPTIONS}"""
