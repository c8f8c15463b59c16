"""A run as pages draw it: the digest of its events, read once for everybody."""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from dpviz._arrays import Array
from dpviz.runs.exchange.disputes import Dispute, of_event
from dpviz.runs.kept import whole
from dpviz.runs.store.digest import Digest
from dpviz.runs.store.records import CHARGED_KIND, CONTINUED_KIND, IMPORTED_KIND, RunRecord
from dpviz.runs.store.store import StateNow, Store
from dpviz.training.covered import NOT_COVERED, covered, covered_part, titled

# Runs whose digests are kept in memory at once, a megabyte each: what twenty sessions watch costs what one does.
MOST_READERS = 24


@dataclass(frozen=True, slots=True)
class RunView:
    """A run as pages draw it, at one moment.

    Attributes:
        record: What the store knows.
        steps: One array a quantity, each (rows,): "step", "time", "loss", "epsilon.renyi", "noise_multiplier", … Of a
            long run only the steps that a chart can tell apart (`store.digest`). A run that went on from its
            checkpoint has the steps before it too, of whichever attempt took them.
        evaluations, counts: Likewise, of the events "evaluation" and "count".
        spent: What its steps charged, [[…, count], …] in order, as `training.samplers.stored` writes it.
        started: The event "started", {} before it came.
        norms: The last histogram of gradient norms, {} before the first.
        noise: Norms of signal and noise of the last watched step, and its number "step"; {} if none was.
        notes: Texts of "note", "notice", "continued" and "replanned", with their step, oldest first.
        coming: How far the preparation is, in words; "" before and after it.
        final: The last event, {} before the end.
        disputes: What a run from a file recorded that does not follow from its mechanisms.
        checksums: What the checksums of that file say; "" for a run that is from none.
        charged: The last event "charged", {} before the first.
        continued: The event "continued", {} of an attempt that begins with nothing, and before it came.
        bayesian_text: What the Bayesian ε of the last step is and why it lies where it does; "" without.
    """

    record: RunRecord
    steps: dict[str, Array]
    evaluations: dict[str, Array]
    counts: dict[str, Array]
    spent: Sequence[Sequence[Any]] = ()
    started: dict[str, Any] = field(default_factory=dict)
    norms: dict[str, Any] = field(default_factory=dict)
    noise: dict[str, Any] = field(default_factory=dict)
    notes: tuple[tuple[int, str], ...] = ()
    coming: str = ""
    final: dict[str, Any] = field(default_factory=dict)
    disputes: tuple[Dispute, ...] = ()
    checksums: str = ""
    charged: dict[str, Any] = field(default_factory=dict)
    continued: dict[str, Any] = field(default_factory=dict)
    bayesian_text: str = ""

    @property
    def _by_kind(self) -> dict[str, dict[str, Array]]:
        return {"step": self.steps, "evaluation": self.evaluations, "count": self.counts}

    def series(self, labels: Mapping[tuple[str, str], str]) -> tuple[dict[str, tuple[Array, Array]], str]:
        """What was recorded of these numbers, and how `covered.titled` marks them behind a title.

        Args:
            labels: (event's kind, number's name) → what the chart calls it.

        Returns:
            Label → (steps, values), each shape (n,); the mark, empty where ε covers all of them.
        """
        columns = self._by_kind
        labels = {(kind, name): label for (kind, name), label in labels.items() if name in columns[kind]}
        series = {label: (columns[kind]["step"], columns[kind][name]) for (kind, name), label in labels.items()}
        return series, titled("", labels)

    def covered(self) -> RunView:
        """The same run without what was measured on the training data."""
        steps, evaluations, counts = (
            {name: column for name, column in table.items() if covered(kind, name)}
            for kind, table in self._by_kind.items()
        )
        return replace(
            self,
            record=replace(self.record, started=None, ended=None, summary=covered_part(self.record.summary)),
            steps=steps,
            evaluations=evaluations,
            counts=counts,
            started=covered_part({"kind": "started", **self.started}),
            norms={},
            noise={},
            final=covered_part(self.final),
            notes=tuple(note for note in self.notes if NOT_COVERED not in note[1]),  # they say so themselves
            bayesian_text="",
        )


def view_now(store: Store, run: str) -> RunView:
    """The view of a run, read anew. KeyError if there is none."""
    record = store.run(run)
    digest = store.digest(run, record.attempt)
    return view_of(record, whole(record.attempt, digest, partial(store.digest, run)))


def view_of(record: RunRecord, digest: Digest) -> RunView:
    """The view of a run from the digest of its events."""
    facts = digest.facts
    imported = facts.get(IMPORTED_KIND, {})
    steps, evaluations, counts = ({**digest.tables[kind]} for kind in ("step", "evaluation", "count"))
    same = ("started", "norms", "noise", "coming", "final", "bayesian_text")
    return RunView(
        record,
        steps,
        evaluations,
        counts,
        spent=digest.spent,
        notes=tuple(digest.notes),
        disputes=of_event(imported),
        checksums=str(imported.get("checksums", "")),
        charged=facts.get(CHARGED_KIND, {}),
        continued=facts.get(CONTINUED_KIND, {}),
        **{name: facts[name] for name in same if name in facts},
    )


class _Reader:
    """One run as far as it was read. Whoever comes while another reads on sees what was read before."""

    def __init__(self, store: Store, run: str) -> None:
        self._store, self._run = store, run
        self._reading = threading.Lock()
        self._attempt, self._last, self._digest = -1, -1, Digest()
        self._before: tuple[list[Any], dict[int, Digest]] = [], {}  # the attempts before it, and what was read of them
        self._shown: tuple[RunView, float] | None = None  # and when it was read

    def look(self, max_age: float) -> RunView:
        now = self._store.state_now(self._run)
        if (view := self._recent(now, max_age)) is not None:
            return view
        # Another state shows at once, so it is waited for.
        late = self._recent(now)
        if not self._reading.acquire(blocking=late is None) and late is not None:
            return late
        try:
            if (view := self._recent(now, max_age)) is None:
                view = self._read()
                self._shown = view, time.monotonic()
            return view
        finally:
            self._reading.release()

    def _recent(self, now: StateNow, max_age: float = math.inf) -> RunView | None:
        """What is shown, if it has this state and is no older."""
        if self._shown is None or StateNow.of(self._shown[0].record) != now:
            return None
        return self._shown[0] if time.monotonic() - self._shown[1] <= max_age else None

    def _read(self) -> RunView:
        # Before the events: a record that says "done" then has all its events after it.
        record = self._store.run(self._run)
        news = self._store.news(self._run, self._last, self._attempt)
        self._digest = self._digest + news.digest if news.attempt == self._attempt else news.digest
        self._attempt, self._last = news.attempt, news.last
        return view_of(record, whole(self._attempt, self._digest, self._earlier))

    def _earlier(self, attempt: int) -> Digest:
        """The digest of an attempt before the latest, which changes only where a late file of its worker comes."""
        attempts, digests = self._before
        if (now := self._store.attempts(self._run)) != attempts:
            digests = {}
            self._before = now, digests
        if attempt not in digests:
            digests[attempt] = self._store.digest(self._run, attempt)
        return digests[attempt]


class Live:
    """Shared views of runs; their events are read at most every `max_age` seconds however many look.

    What somebody just clicked must not show late: a run in another state is read anew.

    Safe to use from many threads. The views' arrays do not change once handed out.
    """

    def __init__(self, store: Store, *, max_age: float = 0.2) -> None:
        self.max_age = max_age
        self._store = store
        self._lock = threading.Lock()
        self._readers: OrderedDict[str, _Reader] = OrderedDict()

    def look(self, run: str) -> RunView:
        """The run as it was at most `max_age` seconds ago. KeyError if there is none."""
        with self._lock:
            reader = self._readers.setdefault(run, _Reader(self._store, run))
            self._readers.move_to_end(run)
            while len(self._readers) > MOST_READERS:
                self._readers.popitem(last=False)
        return reader.look(self.max_age)
