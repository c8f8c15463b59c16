"""Runs as files: out and in again the same, other files refused with a reason, reports that need nothing else."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import zipfile
from collections.abc import Callable
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

from dpviz.runs import exchange
from dpviz.runs.claims import claim_of_view
from dpviz.runs.exchange import NotARun, bundle, export_json, import_json, read_run, steps_csv, steps_parquet
from dpviz.runs.report import html_report
from dpviz.runs.sqlite_store import SqliteStore
from dpviz.runs.svg import line_chart, nice_ticks
from dpviz.runs.tables import RunView, view_of
from dpviz.runs.work import TRAINING
from tests.runs.test_spending import PLAN, told
from tests.runs.test_sqlite_store import batch, started, steps

NASTY = "<script>alert('x')</script> & \"quotes\""


def example(store: SqliteStore, name: str = NASTY) -> str:
    run = started(store, name)
    store.annotate(run, NASTY)
    evaluation = {"kind": "evaluation", "step": 9, "test_loss": math.nan, "test_accuracy": 0.75}
    note = {"kind": "note", "step": 9, "text": NASTY}
    final = {
        "kind": "done",
        "step": 9,
        "text": "All done.",
        "epsilon": {"renyi": 1.25, "tight": None},
        "test_accuracy": 0.75,
    }
    store.record([batch(run, *steps(2))])
    store.record([batch(run, execution="two"), batch(run, *told(PLAN), evaluation, note, final, execution="two")])
    return run


def view(store: SqliteStore, run: str) -> RunView:
    return view_of(store.run(run), store.events(run))


class TestThereAndBack:
    def test_the_same_run(self, store: SqliteStore) -> None:
        run = example(store)
        copy = import_json(store, export_json(store, run))
        before, after = store.run(run), store.run(copy.id)
        assert after.id != before.id
        assert after.imported
        assert after.target == TRAINING
        for name in (
            "name",
            "note",
            "settings",
            "state",
            "reason",
            "created",
            "started",
            "ended",
            "attempt",
            "steps",
            "summary",
        ):
            assert getattr(before, name) == getattr(after, name), name
        for attempt in (1, 2):
            for mine, theirs in zip(store.events(run, attempt), store.events(copy.id, attempt), strict=True):
                assert json.dumps(mine, allow_nan=True) == json.dumps(theirs, allow_nan=True)
        again = json.loads(export_json(store, copy.id))
        first = json.loads(export_json(store, run))
        assert first["run"].pop("target") == "m:f"
        assert again["run"].pop("target") == TRAINING
        assert again == first

    def test_of_a_run_under_way(self, store: SqliteStore) -> None:
        run = started(store)
        store.record([batch(run, *steps(3))])
        copy = import_json(store, export_json(store, run))
        assert (copy.state, copy.reason) == ("lost", "exported while it was running")
        assert len(store.events(copy.id)) == 3

    def test_says_nothing_about_the_machine(self, store: SqliteStore) -> None:
        run = started(store)
        worker = {"machine": "secret-host/1/2", "pid": 1, "mark": "2", "address": "tcp://10.0.0.1:1"}
        one = batch(run, *steps(1))
        store.record([type(one)(one.run, one.execution, worker, one.rows, one.begun)])
        content = export_json(store, run).decode()
        assert "secret-host" not in content
        assert "10.0.0.1" not in content


def report(store: SqliteStore, run: str) -> str:
    found = view(store, run)
    return html_report(found, claim_of_view(found, store))


def changed(change: Callable[[dict[str, Any]], None]) -> Callable[[bytes], bytes]:
    def apply(content: bytes) -> bytes:
        found = json.loads(content)
        change(found)
        return json.dumps(found).encode()

    return apply


BAD: list[tuple[Callable[[bytes], bytes], str]] = [
    (lambda content: b"", "no JSON"),
    (lambda content: b"\xff\xfe", "no JSON"),
    (lambda content: content[:-20], "no JSON"),
    (lambda content: b"[" * 100_000, "no JSON"),
    (lambda content: b"[1, 2]", '"format": "dpviz-run"'),
    (lambda content: b'{"format": "other"}', '"format": "dpviz-run"'),
    (changed(lambda c: c.update(version=2)), "version 1 of the format, found 2"),
    (changed(lambda c: c.pop("events")), "'events' as a list"),
    (changed(lambda c: c.pop("run")), "the run to be an object"),
    (changed(lambda c: c["run"].pop("settings")), "to have 'settings'"),
    (changed(lambda c: c["run"].update(steps="9")), "'steps' of the run to be int"),
    (changed(lambda c: c["run"].update(steps=True)), "'steps' of the run to be int"),
    (changed(lambda c: c["run"].update(created="NaN")), "finite number"),
    (changed(lambda c: c["run"].update(steps=2**70)), "finite number"),
    (changed(lambda c: c["run"].update(state="flying")), "state 'flying' to be one of"),
    (changed(lambda c: c["run"].update(attempt=3)), "attempts 1 … 3, found"),
    (changed(lambda c: c["attempts"].pop(0)), "attempts 1 … 2, found"),
    (changed(lambda c: c["events"].append(c["events"][0])), "number of its own"),
    (changed(lambda c: c["events"][0].update(attempt=9)), "belong to an attempt"),
    (changed(lambda c: c["events"][0].update(seq=-1)), "seq and step >= 0"),
    (changed(lambda c: c["events"][0].update(kind="done")), "hold its own kind 'done'"),
    (changed(lambda c: c["events"][3]["data"].update(mechanisms=[[1, 0.1, 99]])), "mechanisms of 3 steps, found 99"),
    (changed(lambda c: c["events"][3]["data"].update(epsilon={"renyi": ["x"]})), "can be drawn"),
    (changed(lambda c: c["events"][3]["data"].update(count=10**30)), "can be drawn"),
]


@pytest.mark.parametrize(("spoil", "reason"), BAD, ids=[reason for _, reason in BAD])
def test_refused_with_a_reason(store: SqliteStore, spoil: Callable[[bytes], bytes], reason: str) -> None:
    run = example(store)
    with pytest.raises(NotARun, match=re.escape(reason)):
        import_json(store, spoil(export_json(store, run)))
    assert len(store.runs()) == 1


def test_too_large(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "LARGEST", 100)
    with pytest.raises(NotARun, match="Expected a file of at most"):
        read_run(b" " * 101)


class TestTables:
    def test_csv(self, store: SqliteStore) -> None:
        shown = view(store, example(store))
        rows = list(csv.DictReader(io.StringIO(steps_csv(shown))))
        assert [row["step"] for row in rows] == [str(step) for step in range(1, 10)]
        for name, column in shown.steps.items():
            assert [float(row[name] or "nan") for row in rows] == pytest.approx(column.tolist(), nan_ok=True, abs=0.0)

    def test_parquet(self, store: SqliteStore) -> None:
        import pyarrow.parquet

        shown = view(store, example(store))
        table = pyarrow.parquet.read_table(io.BytesIO(steps_parquet(shown)))
        assert table.column_names == list(shown.steps)
        for name, column in shown.steps.items():
            np.testing.assert_array_equal(table[name].to_numpy(), column)

    def test_bundle(self, store: SqliteStore) -> None:
        run = example(store)
        with zipfile.ZipFile(io.BytesIO(bundle(store, run))) as archive:
            assert archive.testzip() is None
            assert sorted(archive.namelist()) == ["report.html", "run.json", "steps.csv", "steps.parquet"]
            copy = import_json(store, archive.read("run.json"))
        assert copy.steps == 9

    def test_of_a_run_without_steps(self, store: SqliteStore) -> None:
        run = started(store)
        assert steps_csv(view(store, run)) == "\n"
        assert bundle(store, run)


class Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


class TestReport:
    def test_needs_nothing_and_runs_nothing(self, store: SqliteStore) -> None:
        text = report(store, example(store))
        page = Page(text)
        assert not {tag for tag, _ in page.tags} & {"script", "link", "img", "iframe", "object", "a", "base", "form"}
        for _, attributes in page.tags:
            assert not {name for name in attributes if name in ("src", "href", "srcset") or name.startswith("on")}
        assert "url(" not in text
        assert "@import" not in text
        assert re.findall(r"https?://[^\"]*", text) == ["http://www.w3.org/2000/svg"] * text.count("<svg")
        assert "default-src 'none'" in text

    def test_says_what_happened(self, store: SqliteStore) -> None:
        page = Page(report(store, example(store)))
        for words in (NASTY, "It ran to its end after 9 steps: All done.", "started again 1 times", "ε, Rényi", "1.25",
                      "0.75", "Privacy loss", "Settings"):  # fmt: skip
            assert words in page.text, words
        labels = [attributes["aria-label"] for tag, attributes in page.tags if tag == "svg"]
        assert any(label and label.startswith("Privacy loss. ") and "Rényi ends at" in label for label in labels)

    def test_of_a_failed_and_of_an_empty_run(self, store: SqliteStore) -> None:
        run = started(store)
        assert "It is running after 0 steps." in report(store, run)
        store.record([batch(run, {"kind": "failed", "text": "no", "traceback": "<Trace>"})])
        page = Page(report(store, run))
        assert "It failed after 0 steps: no" in page.text
        assert "<Trace>" in page.text


class TestChart:
    def test_lines_lie_inside_and_labels_apart(self) -> None:
        x = np.arange(5000.0)
        series = {f"line {i}": (x, np.sin(x / 500.0) + 0.001 * i) for i in range(9)}
        chart = line_chart(series, title="T", x_title="x", y_title="y")
        lines = re.findall(r'points="([^"]*)"', chart)
        assert len(lines) == 9
        for line in lines:
            points = np.array([point.split(",") for point in line.split()], dtype=float)
            assert len(points) <= 900
            assert (points >= 0).all()
            assert (points[:, 0] <= 640).all()
            assert (points[:, 1] <= 300).all()
        heights = sorted(float(y) for y in re.findall(r'y="([\d.]+)" fill=', chart))
        assert min(np.diff(heights)) >= 13.9

    def test_a_peak_is_not_lost(self) -> None:
        y = np.zeros(10_000)
        y[1234] = 1.0
        chart = line_chart({"a": (np.arange(10_000.0), y)}, title="T", x_title="x", y_title="y")
        assert ",12.0" in chart  # the top

    def test_nothing_to_draw(self) -> None:
        nothing = np.full(3, np.nan)
        assert line_chart({"a": (np.arange(3.0), nothing)}, title="T", x_title="x", y_title="y") == ""
        assert line_chart({}, title="T", x_title="x", y_title="y") == ""

    def test_one_point_and_a_constant(self) -> None:
        for x in (np.array([1.0]), np.array([1.0, 2.0])):
            chart = line_chart({"a & b": (x, np.full(x.size, 3.0))}, title="<T>", x_title="x", y_title="y")
            assert "nan" not in chart
            assert "a &amp; b" in chart
            assert "&lt;T&gt;" in chart

    @pytest.mark.parametrize(
        ("low", "high"), [(0.0, 1.0), (1.0, 150.0), (-3.0, 2.0), (1e-9, 3e-9), (5.0, 5.0), (0, 1e12)]
    )
    def test_ticks_cover(self, low: float, high: float) -> None:
        ticks = nice_ticks(low, high)
        assert 2 <= len(ticks) <= 12
        assert ticks[0] <= low
        assert ticks[-1] >= high
        assert np.allclose(np.diff(ticks), ticks[1] - ticks[0])
