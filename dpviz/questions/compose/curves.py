"""Every accountant's ε along the steps, for one setting: how does ε grow with steps?"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Annotated

import numpy as np

from dpviz._arrays import Array
from dpviz.accounting.attack.best_accuracy import Accuracy
from dpviz.accounting.bayesian.accountant import BayesianBound
from dpviz.accounting.bound import Bound
from dpviz.accounting.methods import BAYESIAN, Tight
from dpviz.charts import Column, Floor, Guide, Line, LinePlot, Plot, Reference, look
from dpviz.fields import choice, number, numbers, several
from dpviz.mechanisms import Mechanism, SampledGaussian
from dpviz.questions import DELTA, STEPS, Answer, Reader, guessing, kinds
from dpviz.questions.compose.clipping import QUANTILE
from dpviz.questions.compose.distribution import LawCost, law_cost, law_steps
from dpviz.questions.compose.facts import LONGER, ComposeFacts
from dpviz.questions.compose.options import BayesianOptions
from dpviz.questions.compose.sample import promised
from dpviz.questions.gradient_fields import gradients_where
from dpviz.questions.gradients import Gradients, Law, no_bayesian, tail
from dpviz.questions.methods import (
    NAMES,
    OFFERED,
    coarse,
    epsilon_axis,
    left_out,
    method,
    step_grid,
    steps_axis,
)
from dpviz.questions.shared import AMPLIFICATION, CLIP, DELTA_MU, FAILURE, LAW, LOG_X, LOG_Y, TRIED

CURVES = several("curves", options=OFFERED | {Tight.name: NAMES[Tight.name]})
ORDER = number("lam")
DEFINITION = choice("bdef")
SAMPLES = number("m")
READING = choice("reading")
PSI = choice("psi")


def drawn(get: Reader) -> tuple[str, ...]:
    """The curves that are switched on, of those that there are."""
    possible = kinds.offered(CURVES, get)
    return tuple(key for key in get(CURVES) if key in possible)


GRADIENTS = gradients_where(lambda get: BAYESIAN in drawn(get), laws=True)


def growth(
    *,
    mechanism: Annotated[Mechanism, kinds.MECHANISM],
    steps: Annotated[int, STEPS],
    delta: Annotated[float, DELTA],
    curves: Annotated[tuple[str, ...], CURVES],
    amplification: Annotated[str, AMPLIFICATION],
    log_steps: Annotated[bool, LOG_X],
    log_epsilon: Annotated[bool, LOG_Y],
    quantile: Annotated[float, QUANTILE],
    clip: Annotated[str, CLIP],
    delta_mu: Annotated[float | None, DELTA_MU],
    failure: Annotated[float, FAILURE],
    order: Annotated[int | None, ORDER],
    definition: Annotated[str, DEFINITION],
    samples: Annotated[int | None, SAMPLES],
    reading: Annotated[str, READING],
    divergence: Annotated[str, PSI],
    gradients: Annotated[Gradients | None, GRADIENTS],
    tried: Annotated[int, TRIED],
    law: Annotated[str, LAW],
) -> Answer[ComposeFacts]:
    """All chosen curves that there are. A sample that cannot be had is told, not raised: the other curves stand."""
    excluded = left_out(CURVES.options, mechanism)
    shown = [key for key in curves if key not in (BAYESIAN, Tight.name, *excluded)]
    accountants = {key: method(key, amplification, order or 0) for key in shown}
    grid = step_grid(steps, log_steps)
    facts = ComposeFacts(
        mechanism=mechanism,
        steps=steps,
        delta=delta,
        grid=grid,
        log_steps=log_steps,
        curves=curves,
        amplification=amplification,
        tried=tried,
        runs_law=law,
        options=BayesianOptions(
            gradients=gradients,
            quantile=quantile,
            clip=clip,
            delta_mu=delta if delta_mu is None else delta_mu,
            failure=failure,
            order=order,
            definition=definition,
            samples=samples,
            reading=reading,
            divergence=divergence,
        ),
        bounds={key: one.epsilon_of(mechanism, steps=grid, delta=delta) for key, one in accountants.items()},
        accountants=accountants,
        possible=tuple(key for key in CURVES.options if key not in excluded),
        excluded=excluded,
        accuracy=Accuracy(0.5, 1.0) if Tight.name in excluded else None,
    )
    if BAYESIAN in curves and gradients is not None and isinstance(mechanism, SampledGaussian):
        facts = with_bayesian(facts, mechanism)
    return Answer(plot(facts, log_epsilon=log_epsilon), facts)


def with_bayesian(facts: ComposeFacts, mechanism: SampledGaussian) -> ComposeFacts:
    """With Bayesian DP of the known distribution or of the sample, or with the reason why it has no number."""
    options = facts.options
    try:
        if not isinstance(options.gradients, Law):
            return replace(facts, bayesian=promised(options, facts.grid, mechanism))
        law = with_reading(options.gradients, options, facts.grid, mechanism, options.reading)
        if options.reading != "another":
            return replace(facts, law=law)
        return replace(facts, law=law, same=with_reading(options.gradients, options, facts.grid, mechanism, "planned"))
    except ValueError as problem:
        return replace(facts, problem=no_bayesian(problem))


def with_reading(law: Law, options: BayesianOptions, grid: Array, mechanism: SampledGaussian, reading: str) -> LawCost:
    """Bayesian DP of a known distribution, where a curve counts the steps of these persons."""
    return law_cost(
        law,
        options.quantile,
        tuple(law_steps(grid).tolist()),
        options.renyi_orders,
        noise_multiplier=mechanism.noise_multiplier,
        sample_rate=mechanism.sample_rate,
        delta_mu=options.delta_mu,
        definition=int(options.definition),
        reading=reading,
        rough=coarse(),
    )


def plot(facts: ComposeFacts, *, log_epsilon: bool) -> LinePlot:
    """The curves of accountants, then those of Bayesian DP; the table has rows at marked steps."""
    of_sample = facts.bayesian.curves if facts.bayesian else []
    lines = [dp_line(facts, key) for key in facts.bounds]
    lines += law_lines(facts)
    lines += [bayesian_line(bound, facts.grid, facts.options.delta_mu, kept) for bound, kept in of_sample]
    return LinePlot(
        x=steps_axis(f"{facts.mechanism.step}s", log=facts.log_steps, marked=facts.steps),
        y=epsilon_axis(log=log_epsilon),
        lines=tuple(lines),
        guides=(Guide("x", facts.steps, "", noted=False, sets=kinds.T[facts.mechanism.step]),),
        floors=() if facts.options.order else tuple(floors(facts.bounds)),
        references=tuple(root_of_steps(facts)),
        more=tuple(column for bound, _ in of_sample for column in tail(printed_key(bound), bound)),
    )


def root_of_steps(facts: ComposeFacts) -> Iterator[Reference]:
    """ε ∝ √T through the end of the best curve, as far as the ratio of the told bounds is known: of many small steps
    the loss is nearly Gaussian, and its spread grows with their root."""
    if 0.0 < facts.epsilon < math.inf and facts.steps > 1:
        name, times = "ε ∝ √T", facts.growth
        if times is not None:
            name = f"{name}; {LONGER} × the {facts.mechanism.step}s → {numbers.at_most(times, 2)} × ε"
        yield Reference(facts.grid, facts.epsilon * np.sqrt(facts.grid / facts.steps), name)


def with_reference(answer: Answer[ComposeFacts], plot: Plot | None = None) -> Plot:
    """The plot, the answer's own where None, with the √T curve of its facts as they are now."""
    curves = answer.plot if plot is None else plot
    assert isinstance(curves, LinePlot)
    return replace(curves, references=tuple(root_of_steps(answer.facts)))


def dp_line(facts: ComposeFacts, key: str) -> Line:
    """One accountant's curve; of a pinned state the tightest valid bound stays."""
    bound, valid = facts.bounds[key], key in facts.valid
    orders = () if np.isnan(bound.order).all() else (Column("α", bound.order, key="order"),)
    return Line(
        key,
        NAMES[key],
        facts.grid,
        bound.epsilon,
        key,
        approximate=not valid,
        hover=(guessing.allowed("right by ε alone:", bound.epsilon, facts.delta), *orders),
        kept=key == facts.tightest,
        label=NAMES[key] if valid else f"{NAMES[key]} (no bound)",
        explained=True,  # its accountant says why there is no value
    )


def law_lines(facts: ComposeFacts) -> list[Line]:
    """Bayesian DP of a known distribution: a bound, and beside another person in each step the same one in every."""
    delta_mu = facts.options.delta_mu
    if facts.law is None:
        return []
    if facts.same is None:
        return [law_line(facts.law, delta_mu)]
    same = replace(law_line(facts.same, delta_mu), key="bayesian_same", end="same person (weaker)", kept=False)
    another = replace(law_line(facts.law, delta_mu), end="another each step (weaker)", family=look.ANOTHER_PERSON)
    return [
        replace(same, name=f"{NAMES[BAYESIAN]}, the same person in every step"),
        replace(another, name=f"{NAMES[BAYESIAN]}, another in each step"),
    ]


def law_line(law: LawCost, delta_mu: float) -> Line:
    """Bayesian DP of a known distribution: a bound."""
    return Line(
        BAYESIAN,
        f"{NAMES[BAYESIAN]}, this distribution",
        law.steps,
        law.bound.upper,
        BAYESIAN,
        hover=bayesian_hover(law.bound.upper, law.bound.order, delta_mu),
        end=NAMES[BAYESIAN],
    )


def bayesian_hover(epsilon: Array, order: Array, delta_mu: float) -> tuple[Column, ...]:
    return guessing.allowed("right by ε_μ alone:", epsilon, delta_mu), Column("α", order, key="order")


def bayesian_line(bound: BayesianBound, steps: Array, delta_mu: float, kept: bool) -> Line:
    """A bound that holds is solid; the estimate, as the paper prints it, dashed, and dotted where its tail decides."""
    key = printed_key(bound)
    dominated = bound.tail_dominated & (not bound.certified)
    return Line(
        key,
        NAMES[key],
        steps,
        bound.epsilon,
        BAYESIAN,
        approximate=not bound.certified,
        dotted_from=float(steps[int(np.argmax(dominated))]) if dominated.any() else None,
        hover=bayesian_hover(bound.epsilon, bound.order, delta_mu),
        kept=kept,
        label=NAMES[BAYESIAN] if bound.certified else None,
    )


def floors(bounds: Mapping[str, Bound]) -> list[Floor]:
    """Where orders end; a floor is worth a line only where some curve lies on it."""
    return [
        Floor(float(bound.floor[-1]), f"{NAMES[key]}: orders end", key)
        for key, bound in bounds.items()
        if bool(bound.at_grid_end[-1]) and float(bound.floor[-1]) > 0.5 * float(bound.epsilon[-1])
    ]


def printed_key(bound: BayesianBound) -> str:
    return BAYESIAN if bound.certified else "bayesian_printed"
