"""The cost of one run to each person, by the norm of their gradients, beside what DP and Bayesian DP promise."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Annotated

import numpy as np

from dpviz._arrays import Array
from dpviz.accounting.methods import BAYESIAN, Renyi
from dpviz.charts import Axis, Guide, Line, LinePlot, Ring, look
from dpviz.fields import numbers
from dpviz.gradients.clipped_law import threshold_over_median
from dpviz.gradients.families import law
from dpviz.mechanisms import SampledGaussian
from dpviz.questions import DELTA, RATE, SIGMA, STEPS, Answer, Formula, Metric, Note, Question, Words, cards, units
from dpviz.questions.compose import clipping
from dpviz.questions.compose.distances import TOWN
from dpviz.questions.compose.distribution import law_cost
from dpviz.questions.gradient_fields import FAMILY, SHAPE
from dpviz.questions.gradients import Law
from dpviz.questions.layout import FieldControl, Layout, Reader, experts
from dpviz.questions.mechanism import PUBLIC_SIZE
from dpviz.questions.methods import NAMES, epsilon_axis
from dpviz.questions.shared import DELTA_MU, LOG_Y

PLACES = 64  # norms along the curve
QUIETEST = 1e9  # the largest σ ÷ norm that is computed: who is hidden better is charged as much
# People, by the share of people whose gradients are shorter.
MEDIAN, TENTH, OUTLIER = 0.5, 0.9, 0.9999
WHO: Mapping[float, str] = {MEDIAN: "median", TENTH: "1 in 10", OUTLIER: "outlier"}


@dataclass(frozen=True, eq=False)
class PeopleFacts:
    """What one run costs whom.

    Attributes:
        mechanism, steps, delta, delta_mu: the run, and the promises' δ and δ_μ.
        law, quantile: of the norms, and where they are clipped.
        over_median: C ÷ the median norm.
        epsilon: what DP promises everybody, by the Rényi accountant.
        promise: ε_μ of Bayesian DP.
        own: share of people with shorter gradients → ε of such a person.
        above: the share of people whose own ε is more than `promise`.
    """

    mechanism: SampledGaussian
    steps: int
    delta: float
    delta_mu: float
    law: Law
    quantile: float
    over_median: float
    epsilon: float
    promise: float
    own: Mapping[float, float]
    above: float


def people(
    *,
    noise_multiplier: Annotated[float, SIGMA],
    sample_rate: Annotated[float, RATE],
    steps: Annotated[int, STEPS],
    delta: Annotated[float, DELTA],
    quantile: Annotated[float, clipping.QUANTILE],
    family: Annotated[str, FAMILY],
    shape: Annotated[float, SHAPE],
    delta_mu: Annotated[float | None, DELTA_MU],
    log_epsilon: Annotated[bool, LOG_Y],
) -> Answer[PeopleFacts]:
    """ε of a person against the norm of that person's gradients, which is the same in every step."""
    if quantile in (0.0, 1.0):
        raise ValueError(
            f"The norms of a known distribution have no quantile {quantile:.0f} to clip at: choose a clipping quantile "
            "between 0 and 1."
        )
    mechanism, kept = SampledGaussian(noise_multiplier, sample_rate), delta if delta_mu is None else delta_mu
    distribution = Law(family, 1.0 if family == "halfnormal" else shape)
    cost = law_cost(
        distribution,
        quantile,
        (float(steps),),
        None,
        noise_multiplier=noise_multiplier,
        sample_rate=sample_rate,
        delta_mu=kept,
        definition=2,
        reading="planned",
    )
    threshold = threshold_over_median(distribution.family, distribution.shape, quantile)
    norms, low, high = law(distribution.family, distribution.shape, 1.0), 0.1, 2.0
    median = float(norms.median())
    shown = {share: float(norms.ppf(share)) / median for share in WHO}
    x = np.geomspace(min(low, threshold / high), max(high * threshold, high * shown[OUTLIER]), PLACES)
    x = np.union1d(x, [1.0, threshold, *shown.values()])
    epsilon = own_epsilon(mechanism, x / threshold, steps, delta)
    most = float(epsilon[-1])
    facts = PeopleFacts(
        mechanism=mechanism,
        steps=steps,
        delta=delta,
        delta_mu=kept,
        law=distribution,
        quantile=quantile,
        over_median=threshold,
        epsilon=most,
        promise=cost.last,
        own={share: float(epsilon[np.searchsorted(x, norm)]) for share, norm in shown.items()},
        above=float(norms.sf(median * _reaching(cost.last, x, epsilon))),
    )
    plot = LinePlot(
        x=Axis(
            "gradient norm ÷ median norm",
            name="norm ÷ median",
            column="norm",
            log=True,
            shown=(float(x[0]), float(x[-1])),
            hover="%{x:,.3~r} × the median norm",
            write=partial(numbers.plain, digits=4),
        ),
        y=epsilon_axis(log=log_epsilon),
        lines=tuple(lines(facts, x, epsilon)),
        rings=tuple(rings(facts, shown)),
        guides=(Guide("x", threshold, "C"),),
        summary=f"{_share(facts.above)} of the people have an ε of their own above what Bayesian DP promises.",
    )
    return Answer(plot, facts)


def own_epsilon(mechanism: SampledGaussian, share: Array, steps: int, delta: float) -> Array:
    """ε of people whose gradients have these norms ÷ C in every step: noise σC hides a norm r as σC/r hides 1."""
    clipped = np.minimum(share, 1.0)
    sigma = np.minimum(mechanism.noise_multiplier / clipped, max(QUIETEST, mechanism.noise_multiplier))
    rates, delta_of = mechanism.sample_rate, np.full(share.shape, delta)
    bound = Renyi().evaluate(noise_multiplier=sigma, sample_rate=rates, steps=steps, delta=delta_of)
    # What was searched for each norm alone may differ by some rounding: longer gradients never cost less.
    return np.asarray(np.maximum.accumulate(bound.epsilon))


def _reaching(epsilon: float, x: Array, own: Array) -> float:
    """The longest norm whose own ε is at most this; inf where all are."""
    if not own[-1] > epsilon:
        return math.inf
    first = int(np.argmax(own > epsilon))
    if first == 0 or not own[first - 1] > 0.0 < epsilon:
        return float(x[first - 1]) if first else 0.0
    return float(
        np.exp(np.interp(np.log(epsilon), np.log(own[first - 1 : first + 1]), np.log(x[first - 1 : first + 1])))
    )


def lines(f: PeopleFacts, x: Array, own: Array) -> Iterator[Line]:
    """The promises and, over them, what people have of their own."""
    dp, weaker = np.full(x.shape, f.epsilon), np.full(x.shape, f.promise)
    yield Line("dp", "DP, everybody", x, dp, Renyi().family, kept=False)
    yield Line(BAYESIAN, NAMES[BAYESIAN], x, weaker, BAYESIAN, kept=False)
    yield Line("own", "own ε", x, own, look.SOLID, color=look.BLUE)


def rings(f: PeopleFacts, norms: Mapping[float, float]) -> Iterator[Ring]:
    """Some people."""
    for share, norm in norms.items():
        text = f"own ε ≤ {numbers.up(f.own[share])} at {numbers.plain(norm)} × the median norm"
        yield Ring(norm, f.own[share], text, look.BLUE, name=f"{WHO[share]}: {numbers.up(f.own[share])}")


def headline(f: PeopleFacts) -> str:
    return (
        f"This run costs the person with the median norm <b>ε ≤ {numbers.up(f.own[MEDIAN])}</b> and an outlier "
        f"<b>ε ≤ {numbers.up(f.own[OUTLIER])}</b>; DP promises everybody ε ≤ {numbers.up(f.epsilon)}. Bayesian DP "
        f"(weaker) promises ε_μ ≤ {numbers.up(f.promise)}; for <b>{_share(f.above)}</b> of the people, their own ε is "
        "higher."
    )


def _share(share: float) -> str:
    """A share of people, never 0 % of some."""
    return "none" if share == 0.0 else numbers.percent(numbers.rounded_up(share, 2), digits=2)


def metrics(f: PeopleFacts) -> Iterator[Metric]:
    yield Metric("ε of the median person", f"≤ {numbers.up(f.own[MEDIAN])}", "half of the norms are shorter")
    yield Metric("ε of one in ten", f"≤ {numbers.up(f.own[TENTH])}", "90 % of the norms are shorter")
    yield Metric("ε of an outlier", f"≤ {numbers.up(f.own[OUTLIER])}", "one norm in 10 000 is longer")
    yield Metric("Bayesian ε", f"≤ {numbers.up(f.promise)}", f"{_share(f.above)} of the people have more")


def notes(f: PeopleFacts) -> Iterator[Note]:
    yield Note(
        "Own ε depends on a person's secret gradients, so it explains and guarantees nothing. The two straight lines "
        "are guarantees: DP for everybody, Bayesian DP on average over people of this distribution.",
        "caution",
    )
    yield Note(
        "Clipping limits every norm to C, so people with longer gradients all have the ε of DP, and nobody has more."
    )
    if f.promise > 0.95 * f.epsilon:
        yield Note("Bayesian DP is hardly better than DP here: a higher clipping quantile leaves fewer people at C.")


def formulas(f: PeopleFacts) -> Iterator[Formula]:
    yield Formula(
        "own ε of a person whose gradients have the norm r",
        r"\varepsilon(r) = \min_\alpha\ T\,R_\alpha\!\left(\frac{\sigma C}{\min(r, C)},\,q\right)"
        r" + \ln\tfrac{\alpha-1}{\alpha} - \tfrac{\ln\delta + \ln\alpha}{\alpha-1},\quad"
        rf" \varepsilon(r_{{1/2}}) = {numbers.tex_up(f.own[MEDIAN])},\ \varepsilon(C) = {numbers.tex_up(f.epsilon)}",
    )


ASSUMPTIONS = f"""
- **Own ε:** the person's gradients have the same norm in every step. The attacker knows everything, that norm included,
  except whether this person took part. It comes from the Rényi accountant with the improved conversion, at δ.
- **DP** covers everybody, also people whose gradients nobody foresaw: its ε is that of norm C in every step.
- **Bayesian DP** covers people drawn from this distribution, on average over them, at δ_μ (Triastcyn & Faltings 2020,
  Definition 2). It is no bound on the own ε of any one person.
- **The distribution** of the norms is known, and C is one of its quantiles, fixed in advance.
- Adding or removing one person, who has one example; Poisson sampling; Gaussian noise of standard deviation σC on the
  sum.
{PUBLIC_SIZE}"""


def layout(get: Reader) -> Layout:
    """The run, then the people."""
    *first, delta = units.controls(get)
    shape = () if get(FAMILY) == "halfnormal" else (SHAPE,)
    people = clipping.control(get, Law(get(FAMILY), get(SHAPE))), *shape, *experts(FAMILY), FieldControl((DELTA_MU,))
    return {"Mechanism": (*first, *people, delta), "Show": (LOG_Y,)}


PEOPLE = Question(
    "people",
    "Who pays how much?",
    people,
    Words(headline, metrics, notes, formulas, ASSUMPTIONS),
    asks="own",
    layout=layout,
    more={"Accountants": lambda _: cards((Renyi().family, BAYESIAN))},
    below=lambda _: (TOWN,),
)
