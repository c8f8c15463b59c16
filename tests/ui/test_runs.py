"""The Runs page: filters, comparison, words of the user's, undo, import and export; data sets of one's own on pages."""

import io
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dpviz.accounting.claims import Claim
from dpviz.charts.training import accuracies_shown
from dpviz.fields import numbers
from dpviz.runs.claims import claim_of_view
from dpviz.runs.engine import Engine
from dpviz.runs.exchange.files import export_run
from dpviz.runs.store.records import Event, RunRecord
from dpviz.training.covered import DECLARED
from dpviz.training.data.own.place import data_of, find
from dpviz.training.models import MODELS
from dpviz.training.networks.by_name import suits
from dpviz.training.settings import RunSettings
from dpviz.ui import state
from dpviz.ui.runs import listing, page
from dpviz.ui.runs.charts import overlay, titles
from dpviz.ui.runs.frontier import MOST, Frontier
from dpviz.ui.runs.report import html_report
from dpviz.ui.runs.unbeaten import RunResult, unbeaten
from dpviz.ui.train.live import take
from dpviz.ui.train.words import headline, notes, setting_line
from tests import own_sets
from tests.ui.driver import charts, html_of, open_app, put, said
from tests.ui.runs_made import TINY, events_of, record


@pytest.fixture
def three(engine: Engine, events: list[Event]) -> list[RunRecord]:
    """A plain one, a named one on other data, one that failed."""
    return [
        record(engine, TINY, events),
        record(engine, TINY.with_(data="adult"), events, name="wide", note="for the talk"),
        record(engine, TINY, events[:-1], state="failed", reason="out of luck", summary={}),
    ]


def test_an_empty_store_says_what_to_do(engine: Engine) -> None:
    assert "No run has been recorded yet" in said(open_app("runs"), "headline")[0]


def test_the_table_holds_the_final_numbers_rounded_up(engine: Engine, three: list[RunRecord]) -> None:
    table = listing.table(engine.runs(), {}, engine.store)
    assert table["state"].tolist() == ["failed: out of luck", "done", "done"]
    exact = three[0].summary["claim"]["epsilon"]
    for place in (-1, 0):  # what a run released before it failed is claimed as well
        assert exact <= table["ε claimed"].iloc[place] <= exact * 1.01


@pytest.mark.parametrize(
    ("query", "kept"),
    [
        ("r_text=WIDE", [1]),
        ("r_text=talk", [1]),
        ("r_state=failed", [2]),
        ("r_data=adult", [1]),
        ("r_method=dp_sgd", [0, 1, 2]),
        ("r_method=sgd", []),
    ],
)
def test_filters(engine: Engine, three: list[RunRecord], query: str, kept: list[int]) -> None:
    chosen = engine.store.listed(listing.chosen(state.reader(query)), 9)
    assert {run.id for run in chosen} == {three[i].id for i in kept}
    open_app("runs", query)


def test_many_runs_are_listed_page_by_page(
    engine: Engine, three: list[RunRecord], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page, "PAGE", 2)
    at = open_app("runs")
    assert at.dataframe[0].value["run"].tolist() == [three[2].title, three[1].title]
    at.button(key="r.Older").click().run()
    assert at.dataframe[0].value["run"].tolist() == [three[0].title]
    assert at.button(key="r.Older").disabled
    at.text_input(key=page.SEARCH).set_value("wide").run()
    assert at.dataframe[0].value["run"].tolist() == [three[1].title]


@pytest.mark.parametrize("view", ["epsilon", "accuracy", "frontier"])
def test_runs_are_drawn_together(engine: Engine, three: list[RunRecord], view: str) -> None:
    """Accuracies where they differ: all begin at guessing, and eight that end alike would lie on one another."""
    assert len(charts(open_app("runs", f"runs={'.'.join(run.id for run in three)}&r_view={view}"))) == 1
    views = [engine.look(run.id) for run in three]
    _, lines = overlay(views, [claim_of_view(one, engine.store) for one in views], view, "claim")
    assert len(lines) == 3
    if view == "frontier":
        assert lines[0].y[-1] == three[0].summary["test_accuracy"]
        np.testing.assert_allclose(lines[0].x[-1], three[0].summary["claim"]["epsilon"], rtol=1e-12)
    elif view == "accuracy":
        low, high = accuracies_shown([np.asarray(line.y) for line in lines])
        assert 0.0 <= low < min(line.y[-1] for line in lines)
        assert max(line.y.max() for line in lines) <= high < low + 1.0


@pytest.mark.parametrize(
    ("test", "posterior", "useless"), [(0.5, None, True), (0.4, None, True), (0.51, None, False), (0.4, 0.6, False),
     (0.6, 0.4, True)],
)  # fmt: skip
@pytest.mark.one_of(2)
def test_an_accuracy_that_the_largest_class_explains_is_said(
    engine: Engine, events: list[Event], test: float, posterior: float | None, useless: bool
) -> None:
    """On Train, on Runs alone and compared, and in the report."""
    measured = {"test_accuracy": test, "posterior_accuracy": posterior, "majority": 0.5}
    changed = [
        event._replace(data=event.data | {name: value for name, value in measured.items() if name in event.data})
        for event in events
    ]
    run = record(engine, TINY, changed, summary=events[-1].data | measured)
    words = "no more than always answering with their most frequent class (50.0 %)"
    for where, query in (("train", f"run={run.id}"), ("runs", ""), ("runs", f"runs={run.id}")):
        assert any(words in text for text in said(open_app(where, query), "caution")) == useless
    view = engine.look(run.id)
    assert (words in html_report(view, claim_of_view(view, engine.store))) == useless


def result(accuracy: float, epsilon: float | None, **more: Any) -> RunResult:
    """A run with this accuracy, and with this claim at δ = 1e-5; None for none."""
    delta, unit, data = more.get("delta", 1e-5), more.get("unit", "example"), more.get("data", "mnist")
    claim = Claim.nothing("its noise can be replayed")
    if epsilon is not None:
        claim = Claim(epsilon=epsilon, delta=delta, accountant="renyi", covers="plan", unit=unit)
    record = RunRecord("one", settings={"data": data}, summary={"test_accuracy": accuracy})
    return RunResult(record, accuracy, claim)


def test_a_run_is_unbeaten_where_no_other_is_as_accurate_at_as_little_epsilon() -> None:
    best, cheap, worse = result(0.98, 3.0), result(0.95, 1.0), result(0.94, 1.5)
    assert unbeaten([worse, cheap, best]) == [best, cheap]
    assert unbeaten([best, result(0.98, None)]) == [best], "one that claims nothing may have lost everything"
    plain = result(0.99, None)
    assert unbeaten([best, plain]) == [plain, best]
    for other in ({"data": "adult"}, {"unit": "person"}, {"delta": 1e-6}):
        incomparable = result(0.9, 4.0, **other)
        assert unbeaten([best, incomparable]) == [best, incomparable]
    assert unbeaten([best, result(0.97, 3.0, delta=1e-4)]) == [best]
    twin = result(0.98, 3.0)
    assert len(unbeaten([best, twin])) == 2, "equals do not beat each other"


def test_the_headline_names_the_runs_that_no_other_beats(engine: Engine, events: list[Event]) -> None:
    for name, accuracy, noise in (("dear", 0.9, 1.0), ("cheap", 0.8, 4.0), ("beaten", 0.7, 1.0)):
        asked = TINY.with_(noise_multiplier=noise)
        changed = events_of(asked)
        record(engine, asked, changed, name=name, summary=changed[-1].data | {"test_accuracy": accuracy})
    (text,) = said(open_app("runs"), "headline")
    assert "No other run is as accurate at as little ε: dear" in text
    assert text.index("dear") < text.index("cheap")
    assert "beaten" not in text
    epsilons = {run.name: run.summary["claim"]["epsilon"] for run in engine.runs()}
    assert epsilons["cheap"] < epsilons["dear"] == epsilons["beaten"]
    assert f"ε ≤ {numbers.epsilon(epsilons['cheap'], up=True)}" in text


def dots(html: str) -> dict[str, dict[str, str]]:
    """The links of a chart of runs by what they say."""
    found = [dict(re.findall(r'([\w-]+)="([^"]*)"', link)) for link in re.findall(r"<a ([^>]*)>", html)]
    return {one["aria-label"]: one for one in found}


def test_every_run_is_a_dot_that_opens_it_and_keys_reach_those_that_none_beats(
    engine: Engine, events: list[Event]
) -> None:
    runs = {
        name: record(engine, TINY, events, name=name, summary=events[-1].data | {"test_accuracy": accuracy})
        for name, accuracy in (("best", 0.9), ("beaten", 0.8))
    }
    at = open_app("runs")
    epsilon = numbers.epsilon(engine.runs()[0].summary["claim"]["epsilon"], up=True)
    shown = dots(html_of(at))
    assert set(shown) == {
        f"best (imported): 90.0\u00a0% at ε ≤ {epsilon}",
        f"beaten (imported): 80.0\u00a0% at ε ≤ {epsilon}",
    }
    for said_of, dot in shown.items():
        name = said_of.split()[0]
        assert dot["href"] == f"train?run={runs[name].id}&amp;v=3"
        assert dot.get("tabindex") == {"best": None, "beaten": "-1"}[name]
    assert not dots(html_of(open_app("runs", f"runs={runs['best'].id}"))), (
        "those that are compared have their own chart"
    )
    assert not dots(html_of(open_app("runs", "r_text=beaten"))), "one run is no comparison"


def test_a_run_that_claims_nothing_stands_beside_the_axis_and_markup_in_names_is_text() -> None:
    named = replace(result(0.9, 1.0), record=RunRecord("a", name="<b>x</b>", settings={"data": "mnist"}))
    html = Frontier([result(0.95, None), named, result(0.8, 4.0)], 3).html()
    shown = dots(html)
    places = [tuple(map(float, re.findall(r":([\d.]+)%", dot["style"]))) for dot in shown.values()]
    (x1, y1), (x2, y2), (x3, y3) = places  # the least accurate first
    assert x2 < x1 < 90.0 < x3 == 95.0
    assert 0.0 < y1 < y2 < y3 < 100.0
    assert "no ε" in html
    assert "<b>x</b>" not in html
    assert Frontier([result(0.9, 1.0)], 1).html() == ""


def test_of_many_runs_the_most_accurate_are_drawn_and_the_rest_is_said() -> None:
    runs = [result(0.9 - k / 1000, 1.0 + k) for k in range(MOST)]
    html = Frontier(runs, 12_345).html()
    assert html.count("<a ") == MOST
    assert len(html) < 400 * MOST
    assert f"Only the {MOST} most accurate of 12\u202f345 tested runs are drawn" in html
    assert "Only the" not in Frontier(runs, MOST).html()


def test_naming_pinning_deleting_and_undo(engine: Engine, three: list[RunRecord]) -> None:
    run = three[0].id
    at = open_app("runs", f"runs={run}")
    at.text_input(key=f"Name.{run}").set_value("wide").run()
    at.text_input(key=f"Note.{run}").set_value("σ by hand").run()
    at.button(key=f"pin.{run}").click().run()
    kept = engine.run(run)
    assert (kept.name, kept.note, kept.baseline) == ("wide", "σ by hand", True)
    assert len(set(titles([engine.look(one.id) for one in three]))) == 3, "equal names are told apart"
    assert engine.store.listed(listing.chosen(state.reader("")), 9)[0].id == run
    at.button(key=f"delete.{run}").click().run()
    assert run not in {one.id for one in engine.runs()}
    at.button(key="r.undo").click().run()
    assert run in {one.id for one in engine.runs()}
    assert not at.exception


def test_an_exported_run_comes_back_and_what_is_no_run_is_said(
    engine: Engine, three: list[RunRecord], monkeypatch: pytest.MonkeyPatch
) -> None:
    exported = export_run(engine.store, three[0].id)
    for content in (b"", b"{}", b"not json", b'{"format": "dpviz-run", "version": 99}', exported):
        file: Any = io.BytesIO(content)
        file.name = "run.jsonl.gz"
        session: dict[str, Any] = {page.UPLOADS: 0, "up": file}
        with monkeypatch.context() as patch:
            patch.setattr("streamlit.session_state", session)
            page.import_uploaded(engine, "up")
        ((words, kind),) = session[page.MESSAGES]
        assert kind == ("note" if content == exported else "problem")
        assert ("Nothing was imported" in words) == (content != exported)
        assert len(engine.runs()) == 3 + (content == exported)
    fresh = engine.runs()[0]
    assert fresh.imported
    assert fresh.summary["epsilon"] == pytest.approx(three[0].summary["epsilon"], rel=1e-9)
    assert open_app("runs", f"runs={fresh.id}").expander[0].label.endswith("(imported)")


# --- data of one's own ------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "data"
    place.mkdir()
    own_sets.table(place)
    monkeypatch.setenv("DPVIZ_DATA", str(place))
    return place


def test_the_form_offers_own_data_explains_and_starts_them(
    folder: Path, submitted: list[tuple[RunSettings, dict[str, Any]]]
) -> None:
    (folder / "broken.toml").write_text('kind = "csv"')
    at = open_app("train")
    at.selectbox(key="slider.t_data").set_value("own:tea").run()
    assert "Tea, 60 cups (own)" in at.selectbox(key="slider.t_data").options
    assert (at.session_state["value.t_model"], at.session_state["value.t_batch_size"]) == ("mlp", 4)
    assert DECLARED in said(at, "note")
    assert any("Not offered: broken.toml: expected public = true" in note for note in said(at, "caution"))
    assert any("ε ≤ 3" in text for text in said(at, "headline"))
    assert any("898 parameters, 48 training examples" in " ".join(text.split()) for text in said(at, "quiet"))
    at.button(key="t.start").click().run()
    ((settings, _),) = submitted
    assert (settings.data, settings.data_folder, settings.model) == ("own:tea", None, "mlp")


def test_a_link_to_data_that_are_elsewhere_says_so(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DPVIZ_DATA", raising=False)
    at = open_app("train", "t_data=own:tea")
    assert any("tea” is not one of" in warning.value for warning in at.warning)
    for _ in range(2):
        assert at.session_state["value.t_data"] == "mnist-10k"
        put(at, "value.t_data", "own:tea")  # it was there when it was chosen
    assert any("tea (not on this machine): its description is missing" in text for text in said(at, "problem"))


@pytest.mark.parametrize("data", ["own:tea", "own:signs", "own:pets"])
def test_what_the_form_knows_is_what_networks_are(folder: Path, data: str) -> None:
    own_sets.arrays(folder)
    own_sets.images(folder)
    described, listed = find(data), data_of(data)
    for key, model in MODELS.items():
        if key in listed.parameters:
            assert listed.parameters[key] == model.parameters(described.shape, len(described.classes))
        else:
            with pytest.raises(ValueError, match="Expected model"):
                suits(key, SimpleNamespace(shape=described.shape, classes=len(described.classes)))  # type: ignore[arg-type]


def test_a_run_says_what_was_declared_and_elsewhere_that_its_data_are_unknown(
    engine: Engine, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = RunSettings(data="own:tea", model="logistic", batch_size=6, steps=3, learning_rate=0.05, threads=1)
    here = record(engine, asked, events_of(asked))
    look = take(engine, here.id)
    assert any("public, as their owner declared" in condition for condition in look.claim.conditions)
    assert "logistic regression, 10 parameters on Tea, 60 cups (own)" in setting_line(look)
    assert "on test examples" in headline(look)
    assert "views" not in setting_line(look)
    assert " · 4 views of an image · " in setting_line(replace(look, settings=asked.with_(model="cnn", views=4)))
    monkeypatch.delenv("DPVIZ_DATA")
    there = record(engine, asked, engine.store.events(here.id), imported=True)
    look = take(engine, there.id)
    assert any("does not know the data" in note.text for note in notes(look))
    assert "10 parameters on tea (not on this machine)" in setting_line(look)
    assert headline(look)
    assert listing.table([there], {}, engine.store)["data"].tolist() == ["tea (not on this machine)"]


def test_the_choice_among_runs_is_not_covered_by_the_claim_of_one() -> None:
    one = Claim(epsilon=1.28, delta=1e-5, accountant="renyi", covers="plan", steps=10)
    assert page.choice_cost([one]) == ""
    both = page.choice_cost([one, one])
    assert "not the choice of the best of these 2" in both
    assert "ε = 2.56 at δ = 2e-5" in both
    assert "has no bound" in page.choice_cost([one, one], one_unit=False)
    assert "has no bound" in page.choice_cost([one, Claim.nothing("nothing was kept")])
