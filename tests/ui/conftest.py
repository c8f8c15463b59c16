"""Pages in tests do not wait for a hand to rest, and look at a store of their own; a tiny run, trained once."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from dpviz.runs.cluster import local
from dpviz.runs.engine import Engine
from dpviz.runs.store.records import Event
from dpviz.training.loop import FreeRun, run
from dpviz.training.settings import RunSettings
from dpviz.ui import measuring
from tests.ui.runs_made import TINY, events_of, fresh_engine


@pytest.fixture(scope="session")
def shared_measurer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """One engine for all that is measured: its workers take seconds to start."""
    made = Engine(tmp_path_factory.mktemp("measured"), workers=1)
    yield made
    made.shutdown()
    local.stop(made.folder)


@pytest.fixture(autouse=True)
def measurer(shared_measurer: Engine, monkeypatch: pytest.MonkeyPatch) -> Engine:
    """Pages have that one measure, whichever store they look at."""
    monkeypatch.setattr(measuring, "engines", SimpleNamespace(current=lambda: (shared_measurer, "")))
    return shared_measurer


@pytest.fixture(autouse=True)
def no_settling(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is measured starts at once."""
    monkeypatch.setattr(measuring, "SETTLE", 0.0)


@pytest.fixture
def without_slow_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages as they are before slow parts come: for tests of settings, links and ways."""
    monkeypatch.setattr("dpviz.ui.browser.slow_parts.offer", lambda *_: "")
    monkeypatch.setattr(measuring, "missing", list)


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    """On an empty folder; its workers are never started."""
    yield from fresh_engine(tmp_path / "home", monkeypatch)


@pytest.fixture
def submitted(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> list[tuple[RunSettings, dict[str, object]]]:
    """What the button Start asked for; each is refused with "Enough."."""
    asked: list[tuple[RunSettings, dict[str, object]]] = []

    def submit(settings: RunSettings, *, options: dict[str, object], run: str) -> str:
        assert run
        asked.append((settings, options))
        raise ValueError("Enough.")

    monkeypatch.setattr(engine, "submit", submit)
    return asked


@pytest.fixture(scope="package")
def events() -> list[Event]:
    """What training with TINY tells."""
    return events_of(TINY)


@pytest.fixture(scope="package")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What training with TINY leaves behind."""
    path = tmp_path_factory.mktemp("weights") / "tiny.pt"
    run(TINY, lambda event: None, FreeRun(), weights_to=path)
    return path
