"""Events as arrays, and many who watch."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.runs.store import jsontext
from dpviz.runs.store.digest import Columns, Digest, decode_mechanisms
from dpviz.runs.store.records import Event, RunRecord
from dpviz.runs.store.store import Store
from dpviz.runs.views import Live, view_of
from tests.runs.conftest import at_once, batch, new, started, steps


def stretch(first: int, losses: list[float | None], mechanisms: list[list[float]], **more: Any) -> dict[str, Any]:
    count = len(losses)
    found = {
        "kind": "step", "step": first + count - 1, "time": 10.0, "first": first, "count": count, "loss": losses,
        "mechanisms": mechanisms, "seconds": [0.5] * count, "epsilon": {"renyi": [float(i) for i in range(count)]},
        "norms": None, "noise": None, "distances": None,
    }  # fmt: skip
    return {**found, **more}


def event(data: dict[str, Any], seq: int = 0) -> Event:
    return Event(1, seq, data["kind"], data.get("step", 0), data.get("time", 0.0), data)


def test_columns_that_come_late_are_nan_before_and_a_wrong_one_adds_nothing() -> None:
    table = Columns()
    table.extend(2, {"x": [1.0, None]})
    table.extend(1, {"x": [7], "late": [True]})
    np.testing.assert_array_equal(table.table()["x"], [1.0, np.nan, 7.0])
    np.testing.assert_array_equal(table.table()["late"], [np.nan, np.nan, 1.0])
    with pytest.raises(ValueError, match="Expected y with 2 numbers"):
        table.extend(2, {"x": [1.0, 2.0], "y": [1.0]})
    assert table.rows == 3
    table.extend(1, {"x": ["a"]})  # type: ignore[list-item]
    with pytest.raises(ValueError, match="could not convert"):
        table.table()


@given(st.lists(st.tuples(st.floats(0.1, 9), st.floats(0, 1), st.integers(1, 5)), max_size=6))
def test_mechanisms_decode(runs: list[tuple[float, float, int]]) -> None:
    every = [(sigma, rate) for sigma, rate, count in runs for _ in range(count)]
    sigma, rate = decode_mechanisms(runs, len(every))
    assert list(zip(sigma, rate, strict=True)) == every
    assert np.isnan(decode_mechanisms(runs, len(every) + 1)).all()


def test_a_whole_run() -> None:
    norms = {"step": 2, "edges": [0, 1], "counts": [3], "max_grad_norm": 1.0}
    story: list[dict[str, Any]] = [
        {"kind": "started", "settings": {}, "examples": 10},
        stretch(1, [2.0, None], [[1.0, 0.1, 1], [2.0, 0.1, 1]], norms=norms),
        {"kind": "evaluation", "step": 2, "test_accuracy": 0.5, "posterior_accuracy": None},
        stretch(3, [1.0], [[2.0, 0.1, 1]], noise={"signal": 1.0, "noise": 2.0}),
        {"kind": "count", "step": 3, "count": 7, "mechanism": [100.0, 1.0, 1], "epsilon": {"renyi": 0.5}},
        {"kind": "note", "step": 3, "text": "hello"},
        {"kind": "replanned", "step": 3, "text": "further", "total_steps": 6},
        {"kind": "evaluation", "step": 3, "test_accuracy": 0.6, "posterior_accuracy": 0.7},
        {"kind": "done", "step": 3, "epsilon": {"renyi": 0.5}},
    ]
    view = view_of(RunRecord(id="x"), Digest.of(event(data, seq) for seq, data in enumerate(story)))
    steps_ = view.steps
    assert steps_["step"].tolist() == [1, 2, 3]
    assert steps_["time"].tolist() == [9.5, 10.0, 10.0]
    np.testing.assert_array_equal(steps_["loss"], [2.0, np.nan, 1.0])
    assert steps_["noise_multiplier"].tolist() == [1.0, 2.0, 2.0]
    assert steps_["epsilon.renyi"].tolist() == [0.0, 1.0, 0.0]
    np.testing.assert_array_equal(view.evaluations["posterior_accuracy"], [np.nan, 0.7])
    assert view.counts["epsilon.renyi"].tolist() == [0.5]
    assert view.notes == ((3, "hello"), (3, "further"))
    assert view.norms == norms
    assert view.spent == [[1.0, 0.1, 1], [2.0, 0.1, 2]]
    assert view.noise == {"signal": 1.0, "noise": 2.0, "step": 3}
    assert view.final["kind"] == "done"
    assert view.started["examples"] == 10


class TestLive:
    @pytest.fixture
    def live(self, store: Store) -> Live:
        return Live(store, max_age=0.0)

    def test_only_what_is_new_is_read(self, store: Store, run: str, live: Live, reads: list[int]) -> None:
        for i in range(5):
            store.record([batch(run, *steps(100, 1 + 100 * i), first=100 * i)])
            reads.clear()
            assert live.look(run).steps["step"].tolist() == list(range(1, 101 + 100 * i))
            assert sum(reads) == 102  # the run twice, and the new events

    def test_twenty_watchers_read_events_as_one_does(self, store: Store, run: str, reads: list[int]) -> None:
        live = Live(store, max_age=60.0)
        store.record([batch(run, *steps(500))])
        reads.clear()
        seen: list[int] = []

        def watch() -> None:
            for _ in range(20):
                seen.append(live.look(run).steps["loss"].size)
                time.sleep(0.001)

        assert at_once(*[watch] * 20) == []
        assert seen == [500] * 400
        assert sum(reads) == 500 + 400 + 1  # each look reads the run alone

    def test_nobody_waits_for_what_another_reads(
        self, store: Store, run: str, live: Live, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """While one thread reads on, others see what was read before; a state that is new to them they wait for."""
        store.record([batch(run, *steps(3))])
        live.look(run)
        reading, go_on = threading.Event(), threading.Event()
        read = store.news

        def slowly(*args: Any) -> Any:
            reading.set()
            assert go_on.wait(60.0)
            return read(*args)

        monkeypatch.setattr(store, "news", slowly)
        store.record([batch(run, *steps(2, 4), first=3)])
        with ThreadPoolExecutor(3) as pool:
            pool.submit(live.look, run)
            assert reading.wait(60.0)
            assert pool.submit(live.look, run).result(5.0).steps["step"].size == 3
            store.set_desired(run, "pause")
            third = pool.submit(live.look, run)
            time.sleep(0.2)
            assert not third.done()
            go_on.set()
            assert third.result(60.0).record.desired == "pause"
        assert live.look(run).steps["step"].size == 5

    def test_what_is_clicked_while_another_reads_is_seen_at_once(
        self, store: Store, reads: list[int], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Within the time that events may be old; also where a reader under way had read the record before."""
        run, live = started(store), Live(store, max_age=60.0)
        store.record([batch(run, *steps(3))])
        assert live.look(run).record.desired == "go"
        read = store.news

        def clicked(*args: Any) -> Any:
            store.set_desired(run, "pause")
            return read(*args)

        store.set_desired(run, "stop")
        with monkeypatch.context() as patch:
            patch.setattr(store, "news", clicked)
            live.look(run)
        assert live.look(run).record.desired == "pause"
        store.record([batch(run, {"kind": "control", "step": 3, "state": "paused"}, first=3)])
        assert live.look(run).record.state == "paused"
        reads.clear()
        live.look(run)
        assert len(reads) == 1  # nothing is new: what was read still holds

    def test_a_new_attempt_starts_anew(self, store: Store, run: str, live: Live) -> None:
        store.record([batch(run, {"kind": "started", "old": True}, *steps(9, 1))])
        first = live.look(run)
        store.record([batch(run, *steps(2), execution="two")])
        view = live.look(run)
        assert (view.steps["step"].tolist(), view.started, view.record.restarts) == ([1.0, 2.0], {}, 1)
        assert first.steps["step"].size == 9

    def test_steps_before_a_checkpoint_show_once_their_file_was_read(self, store: Store, live: Live) -> None:
        run = new(store).id
        store.record([batch(run, *steps(3))])
        goes_on = {"kind": "continued", "step": 5, "text": "", "mechanisms": []}
        store.record([batch(run, {"kind": "started"}, goes_on, *steps(2, 6), execution="two")])
        assert live.look(run).steps["step"].tolist() == [6.0, 7.0]
        store.record([batch(run, *steps(3, 4), first=3)])
        assert store.all_recorded(run, "one") is False  # the run is not over
        assert live.look(run).steps["step"].tolist() == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]

    def test_ended_says_all(self, store: Store, run: str, live: Live) -> None:
        """A view whose record has ended has all events."""

        def write() -> None:
            for i in range(50):
                store.record([batch(run, *steps(5, 1 + 5 * i), first=5 * i)])
            store.record([batch(run, {"kind": "done", "step": 250}, first=250)])

        with ThreadPoolExecutor(1) as pool:
            written = pool.submit(write)
            while not (view := live.look(run)).record.over:
                assert not written.done() or written.exception() is None
        assert view.steps["step"].size == 250
        assert view.final["kind"] == "done"


# A text that spells a number JSON has none for reads back as that number: known, and no event has such a text.
_TEXTS = st.text(max_size=5).filter(lambda text: text not in ("NaN", "Infinity", "-Infinity"))
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False) | _TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


@given(_JSON)
def test_json_comes_back(value: Any) -> None:
    assert jsontext.read(jsontext.write(value)) == value


def test_json_is_strict() -> None:
    text = jsontext.write([float("nan"), {"a": (float("inf"), -float("inf"))}, "ok"])
    assert text == '["NaN",{"a":["Infinity","-Infinity"]},"ok"]'
    found = jsontext.read(text)
    assert np.isnan(found[0])
    assert found[1] == {"a": [float("inf"), -float("inf")]}
    with pytest.raises(TypeError):
        jsontext.write({1, 2})
