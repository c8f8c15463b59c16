"""Origins of a run's initial weights: earlier runs, the data that they learned from, and the privacy cost so far.

Whoever is in the data of an earlier run and in those of this one is told of by both: the costs add up, and every
account of this run begins with what the earlier ones may have spent. Of other data the earlier run has an ε of its own.
"""

import math
from collections.abc import Iterator
from typing import TypeVar

from dpviz.accounting.claims import rounded_up
from dpviz.mechanisms import Event, merge_events
from dpviz.training.data import DATA_SETS
from dpviz.training.data.own.place import PREFIX, is_own
from dpviz.training.samplers import SAMPLERS, stored
from dpviz.training.values import LOST, OTHER_DATA, SAME_DATA, Origin, RunValues
from dpviz.training.words import Refusal, refusal

MOST_ORIGINS = 20  # runs that led to a run's start, one from another

Values = TypeVar("Values", bound=RunValues)


def overlap(one: str, other: str) -> bool:
    """Whether somebody may be in both data sets. Of two of one's own nobody knows: they may."""
    whole = {data: (DATA_SETS[data].part_of if data in DATA_SETS else "") or data for data in (one, other)}
    return (is_own(one) and is_own(other)) or whole[one] == whole[other]


def on_the_same(settings: RunValues) -> tuple[Origin, ...]:
    """Earlier runs whose costs add up with this one's."""
    return tuple(
        origin for origin in settings.origins if overlap(origin.data, settings.data) and origin.run != OTHER_DATA
    )


def _of_start(settings: RunValues) -> tuple[Origin, ...]:
    """The runs that made the weights that this one starts from; empty where they are not known."""
    return tuple(origin for origin in settings.origins if origin.run not in (SAME_DATA, OTHER_DATA, LOST))


def as_planned(settings: Values) -> Values:
    """The settings as they were before any steps of the run were lost."""
    return settings.with_(origins=tuple(origin for origin in settings.origins if origin.run != LOST))


def lost(settings: RunValues) -> tuple[Event, ...]:
    """What was charged for steps that a checkpoint of the run did not hold, and that were taken again."""
    return merge_events(event for origin in settings.origins if origin.run == LOST for event in origin.events)


def with_lost(settings: Values, events: tuple[Event, ...]) -> Values:
    """The settings of a run that takes steps again for which these were charged, beside what it lost before."""
    everything, kept = merge_events((*lost(settings), *events)), as_planned(settings)
    if not everything:
        return kept
    number = sum(count for _, count in everything)
    return kept.with_(
        origins=(
            *kept.origins,
            Origin(
                run=LOST,
                name=f"{number:,} lost {'step' if number == 1 else 'steps'}",
                data=settings.data,
                mechanisms=tuple(tuple(stored(mechanism, count)) for mechanism, count in everything),
                delta=settings.delta,
                unit=settings.unit,
            ),
        )
    )


def spent_before(settings: RunValues) -> tuple[Event, ...]:
    """What the earlier runs may have spent on this run's data, equal mechanisms together."""
    return merge_events(event for origin in on_the_same(settings) for event in origin.events)


def names(settings: RunValues) -> str:
    """The earlier runs on the same data, in words; empty where there is none."""
    return " and ".join(dict.fromkeys(origin.name for origin in reversed(on_the_same(settings))))


def start_words(settings: RunValues) -> str:
    """What an ε of a private run says of its start, to continue a sentence or a list; empty where there is nothing."""
    earlier = names(settings)
    text = f", with what {earlier} may have spent on the same data" if earlier else ""
    if settings.start_from is None:
        return text
    elsewhere = len(on_the_same(settings)) < len(settings.origins) or not _of_start(settings)
    return f"{text}, for these data only" if elsewhere else text


def check_origins(settings: RunValues) -> None:
    """Refuse origins that cannot be.

    Raises:
        ValueError: naming the start, what is wrong with it and the way out.
    """
    earlier = settings.origins
    number = len(as_planned(settings).origins)
    if number and settings.start_from is None:
        raise refusal("unknown_start")
    if number > MOST_ORIGINS:
        raise refusal("many_origins", name=earlier[0].name, most=MOST_ORIGINS, number=number)
    for origin in earlier:
        if broken := next(_broken(origin), ""):
            raise Refusal(f"Expected start_from={origin.name!r} {broken}.")
        list(origin.events)  # σ and q that cannot be are refused


def _broken(origin: Origin) -> Iterator[str]:
    """What an origin should have, and has not; continues a sentence."""
    if origin.data not in DATA_SETS and not is_own(origin.data):
        yield f"to name its data, found {origin.data!r:.60}"
    if not all(one[-1] >= 1 for one in origin.mechanisms):
        yield "with step counts that are 1 or more"
    if not origin.unbounded and not origin.mechanisms and not origin.demonstrations:
        yield "to state what it spent, or why this is unknown"
    if origin.epsilon is not None and not 0.0 <= origin.epsilon < math.inf:
        yield f"with an ε that is a number, found {origin.epsilon}"
    if not 0.0 < origin.delta < 1.0:
        yield f"with δ in (0, 1), found {origin.delta}"


def check_start(settings: RunValues) -> None:
    """Refuse a start after which no ε of a private run would hold.

    Raises:
        ValueError: naming the start, what is wrong with it and the way out.
    """
    for origin in on_the_same(settings):
        why = origin.unbounded or ("its noise can be replayed" if origin.replayable and settings.secure_noise else "")
        if why and not origin.demonstrations:
            raise refusal("unbounded_origin", name=origin.name, why=why)
        if origin.unit != settings.unit and not origin.demonstrations:
            raise refusal("unit_of_origin", name=origin.name, there=origin.unit, here=settings.unit)
        kinds = {mechanism.adjacency for mechanism, _ in origin.events}
        if kinds - {SAMPLERS[settings.sampler].kind.adjacency}:
            there = " and ".join(sorted(map(str, kinds)))
            raise refusal("adjacency_of_origin", name=origin.name, there=there, sampler=settings.sampler)
    if settings.bayesian and on_the_same(as_planned(settings)):
        raise refusal("bayesian_start", names=names(as_planned(settings)))


def conditions_of_start(settings: RunValues) -> tuple[str, ...]:
    """What must be true of the weights that a run starts from, and goes on from, for its claim, in words."""
    again = tuple(
        f"results did not decide that the run went back, and on from there: this ε covers {origin.name} beside those "
        "that took their place"
        for origin in settings.origins
        if origin.run == LOST
    )
    if settings.start_from is None:
        return again
    conditions = [_of_program(origin) for origin in as_planned(settings).origins if origin not in _of_start(settings)]
    if not _of_start(settings):
        start = "the initial parameters and optimiser state did not use these data, or their cost is added to this ε"
        return (*conditions, start, *again)
    same = [origin for origin in on_the_same(settings) if origin in _of_start(settings)]
    if same:
        conditions.append(
            "results of runs on these data did not influence the choice of this plan or of the start from "
            f"{names(settings)}, whose cost on the same data is included"
        )
    conditions += [_elsewhere(origin, settings.data) for origin in _of_start(settings) if origin not in same]
    return (*conditions, *again)


def _of_program(origin: Origin) -> str:
    if origin.run == OTHER_DATA:
        return f"nobody in these data is in the data of {origin.name} in the same program, although they look the same"
    if origin.demonstrations:
        return f"nothing of {origin.name} on the same data is released: its noise can be replayed"
    return (
        f"this ε covers this training and {origin.name} in the same program on the same data, with their whole plans; "
        "the results of one did not influence the plan of another"
    )


def _elsewhere(origin: Origin, data: str) -> str:
    here, there = _title(data), _title(origin.data)
    text = f"nobody is in both {here}, the only data that this ε covers, and {there}, the data of {origin.name}"
    if origin.replayable:
        return f"{text} with noise that can be replayed, so those data must be public"
    if origin.epsilon is None:
        return f"{text} without an ε, so those data must be public"
    return f"{text} with its own ε ≤ {rounded_up(origin.epsilon):.3g} and δ = {origin.delta:.3g}"


def _title(data: str) -> str:
    return DATA_SETS[data].title if data in DATA_SETS else data.removeprefix(PREFIX)
