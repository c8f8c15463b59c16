"""Blocks of events give back what went into them; the digest of a long run keeps what a chart shows of it."""

import math
import random
import sqlite3
from contextlib import closing
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.runs import claims
from dpviz.runs.store import jsontext
from dpviz.runs.store.blocks import FULL, packed, unpacked
from dpviz.runs.store.digest import PIXELS, Digest, combined, width
from dpviz.runs.store.records import Event, StoreError
from dpviz.runs.store.store import Store
from dpviz.runs.views import Live
from tests.runs.conftest import Opens, batch, started

_ENTRY = st.none() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.booleans() | st.just("x")
_LISTS = st.lists(_ENTRY, max_size=3) | st.lists(st.floats(allow_nan=False), min_size=2, max_size=2)
_CONTENT = st.dictionaries(
    st.sampled_from(["loss", "a.b", "c?", "epsilon", "count"]),
    _LISTS | st.dictionaries(st.sampled_from(["renyi", "x.y"]), _LISTS, max_size=2),
    max_size=4,
)


@given(st.lists(_CONTENT, max_size=4), st.booleans())
def test_every_event_comes_back_as_it_was(contents: list[dict[str, Any]], stretches: bool) -> None:
    head = {"first": 1, "count": 2} if stretches else {}
    events = [Event(3, at, "step", at, 0.5, content | head) for at, content in enumerate(contents)]
    found = unpacked(packed(events), 3)
    assert found == events
    assert [jsontext.write(event.data) for event in found] == [
        jsontext.write({name: event.data[name] for name in again.data})
        for event, again in zip(events, found, strict=True)
    ]


def long_run(steps: int, seed: int = 1, *, each: int = 1) -> list[dict[str, Any]]:
    """Events of a run, `each` steps at a time, whose loss is noise and whose noise level falls once."""
    chance = random.Random(seed)
    events = []
    for first in range(1, steps + 1, each):
        sigma = 2.0 if first <= steps // 2 else 1.5
        events.append(
            {"kind": "step", "step": first + each - 1, "time": float(first), "first": first, "count": each,
             "mechanisms": [[sigma, 0.1, each]], "loss": [chance.random() for _ in range(each)], "norms": None,
             "clipped": [None if chance.random() < 0.5 else chance.random() for _ in range(each)],
             "batch_size": [chance.randrange(99) for _ in range(each)], "seconds": [0.1] * each,
             "epsilon": {"renyi": [math.sqrt(step) for step in range(first, first + each)]}}
        )  # fmt: skip
    return events


@pytest.mark.parametrize(("steps", "each"), [(9_000, 1), (60_000, 50)])
def test_a_digest_keeps_the_least_and_the_largest_of_each_pixel(steps: int, each: int) -> None:
    told = [Event(1, at, "step", data["step"], 0.0, data) for at, data in enumerate(long_run(steps, each=each))]
    everything, digest = Digest.of(told, whole=True).tables["step"], Digest.of(told).tables["step"]
    assert digest["step"].size < 10 * PIXELS < everything["step"].size
    assert (digest["step"][0], digest["step"][-1]) == (1, steps)
    stretch = width(steps)
    assert steps / stretch <= PIXELS < 2 * steps / stretch
    for name in ("loss", "clipped", "epsilon.renyi"):
        for begin in range(0, steps, 7 * stretch):  # some of them
            for least in (np.nanmin, np.nanmax):
                here = [table[name][table["step"] // stretch == begin // stretch] for table in (everything, digest)]
                assert least(here[0]) == least(here[1])


@pytest.mark.parametrize("cuts", [(1,), (700, 2_000), (17, 18, 3_333)])
def test_the_digest_of_a_whole_is_that_of_its_parts(cuts: tuple[int, ...]) -> None:
    story = long_run(4_000)
    story.insert(5, {"kind": "note", "step": 5, "text": "hello"})
    for at in (9, 3_000):
        story.insert(at, {"kind": "count", "step": at, "mechanism": [50.0, 1.0, 1], "count": 7.0})
    told = [Event(1, at, data["kind"], data["step"], 0.0, data) for at, data in enumerate(story)]
    whole = Digest.of(told)
    ends = [0, *cuts, len(told)]
    parts = [Digest.of(told[a:b]) for a, b in zip(ends, ends[1:], strict=False)]
    again = combined([Digest.unpack(part.pack()) for part in parts])
    for name in ("events", "last", "step", "spent", "counted", "facts", "notes"):
        assert getattr(again, name) == getattr(whole, name), name
    assert (again.spent, again.counted) == ([[2.0, 0.1, 2_000], [1.5, 0.1, 2_000]], [[50.0, 1.0, 2]])
    for name, values in whole.tables["step"].items():
        np.testing.assert_array_equal(again.tables["step"][name], values, err_msg=name)


class TestStored:
    def test_a_long_run_is_all_there_and_little_on_the_disk(self, store: Store, run: str) -> None:
        told = long_run(5 * FULL)
        for begin in range(0, len(told), 500):
            store.record([batch(run, *told[begin : begin + 500], first=begin)])
        assert [event.data for event in store.events(run)] == told
        rows = store.file.fetch("SELECT COUNT(*), (SELECT COUNT(*) FROM blocks) FROM events")
        assert rows[0][0] < FULL
        assert rows[0][1] >= 4
        stored = store.file.fetch("SELECT SUM(LENGTH(digest) + LENGTH(events)) FROM blocks")[0][0]
        assert stored < 0.25 * sum(len(jsontext.write(data)) for data in told)
        assert claims.mechanisms(store.digest(run)) == claims.mechanisms(Digest.of(store.events(run)))
        assert not claims.has_gap(store.digest(run))

    def test_what_comes_again_or_late_finds_its_place(self, store: Store, run: str) -> None:
        """Behind a gap nothing is packed: the history that comes with the result fills it."""
        told = long_run(3 * FULL)
        store.record([batch(run, *told[:40])])
        store.record([batch(run, *told[41:], first=41)])
        assert store.file.fetch("SELECT COUNT(*) FROM blocks") == [(0,)]
        assert claims.has_gap(store.digest(run))
        for _ in range(2):
            store.record([batch(run, *told)])
            assert [event.data for event in store.events(run)] == told
        assert store.file.fetch("SELECT COUNT(*) FROM blocks")[0][0] >= 2

    @pytest.mark.parametrize("known", [0, 100, FULL, FULL + 1, 2 * FULL + 50])
    @pytest.mark.one_of(2)
    def test_a_viewer_who_knew_a_part_sees_the_whole(self, store: Store, run: str, known: int) -> None:
        told = long_run(3 * FULL)
        live, fresh = Live(store, max_age=0.0), Live(store, max_age=0.0)
        store.record([batch(run, *told[:known])])
        live.look(run)
        store.record([batch(run, *told[known:], first=known)])
        one, other = live.look(run), fresh.look(run)
        assert one.spent == other.spent
        for name, values in other.steps.items():
            np.testing.assert_array_equal(one.steps[name], values)

    def test_events_that_are_none_are_kept_as_they_are(self, store: Store, run: str) -> None:
        """A target of somebody's own may tell what it likes: it is not packed, and the engine goes on."""
        odd = [{"kind": "step", "step": at, "first": at, "count": "many"} for at in range(1, FULL + 9)]
        store.record([batch(run, *odd)])
        assert [event.data for event in store.events(run)] == odd

    @pytest.mark.parametrize(
        "change",
        [
            "DELETE FROM blocks WHERE first = 0",
            "DELETE FROM blocks",
            "UPDATE blocks SET last = last + 1 WHERE first = 0",
            "UPDATE blocks SET digest = (SELECT digest FROM blocks ORDER BY first DESC LIMIT 1) WHERE first = 0",
            "UPDATE blocks SET events = X'00' WHERE first = 0",
        ],
    )
    @pytest.mark.one_of(2)
    def test_a_block_that_is_gone_or_changed_is_noticed(self, store: Store, opens: Opens, change: str) -> None:
        runs = [started(store, name) for name in ("one", "two")]
        told = [*long_run(3 * FULL), {"kind": "done", "step": 3 * FULL}]
        store.record([batch(run, *told, execution=run) for run in runs])
        store.close()
        with closing(sqlite3.connect(store.file.path, isolation_level=None)) as db:
            db.execute(f"{change}{' AND' if 'WHERE' in change else ' WHERE'} run = ?", (runs[0],))
        store.file.path.with_name("runs-backup.sqlite").unlink()
        again = opens(store.file.path)
        assert runs[0] in again.notice
        assert {record.name: record.state for record in again.runs()} == {"one": "lost", "two": "done"}
        assert [event.data for event in again.events(runs[1])] == told

    @pytest.mark.parametrize("column", ["digest", "events"])
    def test_a_block_that_is_spoilt_while_it_is_open_is_noticed_when_it_is_read(
        self, store: Store, run: str, column: str
    ) -> None:
        store.record([batch(run, *long_run(2 * FULL))])
        with store.file.connection(write=True) as db:
            data = bytearray(db.execute(f"SELECT {column} FROM blocks").fetchone()[0])
            data[len(data) // 2] ^= 1
            db.execute(f"UPDATE blocks SET {column} = ?", (bytes(data),))
        with pytest.raises(StoreError, match="set aside"):
            getattr(store, column)(run)
