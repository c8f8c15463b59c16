"""A second computation of every ε of an imported run, from its events' mechanisms and distances, and a comparison."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from dpviz.accounting.methods import READINGS
from dpviz.mechanisms import Mechanism, SampledGaussian
from dpviz.runs.claims import trained_on
from dpviz.runs.exchange.checks import NotARun, expect
from dpviz.runs.exchange.disputes import Dispute, differ
from dpviz.runs.store.records import CONTINUED_KIND, FINAL_KINDS, Event
from dpviz.training.accounts.bayesian import Charge
from dpviz.training.accounts.claims import was_planned
from dpviz.training.accounts.followed import COLUMNS, LENGTHS
from dpviz.training.accounts.live import LiveAccounts, Spent
from dpviz.training.accounts.stepwise import decoded, encoded
from dpviz.training.plan import mechanism_at
from dpviz.training.samplers import Poisson, read, steps_of
from dpviz.training.settings import RunSettings
from dpviz.training.summary import closing, opening

NOT_AS_PLANNED = "not as planned"
# Steps and distances whose readings are worked out together: some MB.
_STEPS, _DISTANCES = 500, 20_000


class Recheck:
    """Goes through the events of a run, attempt by attempt.

    Attributes:
        settings: of the run, and of the attempt that is gone through what it had lost; None where they are not those
            of this version: no ε can be worked out then, and none is kept.
        disputes: the largest difference of each kind found so far.
    """

    def __init__(self, settings: RunSettings | None) -> None:
        self.settings = settings
        self._planned = settings
        self._largest: dict[str, Dispute] = {}
        self._bayesian: tuple[Charge, ...] = ()  # what the last attempt was charged, with its distances

    @property
    def disputes(self) -> tuple[Dispute, ...]:
        return tuple(self._largest.values())

    def compare(self, kind: str, what: str, recorded: Any, recomputed: float | None) -> None:
        """Keep the largest difference of each kind. An ε that cannot be recomputed counts as ∞."""
        right = math.inf if recomputed is None else recomputed
        if differ(recorded, right):
            dispute = Dispute(what, float(recorded), right)
            self._largest[kind] = max(self._largest.get(kind, dispute), dispute, key=_gap)

    def attempt(self, events: Iterable[Event], *, gap: bool) -> Iterator[Event]:
        """The events of one attempt with every ε recomputed; without any ε if events are missing (`gap`).

        Raises:
            NotARun: if they do not follow their own plan.
        """
        accounts: LiveAccounts | None = None
        examples = 0
        self.settings = self._planned
        for event in events:
            data = without_followed(event.data)
            if gap:
                data = self._behind_a_gap(event._replace(data=data))
            elif event.kind == "started":
                examples = data.get("examples", 0)
                data = self._started(data)
                if self.settings is not None and self.settings.private:
                    accounts = LiveAccounts(self.settings, examples=examples)
            elif self.settings is not None and event.kind in ("step", "count", "evaluation") and not examples:
                raise NotARun(f"Expected 'started' before {event.kind!r}.")
            elif event.kind == CONTINUED_KIND and accounts is not None:
                self._go_on(accounts, data, event.step)
            elif event.kind == "step":
                data |= self._steps(accounts, event.data)
                data["bayesian_text"] = ""  # the last event says it anew
            elif event.kind == "count":
                data["epsilon"] = self._count(accounts, data, event.step)
            elif event.kind == "replanned" and accounts is not None and accounts.bayesian is not None:
                accounts.bayesian.replan(data["total_steps"])
            elif event.kind in FINAL_KINDS:
                data = self._final(accounts, data, event, examples)
            yield event._replace(data=data)
        if accounts is not None and accounts.bayesian is not None:
            self._bayesian = accounts.bayesian.charges

    def _go_on(self, accounts: LiveAccounts, data: Mapping[str, Any], step: int) -> None:
        """Charge what the attempt keeps of the one before it, without whose distances the worst case."""
        kept, account = tuple(map(read, data["mechanisms"])), accounts.bayesian
        covered, bayesian, total_steps = data.get("covered", 0), list[Charge](), 0
        expect(
            covered < max((steps_of(mechanism) for mechanism, _ in kept), default=1), "no steps covered beyond an epoch"
        )
        if account is not None:
            total_steps, taken = account.total_steps, 0
            for charge in self._bayesian:
                taken += charge[1] is not None
                bayesian += [charge] if taken <= step else []
            if taken < step:
                bayesian = []
                for mechanism, count in kept:
                    assert isinstance(mechanism, SampledGaussian)  # as `RunSettings.check` sees to
                    account.charge_lost(mechanism, count)
        accounts.go_on(Spent(kept, step, covered, tuple(bayesian), total_steps))

    def _behind_a_gap(self, event: Event) -> dict[str, Any]:
        """What was charged in all is not known: no reading holds, and the claim is made anew from the plan."""
        data = {name: value for name, value in event.data.items() if name not in ("epsilon", "claim")}
        if event.kind == "started":
            data = self._started(data)
        elif event.kind in FINAL_KINDS:
            data |= {"weights": None}
            if data.get("reason") == "plan":
                data["reason"] = NOT_AS_PLANNED
        return data

    def _started(self, data: dict[str, Any]) -> dict[str, Any]:
        if self._planned is not None:
            self.settings = trained_on(self._planned, {"settings": data.get("settings", {})})
        recorded, settings = data.pop("claim", None), self.settings
        if settings is None:
            return data
        ahead = opening(settings, data["examples"])
        self.compare("ahead", "ε claimed ahead", _claimed(recorded), _claimed(ahead["claim"]))
        return data | ahead

    def _steps(self, accounts: LiveAccounts | None, data: Mapping[str, Any]) -> dict[str, Any]:
        """Readings after each step of a stretch: "epsilon", and of followed examples where their lengths are there."""
        recorded, first = data["epsilon"], data["first"]
        readings: dict[str, list[float]] = {}
        followed: dict[str, list[Any]] = {}
        if accounts is not None:
            charged, lengths = [], iter(self._lengths(accounts, data))
            for steps in portions(self._mechanisms(accounts, data), data["distances"]):
                for mechanism, distances in steps:
                    if accounts.step(mechanism, distances):
                        charged.append(mechanism)
                    if accounts.followed is not None:
                        assert isinstance(mechanism, SampledGaussian)  # as `RunSettings.check` sees to
                        accounts.followed.charge_whole(mechanism, next(lengths))
                columns = accounts.step_readings()
                for name, values in columns.pop("epsilon").items():
                    readings.setdefault(name, []).extend(values)
                for name, values in columns.items():
                    followed.setdefault(name, []).extend(values)
            if accounts.settings.sampler != Poisson.key:
                expect(encoded(charged) == data["mechanisms"], "the mechanism of every epoch at its first step")
        elif self.settings is not None:
            expect(not data["mechanisms"], "no mechanisms of a training without noise")
        if self.settings is not None:
            for name, values in recorded.items():
                right = readings.get(name, [math.inf] * len(values))
                for step, (one, other) in enumerate(zip(values, right, strict=True), first):
                    self.compare(f"step {name}", f"ε, {READINGS[name]}, after step {step:,}", one, other)
        for name in set(COLUMNS) & set(followed) & set(data):
            which = f"ε of followed examples, {name.removeprefix('followed_')}"
            for step, (one, other) in enumerate(zip(data[name], followed[name], strict=True), first):
                self.compare(f"step {name}", f"{which}, after step {step:,}", one, other)
        return {"epsilon": readings, **followed}

    def _lengths(self, accounts: LiveAccounts, data: Mapping[str, Any]) -> list[list[int]]:
        """Of the followed examples at each step of a stretch; from one without any on no example is followed."""
        if accounts.followed is None:
            return []
        stated: list[list[int]] = data.get(LENGTHS, [])
        if not stated:
            accounts.followed = None
        examples = min(accounts.settings.followed, accounts.examples)
        expect(all(len(each) == examples for each in stated), f"lengths of {examples:,} followed examples at each step")
        return stated

    def _mechanisms(self, accounts: LiveAccounts, data: Mapping[str, Any]) -> list[Mechanism]:
        """The mechanism of each step of a stretch; the planned one where a whole epoch is charged at once."""
        planned = mechanism_at(accounts.settings, 1, accounts.examples)
        if accounts.settings.noise_decay:
            steps = range(data["first"], data["first"] + data["count"])
            return [mechanism_at(accounts.settings, step, accounts.examples) for step in steps]
        if accounts.settings.sampler != Poisson.key:
            return [planned] * data["count"]
        expect(bool(data["mechanisms"]), "the mechanism of every private step")
        return decoded(data["mechanisms"])

    def _count(self, accounts: LiveAccounts | None, data: Mapping[str, Any], step: int) -> dict[str, float]:
        if accounts is None:
            return {}
        noise = data["mechanism"][0]
        if self.settings is not None and noise != self.settings.count_noise:
            wanted = self.settings.count_noise
            raise NotARun(f"Expected the noise of a count to be count_noise={wanted:g}, found {noise:g}.")
        accounts.count(SampledGaussian(*data["mechanism"][:2]))
        readings = accounts.epsilons()
        self.read(f"after the count at step {step:,}", data.get("epsilon") or {}, readings)
        return readings

    def read(self, when: str, recorded: Mapping[str, Any], recomputed: Mapping[str, float]) -> None:
        """One reading of each accountant."""
        for name, epsilon in recorded.items():
            self.compare(f"{when} {name}", f"ε, {READINGS[name]}, {when}", epsilon, recomputed.get(name))

    def _final(
        self, accounts: LiveAccounts | None, data: dict[str, Any], event: Event, examples: int
    ) -> dict[str, Any]:
        epsilon, claim = data.pop("epsilon", {}), data.pop("claim", None)
        settings = self.settings
        if settings is None or not examples:
            return data
        summary = closing(
            settings, accounts, examples=examples, state=event.kind, reason=data.get("reason", ""), steps=event.step,
            seconds=data.get("seconds", event.time),
        )  # fmt: skip
        self.ended(epsilon, claim, summary)
        if summary["reason"] == "plan" and not _as_planned(settings, accounts, examples, event.step):
            summary["reason"] = NOT_AS_PLANNED  # pages draw what was planned for a run that kept to it
        return data | summary | {"weights": None}

    def ended(self, epsilon: Mapping[str, Any], claim: Any, summary: Mapping[str, Any]) -> None:
        """Compare a summary with its recomputed values."""
        self.read("at the end", epsilon, summary.get("epsilon") or {})
        self.compare("claim", "ε claimed", _claimed(claim), _claimed(summary.get("claim")))


def without_followed(data: Mapping[str, Any]) -> dict[str, Any]:
    """An event without what it says of followed examples, which holds only where it is found again."""
    return {name: value for name, value in data.items() if name not in (*COLUMNS, LENGTHS)}


def _as_planned(settings: RunSettings, accounts: LiveAccounts | None, examples: int, step: int) -> bool:
    """Whether a run that claims it took exactly its planned steps."""
    if step != settings.last_step:
        return False
    return accounts is None or was_planned(accounts.events, settings, examples)


def _claimed(claim: Any) -> float | None:
    """The ε of a stored claim, of a demonstration the one that secret noise would allow; ∞ where it claims nothing,
    None where there is no claim."""
    if isinstance(claim, dict) and claim.get("with_secret_noise") is not None:
        return _claimed(claim["with_secret_noise"])
    if not isinstance(claim, dict) or "epsilon" not in claim:
        return None
    return math.inf if claim["epsilon"] is None else float(claim["epsilon"])


def _gap(dispute: Dispute) -> float:
    smaller, larger = sorted((dispute.recorded, dispute.recomputed))
    return math.inf if larger == math.inf or math.isnan(larger) else larger - smaller


def portions(
    mechanisms: Sequence[Mechanism], distances: Sequence[Sequence[float]] | None
) -> Iterator[list[tuple[Mechanism, Sequence[float] | None]]]:
    """Steps with their distances, so few at once that their readings fit into little memory."""
    portion: list[tuple[Mechanism, Sequence[float] | None]] = []
    held = 0
    each: Sequence[Sequence[float] | None] = distances or [None] * len(mechanisms)
    for mechanism, measured in zip(mechanisms, each, strict=True):
        portion.append((mechanism, measured))
        held += len(measured or ())
        if len(portion) >= _STEPS or held >= _DISTANCES:
            yield portion
            portion, held = [], 0
    if portion:
        yield portion
