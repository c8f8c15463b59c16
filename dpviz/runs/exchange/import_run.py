"""A run taken in from a file: every line checked, every ε in it worked out again, in memory that does not grow with it.

The file is read twice: what is missing or too dear is known before any ε is worked out.
"""

import io
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any, BinaryIO

from dpviz._extras import extra
from dpviz.runs.claims import settings_of, told_settings_of
from dpviz.runs.exchange.checks import DISPUTES, NotARun, expect, parsed
from dpviz.runs.exchange.checksums import NONE, ChecksumChain, with_checksums
from dpviz.runs.exchange.disputes import Dispute, of_event
from dpviz.runs.exchange.files import FORMAT, VERSION
from dpviz.runs.exchange.lines import each_line
from dpviz.runs.exchange.recheck import Recheck
from dpviz.runs.exchange.recheck_told import ToldRecheck
from dpviz.runs.exchange.sequence import Order, attempts_of, known_size
from dpviz.runs.store.records import ENDED, FINAL_KINDS, IMPORTED_KIND, TRAINING, Event, RunRecord, State
from dpviz.runs.store.spool import Spool
from dpviz.runs.store.store import Store
from dpviz.training.values import LOST


def import_run(store: Store, file: bytes | BinaryIO) -> RunRecord:
    """Add an exported run to the store, under a new id.

    Raises:
        NotARun: with the reason; nothing is added then.
    """
    with closing(Spool()) as spool:
        return store.insert(*read_run(file, spool), spool)


def read_run(file: bytes | BinaryIO, spool: Spool) -> tuple[RunRecord, list[dict[str, Any]]]:
    """The record and the attempts of an exported run, whose events go into the spool: typed, bounded, and every ε in
    them worked out again.

    Where events are missing no ε is worked out; the run claims its whole plan.

    Raises:
        NotARun: with the reason, if it is none or was changed so that it cannot be followed.
    """
    lines = io.BytesIO(file) if isinstance(file, bytes) else file
    stated = _stated(lines)
    terms = told_settings_of(stated.record)
    rechecked = _Rechecked(lines, stated, ToldRecheck(terms) if terms else Recheck(settings_of(stated.record)))
    try:
        spool.add(with_checksums(rechecked.events()))
    except NotARun:
        raise
    except (ValueError, ArithmeticError) as error:  # an accountant's own words
        raise NotARun(f"Expected events that follow their plan: {str(error)[:300]}") from error
    return replace(stated.record, summary=rechecked.summary), stated.attempts


@dataclass(frozen=True)
class _Stated:
    """What a file says, apart from its events.

    Attributes:
        record: The run, without its summary.
        summary: Its final numbers as the file has them.
        attempts: As the store keeps them.
        gaps: The attempts in which events are missing.
        disputes: What did not match when it was taken in elsewhere. It was set right there, but is still to be said.
        checksums: What its checksums say, or said then.
    """

    record: RunRecord
    summary: dict[str, Any]
    attempts: list[dict[str, Any]]
    gaps: frozenset[int]
    disputes: list[Dispute]
    checksums: str


def _stated(file: BinaryIO) -> _Stated:
    """What the file says, once all of it but its ε was checked."""
    with extra("app"):  # only for who takes a file in
        from dpviz.runs.exchange.format import FIRST, LAST, checked

    first = _first(file)
    fields: dict[str, Any] = {**checked("line 1", first, FIRST)["run"]}
    summary = fields.pop("summary")
    # A file may name any function: cloning the run must not call it.
    record = RunRecord("", imported=True, **fields | {"target": TRAINING})
    settings, terms, chain = settings_of(record), told_settings_of(record), ChecksumChain()
    order = Order(settings, record.attempt)
    disputes: list[Dispute] = []
    bare, number = False, 0
    lines = _Lines(file)
    for raw, event in lines.events():
        number += 1
        order.take(event)
        chain.take(event.attempt, event.seq, raw["data"])
        if event.kind == "started":
            same = _as_planned(event.data.get("settings", record.settings)) == record.settings
            expect(same, "the settings of 'started' to be those of the run")
            if settings is not None:
                known_size(settings, event)
            if terms is not None:
                examples = event.data.get("examples")
                expect(examples == terms.examples, f"examples={examples} of 'started' to be those of the settings")
        elif event.kind == IMPORTED_KIND:
            disputes = list(dict.fromkeys([*disputes, *of_event(event.data)]))[:DISPUTES]
            bare = bare or event.data.get("checksums") == NONE
    expect(terms is None or record.attempt <= 1, "one attempt of a watched run")
    last = checked("the last line", lines.last, LAST)
    expect(last["events"] == number, f"{last['events']:,} events, found {number:,}")
    attempts = attempts_of(last["attempts"], record.attempt)
    words = chain.end(lines.last["attempts"])
    checksums = NONE if bare else words  # events that were taken in without got theirs then
    return _Stated(_ended(record, order), summary, attempts, order.gaps, disputes, checksums)


def _as_planned(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings without what the run had lost before."""
    if "origins" not in settings:
        return settings
    return settings | {"origins": [origin for origin in settings["origins"] if origin["run"] != LOST]}


def _first(file: BinaryIO) -> Any:
    """The first line, if it is that of a run."""
    first = parsed(next(each_line(file), b""), "line 1")
    right = isinstance(first, dict) and first.get("format") == FORMAT
    expect(right, f'an exported run, with "format": "{FORMAT}"')
    right = first.get("version") == VERSION and not isinstance(first["version"], bool)
    expect(right, f"version {VERSION} of the format, found {first.get('version')!r:.60}")
    return first


class _Lines:
    """The lines of a file behind its first.

    Attributes:
        last: The last one, once all events were read.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.last: Any = None

    def events(self) -> Iterator[tuple[dict[str, Any], Event]]:
        """Each event as the file has it and as one of its kind."""
        from dpviz.runs.exchange.format import EVENT, checked

        lines = each_line(self._file)
        next(lines, b"")
        line = next(lines, b"")
        for number, following in enumerate(lines, 2):
            name = f"line {number}"
            raw = parsed(line, name)
            stated = checked(name, raw, EVENT)
            yield raw, _event(stated)
            line = following
        self.last = parsed(line, "the last line")


def _event(stated: Mapping[str, Any]) -> Event:
    kind, step, time = stated["kind"], stated["step"], stated["time"]
    data = {"kind": kind, "step": step, "time": time, **stated["data"]}
    return Event(stated["attempt"], stated["seq"], kind, step, time, data)


def _ended(record: RunRecord, order: Order) -> RunRecord:
    """The run as one that is over, its state, steps and summary those of its last attempt's events."""
    last, final = order.latest
    expect(record.steps == last, f"steps={record.steps} of the run to be {last}, the last step of its events")
    if final is not None:
        right = FINAL_KINDS[final.kind] == record.state
        expect(right, f"the state of a run that ended as {final.kind!r}, found {record.state!r}")
    expect(final is not None or record.state != "done", "a last event 'done' of a run that is done")
    if record.state not in ENDED:
        state: State = "lost"
        record = replace(record, state=state, reason=f"exported while it was {record.state}")
    return record


@dataclass
class _Rechecked:
    """The events of a file with every ε worked out again.

    Attributes:
        summary: The last event of the run, once all were read; {} if it did not end.
    """

    file: BinaryIO
    stated: _Stated
    check: Recheck
    summary: dict[str, Any] = field(default_factory=dict)

    def events(self) -> Iterator[Event]:
        """All of them, and one more that says what was found."""
        record, gaps, last = self.stated.record, self.stated.gaps, -1
        trained = (event for _, event in _Lines(self.file).events() if event.kind != IMPORTED_KIND)
        for attempt, events in groupby(trained, lambda event: event.attempt):
            for event in self.check.attempt(events, gap=attempt in gaps):
                yield event
                if attempt == record.attempt:
                    last = event.seq
                    self.summary = event.data if event.kind in FINAL_KINDS else {}
        if self.summary and record.attempt not in gaps:
            recorded = self.stated.summary
            self.check.ended(recorded.get("epsilon") or {}, recorded.get("claim"), self.summary)
        disputes = list(dict.fromkeys([*self.check.disputes, *self.stated.disputes]))[:DISPUTES]
        findings = {"disputes": [dispute._asdict() for dispute in disputes], "checksums": self.stated.checksums}
        data = {"kind": IMPORTED_KIND, "step": record.steps, "time": 0.0, **findings}
        yield Event(record.attempt, last + 1, IMPORTED_KIND, record.steps, 0.0, data)
