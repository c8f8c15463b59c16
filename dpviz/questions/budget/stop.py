"""ε against steps by accounts that allow any stop, beside those that must be planned: may I stop at any time?"""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np

from dpviz._arrays import Array
from dpviz.accounting.accountant import Accountant, needs_sampled_gaussian
from dpviz.accounting.adaptive.filter import CARD as FILTER_CARD
from dpviz.accounting.adaptive.filter import NAME as FILTER
from dpviz.accounting.bound import Bound
from dpviz.accounting.methods import MixtureOdometer, OdometerAccountant, Renyi, Tight
from dpviz.charts import Column, Line, LinePlot, Region
from dpviz.fields import numbers, several
from dpviz.fields.parameters import PARAMETERS
from dpviz.mechanisms import Event, Mechanism, SampledGaussian
from dpviz.questions import Answer, Block, Formula, Metric, Note, Question, Words, kinds, published, setting
from dpviz.questions.budget import shared
from dpviz.questions.budget.pairs import PairAccounts, pair_accounts
from dpviz.questions.budget.shared import ACCOUNTS, ASSUMPTIONS, MIXTURE, ODOMETER
from dpviz.questions.layout import FieldControl, Layout, Reader, experts
from dpviz.questions.mechanism import DELTA, SIZE, STEPS, shown_delta, shown_steps
from dpviz.questions.methods import epsilon_axis, step_grid, steps_axis
from dpviz.questions.shared import LOG_X, LOG_Y
from dpviz.questions.tight_band import TightBand, tight_figures, tight_part
from dpviz.questions.use import card_from

NAMES = {
    ODOMETER: OdometerAccountant().label,
    MIXTURE: MixtureOdometer().label,
    "other": "Lécuyer odometer, other sizes",
    "planned": "T fixed in advance",
    FILTER: FILTER_CARD.name,
    "rogers": "Rogers odometer",
}
CURVES = several("bcurves", default=(ODOMETER, MIXTURE, "planned", FILTER, "rogers", Tight.name))
FAMILIES = {"other": "odometer_other", "planned": Renyi("classic").family}
OTHER = {"paper": "authors", "authors": "paper", "powers": "paper"}


class FinalReading(NamedTuple):
    """ε after the last step, and the name of the odometer that reads it."""

    epsilon: float
    name: str


@dataclass(frozen=True)
class FilterOrders:
    """The orders of a filter beside one that is fixed in advance.

    Attributes:
        count: how many the filter has.
        fixed: α, the one at which the budget allows the most of these steps.
        allowed: steps that a filter at α lets pass; inf where they cost nothing.
    """

    count: int
    fixed: float
    allowed: float


@dataclass(frozen=True, eq=False)
class StopFacts:
    """Accounts along the chart's steps, and what they say.

    Attributes:
        epsilon: after the last step, by the odometer that says less.
        odometer, mixture, planned: ε at every step of the chart.
        allowed: steps that the filter lets pass; inf where they cost nothing.
        orders: those of the filter, and what one order fixed in advance allows.
        pairs: None where it is not worked out.
        excluded: why it is not; empty where it is.
        tight: the tight interval of planned steps, once it is there.
    """

    epsilon: float
    odometer: Bound
    mixture: Bound
    planned: Bound
    allowed: float
    orders: FilterOrders
    pairs: PairAccounts | None
    excluded: str
    mechanism: Mechanism
    steps: int
    delta: float
    target_epsilon: float
    variant: str
    conversion: str
    filter_orders: str
    curves: tuple[str, ...]
    tight: TightBand | None = None

    @property
    def anytime(self) -> tuple[FinalReading, FinalReading]:
        """Both odometers, the smaller ε first: the settings alone decide which one that is.

        So it can be chosen before the first step. Along a run, the smaller reading of each moment would cost both δ.
        """
        odometers = ((self.mixture, NAMES[MIXTURE]), (self.odometer, NAMES[ODOMETER]))
        smaller, other = sorted(FinalReading(float(bound.epsilon[-1]), name) for bound, name in odometers)
        return smaller, other

    @property
    def planned_epsilon(self) -> float:
        """ε after the last step where T is fixed in advance."""
        return float(self.planned.epsilon[-1])

    @property
    def events(self) -> list[Event]:
        """The steps."""
        return [(self.mechanism, self.steps)]


def stop(
    *,
    mechanism: Annotated[Mechanism, kinds.MECHANISM],
    steps: Annotated[int, STEPS],
    delta: Annotated[float, DELTA],
    size: Annotated[int, SIZE],
    target_epsilon: Annotated[float, shared.TARGET],
    variant: Annotated[str, shared.VARIANT],
    conversion: Annotated[str, shared.CONVERSION],
    filter_orders: Annotated[str, shared.ORDERS],
    curves: Annotated[tuple[str, ...], CURVES],
    log_x: Annotated[bool, LOG_X],
    log_y: Annotated[bool, LOG_Y],
) -> Answer[StopFacts]:
    """ε against steps by every account that is asked for.

    Raises:
        ValueError: the odometer knows no such mechanism; says why.
    """
    x = step_grid(steps, log_x)
    accountants: dict[str, Accountant] = {
        ODOMETER: OdometerAccountant(variant),
        MIXTURE: MixtureOdometer(),
        "planned": Renyi(conversion),
    }
    if "other" in curves:
        accountants["other"] = OdometerAccountant(OTHER[variant])
    bounds = {key: one.epsilon_of(mechanism, steps=x, delta=delta) for key, one in accountants.items()}
    budget, fixed = (
        shared.filter_of(mechanism, orders, target_epsilon=target_epsilon, delta=delta, conversion=conversion)
        for orders in (filter_orders, "one")
    )
    allowed, pairs = budget.remaining_steps(mechanism), None
    if isinstance(mechanism, SampledGaussian):
        pairs = pair_accounts(mechanism, x, steps, delta=delta, size=max(size, 2), target_epsilon=target_epsilon)
    values = {key: bound.epsilon for key, bound in bounds.items()}
    if allowed:
        values[FILTER] = np.where(x <= allowed, target_epsilon, np.nan)
    if pairs:
        values["rogers"] = pairs.rogers
    refused = allowed < steps and FILTER in curves
    plot = LinePlot(
        x=steps_axis(log=log_x, marked=steps),
        y=epsilon_axis(log=log_y, shown=None if log_y else without_rogers),
        lines=curve_lines(x, values, {key: bound.order for key, bound in bounds.items()}, curves),
        regions=(Region(max(allowed, 1.0), math.inf, "beyond the filter's budget"),) if refused else (),
    )
    facts = StopFacts(
        epsilon=min(float(bounds[key].epsilon[-1]) for key in (ODOMETER, MIXTURE)),
        odometer=bounds[ODOMETER],
        mixture=bounds[MIXTURE],
        planned=bounds["planned"],
        allowed=allowed,
        orders=FilterOrders(
            budget.accountant.orders.size, float(fixed.accountant.orders[0]), fixed.remaining_steps(mechanism)
        ),
        pairs=pairs,
        excluded=needs_sampled_gaussian(mechanism),
        mechanism=mechanism,
        steps=steps,
        delta=delta,
        target_epsilon=target_epsilon,
        variant=variant,
        conversion=conversion,
        filter_orders=filter_orders,
        curves=curves,
    )
    return Answer(plot, facts)


def curve_lines(
    x: Array, values: Mapping[str, Array], orders: Mapping[str, Array], curves: Collection[str]
) -> tuple[Line, ...]:
    """The curves that are asked for, with the orders that decide where there are such; all by key, shape (n,)."""
    return tuple(
        Line(
            key,
            name,
            x,
            values[key],
            FAMILIES.get(key, key),
            approximate=key == "planned",
            hover=(Column("α", orders[key], key="order"),) if key in orders else (),
            kept=key in (ODOMETER, MIXTURE, "planned"),
            stairs="rising" if key in (ODOMETER, "other") else None,  # filters that double in size
        )
        for key, name in NAMES.items()
        if key in curves and key in values
    )


def without_rogers(lines: Sequence[Line]) -> tuple[float, float] | None:
    """None, unless Rogers' curve would press all others flat: then it leaves through the top."""
    tops = {line.key: float(y.max()) for line in lines if (y := np.asarray(line.y)[np.isfinite(line.y)]).size}
    others = max((top for key, top in tops.items() if key != "rogers"), default=0.0)
    return (0.0, 1.25 * others) if others > 0 and tops.get("rogers", 0.0) > 2.0 * others else None


def headline(f: StopFacts) -> str:
    odometer, _ = f.anytime
    if f.allowed == 0:
        allowed = "not a single step"
    elif math.isinf(f.allowed):
        allowed = "any number of steps, because they cost nothing"
    else:
        allowed = f"<b>{numbers.steps(f.allowed)}</b> step{'s' if f.allowed > 1 else ''}"
    steps = shown_steps(f.steps)
    budget = setting(shared.TARGET, "ε =", numbers.at_most(f.target_epsilon, 4))
    delta = shown_delta(f.delta)
    cost = "cost" if f.steps > 1 else "costs"
    return (
        f"If you may stop at any time, {steps} {cost} <b>ε ≤ {numbers.up(odometer.epsilon)}</b> at {delta} by the "
        f"{odometer.name}; a filter with the budget <b>{budget}</b> allows {allowed}{because(f)}."
    )


def because(f: StopFacts) -> str:
    """Why the filter allows so many steps, and what they may depend on; empty where none or all are allowed."""
    if f.allowed == 0 or math.isinf(f.allowed):
        return ""
    if f.filter_orders == "one":
        return ", even if they depend on results"
    if f.filter_orders == "union":
        fixed, count = numbers.steps(f.orders.allowed), f.orders.count
        return f" instead of {fixed}, because no order is fixed in advance: its {count} orders share δ"
    return ", if results decide nothing but when to stop"


def metrics(f: StopFacts) -> Iterator[Metric]:
    odometer, other = f.anytime
    beside = f"{odometer.name}; {other.name}: {numbers.up(other.epsilon)}"
    yield Metric("Stop at any time", f"ε ≤ {numbers.up(odometer.epsilon)}", beside)
    yield Metric("T fixed in advance", f"ε ≤ {numbers.up(f.planned_epsilon)}", f"Rényi DP ({f.conversion})")
    orders = f"{f.orders.count} orders"
    if f.filter_orders == "one":
        orders = f"one order α = {numbers.plain(f.orders.fixed)}"
    pairs = ""
    if f.pairs:
        rogers, adaptive = numbers.steps(f.pairs.rogers_steps), numbers.steps(f.pairs.adaptive_steps)
        pairs = f"; from ε of steps: Rogers et al. {rogers}, Whitehouse et al. {adaptive}"
    within = f"Steps within ε = {numbers.at_most(f.target_epsilon)}"
    yield Metric(within, numbers.steps(f.allowed), f"filter, {orders}{pairs}")
    if Tight.name in f.curves:
        yield from tight_figures(f.tight, "for steps planned")


def notes(f: StopFacts) -> Iterator[Note]:
    yield from end_of_orders(f.odometer)
    if f.filter_orders == "union":
        yield Note(
            f"Each of the {f.orders.count} orders has δ ÷ {f.orders.count}, a union bound. At α = "
            f"{numbers.plain(f.orders.fixed)}, fixed in advance, {numbers.steps(f.orders.allowed)} steps would pass. "
            "Both hold even if results choose noise and batches."
        )
    if f.filter_orders == "paper":
        yield Note(
            f"The filter uses {f.orders.count} orders with the whole δ each, as in the paper: proved if results decide "
            "nothing but when to stop. If they choose noise or batches too, take one order fixed in advance.",
            "caution",
        )
    if "rogers" in f.curves:
        yield rogers_note(f)
    yield from shared.missing_interval(f.tight)


def end_of_orders(odometer: Bound) -> Iterator[Note]:
    """Where the odometer's best order is the first or the last one tried."""
    if not odometer.at_grid_end[-1]:
        return
    order, floor = float(odometer.order[-1]), numbers.down(float(odometer.floor[-1]))
    end, least = ("largest", f" With these orders, ε cannot be less than {floor}.") if order > 20 else ("smallest", "")
    yield Note(f"Lécuyer odometer: the best order is the {end} one tried, α = {numbers.plain(order)}.{least}")


def rogers_note(f: StopFacts) -> Note:
    """ε by the odometer of Rogers et al. after all steps, or why it has none."""
    if f.pairs is None:
        return Note(f"There is no Rogers odometer here: {f.excluded}")
    last = float(f.pairs.rogers[-1])
    above = ", above the chart" if 3 * f.odometer.epsilon[-1] < last < math.inf else ""
    size, steps = numbers.steps(f.pairs.size), f"{numbers.steps(f.steps)} step{'s' * (f.steps > 1)}"
    return Note(
        f"Rogers odometer (for N = {size} examples, at most {steps}): ε = {numbers.up(last)} after all steps{above}."
    )


def formulas(f: StopFacts) -> Iterator[Formula]:
    order, epsilon = float(f.odometer.order[-1]), float(f.odometer.epsilon[-1])
    yield from shared.odometer_formula(f.variant, f.delta, f.events, order=order, epsilon=epsilon)
    tail = r"\frac{\ln(1/\delta')}{\alpha-1}"
    if f.conversion == "improved":
        tail = r"\ln\frac{\alpha-1}{\alpha} + \frac{\ln\delta'+\ln\alpha}{\alpha-1}"
    allowed = r"\infty" if math.isinf(f.allowed) else f"{f.allowed:.0f}"
    yield Formula(
        "filter: a step is refused when this holds for every order of the filter (Lécuyer 2021, Eq. 4)",
        rf"\sum_i R_i(\alpha) > \varepsilon - {tail},"
        rf"\qquad \delta' = {shared.share_of_delta(f.filter_orders, f.orders.count)},"
        rf"\qquad \varepsilon = {numbers.tex(f.target_epsilon)}:\; {allowed}\ \text{{steps pass}}",
    )
    if f.pairs:
        yield Formula(
            "Rogers odometer (Rogers et al. 2016, Thm 6.3), S = Σε²",
            r"\begin{aligned}\varepsilon &= \sum\frac{\varepsilon_i(e^{\varepsilon_i}-1)}{2}"
            r" + \sqrt{2S(1+\ln\sqrt3) \ln\frac{4\log_2 n}{\delta}}\ \text{ for } \tfrac1{n^2}\le S\le 1,\\"
            r" &\text{else with } \sqrt{2(\tfrac1{n^2}+S)(1+\tfrac12\ln(1+n^2S))\ln\tfrac{4\log_2 n}{\delta}}"
            rf" \quad\text{{now }} {numbers.tex_up(float(f.pairs.rogers[-1]))}\end{{aligned}}",
        )


def assumptions(f: StopFacts) -> str:
    return kinds.assumed(f.mechanism) + ACCOUNTS if f.excluded else ASSUMPTIONS


def cards(answer: Answer[StopFacts]) -> list[Block]:
    """The accountants of every name that may be on the chart."""
    f = answer.facts
    other = "odometer_authors" if f.variant == "paper" else ODOMETER
    others = (other, MIXTURE, "rogers", Tight.name)
    return shared.accountants(f.variant, conversion=f.conversion, others=others)


def layout(get: Reader) -> Layout:
    parameters = kinds.KINDS[get(kinds.KIND)].parameters()
    noise = (PARAMETERS[name] for name in parameters if name != "sample_rate")
    return {
        "Budget": (shared.TARGET, shared.ORDERS, *noise, STEPS, *experts(shared.VARIANT)),
        "Mechanism": kinds.controls(get),
        "Show": (
            FieldControl((CURVES,), options=(*CURVES.options,), expert_options=("other",)),
            LOG_X,
            LOG_Y,
            *experts(shared.VARIANT, shared.CONVERSION),
        ),
    }


STOP = Question(
    "stop",
    "May I stop at any time?",
    stop,
    Words(headline, metrics, notes, formulas, assumptions),
    asks="anytime",
    presets=published("fo2b"),
    slow=(tight_part(lambda answer: answer.facts.events, wanted=lambda a: Tight.name in a.facts.curves, log="log_x"),),
    layout=layout,
    more={"Use it": card_from, "Accountants": cards},
)
