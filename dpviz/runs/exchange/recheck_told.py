"""A second computation of every ε of an imported run whose steps a program told, from its mechanisms and norms."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from dpviz.accounting.methods import READINGS
from dpviz.mechanisms import Mechanism
from dpviz.runs.exchange.checks import NotARun, expect
from dpviz.runs.exchange.recheck import Recheck, portions, without_followed
from dpviz.runs.store.records import CHARGED_KIND, FINAL_KINDS, Event
from dpviz.runs.told.accounts import ToldAccounts
from dpviz.runs.told.settings import ToldSettings
from dpviz.training.accounts.stepwise import decoded
from dpviz.training.samplers import read, steps_of

_OTHERS = ("continued", "count", "replanned")  # what such a run never tells


class ToldRecheck(Recheck):
    """Goes through the events of such a run.

    Args:
        told: Its settings.
    """

    def __init__(self, terms: ToldSettings) -> None:
        super().__init__(None)
        self._told = terms

    def attempt(self, events: Iterable[Event], *, gap: bool) -> Iterator[Event]:
        """The events with every ε recomputed; without any ε if events are missing (`gap`).

        Raises:
            NotARun: if they are not those of such a run.
        """
        accounts, begun = ToldAccounts(self._told), False
        for event in events:
            data = without_followed(event.data)  # such a run tells of no example at every step
            expect(event.kind not in _OTHERS, f"no event {event.kind!r} of a watched run")
            expect(begun or event.kind not in ("step", "evaluation"), f"'started' before {event.kind!r}")
            if event.kind == "started":
                begun = True
                data.pop("claim", None)
            elif event.kind == CHARGED_KIND:
                self._admit(read(one)[0] for one in data["mechanisms"])
            elif gap and event.kind in ("step", *FINAL_KINDS):
                data = {name: value for name, value in data.items() if name not in ("epsilon", "claim")}
            elif event.kind == "step":
                data["epsilon"] = self._steps_of(accounts, data)
            elif event.kind in FINAL_KINDS:
                summary = accounts.summary()
                self.ended(data.pop("epsilon", {}), data.pop("claim", None), summary)
                data |= {**summary, "steps": accounts.taken, "weights": None}
            yield event._replace(data=data)

    def _admit(self, mechanisms: Iterable[Mechanism]) -> None:
        for mechanism in set(mechanisms):
            expect(self._told.admits(mechanism), f"mechanisms of the told sampler, found {mechanism.text}")

    def _steps_of(self, accounts: ToldAccounts, data: Mapping[str, Any]) -> dict[str, list[float]]:
        """Readings after each step of a stretch."""
        charged = decoded(data["mechanisms"])
        self._admit(charged)
        readings: dict[str, list[float]] = {}
        coming = iter(charged)
        steps = list(_each(accounts, coming, data["count"]))
        for portion in portions(steps, data["distances"]):
            for mechanism, norms in portion:
                try:
                    accounts.step(mechanism, norms)
                except ValueError as problem:
                    raise NotARun(f"Expected steps that follow each other: {problem}") from None
            for name, values in accounts.readings().items():
                readings.setdefault(name, []).extend(values)
        expect(next(coming, None) is None, "one mechanism for each step, or for each epoch")
        for name, values in data["epsilon"].items():
            right = readings.get(name, [])
            for step, (one, other) in enumerate(zip(values, right, strict=True), data["first"]):
                self.compare(f"step {name}", f"ε, {READINGS[name]}, after step {step:,}", one, other)
        return readings


def _each(accounts: ToldAccounts, coming: Iterator[Mechanism], count: int) -> Iterator[Mechanism]:
    """The mechanism of each of `count` steps: the next one, or that of the epoch that it is part of."""
    covered, mechanism = accounts.covered, accounts.epoch
    for _ in range(count):
        if not covered:
            mechanism = next(coming, None)
            covered = 0 if mechanism is None else steps_of(mechanism)
        if mechanism is None:
            raise NotARun("Expected one mechanism for each step, or for each epoch.")
        covered -= 1
        yield mechanism
