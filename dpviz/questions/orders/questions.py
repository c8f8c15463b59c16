"""The questions about orders: which decides ε, what one step costs, what C changes, and whether it is concentrated DP.

What is known at a setting, bound by bound, is a detail of each (Mironov, Talwar, Zhang 2019, Table 1).
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from dpviz import library as dpviz
from dpviz._arrays import Array
from dpviz.accounting.methods import ClosedForm, Moments, Renyi, Tight
from dpviz.accounting.pld.loss_density import loss_density
from dpviz.accounting.renyi.conversion import epsilon_per_order
from dpviz.charts import Band, Line, LinePlot, Plot, Region, Ring, Span, look
from dpviz.fields import Number, flag, number, numbers
from dpviz.mechanisms import Event, SampledGaussian
from dpviz.questions import Answer, Groups, Note, Reader, Slow, cards, experts, guessing, make_question, rows, units
from dpviz.questions.mechanism import SETTINGS, in_words
from dpviz.questions.orders import curves
from dpviz.questions.orders.curves import Least, least, no_bound
from dpviz.questions.question import Block, Question, Setting
from dpviz.questions.tight_band import TightBand, tight_part, with_bands
from dpviz.questions.use import Plan, checked, use_it

LARGEST, LOG_X, LOG_Y = number("omax"), flag("ologx"), flag("ology")
THRESHOLDS_C = {name: number(key) for name, key in (("first", "oc1"), ("second", "oc2"), ("third", "oc3"))}
APPROXIMATION = "Dashed: the asymptotic moment without its term O(q³λ³/σ³). It is an approximation, not a bound."
NO_PROMISE = 1e5  # an ε beyond this needs no second opinion


def known_bounds(answer: Answer[Any]) -> Sequence[Block]:
    """The mechanism in words, and the table, with the interval of ε where it is there."""
    sigma, rate, steps, delta = (answer.given[name] for name in SETTINGS)
    tight = answer.facts.tight if isinstance(answer.facts, DecidingFacts) else None
    facts = known(sigma, rate, steps, delta, answer.given["largest"], tight)
    return [Note(in_words(sigma, rate, steps, delta)), pd.DataFrame(rows("orders", "known", facts))]


def theorems(sigma: float, rate: float) -> list[str]:
    """Which theorems hold at no order, and that the asymptotic moment is no bound where it is drawn."""
    asymptotic = dpviz.asymptotic_reason(noise_multiplier=sigma, sample_rate=rate)
    return [text for text in (closed_reason(sigma, rate), asymptotic or APPROXIMATION) if text]


def closed_reason(sigma: float, rate: float) -> str:
    """Why the closed form holds at no order; empty where it holds."""
    return ClosedForm().reason(np.asarray(sigma), np.asarray(rate))


class Known(NamedTuple):
    """What each bound says at a setting.

    Attributes:
        lemma, theorem: where the asymptotic lemma and the closed form hold.
        best: line → its lowest point; `nowhere` of what has no number.
        moments, tight: those of the moments accountant, and the upper end of the tight interval.
    """

    lemma: str
    theorem: str
    best: dict[str, Least]
    moments: Least
    tight: float | None
    most_moments: int = curves.MOST_MOMENTS
    nowhere: Least = Least(math.nan, math.nan)


def known(sigma: float, rate: float, steps: int, delta: float, largest: float, tight: TightBand | None) -> Known:
    mechanism = {"noise_multiplier": sigma, "sample_rate": rate}
    best = {line.key: least(line) for line in curves.epsilon_lines(sigma, rate, steps, delta, largest)}
    orders = curves.order_grid(largest, curves.deciding_orders(sigma, rate, steps, delta))
    last = curves.closed_last(orders, dpviz.closed_form_divergence(**mechanism, orders=orders))
    theorem = f"α ≤ {numbers.plain(last)}{' (all shown)' if last >= largest else ''}"
    covered = numbers.plain(dpviz.asymptotic_last_order(**mechanism), digits=6)
    return Known(
        lemma=dpviz.asymptotic_reason(**mechanism) or f"whole λ ≤ {covered}",
        theorem=closed_reason(sigma, rate) if math.isnan(last) else theorem,
        best={"asymptotic": Least(math.nan, math.nan)} | best,
        moments=curves.moments(sigma, rate, steps, delta),
        tight=None if tight is None else float(tight.upper[-1]),
    )


@dataclass(frozen=True)
class DecidingFacts:
    """What decides.

    Attributes:
        best: λ and ε of the improved conversion; NaNs where no order gives a finite ε.
        moments: λ and ε of the moments accountant; NaNs at q = 0.
        at_end: whether the largest order shown decides.
        theorems: which hold at no order, in sentences.
        tight: the tight accountant's interval, once it is there.
        accuracy: of the best attack at T, with it.
    """

    best: Least
    moments: Least
    at_end: bool
    theorems: list[str]
    tight: TightBand | None = None
    accuracy: dpviz.Accuracy | None = None

    @property
    def useful(self) -> bool:
        """Whether a second opinion on ε is of any use."""
        return self.best.value < NO_PROMISE

    def guess(self, delta: float) -> guessing.Guess:
        epsilon = math.inf if math.isnan(self.best.value) else self.best.value
        return guessing.guess(epsilon, delta, self.accuracy)

    def tail(self, delta: float) -> float:
        """What the improved conversion adds at the order that decides."""
        alpha = self.best.order + 1.0
        return math.log1p(-1 / alpha) - (math.log(delta) + math.log(alpha)) / (alpha - 1)

    def slack(self, delta: float) -> float:
        """What the moments accountant's tail bound adds."""
        return math.log(1 / delta) / self.moments.order


def deciding(
    *,
    noise_multiplier: float,
    sample_rate: float,
    steps: int,
    delta: float,
    largest: float,
    log_x: bool,
    log_y: bool,
) -> Answer[DecidingFacts]:
    """ε(λ) by both conversions of exact divergences, by the closed form and by the asymptotic moment."""
    lines = curves.epsilon_lines(noise_multiplier, sample_rate, steps, delta, largest)
    improved, best, old = lines[0], least(lines[0]), curves.moments(noise_multiplier, sample_rate, steps, delta)
    x = np.asarray(improved.x)
    rung = [] if sample_rate == 0.0 else curves.rings(lines)
    if not math.isnan(old.order):
        hover = f"moments accountant (whole λ ≤ 32): <b>{numbers.epsilon(old.value)}</b> at λ = {old.order:.0f}"
        rung.append(Ring(old.order, old.value, hover, look.style(Moments.name).color))
    plot = LinePlot(
        x=curves.order_axis(x, largest, log=log_x, shown=nearby(improved, largest, log_x)),
        y=curves.value_axis("ε at T by order", "ε", "epsilon", log=log_y, shown=curves.around(lines, log_y)),
        lines=lines,
        rings=tuple(rung),
        names_on_lines=True,  # both arms of ε(λ) leave through the top: names at their ends would stand beside nothing
        summary=curves.lowest_point(improved),
    )
    return Answer(plot, DecidingFacts(best, old, best.order == x[-1], theorems(noise_multiplier, sample_rate)))


def nearby(line: Line, largest: float, log: bool) -> Span:
    """Where ε is within a few times its minimum, and some more; everything on a plain axis."""
    best = least(line)
    if not log:
        return 0.0, largest
    if math.isnan(best.order):
        return 0.1, largest
    near = np.asarray(line.x)[np.asarray(line.y) <= 3.0 * best.value]
    return max(float(near[0]) / 2.0, 1e-4), min(2.0 * float(near[-1]), largest)


def events(answer: Answer[DecidingFacts]) -> list[Event]:
    """The steps; none where ε is past all use."""
    sigma, rate, steps, _ = (answer.given[name] for name in SETTINGS)
    return [(SampledGaussian(sigma, rate), steps)] if answer.facts.useful else []


def with_truth(answer: Answer[DecidingFacts]) -> Plot:
    """The truth does not depend on an order: a level band that every ε(λ) lies above."""
    plot, tight = answer.plot, answer.facts.tight
    assert isinstance(plot, LinePlot)
    if tight is None or tight.soon:
        return plot
    low, high = float(tight.lower[-1]), float(tight.upper[-1])
    plot = replace(plot, y=replace(plot.y, shown=curves.around(plot.lines, plot.y.log, (low, high))))
    if not (math.isfinite(low) and math.isfinite(high)):
        return plot
    assert isinstance(plot.x.shown, tuple)
    x = np.unique([float(plot.lines[0].x[0]), *(plot.x.marks or ()), plot.x.shown[1]])
    return with_bands(
        replace(answer, plot=plot),
        Band(Tight().label, x, np.full(x.shape, low), np.full(x.shape, high), key=Tight.name),
    )


@dataclass(frozen=True)
class DivergenceFacts:
    """One step.

    Attributes:
        two: R(2).
        closed_last: the largest α shown with a closed form, NaN where it holds nowhere.
        asymptotic_last: the largest λ that the asymptotic lemma covers; NaN where none.
        leaves: the smallest α > 2 at which R(α)/α has doubled; NaN for none shown.
        theorems: which hold at no order, in sentences.
    """

    two: float
    closed_last: float
    asymptotic_last: float
    leaves: float
    theorems: list[str]


def one_step(
    name: str, column: str, lines: Sequence[Line], regions: tuple[Region, ...], largest: float, log: bool, air: float
) -> LinePlot:
    """A quantity of one step against λ; `air` above the curves is for the name of a hatched region."""
    shown = curves.whole_span(largest, log)
    return LinePlot(
        x=curves.order_axis(np.asarray(lines[0].x), largest, log=log, shown=shown),
        y=curves.value_axis(f"{name} of one step", name, column, log=True, shown=curves.decades(lines, shown, air)),
        lines=tuple(lines),
        regions=regions,
        end_values=False,
    )


def divergence(
    *, noise_multiplier: float, sample_rate: float, steps: int, delta: float, largest: float, log_x: bool
) -> Answer[DivergenceFacts]:
    """R(α) against λ; T and δ matter to the known bounds beside it alone."""
    mechanism = {"noise_multiplier": noise_multiplier, "sample_rate": sample_rate}
    orders = curves.order_grid(largest)
    x, divergences = orders - 1.0, curves.exact(noise_multiplier, sample_rate, orders)
    closed = dpviz.closed_form_divergence(**mechanism, orders=orders)
    with np.errstate(over="ignore"):
        unsampled = orders / (2.0 * noise_multiplier) / noise_multiplier
    whole, moment = curves.asymptotic(noise_multiplier, sample_rate, largest)
    drawn = (
        Line("exact", "exact", x, divergences, Renyi().family, explained=True),
        Line(ClosedForm.name, "closed form", x, closed, ClosedForm.name, kept=False, explained=True),
        no_bound("asymptotic", "asymptotic", whole - 1.0, moment),
        Line("unsampled", "without sampling", x, unsampled, look.NEUTRAL, kept=False, explained=True),
    )
    lines, last = tuple(line for line in drawn if len(line.x)), curves.closed_last(orders, closed)
    regions = () if sample_rate == 0.0 else beyond(last, largest)
    plot = one_step("R(α)", "divergence", lines, regions, largest, log_x, air=4.0)
    facts = DivergenceFacts(
        two=float(divergences[np.searchsorted(orders, 2.0)]),
        closed_last=last,
        asymptotic_last=dpviz.asymptotic_last_order(**mechanism),
        leaves=curves.leaves(orders, divergences / orders),
        theorems=theorems(noise_multiplier, sample_rate),
    )
    return Answer(plot, facts)


def beyond(last: float, largest: float) -> tuple[Region, ...]:
    """Where there is no closed form."""
    if math.isnan(last):
        return (Region(-math.inf, math.inf, "closed form holds nowhere"),)
    if last - 1.0 >= largest:
        return ()
    return (Region(last - 1.0, math.inf, f"no closed form beyond λ = {numbers.plain(last - 1.0)}"),)


@dataclass(frozen=True)
class ConcentratedFacts:
    """One step.

    Attributes:
        two: R(2).
        unsampled: 1/(2σ²), R(α)/α without sampling.
        rho, omega: of truncated concentrated DP: R(α) ≤ ρα for all 1 < α < ω.
        plateau: ½q²(e^{1/σ²} − 1), what R(α)/α is at small orders while q is small.
        leaves: the smallest α > 2 at which R(α)/α has doubled; NaN for none shown.
        mean: μ of (μ, τ)-CDP, the mean loss of a removed example, which is the larger.
    """

    two: float
    unsampled: float
    rho: float
    omega: float
    plateau: float
    leaves: float
    mean: float


def concentrated(
    *, noise_multiplier: float, sample_rate: float, steps: int, delta: float, largest: float, log_x: bool
) -> Answer[ConcentratedFacts]:
    """R(α)/α against λ; T and δ matter to the known bounds beside it alone."""
    orders = curves.order_grid(largest)
    x, ratio = orders - 1.0, curves.exact(noise_multiplier, sample_rate, orders) / orders
    with np.errstate(over="ignore"):
        unsampled = np.full(x.shape, 0.5 / noise_multiplier / noise_multiplier)
        one = np.float64(1.0)
        plateau = float(0.5 * sample_rate**2 * np.expm1(one / noise_multiplier / noise_multiplier))
    off = curves.leaves(orders, ratio)
    lines = (
        Line("exact", "exact", x, ratio, Renyi().family, explained=True),
        Line("unsampled", "without sampling: 1/(2σ²)", x, unsampled, look.NEUTRAL, kept=False, explained=True),
        no_bound("plateau", "plateau", x, np.full(x.shape, plateau)),
    )
    regions: tuple[Region, ...] = ()
    if sample_rate > 0.0 and not math.isnan(off):
        regions = (Region(off - 1.0, math.inf, f"off the plateau from λ = {numbers.plain(off - 1.0)}"),)
    plot = one_step("R(α)/α", "ratio", lines, regions, largest, log_x, air=30.0)
    two = 2.0 * float(ratio[np.searchsorted(orders, 2.0)])
    mean = 0.0
    if sample_rate > 0.0:
        mean = loss_density(SampledGaussian(noise_multiplier, sample_rate), steps=1, epsilon=0.0).mean
    return Answer(plot, ConcentratedFacts(two, float(unsampled[0]), *truncated(orders, ratio, off), plateau, off, mean))


def truncated(orders: Array, ratio: Array, end: float) -> tuple[float, float]:
    """(ρ, ω) of truncated concentrated DP: R(α) ≤ ρα for all 1 < α < ω, ω the last order before `end` (NaN: no end).

    R is increasing, so between two orders of the grid R(α)/α ≤ R(right)/left: no order in between is missed.
    """
    inside = orders < (math.inf if math.isnan(end) else end)
    spent = (ratio * orders)[inside]
    left = np.concatenate([[1.0], orders[inside][:-1]])
    return float((spent / left).max()), float(orders[inside][-1])


@dataclass(frozen=True)
class ThresholdFacts:
    """What each threshold costs.

    Attributes:
        best: (name, its lowest point) of each curve; NaNs where no order gives a finite ε.
        last: the largest λ tried.
    """

    best: tuple[tuple[str, Least], ...]
    last: float

    @property
    def late(self) -> list[str]:
        """The curves that still fall there."""
        return [name for name, best in self.best if best.order == self.last]


def thresholds(
    *,
    noise_multiplier: float,
    sample_rate: float,
    steps: int,
    delta: float,
    first: float,
    second: float,
    third: float,
    largest: float,
    log_x: bool,
    log_y: bool,
) -> Answer[ThresholdFacts]:
    """ε(λ) at whole λ with noise of standard deviation σ, all distances equal to C: the noise multiplier is σ/C."""
    orders, lines = curves.whole_grid(largest) + 1.0, []
    for index, threshold in enumerate(dict.fromkeys([first, second, third])):
        spent = steps * curves.exact(noise_multiplier / threshold, sample_rate, orders)
        epsilon = epsilon_per_order(spent, orders, np.array(delta), "classic")
        name, color = f"C = {numbers.plain(threshold)}", (look.BLUE, look.ORANGE, look.GREEN)[index]
        lines.append(Line(f"C{index}", name, orders - 1.0, epsilon, Renyi().family, color=color, explained=True))
    plot = LinePlot(
        x=curves.order_axis(orders - 1.0, largest, log=log_x, shown=curves.whole_span(largest, log_x, first=1.0)),
        y=curves.value_axis("ε at T by order", "ε", "epsilon", log=log_y, shown=curves.around(lines, log_y)),
        lines=tuple(lines),
        rings=tuple(curves.rings(lines)) if sample_rate > 0.0 else (),
        end_values=False,
        names_on_lines=True,
        summary=curves.lowest_point(lines[0]),
    )
    return Answer(plot, ThresholdFacts(tuple((line.name, least(line)) for line in lines), float(orders[-1] - 1.0)))


def use(answer: Answer[DecidingFacts]) -> list[Block]:
    """What to set, the paragraph and the code, by the improved conversion."""
    setting = {name: answer.given[name] for name in SETTINGS}
    return use_it(lambda: checked(Plan(**setting, key=Renyi().family, amplification="exact")))


def about(
    table: str,
    answer: Callable[..., Answer[Any]],
    accountants: Sequence[str],
    presets: Iterable[str] = (),
    *,
    key: str = "",
    option: str = "",
    own: dict[str, Number] | None = None,
    log_y: bool = False,
    slow: tuple[Slow[Any], ...] = (),
    more: dict[str, Callable[[Answer[Any]], Sequence[Block]]] | None = None,
) -> Question[Any]:
    """A question about the mechanism's orders, whose words stand in `table`, with settings of its `own`."""
    settings: dict[str, Setting] = {**SETTINGS, **(own or {}), "largest": LARGEST, "log_x": LOG_X}

    def layout(get: Reader) -> Groups:
        groups: Groups = {"Question": tuple(own.values())} if own else {}
        shown = (*((LOG_Y,) if log_y else ()), *experts(LARGEST, LOG_X))
        return {**groups, "Mechanism": units.controls(get), "Show": shown}

    return make_question(
        f"orders/{table}",
        answer,
        layout,
        settings | ({"log_y": LOG_Y} if log_y else {}),
        key=key,
        option=option,
        presets=presets,
        slow=slow,
        more={"Known bounds": known_bounds, **(more or {}), "Accountants": lambda _: cards(accountants)},
    )


DECIDING = about(
    "deciding", deciding,
    (Renyi().family, Renyi("classic").family, Moments.name, ClosedForm.name, Tight.name), ["abadi2orders"],
    key="orders", option="epsilon", log_y=True, more={"Use it": use},
    slow=(tight_part(events, attack=True, drawn=with_truth),),
)  # fmt: skip
ONE_STEP = about("divergence", divergence, (Renyi().family, ClosedForm.name), ["sgm1"])
THRESHOLDS = about("thresholds", thresholds, (Renyi().family,), ["bdp5"], own=THRESHOLDS_C, log_y=True)
CONCENTRATED = about("concentrated", concentrated, (Renyi().family,))
