"""Privacy claims of recorded runs: ε spent, ε that may be claimed, and what a run from their weights inherits.

Every page, table, file and report reads its ε here.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dpviz._arrays import Array
from dpviz._remember import MEMORY, remembered
from dpviz.accounting.claims import Claim
from dpviz.accounting.methods import MixtureOdometer
from dpviz.accounting.pld.bounds import tight_epsilon
from dpviz.mechanisms import Event as Charge
from dpviz.mechanisms import Mechanism, merge_events
from dpviz.runs.store import jsontext
from dpviz.runs.store.digest import Digest
from dpviz.runs.store.records import CHARGED_KIND, CONTINUED_KIND, TRAINING, UNREAD, RunRecord, State
from dpviz.runs.store.store import Store
from dpviz.runs.told import claims as told_claims
from dpviz.runs.told.settings import ToldSettings
from dpviz.runs.views import RunView
from dpviz.training.accounts.claims import (
    LOSSES_DECIDED,
    MOST_DIFFERENT,
    RELEASED_NOTHING,
    WITHOUT_NOISE,
    claim_at,
    claim_of_plan,
    conditions,
    epsilon_before,
    everything_planned,
    odometer_reading,
    planned_claim,
    was_planned,
)
from dpviz.training.accounts.origins import as_planned, lost, spent_before, with_lost
from dpviz.training.attempts import Charged
from dpviz.training.defaults import units_of
from dpviz.training.samplers import read, steps_of, stored
from dpviz.training.settings import RunSettings
from dpviz.training.values import LOST, Origin


def mechanisms(digest: Digest) -> tuple[Charge, ...]:
    """Everything that the events of an attempt charged, private counts included and what was charged ahead; equal steps
    together."""
    runs = _runs([*digest.spent, *digest.counted])
    return merge_events((*runs, *_beyond(_runs(_charged_ahead(digest).get("mechanisms", ())), runs)))


def charged_through(digest: Digest) -> int:
    """The last step of an attempt that was charged: its last, or one ahead of it."""
    return max(int(_charged_ahead(digest).get("through", 0)), digest.step)


def _charged_ahead(digest: Digest) -> Mapping[str, Any]:
    """The last charge of an attempt that did not come to its end, else {}: its steps may have been taken, and seen."""
    return {} if "final" in digest.facts else digest.facts.get(CHARGED_KIND, {})


def _runs(stored: Sequence[Sequence[Any]]) -> list[Charge]:
    return [read(one) for one in stored]


def has_gap(digest: Digest) -> bool:
    """Whether events of an attempt are missing before its last one."""
    return digest.events != digest.last + 1


UNKNOWN = "its settings belong to another version"
GAP = "Events of this run are missing, so its whole plan is claimed."
GIVEN_UP = "It was given up before everything that its worker had written was read, so its whole plan is claimed."
STARTS_AGAIN = "another attempt of it is starting"
NO_BEGINNING = "its first event, which states the number of its examples, is missing"
# What a damaged or invented record may raise while it is read.
_NONSENSE = (ValueError, TypeError, KeyError, IndexError, AttributeError, ArithmeticError)


def settings_of(record: RunRecord) -> RunSettings | None:
    """The run's settings, checked; None where this version knows them not, by name or by value."""
    settings = _read(jsontext.write(record.settings))
    return settings if isinstance(settings, RunSettings) else None


def why_unknown(record: RunRecord) -> str:
    """What is wrong with settings that are None; empty where nothing is."""
    problem = _read(jsontext.write(record.settings))
    return problem if isinstance(problem, str) else ""


@remembered
def _read(settings: str) -> RunSettings | str:
    try:
        read = RunSettings.from_json(jsontext.read(settings))
        read.check()
    except (ValueError, TypeError) as problem:
        return str(problem)[:200]
    return read


def told_settings_of(record: RunRecord) -> ToldSettings | None:
    """The settings of a run whose steps a program tells (`dpviz.watch`); None of others, and of another version's."""
    return _read_told(jsontext.write(record.settings))


@remembered
def _read_told(settings: str) -> ToldSettings | None:
    try:
        return ToldSettings.from_json(jsontext.read(settings))
    except (ValueError, TypeError):
        return None


def _claim_of_told(record: RunRecord, terms: ToldSettings, store: Store) -> Claim:
    """Of what the events charged, and of what was charged ahead where it came to no end: its steps may be taken."""
    try:
        digest = store.digest(record.id, record.attempt)
        if has_gap(digest) or record.restarts:
            return told_claims.no_claim(terms, told_claims.MISSING)
        return told_claims.claim_at(terms, mechanisms(digest), charged_through(digest))
    except _NONSENSE as problem:
        return told_claims.no_claim(terms, f"its record cannot be followed ({problem})")


def _claim_of_told_view(view: RunView, terms: ToldSettings) -> Claim:
    """The same of a run under way, as far as it was read."""
    charged, step = _runs(view.spent), view.record.steps
    if view.charged:
        ahead = _runs(view.charged.get("mechanisms", ()))
        charged, step = [*charged, *_beyond(ahead, charged)], max(step, int(view.charged["through"]))
    return told_claims.claim_at(terms, merge_events(charged), step)


def claim_of_view(view: RunView, store: Store) -> Claim:
    """What may be claimed of a run if it ends where it is now, and of a run that has ended."""
    record, settings = view.record, settings_of(view.record)
    if terms := told_settings_of(record):
        return claim_of_record(record, store) if record.over else _claim_of_told_view(view, terms)
    if settings is None:
        return Claim.nothing(UNKNOWN)
    if record.over:
        return claim_of_record(record, store)
    if not view.started:
        return Claim.nothing(STARTS_AGAIN if record.restarts else RELEASED_NOTHING, settings.delta)
    claim = claim_ahead(record, settings, view.started)
    reading, step = last_reading(view, MixtureOdometer.name), record.steps
    if record.state in ("queued", "restarted") and record.attempt in unread_of(record, store):
        reading = math.inf
    if view.charged and view.charged["through"] > step:  # ahead, and perhaps seen
        charged = tuple(_runs(view.charged["mechanisms"]))
        reading, step = max(reading, odometer_of(trained_on(settings, view.started), charged)), view.charged["through"]
    claim = claim.if_it_ended(odometer=reading, step=step)
    settings = trained_on(settings, view.started)
    has_start = bool(view.continued)
    return _with_earlier(claim, record, settings, _examples(settings, view.started), store, has_start=has_start)


def claim_of_record(record: RunRecord, store: Store) -> Claim:
    """The same of a run that has ended, from its summary; kept, for lists ask for many.

    What came from a file is not believed: its claim is made anew from the mechanisms in its events.
    """
    if terms := told_settings_of(record):
        work = partial(_claim_of_told, record, terms, store)
        return MEMORY.recall(("claims", record.id, record.attempt, "told"), work) if record.over else work()
    settings = settings_of(record)
    if settings is None:
        return Claim.nothing(UNKNOWN)
    if not settings.private:
        return planned_claim(settings, 1)
    claim = record.summary.get("claim")
    if claim is not None and not record.imported and not record.restarts:
        return Claim.from_json(claim)
    unread = unread_of(record, store)
    key = ("claims", record.id, record.attempt, unread, "ended")
    return MEMORY.recall(key, lambda: _from_events(record, settings, store, record.attempt in unread))


def unread_of(record: RunRecord, store: Store) -> tuple[int, ...]:
    """The attempts that may have charged more than their events say."""
    return tuple(attempt["attempt"] for attempt in store.attempts(record.id) if attempt["outcome"] == UNREAD)


def _from_events(record: RunRecord, settings: RunSettings, store: Store, unread: bool) -> Claim:
    """From what the latest attempt charged, held against what its settings plan."""
    try:
        digest = store.digest(record.id, record.attempt)
        started, gap = digest.facts.get("started", {}), unread or has_gap(digest)
        if not started and not gap and record.restarts:  # it ended before it began: what the ones before it did stands
            before = replace(record, attempt=record.attempt - 1)
            return _from_events(before, settings, store, before.attempt in unread_of(record, store))
        if not started:
            missing = gap or record.steps or record.state == "lost"
            return Claim.nothing(NO_BEGINNING if missing else RELEASED_NOTHING, settings.delta)
        charged, step = mechanisms(digest), charged_through(digest)
        examples, settings = _examples(settings, started), trained_on(settings, started)
        odometer = odometer_of(settings, charged)
        ahead = claim_ahead(record, settings, started)
        if settings.adaptive and not ahead.shown.holds:  # nothing was promised that it could have kept to
            claim = replace(ahead, conditions=conditions(settings, examples))
            return claim if gap else claim.if_it_ended(odometer=odometer, step=step)
        ended = str(digest.facts.get("final", {}).get("reason", ""))
        if gap:
            odometer = math.inf
        claim = claim_at(settings, examples, charged=charged, odometer=odometer, step=step, reason=ended)
        kept = ended != LOSSES_DECIDED and was_planned(charged, settings, examples)
        has_start = CONTINUED_KIND in digest.facts
        claim = _with_earlier(claim, record, settings, examples, store, has_start=has_start, kept=kept)
        return with_condition(claim, GIVEN_UP if unread else GAP) if gap else claim
    except _NONSENSE as problem:
        return Claim.nothing(f"its record cannot be followed ({problem})")


def with_condition(claim: Claim, words: str) -> Claim:
    """The same claim, and that of a demonstration, with something more to be said of it."""
    secret = None if claim.with_secret_noise is None else with_condition(claim.with_secret_noise, words)
    return replace(claim, conditions=(*claim.conditions, words), with_secret_noise=secret)


def odometer_of(settings: RunSettings, charged: tuple[Charge, ...]) -> float:
    return odometer_reading((*spent_before(settings), *charged), settings.delta)


def trained_on(settings: RunSettings, started: Mapping[str, Any]) -> RunSettings:
    """The settings with what an attempt found when it began: its device, and what its run had lost before."""
    device = str(started.get("device", "")).lower()
    origins = started.get("settings", {}).get("origins", ())
    earlier = [Origin.from_json(one) for one in origins if one.get("run") == LOST]
    settings = with_lost(as_planned(settings), tuple(event for origin in earlier for event in origin.events))
    return settings.with_(device="cpu" if device == "cpu" else "cuda") if device else settings


def _examples(settings: RunSettings, started: Mapping[str, Any]) -> int:
    return int(started.get("examples") or units_of(settings))


def claim_ahead(record: RunRecord, settings: RunSettings, started: Mapping[str, Any]) -> Claim:
    """What was claimed before the first step, worked out anew for a run that does not say."""
    claim = None if record.imported else started.get("claim")
    settings = trained_on(settings, started)
    if claim is None:
        return planned_claim(settings, _examples(settings, started))
    return Claim.from_json(claim)


def _with_earlier(
    claim: Claim,
    record: RunRecord,
    settings: RunSettings,
    examples: int,
    store: Store,
    *,
    has_start: bool,
    kept: bool = True,
) -> Claim:
    """What holds where a worker died and the run began again with other noise: every attempt was seen.

    From a seed that is kept a second attempt repeats the first. A secret one draws anew: to what this attempt may
    spend in all comes what the earlier ones were charged, as far as this attempt does not begin with it. Steps that
    are not recorded nobody saw.

    Args:
        claim, record, settings, examples, store: Of this attempt.
        has_start: Whether it has told what it begins with.
        kept: Whether it kept to what was planned; else nothing covers it and the earlier ones together.
    """
    if not (settings.private and settings.secure_noise and record.restarts):
        return claim
    unread = unread_of(record, store)
    before = ("claims", record.id, record.attempt, unread, has_start, "earlier")
    earlier = MEMORY.recall(before, lambda: charged_before(record, settings, examples, store))
    if not (earlier.mechanisms or earlier.unread):
        return claim
    if settings.adaptive:
        reason = "it was started again with other noise, and its earlier spending is not in its budget"
        return Claim.nothing(reason, settings.delta)
    if not kept:
        return Claim.nothing("it was started again and left its plan: no ε covers all attempts", settings.delta)
    key = ("claims", record.id, record.attempt, unread, has_start, "all attempts")
    return MEMORY.recall(key, lambda: _of_all_attempts(earlier.mechanisms, settings, examples))


def charged_so_far(record: RunRecord, store: Store, attempts: int = 0) -> Charged:
    """What a run was charged by its first `attempts` (0: by all), each by its own steps and counts."""
    unread, every = unread_of(record, store), Charged()
    for number in range(1, (attempts or record.attempt) + 1):
        digest = store.digest(record.id, number)
        complete = number not in unread and not has_gap(digest)
        every = every.then(charged_by(digest, mechanisms(digest)) if complete else Charged(unread=1))
    return every


def charged_by(digest: Digest, everything: Iterable[Charge]) -> Charged:
    """What an attempt was charged itself: everything but what it goes on with, for that is another's."""
    return Charged(charged_through(digest), _beyond(everything, _kept(digest)))


def charged_from(begin: Digest, rest: Digest) -> Charged:
    """The same of an attempt of which only the beginning is read, and what it told from its last charge on."""
    charged = rest.facts.get(CHARGED_KIND, {}).get("mechanisms")
    before = _kept(begin) if charged is None else _runs(charged)
    return charged_by(begin + rest, (*before, *_runs([*rest.spent, *rest.counted])))


def _kept(digest: Digest) -> list[Charge]:
    """What an attempt that goes on keeps of the charges of those before it."""
    return _runs(digest.facts.get(CONTINUED_KIND, {}).get("mechanisms", ()))


def charged_before(record: RunRecord, settings: RunSettings, examples: int, store: Store) -> Charged:
    """What the attempts before the latest charged, but for what the latest, whose settings these are, begins with.

    That is what it keeps of their steps and what its settings call lost. So an attempt that goes on and all before it
    are charged once, and one that nobody knew of when it began is charged beside them.
    """
    if not record.restarts:
        return Charged()
    before = charged_so_far(record, store, record.attempt - 1)
    if not settings.adaptive:  # else no plan bounds what was not read
        before = before.with_plans(settings, examples)
    keeps = _kept(store.digest(record.id, record.attempt))
    return before._replace(mechanisms=_beyond(before.mechanisms, (*lost(settings), *keeps)))


def _beyond(charges: Iterable[Charge], others: Iterable[Charge]) -> tuple[Charge, ...]:
    """What is charged beyond others, each mechanism by itself."""
    taken = dict(merge_events(others))
    return tuple((each, more) for each, count in merge_events(charges) if (more := count - taken.get(each, 0)) > 0)


def _of_all_attempts(earlier: Sequence[Charge], settings: RunSettings, examples: int) -> Claim:
    """Everything that the earlier attempts told of and all that this one may do, after what led to its start."""
    runs = merge_events((*spent_before(settings), *earlier, *everything_planned(settings, examples)))
    return claim_of_plan(runs, settings, examples, settings.last_step)


def last_reading(view: RunView, accountant: str) -> float:
    """The last ε that an accountant read, private counts included; inf where it read none."""
    name = f"epsilon.{accountant}"
    # A count that came after the last step has added to it.
    readings = [float(table[name][-1]) for table in (view.steps, view.counts) if name in table and table[name].size]
    return max(readings, default=math.inf)


def claims_along(view: RunView, claim: Claim) -> Array:
    """What could have been claimed had the run ended after each step: never falls, ends at `claim.shown`; (steps,)."""
    steps = view.steps.get("step", np.empty(0))
    odometer = view.steps.get(f"epsilon.{MixtureOdometer.name}", np.full(steps.shape, math.inf))
    return np.fmin(odometer, _ceiling(view, claim.shown))


def _ceiling(view: RunView, claim: Claim) -> float:
    """What holds at every end of the run."""
    if terms := told_settings_of(view.record):
        charged = _runs(view.spent)
        return told_claims.claim_ahead(terms, charged).epsilon if charged and claim.holds else math.inf
    settings = settings_of(view.record)
    if settings is None or not claim.holds:
        return math.inf
    if claim.covers != "any_end":
        return claim.epsilon
    return claim_ahead(view.record, settings, view.started).shown.epsilon if view.started else math.inf


def claims_of_shorter_plans(view: RunView, claim: Claim, at: Array) -> Array:
    """What a run that had been planned to end at each of these steps might claim; at its own end, `claim`; (n,).

    Of a run whose steps depended on what was seen there is no shorter plan: what it could claim had it ended there. Of
    a demonstration it is what secret noise would allow.
    """
    steps = view.steps.get("step", np.empty(0))
    settings, shown = settings_of(view.record), claim.shown
    terms = told_settings_of(view.record)
    if (settings is None and terms is None) or not steps.size or not view.started:
        return np.full(at.shape, math.inf)
    if settings is None:  # what it could claim had it ended there
        along = np.append(claims_along(view, claim), math.inf)
        return np.where(at < 1, 0.0, along[np.searchsorted(steps, at)])
    settings = trained_on(settings, view.started)
    before = epsilon_before(settings)

    def after(readings: Array) -> Array:
        """The readings there, or at the next step of the view: they do not fall."""
        return np.where(at < 1, before, np.append(readings, math.inf)[np.searchsorted(steps, at)])

    if settings.adaptive or settings.past_plan != "stop" or not shown.holds:
        return after(claims_along(view, claim))
    epsilons = after(view.steps.get("epsilon.renyi", np.full(steps.shape, math.inf)))
    planned = everything_planned(settings, _examples(settings, view.started))
    if len(planned) == 1 and not spent_before(settings):
        begun = np.ceil(at / steps_of(planned[0][0]))
        epsilons = np.fmin(epsilons, _tight_of(planned[0][0], tuple(begun.tolist()), settings.delta))
    epsilons = np.minimum(epsilons, shown.epsilon)
    if shown.covers == "plan":
        epsilons = np.where(at >= shown.steps, shown.epsilon, epsilons)
    return epsilons


@remembered
def _tight_of(mechanism: Mechanism, steps: tuple[float, ...], delta: float) -> Array:
    return tight_epsilon(mechanism, np.array(steps), delta).upper


FINISHED: tuple[State, ...] = ("done", "stopped")


class StartFrom(NamedTuple):
    """Where a run starts: a file of weights, and the runs that led to it, the latest first; random weights for none."""

    weights: str | None = None
    origins: tuple[Origin, ...] = ()


def unfit(record: RunRecord, weights: Callable[[str], Path]) -> str:
    """Why no run can start from this one, in words; empty where one can. `weights` says where a run's lie."""
    settings = settings_of(record)
    if record.state not in FINISHED:
        return f"that is {record.state}"
    if record.imported or record.deleted or record.target != TRAINING or not weights(record.id).is_file():
        return "whose weights are not kept here"
    if settings is None or not record.steps:
        return "whose model this version does not know"
    if settings.start_from is not None and not settings.origins:
        return "that started from a file whose training data are unknown"
    return ""


def start_of(run: str, store: Store, weights: Callable[[str], Path]) -> StartFrom:
    """The start from the weights of `run`.

    Raises:
        ValueError: naming start_from, where there are no such weights.
    """
    try:
        record = store.run(run)
    except KeyError:
        raise ValueError(
            f"Expected start_from={run!r} to be a run that is kept here, found none: choose another start."
        ) from None
    settings, why = settings_of(record), unfit(record, weights)
    if settings is None or why:
        raise ValueError(
            f"Expected start_from={record.title!r} to be a finished run with its weights, found one {why}: choose "
            "another start."
        )
    return StartFrom(str(weights(run)), (_origin(record, settings, store), *settings.origins))


def _origin(record: RunRecord, settings: RunSettings, store: Store) -> Origin:
    claim = claim_of_record(record, store)
    mechanisms: tuple[tuple[Any, ...], ...] = ()
    unbounded = _unbounded(settings) or ("" if claim.shown.holds else claim.shown.reason)
    if not unbounded:
        started = store.digest(record.id).facts.get("started", {})
        examples, settings = _examples(settings, started), trained_on(settings, started)
        before = (*lost(settings), *charged_before(record, settings, examples, store).mechanisms)
        runs = merge_events((*before, *everything_planned(settings, examples)))
        if not was_planned(_runs(record.summary.get("mechanisms") or []), settings, examples):
            unbounded = "its spending differs from its plan"
        elif len(runs) > MOST_DIFFERENT:
            unbounded = f"its {len(runs):,} steps with different noise cannot be added up here"
        else:
            mechanisms = tuple(tuple(stored(mechanism, count)) for mechanism, count in runs)
    return Origin(
        run=record.id,
        name=record.title,
        data=settings.data,
        mechanisms=mechanisms,
        epsilon=claim.shown.epsilon if claim.shown.holds else None,
        delta=settings.delta,
        unbounded=unbounded,
        replayable=claim.demonstration,
        unit=settings.unit,
    )


def _unbounded(settings: RunSettings) -> str:
    if not settings.private:
        return WITHOUT_NOISE
    if settings.adaptive:
        return "its policy chose its steps from intermediate results, so they were not fixed in advance"
    return ""
