"""What goes on changing on a page: made once for all who watch, fetched without a page run."""

import asyncio
import gc
import gzip
import json
import threading
from dataclasses import replace
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import Response

from dpviz.runs.engine import Engine
from dpviz.runs.store.records import Event, RunRecord, StoreError
from dpviz.ui.browser import routes, updates
from dpviz.ui.browser.updates import Update, Updates
from dpviz.ui.train import watch
from dpviz.ui.train.live import screen
from tests.runs.conftest import until
from tests.ui.driver import components, html_of, open_app, said
from tests.ui.runs_made import TINY, record


def fetched(token: str, mark: str = "") -> Response:
    """What the server answers to a browser that has the update of that mark."""
    headers = [(b"if-none-match", mark.encode())] if mark else []
    scope = {"type": "http", "method": "GET", "headers": headers, "path_params": {"token": token}}
    return asyncio.run(routes._updates(Request(scope)))


def content(response: Response) -> Any:
    return json.loads(gzip.decompress(bytes(response.body)))


def test_it_is_made_once_for_all_who_ask_and_sent_once_to_each(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []

    def look() -> Update:
        made.append(len(made))
        return Update.of({"step": len(made) // 3})

    one = Updates(look)
    monkeypatch.setitem(updates._by_token, one.token, one)
    first = fetched(one.token)
    assert (first.status_code, content(first)) == (200, {"step": 0})
    assert {fetched(one.token, first.headers["ETag"]).status_code for _ in range(20)} == {304}
    assert len(made) == 1, "it is no older than that"
    monkeypatch.setattr(updates, "MOST_AGE", -1.0)
    answers = [fetched(one.token, first.headers["ETag"]).status_code for _ in range(2)]
    assert answers == [304, 200], "a look that finds the same has the same mark, another has another"


def test_nobody_waits_for_a_look_of_another_but_for_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(updates, "MOST_AGE", -1.0)
    looks, begun, go_on = iter([1, 2]), threading.Event(), threading.Event()

    def look() -> Update:
        number = next(looks)
        if number == 2:
            begun.set()
            assert go_on.wait(60)
        return Update.of({"look": number})

    one = Updates(look)
    first = one.now()
    slow = threading.Thread(target=one.now)
    slow.start()
    assert begun.wait(60)
    assert one.now() is first
    go_on.set()
    slow.join(60)
    assert one.recent is None
    assert one._last != first


def test_sessions_that_show_the_same_share_it_and_it_goes_with_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    def offered(session: dict[str, object], key: str) -> str:
        monkeypatch.setattr(updates.st, "session_state", session)
        return updates.offer(key, lambda: Update.of({}))

    first, second, other = {}, {}, {}  # type: ignore[var-annotated]
    token = offered(first, "run")
    assert offered(second, "run") == token != offered(other, "another run")
    first.clear()
    gc.collect()
    assert fetched(token).status_code == 200
    second.clear()
    until(lambda: gc.collect() >= 0 and updates.find(token) is None)  # the thread that looked lets go of it
    assert fetched(token).status_code == 205, "no error, which the browser's console would show"


@pytest.fixture
def running(engine: Engine, events: list[Event], monkeypatch: pytest.MonkeyPatch) -> RunRecord:
    """A run that goes on after its fourth step, as far as the app knows."""
    run = record(engine, TINY, [event for event in events[:-1] if event.step <= 4], state="lost")
    with engine.store.file.connection(write=True) as db:
        db.execute("UPDATE runs SET state = 'running', ended = NULL WHERE id = ?", (run.id,))
    monkeypatch.setattr(engine, "_reconcile", lambda: None)
    return engine.run(run.id)


def test_what_the_browser_fetches_is_what_the_page_would_show(
    running: RunRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dpviz.ui.train.live.tight_so_far", lambda *_: None)  # which comes by and by
    at = open_app("train", f"run={running.id}")
    (follow,), drawn = components(at, "dpviz.follow"), components(at, "dpviz.chart")
    shown = content(fetched(follow["token"]))
    assert shown["page"] == follow["page"]
    assert f">{shown['headline']}</p>" in html_of(at)
    assert f"<div data-follow>{shown['below']}</div>" in html_of(at)
    assert [(one["key"], one["packed"], one["alt"]) for one in drawn] == [
        (one["key"], one["packed"], one["alt"]) for one in shown["charts"]
    ]
    other = components(open_app("train", f"run={running.id}"), "dpviz.follow")[0]
    assert other["token"] == follow["token"], "another visitor has the same"


@pytest.mark.parametrize(
    ("change", "another"),
    [
        ({}, False),
        ({"steps": 5}, False),
        ({"desired": "pause"}, True),
        ({"state": "paused"}, True),
        ({"state": "done"}, True),
    ],
)
def test_the_page_runs_again_where_its_controls_are_others(
    engine: Engine, running: RunRecord, change: dict[str, Any], another: bool
) -> None:
    charts = ("epsilon", "loss")
    before = screen(engine, running.id, charts).page
    if "desired" in change:
        engine.store.set_desired(running.id, change["desired"])
    else:
        with engine.store.file.connection(write=True) as db:
            for name, value in change.items():
                db.execute(f"UPDATE runs SET {name} = ?", (value,))
    engine.live = type(engine.live)(engine.store)
    assert (screen(engine, running.id, charts).page != before) == another


def test_what_was_asked_for_is_looked_for_more_often(engine: Engine, running: RunRecord) -> None:
    def often() -> int:
        return int(components(open_app("train", f"run={running.id}"), "dpviz.follow")[0]["every"])

    assert often() == watch.EVERY
    engine.store.set_desired(running.id, "pause")
    assert often() == watch.SOON


def test_a_run_that_changes_while_its_page_is_drawn_has_it_drawn_again(
    engine: Engine, running: RunRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Engine, "run", lambda _, run: replace(running, state="paused"))  # as the controls saw it
    (follow,) = components(open_app("train", f"run={running.id}"), "dpviz.follow")
    assert follow["page"] != content(fetched(follow["token"]))["page"]


def test_a_store_that_cannot_be_read_is_said_and_looked_at_again(
    engine: Engine, running: RunRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = open_app("train", f"run={running.id}")
    (before,) = components(at, "dpviz.follow")
    monkeypatch.setattr(updates, "MOST_AGE", -1.0)
    with monkeypatch.context() as broken:
        broken.setattr(engine, "look", lambda _: (_ for _ in ()).throw(StoreError("the disk has gone")))
        assert content(fetched(before["token"]))["page"] != before["page"]
        at.run()
        assert any("the disk has gone" in text for text in said(at, "problem"))
        (follow,) = components(at, "dpviz.follow")
        assert content(fetched(follow["token"]))["page"] == follow["page"], "or the page would run for ever"
    assert content(fetched(follow["token"]))["page"] == before["page"]


def test_a_run_that_is_over_is_looked_at_once(
    engine: Engine, events: list[Event], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dpviz.ui.train.live.tight_waiting", lambda _: True)  # its interval is still being computed
    at = open_app("train", f"run={record(engine, TINY, events).id}")
    (follow,) = components(at, "dpviz.follow")
    assert follow["every"] == watch.EVERY
    monkeypatch.setattr("dpviz.ui.train.live.tight_waiting", lambda _: False)
    at.run()
    (follow,) = components(at, "dpviz.follow")
    assert follow["every"] == watch.ONCE
    assert content(fetched(follow["token"]))["page"] == follow["page"], "or the page would run for ever"
