"""Only its owner may read the store, whatever the umask says and whatever lay there before."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dpviz.runs.cluster import Host
from dpviz.runs.sqlite_store import SqliteStore
from tests.runs.test_sqlite_store import new

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="permissions are those of the user's folder there")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(params=[0o000, 0o022])
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


@pytest.mark.usefixtures("umask")
def test_new_and_old_stores(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "dpviz"
    for _ in range(2):
        store = SqliteStore(folder / "runs.sqlite")
        new(store)
        files = {path.name: mode(path) for path in folder.iterdir()}
        assert set(files) == {"runs.sqlite", "runs.sqlite-wal", "runs.sqlite-shm"}
        assert set(files.values()) == {0o600}
        assert mode(folder) == 0o700
        for path in (*folder.iterdir(), folder):  # as an earlier version left them
            path.chmod(0o755)
        other = SqliteStore(folder / "runs.sqlite")
        assert {mode(path) for path in folder.iterdir()} == {0o600}
        assert mode(folder) == 0o700
        other.close()
        store.close()


def test_a_folder_with_other_things_in_it_stays_open(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / "letters").mkdir()
    store = SqliteStore(tmp_path / "runs.sqlite")
    new(store)
    assert mode(tmp_path) == 0o755
    assert {mode(path) for path in tmp_path.glob("runs*")} == {0o600}
    store.close()


@pytest.mark.usefixtures("umask")
def test_logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpviz.runs.cluster.HOST_MODULE", "dpviz.runs.nothing")
    Host(1, tmp_path / "logs" / "workers.log").close()
    assert (mode(tmp_path / "logs"), mode(tmp_path / "logs" / "workers.log")) == (0o700, 0o600)
