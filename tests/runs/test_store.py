"""The store: what it keeps, in which order, and that neither many hands nor a kill spoil it."""

import json
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, suppress
from functools import partial
from pathlib import Path

import pytest

from dpviz.runs.engine import Engine
from dpviz.runs.store.folders import home, private_file
from dpviz.runs.store.records import ACTIVE, Chosen, StoreError, new_id
from dpviz.runs.store.store import KEPT, Store, moment, open_store
from dpviz.runs.views import Live
from tests.runs.conftest import HERE, OWNER, at_once, batch, kill, new, started, steps
from tools.attack.programs import small_disk


class TestRuns:
    def test_a_queued_run_begins_once(self, store: Store) -> None:
        run = new(store).id
        begun: list[bool] = []
        assert at_once(*[lambda: begun.append(store.begin(run, OWNER))] * 4) == []
        assert sorted(begun) == [False, False, False, True]
        record = store.run(run)
        assert (record.state, record.owner) == ("running", OWNER)
        assert record.started is not None
        assert not store.begin("no run")

    def test_words_of_the_user_and_unknown_runs(self, store: Store) -> None:
        run = new_id()
        for count in (3, 4):  # asked for twice, it is one run
            made = store.create(target="m:f", settings={"steps": count}, options={}, run=run)
            assert (made.id, made.settings, made.title) == (run, {"steps": 3}, "Run 1")
        other = new(store, "named").id
        assert [record.title for record in store.runs()] == ["named", "Run 1"]
        store.rename(run, "ä <b>")
        store.annotate(run, "note")
        for baseline in (run, other, None):
            store.pin_baseline(baseline)
            assert [record.id for record in store.runs() if record.baseline] == [baseline] * (baseline is not None)
        assert (store.run(run).name, store.run(run).note) == ("ä <b>", "note")
        for ask in (store.run, store.news, store.delete, store.undelete, store.pin_baseline, store.events):
            with pytest.raises(KeyError, match="no run 'x'"):
                ask("x")
        with pytest.raises(KeyError):
            store.set_desired("x", "stop")

    def test_desired_states(self, store: Store, run: str) -> None:
        assert store.set_desired(run, "pause", single_steps=2).granted == 2
        record = store.set_desired(run, "pause", single_steps=1)
        assert (record.desired, record.granted, record.state) == ("pause", 3, "running")
        for _ in range(2):  # asked twice, it counts once
            assert store.set_desired(run, "pause", single_steps=1, granted=3).granted == 4
        record = store.set_desired(new(store).id, "stop")
        assert (record.state, record.ended is None) == ("stopped", False)

    def test_delete_and_undo(self, store: Store, run: str) -> None:
        with pytest.raises(ValueError, match="it is running: stop it"):
            store.delete(run)
        store.record([batch(run, *steps(3), {"kind": "done", "step": 3})])
        store.delete(run)
        assert (store.runs(), [record.id for record in store.runs(deleted=True)]) == ([], [run])
        store.undelete(run)
        assert [record.id for record in store.runs()] == [run]
        assert len(store.events(run)) == 4
        with pytest.raises(ValueError, match="to be deleted before"):
            store.purge(run)
        store.delete(run)
        store.purge(run)
        assert store.runs(deleted=True) == []
        assert store.file.fetch("SELECT COUNT(*) FROM events") == [(0,)]


def test_who_wants_few_runs_reads_few(store: Store, reads: list[int]) -> None:
    runs = [new(store).id for _ in range(120)]
    store.change_state(runs[-1], "lost", only=("queued",))
    settings = store.run(runs[7]).settings | {"model": "mlp", "data": "adult"}
    other = store.create(target="m:f", settings=settings, options={}).id
    del reads[:]
    assert next(store.each(Chosen())).id == other
    assert sum(reads) == 50
    assert [record.id for record in store.each(Chosen())] == [other, *runs[::-1]]
    for chosen, expected in (
        (Chosen(model=("mlp", "cnn")), [other]),
        (Chosen(data=("adult",), method=("no",)), []),
        (Chosen(states=("lost",)), runs[-1:]),
        (Chosen(data=("nowhere",)), []),
    ):
        assert [record.id for record in store.each(chosen)] == expected


class TestEvents:
    def test_twice_is_once(self, store: Store, run: str) -> None:
        whole = batch(run, *steps(5))
        store.record([whole, whole])
        store.record([batch(run, *steps(3, 4), first=3), whole])
        assert [event.seq for event in store.events(run)] == list(range(6))
        assert (store.run(run).steps, store.run(run).attempt) == (6, 1)

    def test_news(self, store: Store, run: str) -> None:
        assert (store.news(run).attempt, store.news(run).last, store.news(run).digest.events) == (0, -1, 0)
        control = [{"kind": "control", "step": 5, "state": state} for state in ("paused", "running")]
        store.record([batch(run, *steps(5), control[0])])
        assert store.run(run).state == "paused"
        news = store.news(run)
        assert (news.attempt, news.digest.events, news.last) == (1, 6, 5)
        assert (store.news(run, 5, 1).digest.events, store.news(run, 5, 1).last) == (0, 5)
        assert store.news(run, 2, 1).digest.tables["step"]["step"].tolist() == [4, 5]
        store.record([batch(run, control[1], first=6)])
        assert store.run(run).state == "running"

    def test_only_the_latest_attempt_is_shown(self, store: Store, run: str) -> None:
        store.record([batch(run, *steps(5))])
        store.record([batch(run, execution="two"), batch(run, *steps(2), execution="two")])
        record = store.run(run)
        assert (record.state, record.attempt, record.restarts, record.steps) == ("restarted", 2, 1, 2)
        assert len(store.events(run)) == 2
        assert len(store.events(run, 1)) == 5
        # A reader of the first attempt starts anew; late news of the first one do not disturb.
        assert store.news(run, 4, 1).digest.tables["step"]["step"].tolist() == [1, 2]
        store.record([batch(run, {"kind": "done", "step": 6}, first=5)])
        assert store.run(run).state == "restarted"
        assert [a["outcome"] for a in store.attempts(run)] == ["done", ""]
        store.record([batch(run, {"kind": "done", "step": 3}, first=2, execution="two")])
        assert (store.run(run).state, store.run(run).attempt) == ("done", 2)
        # What runs once more after the end is ignored.
        store.record([batch(run, *steps(9), execution="three")])
        assert (store.run(run).state, store.run(run).attempt, store.run(run).steps) == ("done", 2, 3)

    @pytest.mark.parametrize("kind", ["done", "stopped", "failed"])
    def test_the_last_event_ends_the_run(self, store: Store, run: str, kind: str) -> None:
        store.record([batch(run, *steps(1), {"kind": kind, "step": 1, "text": "why", "loss": float("nan")})])
        record = store.run(run)
        assert (record.state, record.reason) == (kind, "why")
        assert record.summary["kind"] == kind
        assert record.summary["loss"] != record.summary["loss"]
        assert record.ended is not None
        assert store.attempts(run)[0]["outcome"] == kind

    def test_a_lost_run_may_turn_out_to_have_ended_well(self, store: Store, run: str) -> None:
        store.record([batch(run, *steps(1))])
        store.change_state(run, "lost", "host", only=ACTIVE)
        store.record([batch(run, *steps(1, 2), first=1)])
        assert store.run(run).state == "lost"
        store.record([batch(run, {"kind": "done", "step": 2}, first=2)])
        assert store.run(run).state == "done"


WRITER = """
from pathlib import Path
from dpviz.runs.store.store import Store
from tests.runs.conftest import batch, steps
store = Store(Path({path!r}))
print("ready", flush=True)
for i in range({batches}):
    store.record([batch({run!r}, *steps(10, 1 + 10 * i), first=10 * i, execution={execution!r})])
    print(10 * (i + 1), flush=True)
"""


def writer(store: Store, run: str, batches: int, execution: str = "one") -> subprocess.Popen[str]:
    script = WRITER.format(path=store.place, run=run, batches=batches, execution=execution)
    return subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, cwd=HERE.parents[1])


class TestManyHands:
    def test_two_writers_and_four_readers(self, store: Store) -> None:
        """Processes write, threads read: no error, no gap, nothing out of order."""
        runs = [started(store), started(store)]
        writers = [writer(store, run, 200) for run in runs]

        def read(run: str) -> None:
            seq, attempt = -1, None
            while seq < 1999 and any(process.poll() in (None, 0) for process in writers):
                news = store.news(run, seq, attempt)
                assert (news.digest.events, news.digest.step) in ((news.last - seq, news.last + 1), (0, 0))
                seq, attempt = news.last, news.attempt
                time.sleep(0.005)

        assert at_once(*[partial(read, run) for run in runs * 2]) == []
        for process in writers:
            process.communicate()
        assert [process.returncode for process in writers] == [0, 0]
        assert [store.run(run).steps for run in runs] == [2000, 2000]

    def test_a_further_connection_drops_no_lock(self, store: Store) -> None:
        """To close any handle of a file ends a process's locks on it (POSIX): the next to leave would take its log."""
        started(store)
        log = store.file.path.with_name(store.file.path.name + "-wal")
        other = "import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute('SELECT 1 FROM runs').fetchone()"
        with store.file.connection() as one, store.file.connection() as two:
            one.execute("SELECT 1 FROM runs").fetchone()
            two.execute("SELECT 1 FROM runs").fetchone()
            private_file(store.file.path)
            subprocess.run([sys.executable, "-c", other, str(store.file.path)], check=True)
            assert log.exists(), "another process took itself for the last one"

    def test_killed_in_the_midst_of_writing(self, store: Store) -> None:
        """Everything that was said to be written is there, whole batches only, and the file is sound."""
        for attempt in range(3):
            run = started(store)
            process = writer(store, run, 100_000, execution=f"e{attempt}")
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            for _ in range(1 + 7 * attempt):
                told = int(process.stdout.readline())
            kill(process.pid)
            rest, _ = process.communicate()
            told = max([told, *(int(line) for line in rest.splitlines() if line)])
            events = store.events(run)
            assert len(events) >= told
            assert len(events) % 10 == 0
            assert [event.seq for event in events] == list(range(len(events)))
        assert store.file.fetch("PRAGMA integrity_check") == [("ok",)]

    def test_what_is_read_is_on_the_disk(self, store: Store) -> None:
        """A kill does not show it: SQLite syncs its log at each end of a transaction (2, FULL)."""
        with store.file.connection(write=True) as db:
            assert db.execute("PRAGMA synchronous").fetchone() == (2,)
            assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)

    def test_a_batch_without_a_place_is_told(self, store: Store) -> None:
        run, over = started(store), started(store)
        store.change_state(over, "lost", only=ACTIVE)
        assert store.record([batch(run, *steps(1)), batch("gone", *steps(1)), batch(over)]) == [True, False, False]

    def test_two_that_make_it_at_once(self, tmp_path: Path) -> None:
        made: list[int] = []

        def make() -> None:
            other = Store(tmp_path / "deep" / "new.sqlite")
            made.append(new(other).number)
            other.close()

        assert at_once(*[make] * 6) == []
        assert sorted(made) == [1, 2, 3, 4, 5, 6]


class TestTrouble:
    def test_a_full_disk(self, store: Store, run: str) -> None:
        """Said with the file's name; all that was stored before is there, and it goes on once there is room."""
        store.record([batch(run, *steps(50))])
        with store.file.connection() as db:
            pages = db.execute("PRAGMA page_count").fetchone()[0]
            db.execute(f"PRAGMA max_page_count = {pages + 2}")
        large = [{"kind": "step", "step": 51, "text": "x" * 100_000}]
        with pytest.raises(StoreError, match="disk is full") as refused:
            store.record([batch(run, *large, first=50)])
        assert store.place in str(refused.value)
        assert [event.step for event in store.events(run)] == list(range(1, 51))
        store.record([batch(run, *large, first=50)])  # on a new connection, without that limit
        assert store.run(run).steps == 51

    @pytest.mark.parametrize("disk", ["full", "read-only"])
    def test_a_full_or_read_only_disk_can_still_be_looked_at(self, disk: str) -> None:
        with small_disk() as folder:
            if folder is None:
                pytest.skip("Only root may mount a disk.")
            with closing(open_store(folder)) as store:
                run = started(store)
                store.record([batch(run, *steps(50))])
            if disk == "full":
                with suppress(OSError), (folder / "filler").open("wb", buffering=0) as filler:
                    while True:
                        filler.write(bytes(4096))
            else:
                subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)
            with closing(open_store(folder)) as store:
                for _ in range(2):
                    assert [record.steps for record in store.runs()] == [50]
                    assert Live(store).look(run).steps["step"].size == 50
                    with pytest.raises(StoreError, match="disk is full|cannot be written"):
                        store.rename(run, "x" * 10**6)
            subprocess.run(["mount", "-o", "remount,rw", str(folder)], check=True)

    def test_of_another_version(self, tmp_path: Path) -> None:
        with sqlite3.connect(tmp_path / "runs.sqlite") as db:
            db.execute("PRAGMA user_version = 99")
        db.close()
        with pytest.raises(StoreError, match="format 99"):
            open_store(tmp_path)


@pytest.mark.parametrize(
    ("system", "expected"),
    [
        ("linux", ".local/share/dpviz"),
        ("darwin", "Library/Application Support/dpviz"),
        ("win32", "AppData/Local/dpviz"),
    ],
)
def test_its_place_on_each_system(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, system: str, expected: str) -> None:
    for variable in ("DPVIZ_HOME", "XDG_DATA_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(sys, "platform", system)
    assert home() == Path.home() / expected
    monkeypatch.setenv("DPVIZ_HOME", str(tmp_path / "here"))
    assert home() == tmp_path / "here"


@pytest.mark.parametrize("chosen", ["a\0b", "~no-such-account/runs"])
def test_a_name_that_no_folder_has_is_told(monkeypatch: pytest.MonkeyPatch, chosen: str) -> None:
    monkeypatch.setattr("os.environ", {"DPVIZ_HOME": chosen})  # the system's own takes no NUL
    with pytest.raises(StoreError, match="Expected DPVIZ_HOME=.* to be the name of a folder"):
        home()


def test_a_path_that_no_file_has_is_told(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"a\\x00b.* DPVIZ_HOME to a folder that can be written"):
        open_store(tmp_path / "a\0b")


# Durations are true whatever the clock is set to meanwhile.

real = time.time


@pytest.mark.parametrize("shift", [-3600.0, 3600.0, -1e9])
@pytest.mark.parametrize("end", ["by its last event", "lost", "stopped before it started"])
def test_a_clock_that_is_set(store: Store, monkeypatch: pytest.MonkeyPatch, shift: float, end: str) -> None:
    begun = time.monotonic()
    run = new(store).id
    if end == "stopped before it started":
        monkeypatch.setattr(time, "time", lambda: real() + shift)
        store.set_desired(run, "stop")
    else:
        assert store.begin(run)
        store.record([batch(run, *steps(1))])
        monkeypatch.setattr(time, "time", lambda: real() + shift)
        if end == "lost":
            store.change_state(run, "lost", only=ACTIVE)
        else:
            store.record([batch(run, {"kind": "done", "step": 1}, first=1)])
    record = store.run(run)
    assert record.ended is not None
    since = record.started if record.started is not None else record.created
    assert 0.0 <= record.ended - since <= time.monotonic() - begun
    for attempt in store.attempts(run):
        assert since <= attempt["started"] <= attempt["ended"] <= record.ended


def test_a_worker_whose_clock_was_set(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    run = new(store).id
    assert store.begin(run)
    for shift, execution in ((-3600.0, "one"), (3600.0, "two")):
        monkeypatch.setattr(time, "time", lambda shift=shift: real() + shift)
        late = batch(run, *steps(1), execution=execution)
        monkeypatch.setattr(time, "time", real)
        store.record([late])
    moments = [attempt["started"] for attempt in store.attempts(run)]
    assert store.run(run).started <= moments[0] <= moments[1] <= real()  # type: ignore[operator]


def test_another_machine_or_another_boot_goes_by_the_wall_but_never_back(monkeypatch: pytest.MonkeyPatch) -> None:
    far = json.dumps({"machine": "far", "offset": 5.0})
    monkeypatch.setattr(time, "time", lambda: 100.0)
    assert [moment(text, 0.0) for text in (far, "")] == [100.0, 100.0]
    assert moment(far, 250.0) == 250.0


def test_after_a_week_it_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(tmp_path / "runs.sqlite")
    (tmp_path / "weights").mkdir()
    runs = []
    for execution in ("a", "b", "c"):
        run = started(store)
        long = [{**step, "text": "secret" * 50} for step in steps(400)]
        store.record([batch(run, *long, {"kind": "done", "step": 400}, execution=execution)])
        (tmp_path / "weights" / f"{run}.pt").write_text("weights")
        runs.append(run)
    kept, fresh, old = runs
    store.delete(fresh)
    with monkeypatch.context() as earlier:
        long_ago = time.time() - KEPT - 60.0
        earlier.setattr(time, "time", lambda: long_ago)
        store.delete(old)
    store.close()
    size = (tmp_path / "runs.sqlite").stat().st_size

    engine = Engine(tmp_path, preload=False)
    assert [record.id for record in engine.store.runs()] == [kept]
    assert [record.id for record in engine.store.runs(deleted=True)] == [fresh]
    assert engine.weights(fresh).exists()
    assert not engine.weights(old).exists()
    engine.shutdown()
    assert (tmp_path / "runs.sqlite").stat().st_size < 0.75 * size
