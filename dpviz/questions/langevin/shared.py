"""Controls, settings and the axis of step sizes, shared by the questions about a sampler."""

import math
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from dpviz._arrays import Array
from dpviz.accounting.methods import Moments, Renyi, Tight
from dpviz.charts import Axis, LinePlot, Span
from dpviz.fields import AnyField, numbers
from dpviz.questions import (
    Answer,
    FieldControl,
    Item,
    Layout,
    Question,
    Reader,
    Slow,
    Words,
    annotated,
    cards,
    experts,
    published,
    slow_facts,
    units,
)
from dpviz.questions.langevin import chain
from dpviz.questions.langevin.chain import Chain, SamplerPlan
from dpviz.questions.layout import fields_of

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

F = TypeVar("F")
D = TypeVar("D", bound="DataclassInstance")


def controls(
    *steps: AnyField,
    without: Callable[[Reader], Collection[AnyField]] = lambda _: (),
    options: Callable[[Reader], Sequence[AnyField]] = lambda _: (),
    sizes: tuple[float, float] = (1.0, math.inf),
) -> Callable[[Reader], Layout]:
    """The controls of `Chain` but for those `without` which the question is answered, and the question's own: beside
    the steps, or among the options, for experts; N has an answer between these `sizes`."""

    def all_groups(get: Reader) -> Layout:
        size, tau = get(chain.SIZE), get(chain.BATCH)
        noise = chain.NOISE if get(chain.ALGORITHM) == "sgld" else chain.FRICTION
        least, most = sizes
        if chain.BATCH not in without(get):
            least = max(tau, least)
        wrong: tuple[Item, ...] = ()  # a batch that the data cannot have stands first, with a way out
        batch: tuple[Item, ...] = (FieldControl((chain.BATCH,), within=(1.0, size)),)
        if tau > size:
            usual = round(math.sqrt(size))
            beyond = f"A batch cannot exceed N = {size:.0f}."
            choices = {f"√N = {usual}": chain.BATCH.write(usual)}
            wrong = (FieldControl((chain.BATCH,), warning=beyond, choices=choices),)
            batch = ()
        return {
            "Steps": (*wrong, chain.FIRST, chain.DECAY, chain.STEPS, chain.CLAIM, *steps),
            "Data": (
                FieldControl((chain.SIZE,), within=(least, most)),
                *batch,
                chain.CLIP,
                units.suggested(chain.SIZE, get),
            ),
            "Options": (chain.ALGORITHM, noise, *experts(chain.REPLACE, chain.CONVERSION, *options(get))),
        }

    def groups(get: Reader) -> Layout:
        unused = {field.key for field in without(get)}
        return {
            name: [item for item in items if isinstance(item, str) or not unused & {f.key for f in fields_of([item])}]
            for name, items in all_groups(get).items()
        }

    return groups


def langevin_question(
    option: str,
    title: str,
    answer: Callable[..., Answer[F]],
    words: Words[F],
    *presets: str,
    asks: str,
    layout: Callable[[Reader], Layout] | None = None,
    slow: Sequence[Slow[F]] = (),
    sampler: type[SamplerPlan] = Chain,
) -> Question[F]:
    """A question about a sampler; `answer` takes it, as `sampler` has it, and settings of its own by keyword."""
    settings = annotated(sampler)

    def of_chain(**given: Any) -> Answer[F]:
        return answer(sampler(**{name: given.pop(name) for name in settings}), **given)

    return Question(
        f"langevin_{option}",
        title,
        of_chain,
        words,
        asks=asks,
        settings=settings | annotated(answer),
        presets=published(*presets),
        slow=tuple(slow),
        layout=layout or controls(),
        # Below every chart: the cards of the accountants that count the steps, whichever theorem a curve is of.
        more={"Accountants": lambda _: cards((Moments.name, Renyi().family, Renyi("classic").family, Tight.name))},
        option=option,
    )


def with_plot(
    key: Callable[[Answer[D]], Hashable], work: Callable[[Answer[D]], Mapping[str, Any]], plot: Callable[[D], LinePlot]
) -> Slow[D]:
    """A slow part that brings facts, which are then plotted anew."""
    return slow_facts(key, work, drawn=lambda answer: plot(answer.facts))


def step_size_axis(title: str, shown: Span | None = None) -> Axis:
    return Axis(title, column="step_size", log=True, shown=shown, write=four_digits)


def four_digits(value: float) -> str:
    """To nearest: step sizes and error bounds are no ε."""
    return numbers.epsilon(value, digits=4)


def finite(curves: Sequence[Array]) -> list[float]:
    """All of their values that are numbers."""
    values = np.concatenate(curves)
    return [float(value) for value in values[np.isfinite(values)]]
