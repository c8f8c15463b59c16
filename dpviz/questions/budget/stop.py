"""What one may stop at any time costs, beside what must be planned."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from dpviz import library as dpviz
from dpviz.accounting.accountant import Accountant, needs_sampled_gaussian
from dpviz.accounting.adaptive.filter import CARD as FILTER_CARD
from dpviz.accounting.adaptive.filter import NAME as FILTER
from dpviz.accounting.bound import Bound
from dpviz.accounting.methods import MixtureOdometer, OdometerAccountant, Renyi, Tight
from dpviz.charts import Column, Line, LinePlot, Region
from dpviz.fields.parameters import PARAMETERS
from dpviz.mechanisms import Mechanism, SampledGaussian
from dpviz.questions import DELTA, LOG_X, LOG_Y, SIZE, STEPS, Answer, Block, kinds, make_question
from dpviz.questions.budget import shared
from dpviz.questions.budget.shared import MIXTURE, ODOMETER, accountants, odometer_formula
from dpviz.questions.layout import Expert, Groups, Offered, Reader, experts
from dpviz.questions.methods import epsilon_axis, step_grid, steps_axis
from dpviz.questions.tight_band import TightBand, tight_part
from dpviz.questions.use import card_from

NAMES = {
    ODOMETER: OdometerAccountant().label,
    MIXTURE: MixtureOdometer().label,
    "other": "odometer, other sizes",
    "planned": "as if planned",
    FILTER: FILTER_CARD.name,
    "rogers": "Rogers odometer",
}
FAMILIES = {"other": "odometer_other", "planned": Renyi("classic").family}
OTHER = {"paper": "authors", "authors": "paper", "powers": "paper"}


@dataclass(frozen=True, eq=False)
class StopFacts:
    """Accounts along the chart's steps, and what they say.

    Attributes:
        odometer, mixture, planned: ε at every step of the chart.
        rogers: ε by the odometer of Rogers et al. 2016 after the last step; None where it is not worked out.
        allowed: steps that the filter lets pass; inf where they cost nothing.
        allowed_rogers: those that the filter of Rogers et al. lets pass, and
        allowed_adaptive: that of Whitehouse et al. 2023 for (ε, δ) or zCDP steps.
        excluded: why there is no curve of Rogers et al.; empty where there is one.
        tight: the tight interval of planned steps, once it is there.
    """

    odometer: Bound
    mixture: Bound
    planned: Bound
    rogers: float | None
    allowed: float
    allowed_rogers: int | None
    allowed_adaptive: int | None
    excluded: str
    tight: TightBand | None = None

    @property
    def anytime(self) -> tuple[tuple[float, str], tuple[float, str]]:
        """ε after the last step and name of both odometers, the smaller first: the settings alone decide which.

        So it can be chosen before the first step. Along a run, the smaller reading of each moment would cost both δ.
        """
        pairs = ((self.mixture, NAMES[MIXTURE]), (self.odometer, f"{NAMES[ODOMETER]} of Lécuyer"))
        smaller, other = sorted((float(bound.epsilon[-1]), name) for bound, name in pairs)
        return smaller, other

    @property
    def price(self) -> float:
        """What stopping at any time costs ÷ what the plan does."""
        return self.anytime[0][0] / max(float(self.planned.epsilon[-1]), 1e-300)

    def formulas(self, given: Mapping[str, Any]) -> list[tuple[str, str]]:
        """The odometer's."""
        order, value = float(self.odometer.order[-1]), float(self.odometer.epsilon[-1])
        return odometer_formula(given, [(given["mechanism"], given["steps"])], order, value)


def stop(
    *,
    mechanism: Annotated[Mechanism, kinds.MECHANISM],
    steps: Annotated[int, STEPS],
    delta: Annotated[float, DELTA],
    size: Annotated[int, SIZE],
    target_epsilon: Annotated[float, shared.TARGET],
    variant: Annotated[str, shared.VARIANT],
    conversion: Annotated[str, shared.CONVERSION],
    curves: Annotated[tuple[str, ...], shared.CURVES],
    log_x: Annotated[bool, LOG_X],
    log_y: Annotated[bool, LOG_Y],
) -> Answer[StopFacts]:
    """ε against steps by every account that is asked for.

    Raises:
        ValueError: the odometer knows no such mechanism; says why.
    """
    x = step_grid(steps, log_x)
    accounts: dict[str, Accountant] = {
        ODOMETER: OdometerAccountant(variant),
        MIXTURE: MixtureOdometer(),
        "planned": Renyi(conversion),
    }
    if "other" in curves:
        accounts["other"] = OdometerAccountant(OTHER[variant])
    bounds = {key: account.epsilon_of(mechanism, steps=x, delta=delta) for key, account in accounts.items()}
    budget = dpviz.Filter(target_epsilon=target_epsilon, delta=delta, conversion=conversion)
    allowed = budget.remaining_steps(mechanism)
    values = {key: bound.epsilon for key, bound in bounds.items()}
    values[FILTER] = np.where(x <= allowed, target_epsilon, np.nan)
    excluded, last, allowed_rogers, allowed_adaptive = needs_sampled_gaussian(mechanism), None, None, None
    if isinstance(mechanism, SampledGaussian) and not excluded:
        step = {"noise_multiplier": mechanism.noise_multiplier, "sample_rate": mechanism.sample_rate, "delta": delta}
        rogers = np.asarray(dpviz.rogers_odometer_epsilon(**step, steps=x, size=max(size, 2), horizon=steps))
        values["rogers"], last = rogers, float(rogers[-1])
        allowed_rogers = dpviz.rogers_filter_steps(target_epsilon=target_epsilon, **step)
        allowed_adaptive = dpviz.fully_adaptive_steps(target_epsilon=target_epsilon, **step)
    lines = tuple(
        Line(
            key,
            name,
            x,
            values[key],
            FAMILIES.get(key, key),
            approximate=key == "planned",
            hover=(Column("α", bounds[key].order, key="order"),) if key in bounds else (),
            kept=key in (ODOMETER, MIXTURE, "planned"),
        )
        for key, name in NAMES.items()
        if key in curves and key in values and not (key == FILTER and allowed == 0)
    )
    refused = allowed < steps and FILTER in curves
    plot = LinePlot(
        x=steps_axis(log=log_x, marked=steps),
        y=epsilon_axis(log=log_y, shown=None if log_y else without_rogers),
        lines=lines,
        regions=(Region(max(allowed, 1.0), math.inf, "beyond the filter's budget"),) if refused else (),
    )
    of_plan, most = bounds["planned"], (allowed, allowed_rogers, allowed_adaptive)
    facts = StopFacts(bounds[ODOMETER], bounds[MIXTURE], of_plan, last, *most, excluded)
    return Answer(plot, facts)


def without_rogers(lines: Sequence[Line]) -> tuple[float, float] | None:
    """None, unless Rogers' curve would press all others flat: then it leaves through the top."""
    tops = {line.key: float(y.max()) for line in lines if (y := np.asarray(line.y)[np.isfinite(line.y)]).size}
    others = max((top for key, top in tops.items() if key != "rogers"), default=0.0)
    return (0.0, 1.25 * others) if others > 0 and tops.get("rogers", 0.0) > 2.0 * others else None


def shown_cards(answer: Answer[StopFacts]) -> list[Block]:
    """Of every name that may be on the chart."""
    variant = answer.given["variant"]
    other = "odometer_authors" if variant == "paper" else ODOMETER
    return accountants(variant, conversion=answer.given["conversion"], others=(other, MIXTURE, "rogers", Tight.name))


def layout(get: Reader) -> Groups:
    parameters = kinds.KINDS[get(kinds.KIND)].parameters()
    noise = (PARAMETERS[name] for name in parameters if name != "sample_rate")
    return {
        "Budget": (shared.TARGET, *noise, STEPS, Expert(shared.VARIANT)),
        "Mechanism": kinds.controls(get),
        "Show": (
            *(Offered(shared.CURVES, (*shared.CURVES.options,), ("other",)), LOG_X, LOG_Y),
            *experts(shared.VARIANT, shared.CONVERSION),
        ),
    }


STOP = make_question(
    "budget/stop",
    stop,
    layout,
    presets=("fo2b",),
    slow=(
        tight_part(
            lambda answer: [(answer.given["mechanism"], answer.given["steps"])],
            wanted=lambda answer: Tight.name in answer.given["curves"],
            log="log_x",
        ),
    ),
    more={"Use it": card_from, "Accountants": shown_cards},
)
