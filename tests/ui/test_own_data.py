"""Data sets of one's own on the pages: offered, explained, planned, started; said to be elsewhere where they are."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dpviz.runs.claims import claim_of_view
from dpviz.runs.engine import Engine
from dpviz.training.data.own.place import data_of, find
from dpviz.training.events import DECLARED
from dpviz.training.models import MODELS
from dpviz.training.networks.by_name import suits
from dpviz.training.settings import RunSettings
from dpviz.ui.runs.listing import table
from dpviz.ui.train.words import Look, headline, notes, setting_line
from tests import own_sets
from tests.ui.driver import open_app, said
from tests.ui.runs_made import events_of, fresh_engine, record


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    yield from fresh_engine(tmp_path / "home", monkeypatch)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    found = tmp_path / "data"
    found.mkdir()
    own_sets.table(found)
    monkeypatch.setenv("DPVIZ_DATA", str(found))
    return found


def test_the_form_offers_explains_and_starts_them(
    engine: Engine, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "broken.toml").write_text('kind = "csv"')
    asked: list[RunSettings] = []

    def submit(settings: RunSettings, *, options: dict[str, Any], run: str) -> str:
        asked.append(settings)
        raise ValueError("Enough.")

    monkeypatch.setattr(engine, "submit", submit)
    at = open_app("train")
    at.selectbox(key="slider.t_data").set_value("own:tea").run()
    assert not at.exception
    assert "Tea, 60 cups (own)" in at.selectbox(key="slider.t_data").options
    assert at.session_state["value.t_model"] == "mlp"
    assert at.session_state["value.t_batch_size"] == 4
    assert DECLARED in said(at, "note")
    assert any("Not offered: broken.toml: expected public = true" in note for note in said(at, "caution"))
    assert any("ε ≤ 3" in text for text in said(at, "headline"))
    assert any("898 parameters, 48 training examples" in " ".join(text.split()) for text in said(at, "quiet"))
    at.button(key="t.start").click().run()
    assert [(found.data, found.data_folder, found.model) for found in asked] == [("own:tea", None, "mlp")]


def test_a_link_to_data_that_are_elsewhere_says_so(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DPVIZ_DATA", raising=False)
    at = open_app("train", "t_data=own:tea")
    assert at.session_state["value.t_data"] == "mnist-10k"
    assert any("tea” is none of" in warning.value for warning in at.warning)
    at.session_state["value.t_data"] = "own:tea"  # it was there when it was chosen
    at.run()
    assert not at.exception
    assert at.session_state["value.t_data"] == "mnist-10k"
    assert any("tea (not on this machine): its description is gone" in text for text in said(at, "problem"))


@pytest.mark.parametrize("data", ["own:tea", "own:signs", "own:pets"])
def test_what_the_form_knows_is_what_networks_are(folder: Path, data: str) -> None:
    own_sets.arrays(folder)
    own_sets.images(folder)
    described = find(data)
    known = data_of(data)
    for key, model in MODELS.items():
        if key in known.parameters:
            assert known.parameters[key] == model.parameters(described.shape, len(described.classes))
        else:
            with pytest.raises(ValueError, match="Expected model"):
                suits(key, _shown(described))


class _shown:
    def __init__(self, described: Any) -> None:
        self.shape, self.classes = described.shape, len(described.classes)


def test_a_run_says_what_was_declared_and_elsewhere_that_its_data_are_unknown(
    engine: Engine, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = RunSettings(data="own:tea", model="logistic", batch_size=6, steps=3, learning_rate=0.5, threads=1)
    here = record(engine, asked, events_of(asked))
    look = _look(engine, here, asked)
    assert DECLARED in look.claim.conditions
    assert "logistic regression, 10 parameters on Tea, 60 cups (own)" in setting_line(look)
    assert "right on test examples" in headline(look)
    assert "views" not in setting_line(look)
    assert " · 4 views of an image · " in setting_line(replace(look, settings=asked.with_(model="cnn", views=4)))
    monkeypatch.delenv("DPVIZ_DATA")
    there = record(engine, asked, events_of_kept(engine, here.id), imported=True)
    look = _look(engine, there, asked)
    assert any("someone's own and unknown here" in note.text for note in notes(look, ""))
    assert "10 parameters on tea (not on this machine)" in setting_line(look)
    assert headline(look)
    assert table([there], {}, engine.store)["data"].tolist() == ["tea (not on this machine)"]


def events_of_kept(engine: Engine, run: str) -> Any:
    return engine.store.events(run)


def _look(engine: Engine, kept: Any, asked: RunSettings) -> Look:
    view = engine.look(kept.id)
    return Look(view, asked, None, None, claim_of_view(view, engine.store))
