"""The steps of a Langevin sampler: what they cost, which step sizes keep a claim, and the questions' shared frame."""

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from dpviz._arrays import Array
from dpviz.accounting.attack.membership import attack_success
from dpviz.accounting.bound import Bound
from dpviz.accounting.langevin.cost import Langevin, langevin_bound, langevin_bounds, langevin_tight_at
from dpviz.accounting.langevin.step_sizes import (
    LangevinConstants,
    best_step_size,
    composed_step_size,
    langevin_constants,
    langevin_step_size,
    mse_of_schedule,
    step_size_limits,
    wang_largest_epsilon,
)
from dpviz.accounting.methods import Moments, Renyi, Tight
from dpviz.accounting.schedules import PowerSchedule
from dpviz.charts import LinePlot
from dpviz.fields import Field, choice, flag, number, numbers
from dpviz.questions import DELTA, Answer, Question, annotated, cards, make_question, slow_facts, units
from dpviz.questions.layout import Groups, Item, Layout, Noted, Reader, experts
from dpviz.questions.tight_band import TightBand

STEP_POINTS, EPSILON_POINTS = 60, 40
TIGHT_GROUPS_AT_END = 132


FIRST = number("leta")
DECAY = choice("ldecay")
STEPS = number("lsteps")
CLAIM = number("leps")
SIZE = number("ln")
BATCH = number("ltau")
CLIP = number("lclip")
SAMPLER = choice("lalg")
FRICTION = number("lbeta")
REPLACE = flag("lreplace")
LAST = flag("llast")
CONVERSION = choice("lconv")


@dataclass(frozen=True)
class Chain:
    """The sampler's setting, its step sizes, and the ε that is claimed of them.

    Attributes:
        step_size: η₁ of the first step.
        decay: "third" for η₁ ÷ ∛t, or "fixed".
        steps: T.
        claim: ε.
        n, batch_size, clip: N, τ ≤ N, and the norm L of gradients.
        delta: δ.
        sampler: "sgld", or with `friction` "sghmc" or "sgnht", whose steps release the same.
        replace_one: whether neighbours replace an example instead of adding or removing one.
        conversion: "classic" or "improved", of the accountant behind step sizes.
    """

    step_size: Annotated[float, FIRST]
    decay: Annotated[str, DECAY]
    steps: Annotated[int, STEPS]
    claim: Annotated[float, CLAIM]
    n: Annotated[float, SIZE]
    batch_size: Annotated[float, BATCH]
    clip: Annotated[float, CLIP]
    delta: Annotated[float, DELTA]
    sampler: Annotated[str, SAMPLER]
    friction: Annotated[float, FRICTION]
    replace_one: Annotated[bool, REPLACE]
    conversion: Annotated[str, CONVERSION]

    @property
    def momentum(self) -> bool:
        return self.sampler != "sgld"

    @property
    def setting(self) -> Langevin:
        """Raises ValueError for a batch larger than the data."""
        if self.batch_size > self.n:
            raise ValueError(
                f"Batch τ: {self.batch_size:.12g} is more than the data set's {self.n:.12g}; try √N = "
                f"{round(math.sqrt(self.n))}, or a larger N."
            )
        friction = self.friction if self.momentum else None
        adjacency = "replace_one" if self.replace_one else "add_remove"
        return Langevin(self.n, self.batch_size, self.clip, friction, adjacency)

    @property
    def exponent(self) -> float:
        return 1 / 3 if self.decay == "third" else 0.0

    @property
    def schedule(self) -> PowerSchedule:
        return PowerSchedule(self.step_size, self.exponent, self.steps)

    @property
    def wang_limit(self) -> float:
        """The largest ε for which the theorem of Wang, Fienberg, Smola 2015 holds."""
        return wang_largest_epsilon(sample_rate=self.setting.sample_rate, steps=self.steps, delta=self.delta)

    @property
    def wang_steps(self) -> float:
        """The least T for which it holds at the claimed ε."""
        return float(np.ceil(self.steps * (self.claim / self.wang_limit) ** 2))

    @cached_property
    def wang_step_size(self) -> float:
        """Their largest step size for the claimed ε; NaN where the theorem does not hold."""
        return float(step_sizes(self, "wang", self.claim))

    @cached_property
    def wang_cost(self) -> float:
        """What steps of that size really cost."""
        steps = PowerSchedule(self.wang_step_size, 0.0, self.steps)
        return float(langevin_bound(self.setting, steps, delta=self.delta).epsilon[-1])

    @property
    def theorem(self) -> str:
        """Of Li et al. 2019, for these steps."""
        return "theorem3" if self.exponent else "theorem4"

    def limits(self, reading: str = "rederived") -> tuple[float, float]:
        """Condition (2) holds above the first step size, (1) up to the second."""
        return step_size_limits(self.setting, reading)

    @property
    def misread(self) -> bool:
        """Whether η₁ lies outside of what the re-derived conditions allow."""
        low, high = self.limits()
        return not low < self.step_size <= high

    def speaks(self, reading: str) -> tuple[float, float]:
        """First and last step at which conditions (1) and (2) hold together; first > last where they never do."""
        (low, high), last = self.limits(reading), float(self.steps)
        if not self.exponent:
            return (1.0, last) if low < self.step_size <= high else (2.0, 1.0)
        above, below = self.step_size / high, self.step_size / low
        with np.errstate(over="ignore"):
            start = max(1.0, math.ceil(above**3)) if above < 1e100 else math.inf
            stop = min(last, math.ceil(below**3) - 1.0) if below < 1e100 else last
        return start, stop

    def noise_at(self, step: float) -> float:
        """The noise multiplier of a step."""
        return float(self.setting.noise_multiplier(self.schedule.at([step]))[0])

    @property
    def best_step_size(self) -> float:
        """The first step size with the least error bound."""
        return best_step_size(exponent=self.exponent, steps=self.steps)

    @np.errstate(all="ignore")
    def error(self, sizes: npt.ArrayLike, variance: float, bound: Callable[..., Any], **more: float) -> Array:
        """`bound` on the mean squared error ÷ C of each size; NaN where there is none."""
        values = np.asarray(sizes, dtype=np.float64)
        errors, there = np.full(values.shape, np.nan), np.isfinite(values)
        if there.any():
            known = {"steps": self.steps, "n": self.n, "batch_size": self.batch_size, "gradient_variance": variance}
            errors[there] = bound(values[there], **known, **more)
        return errors

    def mse(self, first: npt.ArrayLike, variance: float) -> Array:
        """The bound for each first step size."""
        return self.error(first, variance, mse_of_schedule, exponent=self.exponent)


@dataclass(frozen=True, eq=False)
class ChainFacts:
    """What is known of the steps, whatever is drawn.

    Attributes:
        chain: the steps.
        cost: conversion → ε after some numbers of steps, the last one all of them.
        allowed: the largest η₁ for some ε, the last one the claim's, with the constants; 0 where none is proven.
        tight: the numerically tight interval after all steps; None until it is there.
        earlier: the same after some numbers of steps before.
        last: ε of the last model alone after the chart's numbers of steps, never above that of all models; None where
            that is not asked for, or nothing is proven.
        excluded: why nothing is proven of the last model; empty where nobody asked.
    """

    chain: Chain
    cost: dict[str, Bound]
    allowed: LangevinConstants
    tight: TightBand | None = None
    earlier: TightBand | None = None
    last: Array | None = None
    excluded: str = ""

    def epsilon(self, conversion: str = "improved") -> float:
        """Rényi ε of all steps."""
        return float(self.cost[conversion].epsilon[-1])

    @property
    def largest(self) -> float:
        """The largest η₁ that gives the claimed ε; 0 where none is proven."""
        return float(self.allowed.step_size[-1])

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
    def alone(self) -> str:
        """What the smallest valid ε of all models alone would allow; of what, where the last model is asked for."""
        if self.last is not None:
            return "of all models"
        chance = numbers.probability(float(attack_success(self.best, delta=self.chain.delta)), up=True)
        return f"alone: {chance}".replace(" %", "\u202f%")

    def worse(self, variance: float) -> float:
        """The error at the largest step size for the claim ÷ the least error."""
        return float(self.chain.mse(self.largest, variance) / self.chain.mse(self.chain.best_step_size, variance))

    @property
    def best(self) -> float:
        """The smallest valid ε of what is released that is known now: what bounds all models bounds the last one."""
        renyi = self.epsilon() if self.last is None else float(self.last[-1])
        return renyi if self.tight is None else min(renyi, float(self.tight.upper[-1]))

    @property
    def refuted(self) -> bool:
        """Whether the claim is too low; below the last model's ε no bound is known, so never for that alone."""
        return self.last is None and not self.excluded and self.least > self.chain.claim


def known(chain: Chain, *, marks: Array | None = None, epsilon: Array | None = None) -> ChainFacts:
    """What the steps up to each mark cost, and the largest step sizes for each ε and for the claim.

    Raises:
        ValueError: when the batch exceeds the data.
    """
    cost = composed(chain, np.array([float(chain.steps)]) if marks is None else marks)
    allowed = langevin_constants(
        chain.setting,
        epsilon=np.append([] if epsilon is None else epsilon, chain.claim),  # one search for all targets
        delta=chain.delta,
        exponent=chain.exponent,
        steps=chain.steps,
        conversion=chain.conversion,
        refine=False,
    )
    return ChainFacts(chain, cost, allowed)


def composed(chain: Chain, marks: Array) -> dict[str, Bound]:
    """ε of the steps up to each mark by both conversions."""
    return langevin_bounds(chain.setting, chain.schedule, delta=chain.delta, marks=marks)


def step_marks(steps: int) -> Array:
    """Some step counts from 1 to `steps`, even on a log axis."""
    return np.unique(np.round(np.geomspace(1.0, steps, STEP_POINTS)))


def epsilon_grid(claim: float) -> Array:
    """The range of Li et al. 2019, Fig. 1, and further where the claim lies outside."""
    return np.geomspace(min(0.02, claim / 2.0), max(1.7, 2.0 * claim), EPSILON_POINTS)


@np.errstate(all="ignore")
def step_sizes(chain: Chain, theorem: str, epsilon: npt.ArrayLike) -> Array:
    """Largest first step sizes for each ε, NaN where none is proven; Wang et al. bound SGLD alone."""
    if theorem == "wang":
        targets = np.asarray(epsilon, dtype=np.float64)
        holds = targets <= chain.wang_limit
        sizes = langevin_step_size(
            theorem,
            epsilon=np.where(holds, targets, chain.wang_limit),
            delta=chain.delta,
            n=chain.n,
            steps=chain.steps,
            clip=chain.clip,
            batch_size=chain.batch_size,
            adjacency=chain.setting.adjacency,
        )
        return np.where(holds, sizes, np.nan)
    sizes, _ = composed_step_size(
        chain.setting,
        epsilon=epsilon,
        delta=chain.delta,
        exponent=1 / 3 if theorem == "theorem3" else 0.0,
        steps=chain.steps,
        conversion=chain.conversion,
        refine=False,
    )
    return proven(sizes)


def proven(sizes: Array) -> Array:
    """NaN where no step size is proven private."""
    return np.where(sizes > 0.0, sizes, np.nan)


def steps_alone(answer: Answer[ChainFacts]) -> Hashable:
    """The steps decide the tight interval, whichever question about them is asked."""
    chain = answer.facts.chain
    return chain.setting, chain.schedule, chain.delta


def tight_interval(answer: Answer[ChainFacts]) -> dict[str, TightBand]:
    """The tight interval after all steps; some tenths of a second."""
    return {"tight": interval(answer.facts.chain, [answer.facts.chain.steps], TIGHT_GROUPS_AT_END)}


def interval(chain: Chain, marks: Sequence[float], groups: int) -> TightBand:
    """The tight interval of the steps up to each mark."""
    setting, schedule = chain.setting, chain.schedule
    if not marks:
        return TightBand(*np.zeros((3, 0)))
    low, high = langevin_tight_at(setting, schedule, chain.delta, marks, groups)
    # Groups of steps make the upper end coarse where noise is scarce; the Rényi bound is as valid.
    renyi = composed(chain, np.array(marks, dtype=np.float64))["improved"].epsilon
    return TightBand(np.array(marks, dtype=np.float64), low, np.minimum(high, renyi))


def layout(*more: Field[Any]) -> Layout:
    """The controls of `Chain`, and one question's own: the steps', or of the last model, for experts."""

    def groups(get: Reader) -> Groups:
        size = get(SIZE)
        friction = () if get(SAMPLER) == "sgld" else (FRICTION,)
        rare = more if LAST in more else ()
        steps = () if rare else more
        if rare and not get(LAST):
            rare = (LAST,)
        wrong: tuple[Item, ...] = ()  # a batch that the data cannot have stands first, with a way out
        batch: tuple[Item, ...] = (BATCH,)
        if get(BATCH) > size:
            usual = round(math.sqrt(size))
            beyond = f"A batch cannot exceed N = {size:.0f}."
            wrong, batch = (Noted(BATCH, beyond, choices={f"√N = {usual}": BATCH.write(usual)}),), ()
        return {
            "Steps": (*wrong, FIRST, DECAY, STEPS, CLAIM, *steps),
            "Data": (SIZE, *batch, CLIP, units.suggested(SIZE, get)),
            "Options": (SAMPLER, *friction, *experts(REPLACE, CONVERSION, *rare)),
        }

    return groups


def finite(curves: Sequence[Array]) -> list[float]:
    """All of their values that are numbers."""
    values = np.concatenate(curves)
    return [float(v) for v in values[np.isfinite(values)]]


def about(
    option: str,
    draw: Callable[..., LinePlot],
    *keys: str,
    along_steps: bool = False,
    by_epsilon: bool = False,
    extended: Callable[..., ChainFacts] = lambda facts, **_: facts,
    more_slow: Sequence[tuple[Callable[..., Any], Callable[..., Any]]] = (),
    **own: Field[Any],
) -> Question[Any]:
    """A question about a sampler, with presets of these keys, and settings of its own.

    Args:
        draw: the plot of the steps' facts, with the values of its `own` settings by keyword.
        along_steps, by_epsilon: whether it needs what some numbers of steps cost (`step_marks`), and the largest step
            sizes for some ε (`epsilon_grid`).
        extended: the facts with what this question knows beside them.
        more_slow: keys and works of slow parts beside the tight interval after all steps.
    """
    settings = annotated(Chain)

    def drawn(facts: ChainFacts, given: Mapping[str, Any]) -> LinePlot:
        return draw(facts, **{name: given[name] for name in own})

    def answer(**given: Any) -> Answer[ChainFacts]:
        chain = Chain(**{name: given[name] for name in settings})
        marks = step_marks(chain.steps) if along_steps else None
        facts = known(chain, marks=marks, epsilon=epsilon_grid(chain.claim) if by_epsilon else None)
        facts = extended(facts, **{name: given[name] for name in own})
        return Answer(drawn(facts, given), facts)

    slow = [
        slow_facts(key, work, drawn=lambda answer: drawn(answer.facts, answer.given))
        for key, work in ((steps_alone, tight_interval), *more_slow)
    ]
    return make_question(
        f"langevin/{option}",
        answer,
        layout(*own.values()),
        {**settings, **own},
        key=f"langevin_{option}",
        option=option,
        presets=keys,
        slow=tuple(slow),
        # Below every chart: the cards of the accountants that count the steps, whichever theorem a curve is of.
        more={"Accountants": lambda _: cards((Moments.name, Renyi().family, Renyi("classic").family, Tight.name))},
    )
