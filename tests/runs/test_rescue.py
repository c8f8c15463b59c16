"""A damaged store is set aside and begun anew; what cannot be read whole claims nothing."""

import os
import random
import shutil
import sqlite3
import stat
import time
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from unittest.mock import Mock

import pytest

from dpviz.runs.cluster import local
from dpviz.runs.processes import Process, this_process
from dpviz.runs.reconcile import reconcile
from dpviz.runs.store.copies import KEPT, backup_of
from dpviz.runs.store.file import Damaged
from dpviz.runs.store.lock import alone
from dpviz.runs.store.records import IMPORTED_KIND, Event, StoreError
from dpviz.runs.store.rescue import PREFIX
from dpviz.runs.store.spool import Spool
from dpviz.runs.store.store import Store
from tests.runs.conftest import OWNER, Opens, at_once, batch, new, started, steps, until

RUNS, EVENTS = 6, 60
LONG = [{**step, "text": "x" * 300} for step in steps(EVENTS)]
HEADER = 100  # SQLite counts in a file's first bytes who opened it
Made = dict[str, int]  # number of events by run


def filled(path: Path) -> Made:
    """A store with ended runs, written out whole, the same bytes each time; number of events by run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "time", lambda: 1.7e9)
        patch.setattr("dpviz.runs.store.store.new_id", (f"{i:016x}" for i in range(RUNS)).__next__)
        patch.setattr("dpviz.runs.store.store._anchor", str)
        patch.setattr("tests.runs.conftest.this_process", lambda: Process("here", 1, "2"))
        store = Store(path)
        made = {started(store, f"run {i}"): EVENTS + 1 for i in range(RUNS)}
        store.record([batch(run, *LONG, {"kind": "done", "step": EVENTS}, execution=run) for run in made])
        store.close()
    changed_by("PRAGMA wal_checkpoint(TRUNCATE)")(path)
    backup_of(path).unlink()
    return made


def is_true(store: Store, made: Made) -> int:
    """Every run is there whole or says that it is not; the number of whole ones."""
    whole = 0
    for record in store.runs():
        events = store.events(record.id)
        if record.state == "done":
            assert [event.seq for event in events] == list(range(made[record.id]))
            assert record.steps == EVENTS
            whole += 1
        else:
            assert (record.state, events, record.summary) == ("lost", [], {})
            assert "its privacy loss is unknown" in record.reason
    assert store.file.fetch("PRAGMA integrity_check") == [("ok",)]
    return whole


def usable(store: Store) -> None:
    run = started(store, "after")
    store.record([batch(run, *steps(2), {"kind": "done", "step": 2})])
    assert store.run(run).state == "done"


def truncated(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: len(data) * 2 // 3])


def overwritten(path: Path, at: int = 0, content: bytes = b"") -> None:
    data = bytearray(path.read_bytes())
    at, content = at or len(data) // 2, content or random.Random(1).randbytes(3 * 4096)
    data[at : at + len(content)] = content[: len(data) - at]
    path.write_bytes(data)


def no_database(path: Path) -> None:
    path.write_text("something else, long enough to be looked at as a header " * 20)


def changed_by(statement: str, *values: object) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        with closing(sqlite3.connect(path, isolation_level=None)) as db:
            db.execute(statement, values)

    return change


def of_something_else(path: Path) -> None:
    path.unlink()
    changed_by("CREATE TABLE recipes (id)")(path)


def random_bytes(seed: int) -> Callable[[Path], None]:
    chance = random.Random(seed)
    return lambda path: overwritten(
        path, chance.randrange(1, path.stat().st_size), chance.randbytes(chance.choice([8, 100, 5000]))
    )


def flipped_byte(seed: int, begin: int, end: int | None = None) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        data, chance = path.read_bytes(), random.Random(seed)
        at = chance.choice([place for place in range(begin, end or len(data)) if data[place]])
        overwritten(path, at, bytes([data[at] ^ chance.randrange(1, 256)]))

    return change


def without_its_schema(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"CREATE TABLE runs", b"CREATE TABLE \xffuns"))


def opened(path: Path, made: Made) -> int:
    """How many runs are whole, once the store was looked at as often as it says that it was damaged."""
    for _ in range(3):
        with suppress(Damaged):
            store = Store(path)
            try:
                whole = is_true(store, made)
                usable(store)
                return whole
            finally:
                store.close()
    pytest.fail("It is damaged again and again.")


def aside(path: Path) -> list[Path]:
    return list(path.parent.glob(f"{PREFIX}*.sqlite"))


@pytest.fixture(scope="module")
def whole_store(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Made]:
    path = tmp_path_factory.mktemp("whole") / "runs.sqlite"
    return path, filled(path)


@pytest.fixture
def path(tmp_path: Path, whole_store: tuple[Path, Made]) -> Path:
    """A store of one's own with ended runs."""
    return shutil.copyfile(whole_store[0], tmp_path / "runs.sqlite")


@pytest.fixture
def made(whole_store: tuple[Path, Made]) -> Made:
    return whole_store[1]


def test_the_same_damage_meets_the_same_bytes(path: Path, made: Made, tmp_path_factory: pytest.TempPathFactory) -> None:
    again = tmp_path_factory.mktemp("again") / "runs.sqlite"
    assert (filled(again), again.read_bytes()) == (made, path.read_bytes())


@pytest.mark.parametrize(
    ("spoil", "least"),
    [
        (truncated, 0),
        (overwritten, 1),
        (no_database, 0),
        (changed_by("ALTER TABLE runs DROP COLUMN note"), 0),
        (of_something_else, 0),
    ],
)
@pytest.mark.one_of(3)
def test_a_damaged_file(path: Path, made: Made, spoil: Callable[[Path], None], least: int, opens: Opens) -> None:
    spoil(path)
    bytes_before = path.read_bytes()
    store = Store(path)
    assert is_true(store, made) >= least
    usable(store)
    [old] = aside(path)
    assert old.read_bytes()[HEADER:] == bytes_before[HEADER:]
    assert str(old) in store.notice
    assert "could be read whole" in store.notice
    store.close()
    again = opens(path)  # said until the file is moved away, and nothing is set aside twice
    assert aside(path) == [old]
    assert str(old) in again.notice
    old.with_suffix(".txt").unlink()
    assert again.notice == ""


RUN = f"{2:016x}"


@pytest.mark.parametrize(
    "change",
    [
        *(
            f"DELETE FROM events WHERE run = '{RUN}' AND seq {which}"
            for which in ("= 0", "= 30", "= 60", ">= 50", ">= 0")
        ),
        f"DELETE FROM attempts WHERE run = '{RUN}'",
        f"UPDATE events SET seq = 99 WHERE run = '{RUN}' AND seq = 60",
        f"UPDATE events SET step = 1 WHERE run = '{RUN}' AND seq = 60",
        f"UPDATE events SET data = replace(data, '3.0', '4.0') WHERE run = '{RUN}' AND seq = 3",
        f"UPDATE events SET data = '{{\"kind\": ' WHERE run = '{RUN}' AND seq = 7",
        f"UPDATE runs SET settings = replace(settings, '2.5', '3.5') WHERE id = '{RUN}'",
        f"UPDATE runs SET settings = CAST(X'80ff00' AS TEXT) WHERE id = '{RUN}'",
        f"UPDATE runs SET steps = 59 WHERE id = '{RUN}'",
    ],
)
def test_what_sqlite_does_not_see(path: Path, made: Made, change: str, opens: Opens) -> None:
    """Rows that are missing or others, as behind an overwritten count of a page: that run alone is lost."""
    changed_by(change)(path)
    store = opens(path)
    assert "is not as it was written" in store.notice or "user-defined function" in store.notice
    assert is_true(store, made) == RUNS - 1
    assert RUN not in {record.id for record in store.runs() if record.state == "done"}
    usable(store)


def test_a_run_with_a_row_that_no_store_takes_is_lost_as_a_whole(path: Path, made: Made, opens: Opens) -> None:
    """Where the byte that says a value's type is overwritten, none may be there: its run's other rows go too."""

    def schema(old: str, new: str) -> None:
        change = "UPDATE sqlite_master SET sql = replace(sql, ?, ?) WHERE name = 'attempts'"
        with closing(sqlite3.connect(path)) as db, db:
            db.execute("PRAGMA writable_schema = ON")
            db.execute(change, (old, new))

    declared = "started REAL NOT NULL"
    schema(declared, "started REAL")
    changed_by("UPDATE attempts SET started = NULL WHERE run = ?", RUN)(path)
    schema("started REAL", declared)
    store = opens(path)
    assert "NULL value in attempts.started" in store.notice
    assert is_true(store, made) == RUNS - 1
    usable(store)


def test_a_program_s_run_goes_on_while_another_one_is_spoilt(path: Path, made: Made, opens: Opens) -> None:
    """Its program is known after the rescue, too: nobody takes it for ended."""
    store = opens(path)
    store.heartbeat(OWNER, this_process())
    run = started(store, "goes on")
    store.record([batch(run, *steps(9))])
    store.close()
    changed_by("UPDATE runs SET steps = 59 WHERE id = ?", RUN)(path)
    store = opens(path)
    assert RUN in store.notice
    assert reconcile(store) == []
    store.record([batch(run, *steps(3, 10), first=9)])
    assert (store.run(run).state, store.run(run).steps) == ("running", 12)
    assert len(store.events(run)) == 12


class Killed(BaseException):
    """The process ends at once."""


def test_a_process_that_is_killed_while_it_sets_a_file_aside_loses_nothing(
    path: Path, made: Made, opens: Opens, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file stays in its place until the new one takes it."""
    changed_by("UPDATE runs SET steps = 59 WHERE id = ?", RUN)(path)
    replace = Path.replace

    def killed(self: Path, target: Path) -> Path:
        if Path(target) == path:
            raise Killed
        return replace(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", killed)
        with pytest.raises(Killed):
            Store(path)
    assert is_true(opens(path), made) == RUNS - 1


def test_a_file_is_set_aside_where_no_file_has_two_names(
    path: Path, made: Made, opens: Opens, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed_by("UPDATE runs SET steps = 59 WHERE id = ?", RUN)(path)
    monkeypatch.setattr("os.link", Mock(side_effect=PermissionError("a file system without links")))
    store = opens(path)
    assert is_true(store, made) == RUNS - 1
    assert len(aside(path)) == 1
    usable(store)


def test_a_row_that_is_spoilt_while_it_is_open(path: Path, made: Made, opens: Opens) -> None:
    """Found when it is read."""
    store = opens(path)
    changed_by("UPDATE events SET data = '{\"kind\": ' WHERE run = ? AND seq = 7", RUN)(path)
    with pytest.raises(StoreError, match="set aside"):
        store.events(RUN)
    assert is_true(store, made) == RUNS - 1


def test_damage_while_it_is_open_in_two_places(path: Path, opens: Opens) -> None:
    """Both go on with the new file; it is set aside once."""
    stores = [opens(path) for _ in range(2)]
    for store in stores:
        store.runs()
    for store in stores:
        store.file._drop_idle()  # what SQLite holds in memory would hide it for a while
    no_database(path)

    def look(store: Store) -> None:
        for _ in range(5):
            with suppress(StoreError):
                store.runs()
                started(store)

    assert at_once(*[partial(look, store) for store in stores]) == []
    assert len(aside(path)) == 1
    for store in stores:
        usable(store)
        assert {record.name for record in store.runs()} >= {"after"}
    assert [record.id for record in stores[0].runs()] == [record.id for record in stores[1].runs()]


def killed(path: Path, write: Callable[[Store], object]) -> Path:
    """A copy as a writer leaves it that is killed after `write`: the log is not written back."""
    copy = path.parent / "killed" / path.name
    copy.parent.mkdir()
    with closing(Store(path)) as store:
        write(store)
        for file in path.parent.glob("runs.sqlite*"):
            shutil.copyfile(file, copy.with_name(file.name))
    assert copy.with_name("runs.sqlite-wal").stat().st_size
    return copy


def test_what_a_killed_writer_left_beside_it_goes_with_it(path: Path, opens: Opens) -> None:
    """SQLite would add the old write-ahead log to the new file, whose pages it knows nothing of."""
    path = killed(path, lambda store: store.rename(store.runs()[0].id, "another name"))
    no_database(path)
    moved = opens(path)
    assert moved.file.fetch("PRAGMA integrity_check") == [("ok",)]
    usable(moved)
    moved.close()
    opens(path)
    assert len(aside(path)) == 1


def test_what_only_the_log_of_a_killed_writer_holds_is_read_too(path: Path, made: Made) -> None:
    late: Made = {}

    def write(store: Store) -> None:
        late[started(store, "late")] = EVENTS + 1
        store.record([batch(*late, *LONG, {"kind": "done", "step": EVENTS})])

    path = killed(path, write)
    without_its_schema(path)
    assert opened(path, made | late) == RUNS + 1


def test_a_file_that_was_deleted_while_it_is_open(tmp_path: Path, store: Store) -> None:
    new(store)
    for file in tmp_path.glob("runs.sqlite*"):
        file.unlink()
    assert store.runs() == []
    usable(store)


@pytest.mark.parametrize(
    ("spoil", "least"),
    [
        *((random_bytes(seed), 0) for seed in range(8)),
        *((flipped_byte(seed, 4096), RUNS - 1) for seed in range(5)),
    ],
)
def test_damage_anywhere(path: Path, made: Made, spoil: Callable[[Path], None], least: int) -> None:
    """Refused in words, then what is shown is whole or says that it is not."""
    spoil(path)
    assert opened(path, made) >= least


def test_a_run_from_a_file_is_kept_whole(path: Path, opens: Opens) -> None:
    """Its last event says that it was imported; one that never began has no other."""
    store = Store(path)
    record, attempts = store.runs()[0], store.attempts(store.runs()[0].id)
    for attempt, state in ((1, "done"), (0, "lost")):
        events = store.events(record.id) if attempt else []
        mark = Event(attempt, len(events), IMPORTED_KIND, record.steps * attempt, 0.0, {"kind": IMPORTED_KIND})
        changed = replace(record, attempt=attempt, steps=record.steps * attempt, state=state, imported=True)
        changed = replace(changed, summary=record.summary if attempt else {})
        with closing(Spool()) as spool:
            spool.add([*events, mark])
            store.insert(changed, attempts[:attempt], spool)
    imported = {run.id: store.events(run.id) for run in store.runs() if run.imported}
    store.close()
    changed_by(f"UPDATE runs SET steps = 59 WHERE id = '{RUN}'")(path)
    again = opens(path)
    assert aside(path)
    assert {run.id: again.events(run.id) for run in again.runs() if run.imported} == imported


def leftovers(path: Path) -> list[Path]:
    """The names under which processes write copies, of one that is gone."""
    return [
        path.with_name(f"runs-{what}-4000000.sqlite{end}")
        for what in ("backup", "new")
        for end in ("", "-journal", "-wal")
    ]


class TestBackup:
    @pytest.fixture
    def path(self, path: Path, made: Made) -> Path:
        """With a backup."""
        store = Store(path)
        store.rename(next(iter(made)), "another")
        store.close()
        return path

    @pytest.mark.parametrize("spoil", [no_database, truncated, lambda path: path.write_bytes(b"")])
    @pytest.mark.one_of(3)
    def test_what_cannot_be_read_is_taken_from_it(self, path: Path, made: Made, spoil: Callable[[Path], None]) -> None:
        assert stat.S_IMODE(backup_of(path).stat().st_mode) == 0o600
        assert not list(path.parent.glob("runs-backup-*"))
        spoil(path)
        assert opened(path, made) == RUNS

    @pytest.mark.parametrize(
        "spoil",
        [
            *(flipped_byte(seed, HEADER, 4096) for seed in range(5)),  # the schema
            *(
                lambda path, at=at: overwritten(path, at, bytes([path.read_bytes()[at] ^ 0xC0]))
                for at in (16, 20, 30, 47, 59, 60, 63)
            ),
        ],
    )
    def test_where_the_first_page_is_spoilt_the_backup_holds_what_was_there(
        self, path: Path, made: Made, spoil: Callable[[Path], None]
    ) -> None:
        """Without that page nothing in the file can be read."""
        changed_by("PRAGMA wal_checkpoint(TRUNCATE)")(path)
        spoil(path)
        assert opened(path, made) == RUNS

    def test_a_run_that_may_have_gone_on_since_claims_nothing(self, tmp_path: Path, opens: Opens) -> None:
        """Charges that came after the backup are in no file any more."""
        path = tmp_path / "runs.sqlite"
        store = Store(path)
        going, waiting = started(store, "going"), new(store).id
        store.record([batch(going, *steps(3))])
        store.file.back_up()
        backup = backup_of(path).read_bytes()
        store.record([batch(going, *steps(90, 4), first=3)])
        store.close()
        backup_of(path).write_bytes(backup)  # as where the program was killed
        path.write_bytes(b"")
        again = opens(path)
        assert {run.id for run in again.runs()} == {going, waiting}
        for record in again.runs():
            assert (record.state, record.summary, again.events(record.id)) == ("lost", {}, [])
            assert "unknown" in record.reason

    def test_a_damaged_file_replaces_no_backup(self, path: Path, made: Made) -> None:
        good = backup_of(path).read_bytes()
        store = Store(path)
        store.runs()
        store.file._drop_idle()
        overwritten(path)
        with suppress(StoreError):
            store.file.back_up()
        assert backup_of(path).read_bytes() == good
        store.close()
        assert opened(path, made) == RUNS

    def test_what_was_removed_for_good_is_in_no_copy(self, path: Path, made: Made) -> None:
        """Neither in backups, nor in what a process left that was killed while it made a copy; others stay in them."""
        run, other, *_ = made
        kept, unfinished = path.with_name(f"{KEPT}2026-01-01-000000.sqlite"), leftovers(path)
        shutil.copyfile(backup_of(path), kept)
        store = Store(path)
        for file in unfinished:
            shutil.copyfile(kept, file)  # as if another process had been killed since
        store.delete(run)
        store.purge(run)
        for copy in (backup_of(path), kept):
            assert other.encode() in copy.read_bytes()
        for file in path.parent.iterdir():
            assert run.encode() not in file.read_bytes(), file.name
        store.close()
        assert run.encode() not in backup_of(path).read_bytes()

    def test_a_backup_that_is_made_while_a_run_is_removed_does_not_hold_it(self, path: Path, made: Made) -> None:
        run = next(iter(made))
        store, other = Store(path), Store(path)
        store.delete(run)

        def remove() -> None:
            time.sleep(0.02)
            store.purge(run)

        for again in range(3):
            assert at_once(*[other.file.back_up] * 3, remove if again == 0 else other.runs) == []
        assert run.encode() not in backup_of(path).read_bytes()
        store.close()
        other.close()

    def test_a_copy_that_cannot_be_changed_goes_whole(self, path: Path, made: Made) -> None:
        run = next(iter(made))
        store = Store(path)
        truncated(backup_of(path))
        store.delete(run)
        store.purge(run)
        store.close()
        assert run.encode() not in b"".join(file.read_bytes() for file in path.parent.iterdir())

    def test_what_a_killed_process_left_goes_at_the_next_start(self, path: Path, opens: Opens) -> None:
        unfinished = leftovers(path)
        for file in unfinished:
            shutil.copyfile(path, file)
        opens(path)
        assert [file.name for file in unfinished if file.exists()] == []
        assert backup_of(path).exists()

    def test_a_copy_that_another_process_writes_now_stays(self, path: Path, opens: Opens) -> None:
        unfinished = leftovers(path)[0]
        unfinished.touch()
        with alone(path.with_name("runs-backup.lock")):
            opens(path)
            assert unfinished.exists()

    @pytest.mark.parametrize("while_open", [False, True])
    def test_a_store_that_is_gone_is_taken_from_it(
        self, path: Path, made: Made, while_open: bool, opens: Opens
    ) -> None:
        store = opens(path)
        if not while_open:
            store.close()
        for file in path.parent.glob("runs.sqlite*"):
            file.unlink()
        if while_open:
            with pytest.raises(Damaged, match="gone"):
                store.runs()
        else:
            store = opens(path)
        assert is_true(store, made) == RUNS
        assert f"{path}, were gone on" in store.notice
        assert f"{RUNS} runs could be read whole" in store.notice
        assert not aside(path)
        usable(store)

    def test_a_backup_is_kept_where_the_store_holds_less(self, path: Path, made: Made, opens: Opens) -> None:
        """As after another file took the store's place: the good backup once stayed for two minutes."""
        run = next(iter(made))
        good = backup_of(path).read_bytes()
        for change in (
            "DELETE FROM runs",
            f"UPDATE runs SET steps = 5 WHERE id = '{run}'",
            "UPDATE attempts SET checksum = 0",
        ):
            backup_of(path).write_bytes(good)
            other = path.with_name("other") / path.name
            other.parent.mkdir(exist_ok=True)
            shutil.copyfile(path, other)
            shutil.copyfile(backup_of(path), backup_of(other))
            store = Store(other)
            with store.file.connection() as db:
                db.execute(change)
            store.file.back_up()
            [kept] = other.parent.glob(f"{KEPT}*.sqlite")
            assert kept.read_bytes() == good
            assert str(kept) in store.notice
            modes = {stat.S_IMODE(one.stat().st_mode) for one in (kept, kept.with_suffix(".txt"))}
            assert modes == {0o600}, "its note names folders and days too"
            store.file.back_up()  # nothing more is lost: nothing more is kept
            assert list(other.parent.glob(f"{KEPT}*.sqlite")) == [kept]
            store.close()
            shutil.rmtree(other.parent)

    def test_a_backup_that_holds_no_more_is_replaced(self, path: Path, made: Made) -> None:
        store = Store(path)
        usable(store)
        run = started(store, "restarted")
        store.record([batch(run, *steps(5), execution="one")])
        store.file.back_up()
        store.record([batch(run, *steps(1), execution="two")])  # begins at step 1 again
        store.delete(next(iter(made)))
        store.purge(next(iter(made)))
        store.close()
        assert not list(path.parent.glob(f"{KEPT}*"))
        assert store.notice == ""

    def test_it_is_made_once_nothing_is_written_for_a_while(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("dpviz.runs.store.file.QUIET", 0.1)
        store.heartbeat("me", this_process())
        assert store.file._backup is None, "engines write this every few seconds"
        new(store)
        until(backup_of(store.file.path).exists)


def test_an_empty_file_beside_weights_is_told(tmp_path: Path, opens: Opens) -> None:
    (tmp_path / "weights").mkdir()
    (tmp_path / "weights" / "7.pt").write_bytes(b"parameters")
    (tmp_path / "runs.sqlite").touch()
    store = opens(tmp_path / "runs.sqlite")
    assert "is empty, although weights" in store.notice
    usable(store)


def test_a_store_that_is_gone_beside_weights_is_told(tmp_path: Path, opens: Opens) -> None:
    (tmp_path / "weights").mkdir()
    (tmp_path / "weights" / "7.pt").write_bytes(b"parameters")
    store = opens(tmp_path / "runs.sqlite")
    assert "were gone" in store.notice
    assert "There was no backup" in store.notice
    usable(store)


def test_the_log_alone_of_a_store_that_is_gone_spoils_nothing(path: Path, opens: Opens) -> None:
    """It holds the pages that changed last, and none of the others."""
    path = killed(path, lambda store: store.rename(store.runs()[0].id, "another name"))
    path.unlink()
    (path.parent / "weights").mkdir()
    (path.parent / "weights" / "7.pt").write_bytes(b"parameters")
    store = opens(path)
    assert "were gone" in store.notice
    usable(store)


@pytest.mark.parametrize("name", ["runs.sqlite", "runs.sqlite-wal", "runs.sqlite-shm"])
@pytest.mark.parametrize("make", [os.mkfifo, Path.mkdir])
def test_what_is_no_file_is_refused_at_once(tmp_path: Path, name: str, make: Callable[[Path], None]) -> None:
    """A pipe would be waited for without end."""
    make(tmp_path / name)
    [error] = at_once(lambda: Store(tmp_path / "runs.sqlite"))
    assert f"{name} is no plain file: move it away" in str(error)
    assert isinstance(error, StoreError)


def test_pipes_beside_the_store(tmp_path: Path, path: Path, made: Made) -> None:
    """A note, a backup and logs that are pipes hold nobody up."""
    os.mkfifo(tmp_path / f"{PREFIX}2026.txt")
    os.mkfifo(backup_of(path))
    changed_by(f"UPDATE runs SET steps = 59 WHERE id = '{RUN}'")(path)
    assert opened(path, made) == RUNS - 1
    log = tmp_path / "logs" / "workers.log"
    log.parent.mkdir()
    os.mkfifo(log)
    with pytest.raises(OSError, match=r"workers\.log is no plain file"):
        local.start(tmp_path, 1, log, {})
