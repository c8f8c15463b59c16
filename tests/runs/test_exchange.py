"""Runs as files: out and in again the same, other files refused with a reason, reports that need nothing else."""

import base64
import csv
import gzip
import hashlib
import io
import math
import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from pydantic import TypeAdapter

from dpviz.accounting.claims import Claim
from dpviz.accounting.methods import accountant
from dpviz.mechanisms import SampledGaussian
from dpviz.runs import claims
from dpviz.runs.exchange import checksums, sequence
from dpviz.runs.exchange.checks import NotARun
from dpviz.runs.exchange.disputes import MISMATCH
from dpviz.runs.exchange.files import export_run, steps_csv, why_no_file
from dpviz.runs.exchange.format import CountEvent, NoteEvent, checked
from dpviz.runs.exchange.import_run import import_run
from dpviz.runs.store.store import RunSnapshot, Store
from dpviz.runs.views import RunView, view_of
from dpviz.runs.work import TRAINING, Sender
from dpviz.training.accounts.claims import planned_claim
from dpviz.training.accounts.stepwise import encoded
from dpviz.training.covered import heading
from dpviz.training.defaults import units_of
from dpviz.training.plan import mechanism_at
from dpviz.training.settings import RunSettings
from dpviz.ui.runs.report import _SCRIPT, _charts, bundle, html_report
from tests.runs.conftest import batch, started
from tests.runs.exported import changed, opened, plain, read

REFUSED = tomllib.loads((Path(__file__).parent / "refused_files.toml").read_text("utf-8"))
NASTY = "<script>alert('x')</script> & \"quotes\""


PLAN = [(2.0, 0.1, 3), (2.5, 0.1, 4), (2.0, 0.05, 2)]


def planned(plan: list[tuple[float, float, int]]) -> list[dict[str, Any]]:
    """A run's events with the ε that the library says, from other code than the ledgers of a live run."""
    settings = RunSettings(steps=9, noise_multiplier=2.0)
    events: list[dict[str, Any]] = [{"kind": "started", "settings": settings.to_json(), "examples": 10_000}]
    done: list[tuple[SampledGaussian, int]] = []
    first = 1
    for sigma, rate, count in plan:
        mechanism = SampledGaussian(sigma, rate)
        spent = [[*done, (mechanism, taken)] for taken in range(1, count + 1)]
        epsilon = {
            name: [float(accountant(name).of_events(now, settings.delta).epsilon) for now in spent]
            for name in ("moments", "renyi", "mixture")
        }
        done.append((mechanism, count))
        events.append(
            {"kind": "step", "step": first + count - 1, "first": first, "count": count, "distances": None,
             "mechanisms": [[sigma, rate, count]], "epsilon": epsilon}
        )  # fmt: skip
        first += count
    return events


def example(store: Store, name: str = NASTY) -> str:
    """Two attempts of a run with three mechanisms; the first one's worker died after three steps."""
    events = planned(PLAN)
    run = started(store, name, events[0]["settings"])
    store.annotate(run, NASTY + '[{"' * 500 + "\\")  # brackets in words are words
    evaluation = {"kind": "evaluation", "step": 9, "test_loss": math.nan, "test_accuracy": 0.75}
    note = {"kind": "note", "step": 9, "text": NASTY}
    last = {accountant: values[-1] for accountant, values in events[-1]["epsilon"].items()}
    final = {"kind": "done", "step": 9, "text": "All done.", "epsilon": last, "test_accuracy": 0.75, "reason": "plan"}
    store.record([batch(run, *events[:2])])
    store.record([batch(run, execution="two"), batch(run, *events, evaluation, note, final, execution="two")])
    return run


def view(store: Store, run: str) -> RunView:
    return view_of(store.run(run), store.digest(run))


def copied(store: Store, run: str, change: Callable[[bytes], bytes] = bytes) -> str:
    """What its export, changed, comes back as."""
    return import_run(store, change(export_run(store, run))).id


def claim(store: Store, run: str) -> Claim:
    return claims.claim_of_view(view(store, run), store)


def report(store: Store, run: str, **how: bool) -> str:
    return html_report(view(store, run), claim(store, run), **how)


KEPT = ("name", "note", "settings", "state", "reason", "created", "started", "ended", "attempt", "steps")


class TestThereAndBack:
    def test_the_same_run(self, store: Store) -> None:
        run = example(store)
        before, after = store.run(run), store.run(copied(store, run))
        assert after.id != before.id
        assert (after.imported, after.target) == (True, TRAINING)
        for name in KEPT:
            assert getattr(before, name) == getattr(after, name), name
        mine, theirs = view(store, run), view(store, after.id)
        assert theirs.disputes == ()
        for table in ("steps", "evaluations", "counts"):
            first, second = getattr(mine, table), getattr(theirs, table)
            assert {*second} - {*first} <= {"time"}  # its batches here have none
            for name in first:
                np.testing.assert_allclose(first[name], second[name], rtol=1e-9, err_msg=name)
        assert (mine.notes, mine.final["text"]) == (theirs.notes, theirs.final["text"])
        assert [e.kind for e in store.events(after.id, 1)] == [e.kind for e in store.events(run, 1)]

    def test_again_and_again(self, store: Store) -> None:
        """A file of a file is the same but for being marked; taken in again it stays what it is."""
        copy = copied(store, example(store))
        first, second = (opened(export_run(store, run)) for run in (copy, copied(store, copy)))
        assert first["imported"] is True
        assert first == second

    def test_of_a_run_of_another_version_no_epsilon_is_kept(self, store: Store) -> None:
        run, events = started(store), planned(PLAN)
        del events[0]["settings"]
        store.record([batch(run, *events)])
        copy = view(store, copied(store, run))
        assert copy.steps["noise_multiplier"].size == 9
        assert not [name for name in copy.steps if name.startswith("epsilon")]
        assert not claims.claim_of_view(copy, store).holds
        assert "unknown a" in claims.why_unknown(copy.record)

    def test_says_nothing_about_the_machine(self, store: Store) -> None:
        """Neither processes nor folders, wherever they were named."""
        settings = planned(PLAN)[0]["settings"] | {"data_folder": "/srv/hidden one/x", "start_from": "/home/jane/w.pt"}
        run = started(store, "", settings, {"weights_to": "/srv/hidden/w"})
        worker = {"machine": "secret-host/1/2", "pid": 1, "mark": "2", "address": "tcp://10.0.0.1:1"}
        trace = f'File "/srv/hidden/lib/loop.py", line 3\nError: {Path.home()}/hidden/x or C:\\hidden\\y.npz'
        events = planned(PLAN)
        events[0]["settings"] = settings
        failed = {
            "kind": "failed",
            "step": 9,
            "text": "no /srv/hidden/a.npz",
            "traceback": trace,
            "weights": "/x/hidden",
        }
        one = batch(run, *events, {"kind": "note", "step": 9, "text": "in '/srv/hidden dir/b'"}, failed)
        store.record([replace(one, worker=worker)])
        exported = export_run(store, run)
        content = plain(exported).decode()
        with zipfile.ZipFile(io.BytesIO(bundle(store, run))) as archive:
            names = [name for name in archive.namelist() if not name.endswith(("parquet", "gz"))]
            everything = content + "".join(archive.read(name).decode() for name in names)
        for secret in ("secret-host", "10.0.0.1", "hidden", "/srv", "jane", str(Path.home()) + "/"):
            assert secret not in everything, secret
        assert "a.npz" in content  # what went wrong is still said
        copy = import_run(store, exported)
        assert copy.settings["start_from"] is not None  # its claim rests on what it started from
        assert any("optimiser state" in text for text in claims.claim_of_view(view(store, copy.id), store).conditions)


def stretches(steps: int, each: int) -> list[dict[str, Any]]:
    """A run of equal steps, `each` in an event, as training tells it but for its readings."""
    settings = RunSettings(steps=steps, noise_multiplier=4.0, batch_size=100)
    events: list[dict[str, Any]] = [{"kind": "started", "step": 0, "settings": settings.to_json(), "examples": 10_000}]
    events += [
        {"kind": "step", "step": first + each - 1, "first": first, "count": each, "distances": None,
         "mechanisms": [[4.0, 0.01, each]], "epsilon": {}, "loss": [1.0 / step for step in range(first, first + each)]}
        for first in range(1, steps, each)
    ]  # fmt: skip
    return [*events, {"kind": "done", "step": steps, "reason": "plan", "text": "", "epsilon": {}}]


def comes_back(store: Store, told: list[dict[str, Any]]) -> None:
    """A run of these events is exported and imported, and its copy says the same."""
    run = started(store, "", told[0]["settings"])
    for begin in range(0, len(told), 500):
        store.record([batch(run, *told[begin : begin + 500], first=begin)])
    copy = copied(store, run)
    same = store.digest(copy)
    assert same.spent == store.digest(run).spent == [[4.0, 0.01, told[-1]["step"]]]
    assert [event.kind for part in store.each_event(copy, 1) for event in part] == [
        *(event["kind"] for event in told),
        "imported",
    ]
    np.testing.assert_array_equal(same.tables["step"]["loss"], store.digest(run).tables["step"]["loss"])
    settings = RunSettings.from_json(told[0]["settings"])
    assert claim(store, copy).epsilon == planned_claim(settings, 10_000).epsilon
    assert view(store, copy).disputes == ()


def test_a_run_of_many_blocks_comes_back(store: Store) -> None:
    comes_back(store, stretches(5_400, 3))  # five blocks, and some rows


@pytest.mark.sweep
@pytest.mark.timeout(1200)
def test_a_run_of_a_million_steps_comes_back(store: Store) -> None:
    comes_back(store, stretches(1_000_000, 100))


def test_a_run_that_goes_on_while_it_is_exported_comes_back_as_it_was(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is stored after its first line was written would not fit to it."""
    told = stretches(40, 4)
    run = started(store, "", told[0]["settings"])
    store.record([batch(run, *told[:6])])
    snapshot = Store.snapshot

    def late(store: Store, run: str) -> RunSnapshot:
        found = snapshot(store, run)
        store.record([batch(run, *told[6:], first=6)])
        return found

    monkeypatch.setattr(Store, "snapshot", late)
    copy = import_run(store, export_run(store, run))
    assert (copy.state, copy.steps, store.run(run).steps) == ("lost", 20, 40)
    assert [attempt["outcome"] for attempt in store.attempts(copy.id)] == ["unread"]


def test_files_are_as_long_as_they_may_be_and_no_longer(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """One limit for both ways: what is not read is not written."""
    run = example(store)
    content = export_run(store, run)
    size = len(gzip.decompress(content))
    monkeypatch.setattr("dpviz.runs.exchange.lines.LARGEST", size)
    assert read(export_run(store, run)).steps == 9
    monkeypatch.setattr("dpviz.runs.exchange.lines.LARGEST", size - 1)
    for act in (lambda: export_run(store, run), lambda: read(content)):
        with pytest.raises(NotARun, match="Expected a file of at most"):
            act()


@pytest.mark.parametrize(
    ("limit", "found", "words", "changed"),
    [
        ("PLANNED", 9, "planned steps", {}),
        ("CHANGING", 9, "planned steps of different noise", {"method": "dp_sgld"}),
        ("ATTEMPTS", 2, "attempts", {}),
        ("EVENTS", 8, "events", {}),
        ("STEPS", 12, "steps in all attempts", {}),
        ("MECHANISMS", 3, "different mechanisms", {}),
        ("DISTANCES", 48, "distances", {"bayesian": True, "pairs": 2}),
        ("REPLANS", 2, "new plans", {}),
    ],
)
def test_one_limit_for_what_is_written_and_what_is_read(
    store: Store, monkeypatch: pytest.MonkeyPatch, limit: str, found: int, words: str, changed: dict[str, Any]
) -> None:
    """The page says it before the file is asked for; of everything all but this file is there."""
    settings, told = RunSettings(steps=9, noise_multiplier=2.0).with_(**changed).to_json(), planned(PLAN)
    for event in told:
        event |= {"settings": settings} if event["kind"] == "started" else {"distances": [[0.1] * 4] * event["count"]}
    extended = {"kind": "replanned", "step": 9, "total_steps": 9, "text": ""}
    run = started(store, "", settings)
    store.record([batch(run, *told[:2]), batch(run, *told, extended, extended, execution="two")])
    monkeypatch.setattr(sequence, limit, found)
    content = export_run(store, run)
    assert read(content).steps == 9
    assert why_no_file(view(store, run), store) == ""
    monkeypatch.setattr(sequence, limit, found - 1)
    refused = f"at most {found - 1} {words}, found {found}"
    for act in (lambda: export_run(store, run), lambda: read(content)):
        with pytest.raises(NotARun, match=refused):
            act()
    with zipfile.ZipFile(io.BytesIO(bundle(store, run))) as archive:
        assert sorted(archive.namelist()) == ["report.html", "steps.csv", "steps.parquet"]
    if limit not in ("EVENTS", "REPLANS"):
        assert why_no_file(view(store, run), store) == f"An import takes {refused}. CSV and Parquet hold all steps."


@pytest.mark.parametrize("changed", [{"method": "dp_sgld", "steps": 600}, {"bayesian": True, "steps": 6_000}])
def test_files_of_what_the_form_allows_can_be_read(store: Store, changed: dict[str, Any]) -> None:
    """Noise of its own at each of 600 steps; 384,000 distances."""
    settings = RunSettings(batch_size=100, noise_multiplier=4.0).with_(**changed)
    steps = range(1, settings.steps + 1)
    mechanisms = [mechanism_at(settings, step, 10_000) for step in steps]
    told: list[dict[str, Any]] = [
        {"kind": "started", "step": 0, "settings": settings.to_json(), "examples": 10_000},
        *(
            {"kind": "step", "step": first + 49, "first": first, "count": 50, "epsilon": {},
             "mechanisms": encoded(mechanisms[first - 1 : first + 49]),
             "distances": [[0.5] * 64] * 50 if settings.bayesian else None}
            for first in steps[::50]
        ),
    ]  # fmt: skip
    run = started(store, "", settings.to_json())
    store.record([batch(run, *told)])
    assert read(export_run(store, run)).steps == settings.steps


class TestNotBelieved:
    """What a file says of its ε is worked out again, and shown beside where it differs."""

    def test_a_reading(self, store: Store) -> None:
        def lie(content: dict[str, Any]) -> None:
            content["events"][3]["data"]["epsilon"]["renyi"][1] = 0.01

        shown = view(store, copied(store, example(store), changed(lie)))
        (dispute,) = shown.disputes
        assert (dispute.what, dispute.recorded) == ("ε, Rényi, after step 2", 0.01)
        assert shown.steps["epsilon.renyi"][1] == dispute.recomputed > 0.1
        again = copied(store, shown.record.id)
        assert view(store, again).disputes == shown.disputes, "what did not match stays said"
        assert MISMATCH in report(store, again)
        assert "(imported)" in report(store, again)

    @pytest.mark.parametrize("place", ["summary", "last event"])
    def test_a_summary(self, store: Store, place: str) -> None:
        def lie(content: dict[str, Any]) -> None:
            summary = content["run"]["summary"] if place == "summary" else content["events"][-1]["data"]
            summary["epsilon"]["moments"] = 0.02
            summary["claim"] = {"epsilon": 0.03}

        shown = view(store, copied(store, example(store), changed(lie)))
        summary = shown.record.summary
        assert shown.final["epsilon"] == summary["epsilon"]
        assert {dispute.recorded for dispute in shown.disputes} == {0.02, 0.03}
        assert min(summary["epsilon"]["moments"], summary["claim"]["epsilon"]) > 0.1

    @pytest.mark.parametrize("policy", ["fixed", "adaptive_noise"])
    def test_a_budget_that_was_not_kept(self, store: Store, policy: str) -> None:
        """What was charged exceeds the filter that the settings name."""
        events = planned(PLAN)
        events[0]["settings"] |= {"filter_epsilon": 0.5, "policy": policy}
        run = started(store, "", events[0]["settings"])
        store.record([batch(run, *events, {"kind": "done", "step": 9, "reason": "plan", "text": ""})])
        made_anew = claim(store, copied(store, run))
        assert made_anew.covers == "any_end"
        assert 0.5 < made_anew.epsilon < math.inf


class TestMissingAndChanged:
    """Events that are missing are said to be; an edited file is refused where it has checksums."""

    def chained(self, store: Store, *more: dict[str, Any]) -> str:
        """A run as its worker sends it: nine steps that were planned so, and their end."""
        sender = Sender(lambda rows: None)
        events = planned([(2.0, 0.1, 3), (2.0, 0.1, 6)])
        events[0]["settings"] |= {"noise_multiplier": 2.0, "batch_size": 1_000, "secure_noise": True}
        for event in [*events, *more]:
            sender.emit(event)
        run = started(store, "", events[0]["settings"])
        store.record([replace(batch(run), rows=tuple(sender.rows))])
        sender.close()
        return run

    @staticmethod
    def drop(store: Store, *events: int) -> None:
        with store.file.connection(write=True) as db:
            db.execute(f"DELETE FROM events WHERE seq IN ({', '.join(map(str, events))})")

    END: ClassVar = {"kind": "done", "step": 9, "text": "All done.", "reason": "plan", "epsilon": {"renyi": math.nan}}

    @pytest.mark.parametrize("words", [checksums.MATCH, checksums.NONE])
    def test_an_export_says_what_its_checksums_say(self, store: Store, words: str) -> None:
        def bare(content: dict[str, Any]) -> None:
            for part in (*content["attempts"], *(event["data"] for event in content["events"])):
                del part["checksum"]

        run = self.chained(store, {"kind": "note", "text": "/home/jane/x"}, self.END)
        copy = copied(store, run, changed(bare) if words == checksums.NONE else bytes)
        for one in (copy, copied(store, copy)):
            assert view(store, one).checksums == words
            assert words in report(store, one)

    @pytest.mark.parametrize(("edit", "reason"), REFUSED["edited"].items())
    def test_an_edited_one_is_refused(self, store: Store, edit: str, reason: str) -> None:
        content = export_run(store, self.chained(store, {"kind": "note", "text": "x"}, self.END))
        with pytest.raises(NotARun, match=reason):
            read(eval(edit)(content) if edit.startswith("without") else changed(eval(edit))(content))

    @pytest.mark.parametrize("ended", [True, False])
    @pytest.mark.parametrize("gone", [(1,), (2,), (1, 2)])
    def test_a_gap_claims_the_plan(self, store: Store, gone: tuple[int, ...], ended: bool) -> None:
        """Here, from a file, and from a file of that; whatever is missing, the claim is never smaller."""
        run = self.chained(store, {"kind": "note", "step": 9, "text": "x"}, *([self.END] if ended else []))
        plan = planned_claim(RunSettings.from_json(store.run(run).settings), 10_000)
        store.change_state(run, "lost", only=("running",))
        whole = export_run(store, run)
        self.drop(store, *gone)
        copy = copied(store, run)
        for one in (run, copy, copied(store, copy)):
            kept = claims.claim_of_record(store.run(one), store)
            assert kept.epsilon == plan.epsilon, one
            assert claims.GAP in kept.conditions
            assert claims.GAP in report(store, one)
        assert claims.claim_of_record(import_run(store, whole), store).epsilon <= plan.epsilon

    def test_a_lost_beginning_claims_nothing(self, store: Store) -> None:
        run = self.chained(store)
        store.change_state(run, "lost", only=("running",))
        self.drop(store, 0)
        for one in (run, copied(store, run)):
            kept = claims.claim_of_record(store.run(one), store)
            assert (kept.holds, kept.reason) == (False, claims.NO_BEGINNING)

    def test_a_gap_in_an_earlier_attempt(self, store: Store) -> None:
        run = self.chained(store)
        self.drop(store, 1)
        events = store.events(run, 1)
        store.record([batch(run, execution="two"), batch(run, events[0].data, execution="two")])
        settings = RunSettings.from_json(store.run(run).settings)
        ((mechanism, steps),) = claims.charged_before(store.run(run), settings, units_of(settings), store).mechanisms
        assert (mechanism.noise_multiplier, steps) == (2.0, settings.steps)


def both_settings(**values: Any) -> Callable[[bytes], bytes]:
    def change(content: dict[str, Any]) -> None:
        for event in content["events"]:
            if event["kind"] == "started":
                event["data"]["settings"].update(values)
        content["run"]["settings"].update(values)

    return changed(change)


EARLIER = {"run": "a", "name": "Run 1", "data": "mnist", "mechanisms": [[1.0, 0.1, 5]]}


def started_from(*origins: Any) -> Callable[[bytes], bytes]:
    return both_settings(start_from="a file", origins=origins[0] if origins == (7,) else list(origins))


def data(place: int, **values: Any) -> Callable[[bytes], bytes]:
    return changed(lambda c: c["events"][place]["data"].update(values))


def without(place: int) -> Callable[[bytes], bytes]:
    """One event dropped, and those after it numbered anew."""

    def drop(content: dict[str, Any]) -> None:
        gone = content["events"].pop(place)
        for event in content["events"]:
            event["seq"] -= event["attempt"] == gone["attempt"] and event["seq"] > gone["seq"]

    return changed(drop)


@pytest.mark.parametrize(("spoil", "reason"), REFUSED["files"].items())
def test_refused_with_a_reason(store: Store, spoil: str, reason: str) -> None:
    run = example(store)
    with pytest.raises(NotARun, match=re.escape(reason)):
        import_run(store, eval(spoil)(export_run(store, run)))
    assert len(store.runs()) == 1


@pytest.mark.parametrize("name", ["chunk_size", "evaluation_every"])
def test_a_whole_number_without_end_is_no_setting(store: Store, name: str) -> None:
    """A control of a page says it in place of None."""
    with pytest.raises(ValueError, match=rf"Expected {name}=inf to be a whole number .*, or None; try"):
        RunSettings(**{name: math.inf}).check()  # type: ignore[arg-type]
    run = example(store)
    copy = import_run(store, both_settings(**{name: math.inf})(export_run(store, run)))
    assert claims.settings_of(copy) is None


@pytest.mark.parametrize(
    "origin",
    [
        EARLIER | {"mechanisms": [[1.0, 0.1, 2.5]]},
        EARLIER | {"mechanisms": [[1.0, 1.5, 5]]},
        EARLIER | {"mechanisms": []},
        EARLIER | {"data": "nowhere"},
        EARLIER | {"unbounded": "it was trained without noise"},
    ],
)
def test_a_start_that_cannot_be_claims_nothing(store: Store, origin: dict[str, Any]) -> None:
    copy = copied(store, example(store), started_from(origin))
    assert not claim(store, copy).holds
    assert claims.why_unknown(store.run(copy))


def test_a_run_from_a_file_pays_for_its_start(store: Store) -> None:
    run = example(store)
    alone, both = (view(store, copied(store, run, change)) for change in (bytes, started_from(EARLIER)))
    for name, values in both.steps.items():
        if name.startswith("epsilon."):
            assert (values > alone.steps[name]).all()
    assert (bool(both.disputes), bool(alone.disputes)) == (True, False)


@pytest.mark.parametrize("mechanism", [[20.0, 0.5, 1], [20.0, 1.0, 2], [1e-9, 1.0, 1], ["laplace", 2.0, 1.0, 2]])
def test_a_count_is_charged_once_at_rate_one(mechanism: list[Any]) -> None:
    kind = TypeAdapter(CountEvent)
    assert checked("it", {"kind": "count", "mechanism": [20.0, 1, 1]}, kind)["mechanism"] == [20.0, 1, 1]
    with pytest.raises(NotARun, match="In it at mechanism: Expected a "):
        checked("it", {"kind": "count", "mechanism": mechanism}, kind)


@pytest.mark.parametrize(("written", "kept"), [("a\x00b\n", "a\ufffdb\n"), ("NaN", None), ("Infinity", None)])
def test_a_text_can_be_stored_and_is_no_number(written: str, kept: str | None) -> None:
    kind = TypeAdapter(NoteEvent)
    if kept is not None:
        assert checked("it", {"kind": "note", "text": written, "more": 1}, kind) == {"kind": "note", "text": kept}
        return
    with pytest.raises(NotARun, match=f"Expected words, found '{written}'"):
        checked("it", {"kind": "note", "text": written}, kind)


def test_nesting_is_seen_before_it_is_read() -> None:
    """Libraries raise Python's own limit on nesting; its reader then ends the process at a file of 200 kB."""
    script = (
        "import sys; sys.setrecursionlimit(10**6)\n"
        "from dpviz.runs.exchange.checks import NotARun, parsed\n"
        "for one, other in ((b'[', b']'), (b'{\"a\":', b'}')):\n"
        "    try: parsed(one * 100_000 + b'0' + other * 100_000, 'line 1')\n"
        "    except NotARun as reason: print(reason)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0
    assert done.stdout.count("brackets in brackets") == 2


def test_tables_and_bundle(store: Store) -> None:
    import pyarrow.parquet

    run = example(store)
    shown = view(store, run)
    with zipfile.ZipFile(io.BytesIO(bundle(store, run))) as archive:
        assert archive.testzip() is None
        assert sorted(archive.namelist()) == ["report.html", "run.jsonl.gz", "steps.csv", "steps.parquet"]
        files = {name: archive.read(name) for name in archive.namelist()}
    assert import_run(store, files["run.jsonl.gz"]).steps == 9
    rows = list(csv.DictReader(io.StringIO(files["steps.csv"].decode())))
    assert [row["step"] for row in rows] == [str(step) for step in range(1, 10)]
    table = pyarrow.parquet.read_table(io.BytesIO(files["steps.parquet"]))
    assert table.column_names == [heading("step", name) for name in shown.steps]
    for name, column in shown.steps.items():
        read = [float(row[heading("step", name)] or "nan") for row in rows]
        assert read == pytest.approx(column.tolist(), nan_ok=True, abs=0.0)
        np.testing.assert_array_equal(table[heading("step", name)].to_numpy(), column)
    empty = started(store)
    assert steps_csv(store, empty) == b"\n"
    assert bundle(store, empty)


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
    def test_needs_nothing_and_runs_its_own_script_alone(self, store: Store) -> None:
        text = report(store, example(store))
        page = Page(text)
        assert not {tag for tag, _ in page.tags} & {"link", "img", "iframe", "object", "a", "base", "form"}
        for _, attributes in page.tags:
            assert not {name for name in attributes if name in ("src", "href", "srcset") or name.startswith("on")}
        scripts = [attributes for tag, attributes in page.tags if tag == "script"]
        assert [s["type"] for s in scripts] == ["application/gzip", "application/gzip", "module"]
        assert text.count(f"<script type='module'>{_SCRIPT}</script>") == 1
        allowed = base64.b64encode(hashlib.sha256(_SCRIPT.encode()).digest()).decode()
        assert f"default-src 'none'; script-src 'sha256-{allowed}' blob:; style-src 'unsafe-inline'" in text
        for words in ("url(", "@import", "http://", "https://"):
            assert words not in text, words

    def test_says_what_happened(self, store: Store) -> None:
        page = Page(report(store, example(store)))
        for words in (NASTY, "It finished after 9 steps: All done.", "started again 1 times", "ε, Rényi",
                      "0.75", "Privacy loss", "Settings"):  # fmt: skip
            assert words in page.text, words
        labels = [attributes["aria-label"] for tag, attributes in page.tags if tag == "figure"]
        assert any(label and label.startswith("Privacy loss. ") and "Rényi ends at" in label for label in labels)
        run = started(store)
        assert "It is running after 0 steps." in report(store, run)
        copy = store.run(copied(store, run))
        assert (copy.state, copy.reason) == ("lost", "exported while it was running")
        store.record([batch(run, {"kind": "failed", "text": "no", "traceback": "<Trace>"})])
        published = Page(report(store, run)).text
        assert "It failed after 0 steps: no" in published
        assert "<Trace>" not in published, "it may quote the data"
        assert "<Trace>" in Page(report(store, run, measured=True)).text

    def test_charts_hold_every_peak(self, store: Store) -> None:
        found = view(store, example(store))
        step, loss = np.arange(1.0, 10_001.0), np.zeros(10_000)
        loss[1234] = 7.0
        long = replace(found, steps={"step": step, "loss": loss, "epsilon.renyi": np.full(10_000, np.nan)})
        charts = {title: (words, figure) for title, words, figure in _charts(long)}
        assert "Privacy loss" not in charts, "nothing to draw"
        words, figure = next(chart for title, chart in charts.items() if title.startswith("Loss"))
        assert "batch ends at 0." in words
        batch = next(trace for trace in figure["data"] if trace.get("name") == "batch")
        assert max(batch["y"]) == 7.0
        assert batch["x"][-1] == 10_000
        assert len(batch["y"]) <= 802


# What a recorded run has charged.


def test_what_was_charged_ahead_counts_until_the_end(store: Store, run: str) -> None:
    two, half = SampledGaussian(2.0, 0.1), SampledGaussian(2.5, 0.1)
    store.record([batch(run, *planned(PLAN[:2]))])
    ahead = {"kind": "charged", "step": 7, "through": 12, "mechanisms": [[2.0, 0.1, 3], [2.5, 0.1, 9]]}
    store.record([batch(run, ahead, first=3)])
    assert claims.mechanisms(store.digest(run)) == ((two, 3), (half, 9))
    assert claims.charged_through(store.digest(run)) == 12
    store.record([batch(run, {"kind": "stopped", "step": 7, "text": ""}, first=4)])
    assert claims.mechanisms(store.digest(run)) == ((two, 3), (half, 4))
    assert claims.charged_through(store.digest(run)) == 7


def test_mechanisms(store: Store, run: str) -> None:
    events = [*planned([(2.0, 0.1, 3), (3.0, 0.1, 1), (2.0, 0.1, 2)]), {"kind": "count", "mechanism": [100.0, 1.0, 1]}]
    store.record([batch(run, *events)])
    charged = [(one.noise_multiplier, one.sample_rate, count) for one, count in claims.mechanisms(store.digest(run))]
    assert charged == [(2.0, 0.1, 5), (3.0, 0.1, 1), (100.0, 1.0, 1)]
