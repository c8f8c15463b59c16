"""A training of one's own program on the pages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dpviz.fields import numbers
from dpviz.runs.engine import Engine
from dpviz.runs.recorded import recorded
from tests.runs.test_recorded import training
from tests.ui.driver import charts, open_app, said
from tests.ui.runs_made import fresh_engine


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    yield from fresh_engine(tmp_path, monkeypatch)


def test_every_page_shows_its_claim_and_whose_it_is(engine: Engine) -> None:
    mine = training()
    for _ in recorded(mine, name="Mine", folder=engine.folder):
        pass
    (run,) = engine.runs()
    shown = numbers.epsilon(mine.claim.epsilon, up=True)
    at = open_app("train", f"run={run.id}")
    assert not at.exception
    assert shown in said(at, "headline")[0]
    assert any("network of one's own program" in text for text in said(at, "quiet"))
    assert len(charts(at)) >= 2
    at = open_app("runs", f"runs={run.id}")
    assert not at.exception
    assert at.button(key=f"clone.{run.id}").disabled
