"""Only its owner may read the store, whatever the umask says and whatever lay there before."""

import os
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from dpviz.runs.cluster import local
from dpviz.runs.store.store import Store
from dpviz.runs.waiting import FOLDER
from tests.other_account import by_another, needs_root, other_account
from tests.runs.conftest import PLAIN, Makes, Opens, ended, new, running, short_run, until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="permissions are those of the user's folder there")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(params=[0o000, 0o022])
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


@pytest.mark.usefixtures("umask")
def test_new_and_old_stores(tmp_path: Path, opens: Opens) -> None:
    folder = tmp_path / "deep" / "dpviz"
    for backup in ([], ["runs-backup.sqlite", "runs-backup.lock"]):
        store = Store(folder / "runs.sqlite")
        new(store)
        files = {path.name: mode(path) for path in folder.iterdir()}
        assert set(files) == {"runs.sqlite", "runs.sqlite-wal", "runs.sqlite-shm", *backup}
        assert set(files.values()) == {0o600}
        assert mode(folder) == 0o700
        for path in (*folder.iterdir(), folder):  # as an earlier version left them
            path.chmod(0o755)
        other = opens(folder / "runs.sqlite")
        assert {mode(path) for path in folder.iterdir()} == {0o600}
        assert mode(folder) == 0o700
        other.close()
        store.close()


def test_a_folder_with_other_things_in_it_stays_open(tmp_path: Path, opens: Opens) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / "letters").mkdir()
    new(opens(tmp_path / "runs.sqlite"))
    assert mode(tmp_path) == 0o755
    assert {mode(path) for path in tmp_path.glob("runs*")} == {0o600}


@pytest.mark.usefixtures("umask")
def test_logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "HOST_MODULE", "dpviz.runs.nothing")
    local.start(tmp_path, 1, tmp_path / "logs" / "workers.log", dict(os.environ)).wait()
    assert (mode(tmp_path / "logs"), mode(tmp_path / "logs" / "workers.log")) == (0o700, 0o600)


@pytest.mark.usefixtures("umask")
@pytest.mark.one_of(2)
def test_what_leads_to_the_workers(tmp_path: Path, make_engine: Makes) -> None:
    """The certificate with its key, and what waits to be recorded."""
    engine = make_engine()
    run = running(engine)
    for folder in (local.folder_of(tmp_path), tmp_path / FOLDER):
        files = list(folder.iterdir())
        assert files
        assert {mode(file) for file in files} == {0o600}
        assert mode(folder) == 0o700
    engine.hard_stop(run)


# Makes the folder that Dask would use, and puts in place of every folder that is made there one with modules of the
# names that Python may look for late; each says that it ran.
PLANT = """
folder = pathlib.Path(sys.argv[1], "dask-scratch-space")
folder.mkdir()
folder.chmod(0o777)
for name in ("global.lock", "purge.lock"):
    (folder / name).touch()
    (folder / name).chmod(0o666)
ran = f"open({str(folder / 'ran')!r}, 'a').write(__name__ + chr(10))"
if os.fork() == 0:
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 1)
    os.dup2(null, 2)
    end = time.monotonic() + 120
    while folder.exists() and time.monotonic() < end:
        for made in folder.glob("worker-*/"):
            if made.stat().st_uid != os.getuid():
                made.rename(folder / f"taken-{time.monotonic_ns()}")
                made.mkdir()
                for name in ("fake_training", *sys.stdlib_module_names):
                    (made / f"{name}.py").write_text(ran)
        time.sleep(0.001)
"""


@needs_root
def test_no_code_of_another_account_that_came_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make_engine: Makes
) -> None:
    """It made Dask's scratch folder in the shared folder for temporary files; nothing of ours goes there."""
    with TemporaryDirectory() as name:  # pytest's own is closed to others
        shared = Path(name)
        shared.chmod(0o1777)
        by_another(PLANT, shared)
        monkeypatch.setenv("TMPDIR", name)
        monkeypatch.setattr(tempfile, "tempdir", name)
        before = shared.stat().st_mtime_ns, sorted((shared / "dask-scratch-space").iterdir())
        engine = make_engine()
        engine.warm()
        until(lambda: engine.ready)
        time.sleep(0.5)  # for the other account, before anything is looked for
        run = short_run(engine)
        assert not (shared / "dask-scratch-space" / "ran").exists()
        assert run.state == "done"
        assert before == (shared.stat().st_mtime_ns, sorted((shared / "dask-scratch-space").iterdir()))
    scratch = tmp_path / "logs" / "scratch"
    assert mode(scratch) == 0o700
    [left] = (scratch / "dask-scratch-space").glob("worker-*/")
    ended(engine)
    assert short_run(make_engine()).state == "done"
    assert not left.exists()


@pytest.mark.parametrize("by", ["link", pytest.param("other", marks=needs_root)])
@pytest.mark.sweep
def test_a_scratch_folder_of_somebody_else_is_refused(tmp_path: Path, make_engine: Makes, by: str) -> None:
    engine = make_engine()
    scratch = tmp_path / "logs" / "scratch"
    scratch.parent.mkdir()
    if by == "link":
        (tmp_path / "elsewhere").mkdir()
        scratch.symlink_to(tmp_path / "elsewhere")
    else:
        scratch.mkdir(0o777)
        os.chown(scratch, other_account(), -1)
    run = engine.submit({"steps": 3}, target=PLAIN)
    assert str(scratch) in until(lambda: engine.problem)
    assert "remove it" in engine.problem
    scratch.unlink() if by == "link" else scratch.rmdir()
    assert engine.wait(run, 60.0).state == "done"
