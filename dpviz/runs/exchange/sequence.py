"""The attempts and events of an imported run in their order: each fits those before it, and none costs too much."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dpviz.runs.exchange.checks import (
    ATTEMPTS,
    CHANGING,
    DISTANCES,
    EVENTS,
    MECHANISMS,
    PLANNED,
    REPLANS,
    STEPS,
    NotARun,
    expect,
)
from dpviz.runs.store.records import CHARGED_KIND, CONTINUED_KIND, FINAL_KINDS, IMPORTED_KIND, UNREAD, Event
from dpviz.training.accounts.followed import LENGTHS
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


@dataclass
class _Attempt:
    """One attempt as far as it was read.

    Attributes:
        seq: The number of its last event.
        at: The last step of its last stretch.
        step: The step of its last event.
        begun: Whether it has an event "started".
        missing: Whether events are missing since its last stretch.
        gap: Whether any is missing.
        final: Its last event, of a kind that ends a run.
    """

    seq: int = -1
    at: int = 0
    step: int = 0
    begun: bool = False
    missing: bool = False
    gap: bool = False
    final: Event | None = None

    def take(self, event: Event) -> None:
        """Begun once, steps one after the other where no event is missing, nothing after its end."""
        if self.final is not None:
            raise NotARun(f"Expected nothing after {self.final.kind!r}.")
        expect(event.step >= self.step, f"steps that do not decrease, found step {event.step} after {self.step}")
        absent = event.seq != self.seq + 1
        self.seq, self.step, self.gap, self.missing = event.seq, event.step, self.gap or absent, self.missing or absent
        if event.kind == "started":
            expect(not self.begun and not self.at, "'started' once, before the first step")
            self.begun = True
        elif event.kind == CONTINUED_KIND:
            expect(self.begun and not self.at, "'continued' once, after 'started' and before the first step")
            self.at = event.step
        elif event.kind == "step":
            first = event.data["first"]
            follows = first == self.at + 1 or (first > self.at and self.missing)
            expect(follows, f"step {self.at + 1} next, found {first}")
            self.at, self.missing = event.step, False
        elif event.kind in FINAL_KINDS:
            self.final = event


@dataclass
class Costs:
    """What working out the ε of a run's events costs, which may be dear where its file is small.

    Attributes:
        settings: Of the run; None where they are not those of this version.
        attempts, events, steps, changes, distances, plans: How many there are.
        mechanisms: The different ones.
    """

    settings: RunSettings | None
    attempts: int = 0
    events: int = 0
    steps: int = 0
    changes: int = 0
    distances: int = 0
    plans: int = 0
    mechanisms: set[tuple[Any, ...]] = field(default_factory=set)

    def add(self, event: Event) -> None:
        """One more event.

        Raises:
            NotARun: if all of them together cost too much.
        """
        data = event.data
        charges = list(data.get("mechanisms") or ()) if event.kind in ("step", CONTINUED_KIND, CHARGED_KIND) else []
        charges += [data["mechanism"]] if event.kind == "count" else []
        self.mechanisms |= {tuple(one[:-1]) for one in charges}
        self.changes += len(charges)
        self.events += 1
        if event.kind == "step":
            self.steps += data.get("count", 1)
            self.distances += sum(len(each) for name in ("distances", LENGTHS) for each in data.get(name) or ())
        self.plans += event.kind == "replanned"
        self.check()

    def check(self) -> None:
        """Raise NotARun if that is too much."""
        expect(not (problem := self.problem), f"{problem}: to check their ε would take too long")

    @property
    def problem(self) -> str:
        """What is too much, in words: "at most 9 steps, found 10"; "" where nothing is."""
        changing = self.settings is not None and self.settings.changing
        planned = 0 if self.settings is None else self.settings.last_step
        for what, many, most in (
            ("planned steps" + " of different noise" * changing, planned, CHANGING if changing else PLANNED),
            ("attempts", self.attempts, ATTEMPTS),
            ("events", self.events, EVENTS),
            ("steps in all attempts", self.steps, STEPS),
            ("different mechanisms", len(self.mechanisms), CHANGING if changing else MECHANISMS),
            ("changes of mechanism", self.changes, EVENTS),
            ("distances", self.distances, DISTANCES),
            ("new plans", self.plans, REPLANS),
        ):
            if many > most:
                return f"at most {most:,} {what}, found {many:,}"
        return ""


class Order:
    """The events of a run of these settings, and of so many attempts, taken one by one."""

    def __init__(self, settings: RunSettings | None, attempts: int) -> None:
        self._attempts = attempts
        self._place = (0, -1)
        self._each: dict[int, _Attempt] = {}
        self._costs = Costs(settings, attempts)

    @property
    def gaps(self) -> frozenset[int]:
        """The attempts in which events are missing."""
        return frozenset(number for number, attempt in self._each.items() if attempt.gap)

    @property
    def latest(self) -> tuple[int, Event | None]:
        """The last step of the latest attempt, and its last event if that ended the run."""
        attempt = self._each.get(self._attempts, _Attempt())
        return attempt.step, attempt.final

    def take(self, event: Event) -> None:
        """The next event of the file.

        Raises:
            NotARun: if it cannot follow those before it, or if all of them together cost too much.
        """
        place = event.attempt, event.seq
        expect(place > self._place, f"events in the order of their numbers, found {place} after {self._place}")
        self._place = place
        belongs = event.kind == IMPORTED_KIND or 1 <= event.attempt <= self._attempts
        expect(belongs, f"every event to belong to an attempt, found one of attempt {event.attempt}")
        if event.kind != IMPORTED_KIND:
            self._each.setdefault(event.attempt, _Attempt()).take(event)
        self._costs.add(event)


def known_size(settings: RunSettings, event: Event) -> None:
    """A known data set has its own number of examples: q and the plan rest on what "started" says."""
    expect("examples" in event.data, "'started' to have 'examples'")
    examples = event.data["examples"]
    size = units_of(settings) if settings.data in DATA_SETS else examples
    expect(examples == size, f"examples={examples:,} to be the {size:,} of {settings.data}")
    batch = settings.batch_size
    expect(batch <= examples, f"batch_size={batch:,} <= {examples:,} examples")
