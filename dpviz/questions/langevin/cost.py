"""ε of all models along a sampler's steps, or of the last one alone: what do these steps really cost?"""

import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np

from dpviz._arrays import Array
from dpviz._remember import remembered
from dpviz.accounting.bound import Bound
from dpviz.accounting.langevin.cost import Langevin, langevin_bounds, langevin_tight_at
from dpviz.accounting.langevin.last_iterate import ConvexLoss, last_iterate_bound, not_covered
from dpviz.accounting.methods import Renyi
from dpviz.accounting.schedules import PowerSchedule
from dpviz.charts import Axis, Column, Guide, Line, LinePlot, look
from dpviz.fields import AnyField, flag, number, numbers
from dpviz.questions import Answer, Formula, Metric, Note, Reader, Words, setting
from dpviz.questions.langevin import words
from dpviz.questions.langevin.chain import CLAIM, CONVERSION, FIRST, Chain
from dpviz.questions.langevin.facts import step_marks
from dpviz.questions.langevin.shared import controls, finite, langevin_question, with_plot
from dpviz.questions.mechanism import shown_delta, shown_steps
from dpviz.questions.methods import steps_axis
from dpviz.questions.tight_band import TightBand, band, tight_figures

TIGHT_MARKS, TIGHT_GROUPS, TIGHT_GROUPS_AT_END = 12, 44, 132
LAST = flag("llast")
SMOOTHNESS, STRONG, DIAMETER = (number(key) for key in ("lsmooth", "lstrong", "ldiam"))
ALL_MODELS = ", all models"


class ComposedSteps(NamedTuple):
    """ε after some numbers of steps, the last one all of them, by both conversions of Rényi divergences."""

    classic: Bound
    improved: Bound


@dataclass(frozen=True, eq=False, kw_only=True)
class StepsCostFacts:
    """What the steps cost.

    Attributes:
        chain: the steps.
        composed: their ε.
        other: ε of all steps with the noise that was not chosen (`SamplerPlan.with_other_noise`), by the improved
            conversion; NaN for samplers with momentum.
        last: ε of the last model alone after the chart's numbers of steps, never above that of all models; None where
            that is not asked for, or nothing is proven.
        excluded: why nothing is proven of the last model; empty where nobody asked.
        tight: the numerically tight interval after all steps; None until it is there.
        earlier: the tight interval after some numbers of steps before the last one; None until it is there.
    """

    chain: Chain
    composed: ComposedSteps
    other: float
    last: Array | None
    excluded: str
    tight: TightBand | None = None
    earlier: TightBand | None = None

    @property
    def epsilon(self) -> float:
        """Rényi ε of all steps, all models along the way released."""
        return float(self.composed.improved.epsilon[-1])

    @property
    def classic_epsilon(self) -> float:
        """The same by the classic conversion."""
        return float(self.composed.classic.epsilon[-1])

    @property
    def released_epsilon(self) -> float:
        """Rényi ε of what is released: of the last model where a bound on it alone is asked for and known."""
        return self.epsilon if self.last is None else float(self.last[-1])

    @property
    def best(self) -> float:
        """The smallest valid ε of what is released that is known now: what bounds all models bounds the last one."""
        tight = math.inf if self.tight is None else float(self.tight.upper[-1])
        return min(tight, self.epsilon, self.released_epsilon)

    @property
    def least(self) -> float:
        """The lower end of the tight interval after all steps."""
        assert self.tight is not None
        return float(self.tight.lower[-1])

    @property
    def times(self) -> float:
        """How many times too low the claim is at least, rounded down."""
        return math.floor(10.0 * self.least / self.chain.claim) / 10.0

    @property
    def refuted(self) -> bool:
        """Whether the claim is too low; below the last model's ε no bound is known, so never for that alone."""
        return self.last is None and not self.excluded and self.least > self.chain.claim


def cost(
    chain: Chain,
    *,
    last_only: Annotated[bool, LAST],
    smoothness: Annotated[float, SMOOTHNESS],
    strong_convexity: Annotated[float, STRONG],
    diameter: Annotated[float, DIAMETER],
) -> Answer[StepsCostFacts]:
    """ε against steps; with `last_only` also of the last model, for a loss with these constants."""
    spent = composed(chain, step_marks(chain.steps))
    last, excluded = None, ""
    if last_only:
        loss = ConvexLoss(smoothness, strong_convexity, diameter or math.inf)  # no projection at a diameter of 0
        excluded = why_excluded(chain, loss)
        last = None if excluded else np.minimum(last_model(chain, loss), spent.improved.epsilon)
    facts = StepsCostFacts(
        chain=chain, composed=spent, other=epsilon_with_other_noise(chain), last=last, excluded=excluded
    )
    return Answer(plot(facts), facts)


def composed(chain: Chain, marks: Sequence[float] | Array = ()) -> ComposedSteps:
    """What the steps up to each mark cost; up to the last step where there are no marks.

    Raises:
        ValueError: when the batch exceeds the data.
    """
    ends = np.asarray(marks if len(marks) else [chain.steps], dtype=np.float64)
    return ComposedSteps(**_bounds(chain.setting, chain.schedule, chain.delta, tuple(ends.tolist())))


def epsilon_with_other_noise(chain: Chain) -> float:
    """Rényi ε of all steps with the noise that was not chosen; NaN where there is no other."""
    other = chain.with_other_noise
    if other is None:
        return math.nan
    return float(_bounds(other.setting, other.schedule, chain.delta, (float(chain.steps),))["improved"].epsilon[-1])


@remembered
def _bounds(setting: Langevin, schedule: PowerSchedule, delta: float, marks: tuple[float, ...]) -> dict[str, Bound]:
    """What steps cost is one for all claims, and one for both noises that are compared."""
    return langevin_bounds(setting, schedule, delta=delta, marks=marks)


def why_excluded(chain: Chain, loss: ConvexLoss) -> str:
    """Why nothing is proven of the last model; empty where something is."""
    reason = not_covered(chain.setting, chain.step_size, loss, float(chain.steps), chain.delta)
    return "Expected a fixed step size: decreasing ones are not worked out." if chain.exponent else reason


def last_model(chain: Chain, loss: ConvexLoss) -> Array:
    """ε of the last model alone after the chart's numbers of steps."""
    marks = step_marks(chain.steps)
    return last_iterate_bound(chain.setting, chain.step_size, loss, marks=marks, delta=chain.delta).epsilon


def plot(f: StepsCostFacts) -> LinePlot:
    """ε of the steps so far by two conversions of Rényi divergences, the tight interval, and the last model's."""
    chain, x = f.chain, step_marks(f.chain.steps)
    models = "" if f.last is None else ALL_MODELS

    def composed_line(key: str, bound: Bound, renyi: Renyi, *, kept: bool) -> Line:
        order = Column("α", bound.order, key="order")
        return Line(key, f"Rényi {key}{models}", x, bound.epsilon, renyi.family, hover=(order,), kept=kept)

    lines = [
        composed_line("classic", f.composed.classic, Renyi("classic"), kept=False),
        composed_line("improved", f.composed.improved, Renyi(), kept=True),
    ]
    if f.last is not None:
        lines.append(Line("last", "last model only (convex)", x, f.last, look.SOLID, color=look.BROWN))
    top = max([*finite([np.asarray(line.y) for line in lines]), chain.claim])
    noise = chain.setting.noise_multiplier(chain.schedule.at(x))
    return LinePlot(
        steps_axis(marked=chain.steps),
        Axis(
            "ε",
            column="epsilon",
            shown=(0.0, 1.08 * top) if 0.0 < top < 1e300 else None,  # so that the claim shows beside what steps cost
            write=lambda value: numbers.up(value, 4),
            lowest="best",
            reading="attack",
        ),
        tuple(lines),
        bands=() if f.tight is None or f.earlier is None else (band(f.tight.after(f.earlier)),),
        guides=(Guide("y", chain.claim, f"claimed ε = {chain.claim:g}", noted=False, sets=CLAIM),),
        columns=(Column("σ of that step", noise, key="noise_multiplier"),),
    )


def steps_alone(answer: Answer[StepsCostFacts]) -> Hashable:
    """What decides the tight interval."""
    chain = answer.facts.chain
    return chain.setting, chain.schedule, chain.delta


def tight_interval(answer: Answer[StepsCostFacts]) -> dict[str, TightBand]:
    """The tight interval after all steps; some tenths of a second."""
    return {"tight": interval(answer.facts.chain, [answer.facts.chain.steps], TIGHT_GROUPS_AT_END)}


def interval(chain: Chain, marks: Sequence[float], groups: int) -> TightBand:
    """The tight interval of the steps up to each mark."""
    setting, schedule = chain.setting, chain.schedule
    if not marks:
        return TightBand(*np.zeros((3, 0)))
    low, high = langevin_tight_at(setting, schedule, chain.delta, marks, groups)
    # Groups of steps make the upper end coarse where noise is scarce; the Rényi bound is as valid.
    renyi = composed(chain, marks).improved.epsilon
    return TightBand(np.array(marks, dtype=np.float64), low, np.minimum(high, renyi))


def earlier_intervals(answer: Answer[StepsCostFacts]) -> dict[str, TightBand]:
    """The tight interval after some numbers of steps before the last one, with fewer groups."""
    last = float(answer.facts.chain.steps)
    # Denser towards the end: along a log axis ε bends upwards there, and the band is drawn straight from mark to mark.
    marks = np.unique(np.round(last ** (np.linspace(0.0, 1.0, TIGHT_MARKS) ** 0.6)))
    return {"earlier": interval(answer.facts.chain, marks[marks < last].tolist(), TIGHT_GROUPS)}


def headline(f: StepsCostFacts) -> str:
    chain, cost = f.chain, f"<b>ε ≤ {numbers.up(f.released_epsilon)}</b>"
    steps = shown_steps(chain.steps)
    size = f"<b>{setting(FIRST, numbers.entered(chain.step_size))}</b>{' · t<sup>−1/3</sup>' if chain.exponent else ''}"
    delta = shown_delta(chain.delta)
    if f.excluded:
        costs = f": releasing all models costs {cost}, and the last one no more,"
    elif f.last is None:
        costs = f" cost {cost}"
    else:
        costs = f": releasing only the last model costs {cost}"
    return (
        f"{steps} of size η = {size}{costs} at {delta} by Rényi DP; the claimed "
        f"<b>{setting(CLAIM, 'ε =', numbers.entered(chain.claim))}</b> {verdict(f)}"
    )


def verdict(f: StepsCostFacts) -> str:
    """What is known of the claim; an ellipsis while the tight interval, which may decide, is not there."""
    if f.best <= f.chain.claim:
        return "holds."
    if f.tight is None:
        return "…"
    if not f.refuted:
        return "is neither proven nor refuted."
    return f"is too low by a factor of at least {numbers.plain(f.times)}." if f.times > 1 else "is too low."


def metrics(f: StepsCostFacts) -> Iterator[Metric]:
    if f.last is None:
        classic = f"classic conversion: {numbers.up(f.classic_epsilon)}"
        yield Metric("Rényi DP, composed", f"ε ≤ {numbers.up(f.epsilon)}", classic)
        yield from tight_figures(f.tight)
    else:
        every = f"all models along the way: {numbers.up(f.epsilon)}"
        yield Metric("Last model, Rényi DP", f"ε ≤ {numbers.up(f.released_epsilon)}", every)
        yield from tight_figures(f.tight, "of all models")
    if (other := f.chain.with_other_noise) is not None:
        yield Metric(
            f"With noise {other.variance}", f"ε ≤ {numbers.up(f.other)}", f"all models, Rényi; here {f.chain.variance}"
        )
    yield words.noise_of_steps(f.chain)


def notes(f: StepsCostFacts) -> Iterator[Note]:
    yield from words.notes(f.chain)
    if f.last is not None:
        yield Note(
            "The last model's ε holds if nothing else is ever shown: no model, loss or accuracy along the way. The "
            "loss must be convex and smooth, gradients must never be longer than L, and the step size must be fixed. "
            f"Releasing all models along the way, for any loss, costs <b>ε ≤ {numbers.up(f.epsilon)}</b>. No lower "
            "bound is known for the last model."
        )
    if f.excluded:
        yield Note(f"No curve for the last model only: {f.excluded}", "caution")


def formulas(f: StepsCostFacts) -> Iterator[Formula]:
    yield words.noise_of_a_step(f.chain)
    models = "" if f.last is None else f"{ALL_MODELS} along the way"
    yield Formula(
        f"Composed (Rényi improved){models}",
        r"\varepsilon = \sum_t R_{\sigma_t}(\alpha) + \ln\frac{\alpha-1}{\alpha}"
        rf" - \frac{{\ln\delta + \ln\alpha}}{{\alpha-1}} = {numbers.tex_up(f.epsilon)}",
    )
    yield words.first_and_second_condition(f.chain, "rederived")
    if f.last is not None:
        yield Formula(
            "Last model only, the best window of n steps (z: how far apart two runs can be; "
            "a = zcⁿ/(1 + … + cⁿ⁻¹), c = 1 − ηm)",
            r"R(\alpha) \le \min_n\; n\Big[\frac{\alpha a^2}{2\sigma^2} + \frac{\alpha\ln(1-q+r)}{\alpha-1} +"
            r" R_\alpha\big(\sigma, \tfrac{r}{1-q+r}\big)\Big],\quad r = q\,e^{(\alpha-1)a/\sigma^2}",
        )


def last_model_controls(get: Reader) -> tuple[AnyField, ...]:
    """The constants of the loss are asked for where they matter."""
    return (LAST, SMOOTHNESS, STRONG, DIAMETER) if get(LAST) else (LAST,)


COST = langevin_question(
    "cost",
    "What do these steps really cost?",
    cost,
    Words(headline, metrics, notes, formulas, lambda f: words.assumptions(f.chain)),
    *("sgmnist", "sgsvhn", "sgmnisthmc", "sgsvhnhmc", "sgexample", "sglast"),
    asks="released_epsilon",
    layout=controls(without=lambda _: (CONVERSION,), options=last_model_controls),
    slow=(
        with_plot(steps_alone, tight_interval, plot),
        with_plot(steps_alone, earlier_intervals, plot),
    ),
)
