"""The attempts and events of an imported run in their order: each fits those before it, and none costs too much."""

from collections.abc import Mapping, Sequence
from typing import Any

from dpviz.runs.exchange.checks import DISTANCES, EVENTS, MECHANISMS, REPLANS, STEPS, expect
from dpviz.runs.store.records import CHARGED_KIND, CONTINUED_KIND, FINAL_KINDS, IMPORTED_KIND, UNREAD, Event
from dpviz.training.data import DATA_SETS
from dpviz.training.defaults import units_of
from dpviz.training.settings import RunSettings


def attempts_of(attempts: Sequence[Mapping[str, Any]], latest: int) -> list[dict[str, Any]]:
    """Attempts 1 … `latest`, without their processes: a file must not name those.

    Of one that was under way the file does not hold everything.
    """
    numbers = [attempt["attempt"] for attempt in attempts]
    expect(numbers == list(range(1, latest + 1)), f"attempts 1 … {latest}, found {numbers}")
    executions = {attempt["execution"] for attempt in attempts}
    expect(len(executions) == len(attempts), "an execution of its own for each attempt")
    return [{**attempt, "worker": {}, "outcome": attempt["outcome"] or UNREAD} for attempt in attempts]


def events_of(stated: Sequence[Mapping[str, Any]], attempts: int) -> list[Event]:
    """All events in order, consistent with the events before them."""
    events = [_event(**event) for event in stated]
    places = [(event.attempt, event.seq) for event in events]
    expect(len(set(places)) == len(places), "each event to have a different number")
    for event in events:
        belongs = event.kind == IMPORTED_KIND or 1 <= event.attempt <= attempts
        expect(belongs, f"every event to belong to an attempt, found one of attempt {event.attempt}")
    events.sort(key=lambda event: (event.attempt, event.seq))
    for attempt in range(1, attempts + 1):
        _in_step([event for event in events if event.attempt == attempt and event.kind != IMPORTED_KIND])
    _bounded(events)
    return events


def _event(attempt: int, seq: int, kind: str, step: int, time: float, data: dict[str, Any]) -> Event:
    return Event(attempt, seq, kind, step, time, {"kind": kind, "step": step, "time": time, **data})


def _in_step(events: Sequence[Event]) -> None:
    """One attempt: begun once, steps one after the other where no event is missing, nothing after its end."""
    at, begun, last, missing = 0, False, 0, False
    for place, event in enumerate(events):
        expect(event.step >= last, f"steps that do not decrease, found step {event.step} after {last}")
        last = event.step
        missing |= event.seq != (events[place - 1].seq + 1 if place else 0)
        if event.kind == "started":
            expect(not begun and not at, "'started' once, before the first step")
            begun = True
        elif event.kind == CONTINUED_KIND:
            expect(begun and not at, "'continued' once, after 'started' and before the first step")
            at = event.step
        elif event.kind == "step":
            first = event.data["first"]
            expect(first == at + 1 or (first > at and missing), f"step {at + 1} next, found {first}")
            at, missing = event.step, False
        elif event.kind in FINAL_KINDS:
            expect(place == len(events) - 1, f"nothing after {event.kind!r}")


def _bounded(events: Sequence[Event]) -> None:
    """What is cheap in a file and dear to work out."""
    steps = [event for event in events if event.kind == "step"]
    counts = [event for event in events if event.kind == "count"]
    charges = [event.data["mechanisms"] for event in events if event.kind in (CHARGED_KIND, CONTINUED_KIND)]
    sizes = {
        "steps in all attempts": (sum(event.data["count"] for event in steps), STEPS),
        "different mechanisms": (
            len({tuple(one[:-1]) for event in steps for one in event.data["mechanisms"]})
            + len({tuple(one[:-1]) for mechanisms in charges for one in mechanisms})
            + len({event.data["mechanism"][0] for event in counts}),
            MECHANISMS,
        ),
        "changes of mechanism": (
            sum(map(len, [*charges, *(event.data["mechanisms"] for event in steps)])) + len(counts),
            EVENTS,
        ),
        "distances": (
            sum(len(one) for event in steps for one in event.data["distances"] or []),
            DISTANCES,
        ),
        "new plans": (sum(event.kind == "replanned" for event in events), REPLANS),
    }
    for what, (many, most) in sizes.items():
        expect(many <= most, f"at most {most:,} {what}, found {many:,}: to check their ε would take too long")


def known_size(settings: RunSettings, events: Sequence[Event]) -> None:
    """A known data set has its own number of examples: q and the plan rest on it."""
    for event in events:
        if event.kind == "started":
            expect("examples" in event.data, "'started' to have 'examples'")
            examples = event.data["examples"]
            size = units_of(settings) if settings.data in DATA_SETS else examples
            expect(examples == size, f"examples={examples:,} to be the {size:,} of {settings.data}")
            batch = settings.batch_size
            expect(batch <= examples, f"batch_size={batch:,} <= {examples:,} examples")
