"""What is measured on the training data says so wherever it appears, and is left out of what is published."""

import csv
import doctest
import io
import json
import re
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

from dpviz.accounting.methods import READINGS
from dpviz.runs.claims import claim_of_view
from dpviz.runs.engine import Engine
from dpviz.runs.exchange.files import export_run, steps_csv
from dpviz.runs.exchange.format import StatedEvent
from dpviz.runs.exchange.import_run import import_run
from dpviz.runs.store.records import Event, RunRecord
from dpviz.runs.views import RunView
from dpviz.training import covered as marks
from dpviz.training.covered import COVERED, NOT_COVERED, covered, heading, not_covered
from dpviz.ui.runs import listing
from dpviz.ui.runs.charts import draw, overlay
from dpviz.ui.runs.fields import CHARTS
from dpviz.ui.runs.report import bundle, html_report
from dpviz.ui.train.live import take
from tests.runs.exported import closed, opened
from tests.ui.runs_made import TINY, events_of, fresh_engine, record

COUNTS = {"target_accuracy": 0.99, "target_measure": "private", "count_every": 1, "count_noise": 20.0}
SETTINGS = TINY.with_(batch_size=1000, bayesian=True, **COUNTS)
# All that training measures without noise. A number that is new here, or new in an event, has to be thought about.
MEASURED = {
    kind: set(names.split())
    for kind, names in {
        "started": "time",
        "step": "time seconds batch_size loss clipped non_finite distances norms noise bayesian_text epsilon.bayesian",
        "evaluation": "time train_loss train_accuracy",
        "count": "time epsilon.bayesian",
        "done": "time seconds tail_share bayesian_text train_accuracy epsilon.bayesian",
    }.items()
}
NEW = "gradient_angle"  # a measurement that nobody classified


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    yield from fresh_engine(tmp_path, monkeypatch)


@cache
def real() -> list[Event]:
    return events_of(SETTINGS)


def with_a_new_one() -> list[Event]:
    return [
        event._replace(data=event.data | {NEW: [0.123456] * event.data["count"] if event.kind == "step" else 0.123456})
        for event in real()
    ]


def run_of(engine: Engine, told: list[Event]) -> tuple[RunRecord, RunView]:
    run = record(engine, SETTINGS, told)
    return run, engine.look(run.id)


def test_every_number_of_a_run_is_classified() -> None:
    names: dict[str, set[str]] = {}
    for event in real():
        names.setdefault(event.kind, set()).update(not_covered(event.data))
    assert names == MEASURED
    content = [get_type_hints(each)["kind"] for each in get_args(get_type_hints(StatedEvent)["data"])]
    kinds = {kind for literal in content for kind in get_args(literal)}
    assert kinds == set(COVERED), "every kind of event, those of other modules too"


def test_what_nobody_classified_counts_as_measured() -> None:
    assert not covered("step", NEW)
    assert not covered("a kind of another program", "loss")
    assert heading("done", NEW) == f"{NEW} [not covered by ε]"


def test_headings_of_tables_say_it(made: Engine) -> None:
    run, view = run_of(made, with_a_new_one())
    headings = next(csv.reader(io.StringIO(steps_csv(made.store, run.id).decode())))
    marked = {name.removesuffix(f" [{NOT_COVERED}]") for name in headings if name.endswith(f" [{NOT_COVERED}]")}
    assert marked == (MEASURED["step"] - {"distances", "norms", "noise", "bayesian_text"}) | {NEW}
    assert [name.split(" [")[0] for name in headings] == list(view.steps)
    columns = listing.table([view.record], {}, made.store).columns
    bayesian, seconds = (f"{name} [not covered by ε]" for name in ("ε_μ Bayesian", "seconds"))
    assert {name for name in columns if NOT_COVERED in name} == {bayesian, seconds}


def test_json_lists_it_and_comes_back_with_and_without_the_list(made: Engine) -> None:
    run, _ = run_of(made, with_a_new_one())
    content = opened(export_run(made.store, run.id))
    assert {kind: set(names) for kind, names in content[NOT_COVERED].items()} == {
        kind: names | {NEW} for kind, names in MEASURED.items()
    }
    run, _ = run_of(made, real())
    content = opened(export_run(made.store, run.id))
    for exported in (content, {name: part for name, part in content.items() if name != NOT_COVERED}):
        copy = import_run(made.store, closed(exported))
        assert made.look(copy.id).steps["loss"].tolist() == made.look(run.id).steps["loss"].tolist()


def test_a_report_leaves_it_out_unless_asked(made: Engine) -> None:
    """Each measured number of its own, so that it would be seen wherever it stood."""
    told = with_a_new_one()
    told[-1].data.update({name: 0.7654321 for name in MEASURED["done"] if name in told[-1].data})
    told[-1].data["epsilon"] |= {"bayesian": 0.7654321}
    _, view = run_of(made, told)
    claim = claim_of_view(view, made.store)
    published, full = (html_report(view, claim, measured=measured) for measured in (False, True))
    labels = [f" {label} ends at" for label in ("batch", "train", "clipped", "drawn", "Bayesian")]
    for word in ("0.765432", "0.123456", "ε, Bayesian", ">seconds ", NEW, *labels):
        assert (word in published, word in full) == (False, True), word
    drawn = re.findall("<h2>([^<]*)</h2><figure", published)
    assert drawn == ["Privacy loss", "Accuracy", "Loss", "Noise multiplier", "Batch size"]
    assert "left out of this page" in published
    for row in re.findall(r"<tr><th scope='row'>([^<]*)</th><td>(?:0\.765432|0\.123456)</td>", full):
        assert NOT_COVERED in row
    titles = re.findall("<h2>([^<]*)</h2><figure", full)
    assert [title for title in titles if NOT_COVERED not in title] == ["Noise multiplier"]
    with zipfile.ZipFile(io.BytesIO(bundle(made.store, view.record.id))) as archive:
        assert NOT_COVERED in archive.read("report.html").decode()


@pytest.mark.parametrize("key", CHARTS)
def test_charts_say_it_in_the_picture_and_to_a_reader(made: Engine, key: str) -> None:
    run, _ = run_of(made, real())
    drawing = draw(take(made, run.id), key, 300)
    words = json.dumps(drawing.figure["layout"], default=str, ensure_ascii=False)
    marked = key not in ("frontier", "sigma")
    assert (NOT_COVERED in words, NOT_COVERED in drawing.alt) == (marked, marked)


def test_runs_side_by_side_say_it(made: Engine) -> None:
    _, view = run_of(made, real())
    claim = claim_of_view(view, made.store)
    for accountant in ("claim", *READINGS):
        chart, _ = overlay([view], [claim], "epsilon", accountant)
        assert (NOT_COVERED in str(chart.figure["layout"])) == (accountant == "bayesian")


def test_a_view_without_measurements_holds_none(made: Engine) -> None:
    _, view = run_of(made, with_a_new_one())
    view = view.covered()
    assert not view.norms
    assert not view.noise
    for kind, names in (("step", view.steps), ("evaluation", view.evaluations), ("count", view.counts)):
        assert [name for name in names if not covered(kind, name)] == []
        assert "step" in names
    assert not_covered(view.final) == []
    assert not_covered(replace(view.record).summary) == []


def test_examples() -> None:
    assert doctest.testmod(marks).failed == 0
