"""A public server over the wire: its pages answer without PyTorch, and nothing of training is there."""

import asyncio
import http.client
import json
import platform
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import streamlit
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.NewSession_pb2 import EnvironmentInfo, UserInfo
from streamlit.util import calc_hash
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection

from dpviz._public import NO_TRAINING, is_public
from dpviz.questions.catalogue import PAGES
from dpviz.runs.engine import engine
from dpviz.runs.store.records import StoreError
from dpviz.ui.public.guard import NOTHING_HERE, TOO_MANY, PublicGuard
from dpviz.ui.public.limits import SOCKETS_OF_ADDRESS, Allowance, Allowances, Sockets, Turn, Turns, visitor
from dpviz.ui.public.messages import LONGEST_MESSAGE
from tests.browser.driver import ROOT
from tests.browser.test_strangers import shake_hands
from tests.public_server import public_server
from tools.attack.crowd import visitor as connected

OPEN = [page.key for page in PAGES if not page.trains]
CLOSED = [*(page.key for page in PAGES if page.trains), "runs"]
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("public")


@pytest.fixture(scope="module")
def url(folder: Path) -> Iterator[str]:
    with public_server(folder, "--name=dp.example") as address:
        yield address
    assert not (folder / "home").exists()  # nobody got to the store
    assert "Traceback" not in (folder / "log").read_text()


def ask(url: str, path: str, method: str = "GET", **headers: str) -> tuple[http.client.HTTPResponse, str]:
    connection = http.client.HTTPConnection("127.0.0.1", urlsplit(url).port or 0, timeout=20)
    connection.putrequest(method, path, skip_host="Host" in headers)
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.endheaders()
    found = connection.getresponse()
    text = found.read().decode("utf-8", "replace")
    connection.close()
    return found, text


def texts(messages: list[ForwardMsg]) -> str:
    return "\n".join(map(str, messages))


def heard(session: ClientConnection, request: BackMsg | None = None) -> list[ForwardMsg]:
    """What the server says until a script has run."""
    if request is not None:
        session.send(request.SerializeToString())
    messages = []
    while not messages or messages[-1].WhichOneof("type") != "script_finished" or messages[-1].script_finished != 0:
        messages.append(ForwardMsg.FromString(session.recv(timeout=60)))
    return messages


def rerun(page: str = "", query: str = "", **more: str) -> BackMsg:
    request = BackMsg()
    request.rerun_script.page_name = page
    request.rerun_script.query_string = query
    for name, value in more.items():
        setattr(request.rerun_script, name, value)
    return request


# --- what is there ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", OPEN)
def test_every_public_page_answers_its_first_chart_without_pytorch(url: str, page: str) -> None:
    assert ask(url, f"/{page}")[0].status == 200
    with connected(url) as session:
        elements = [m.delta.new_element for m in heard(session, rerun(page)) if m.HasField("delta")]
    names = [one.bidi_component.component_name for one in elements if one.HasField("bidi_component")]
    assert "dpviz.chart" in names
    assert not any(one.HasField("exception") for one in elements)


def test_pages_of_training_are_those_that_need_runs() -> None:
    assert CLOSED == ["train", "leakage", "runs"]
    assert len(OPEN) == len(PAGES) - 2


# --- what is not ------------------------------------------------------------------------------------------------------

# Of the full server's routes, with all that Streamlit brings, those that a public one answers to GET and HEAD.
ANSWERED = {
    "/", "/home", "/lecture", *(f"/{page}" for page in OPEN), "/_dpviz/frames/{token}", "/_dpviz/slow/{token}",
    "/_dpviz/{mark}/{name}", "/_stcore/health", "/_stcore/host-config", "/media/{file_id:path}",
}  # fmt: skip
LIST = """
import json, app
built = app.app._build_starlette_app()
print(json.dumps([route.path for route in built.routes]))
"""


@pytest.fixture(scope="module")
def full_routes() -> list[str]:
    command = [sys.executable, "-W", "ignore", "-c", LIST]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    paths: list[str] = json.loads(ran.stdout.splitlines()[-1])
    return paths


def test_every_route_of_the_full_server_is_closed_unless_it_is_named(url: str, full_routes: list[str]) -> None:
    assert {"/train", "/runs", "/_stcore/metrics", "/_stcore/upload_file/{session_id}/{file_id}"} <= set(full_routes)
    assert set(full_routes) >= ANSWERED
    for route in full_routes:
        path = re.sub(r"\{\w+\}", "a", re.sub(r"\{\w+:path\}", "a/b.js", route)) or "/nowhere"
        for method in METHODS:
            status = ask(url, path, method)[0].status
            if route in ANSWERED and method not in ("GET", "HEAD"):
                assert status in (404, 405), (method, path)
            elif route in ANSWERED:
                assert status in (200, 205, 307, 404), (method, path)  # no such token or file
            else:
                assert status == 404, (method, path)


@pytest.mark.parametrize("page", CLOSED)
@pytest.mark.parametrize(
    "written",
    ["/{}", "//{}", "/{}/", "/./{}", "/compose/../{}", "/compose/{}", "/{}?embed=true", "/{}%00", "/static/../{}"],
)
def test_no_way_of_writing_its_path_opens_a_page_of_training(url: str, written: str, page: str) -> None:
    for name in (page, page.title(), f"%{ord(page[0]):x}{page[1:]}"):
        found, text = ask(url, written.format(name))
        assert (found.status, text) == (404, NOTHING_HERE)


@pytest.mark.parametrize("page", CLOSED)
def test_a_message_that_names_a_page_of_training_gets_home(url: str, page: str) -> None:
    for request in (
        rerun(page),
        rerun(page_script_hash=calc_hash(page)),
        rerun(page_script_hash=calc_hash(str(ROOT / "pages" / f"{page}.py"))),
        rerun("compose", page_script_hash=calc_hash(page)),
    ):
        with connected(url) as session:
            messages = heard(session, request)
        names = {one.page_name for m in messages if m.HasField("navigation") for one in m.navigation.app_pages}
        assert names == {"Home", "Lectures", *(one.title for one in PAGES if one.key in OPEN)}
        everything = texts(messages)
        assert "file_uploader" not in everything
        assert "Start training" not in everything


@pytest.mark.parametrize("query", ["source=upload&v=3&expert=1", "source=measured&v=3&expert=1", "lkrun=newest&v=3"])
def test_a_link_to_what_needs_training_is_at_its_default(url: str, query: str) -> None:
    with connected(url) as session:
        everything = texts(heard(session, rerun("compose", query)))
    assert "file_uploader" not in everything
    assert "Traceback" not in everything
    if "source" in query:
        assert "replaced by" in everything
        assert "My own file" not in everything


def test_messages_that_are_none_of_a_visitors_business_are_passed_over(url: str) -> None:
    strange = [BackMsg(load_git_info=True), BackMsg(clear_cache=True), BackMsg(debug_shutdown_runtime=True)]
    strange += [
        BackMsg(set_run_on_save=True),
        BackMsg(debug_disconnect_websocket=True),
        BackMsg(),
        BackMsg(),
        BackMsg(),
    ]
    strange[-2].file_urls_request.file_names.append("a.csv")
    strange[-1].backend_operation_request.install_skills.SetInParent()
    with connected(url) as session:
        for request in strange:
            session.send(request.SerializeToString())
        kinds = {message.WhichOneof("type") for message in heard(session, rerun("attack"))}
    assert kinds.isdisjoint({"git_info_changed", "file_urls_response", "backend_operation_response"})


def test_the_server_says_nothing_of_its_machine(url: str) -> None:
    with connected(url) as session:
        messages = heard(session, rerun("compose"))
    begun = [message.new_session for message in messages if message.HasField("new_session")]
    assert begun
    for one in begun:
        assert (one.initialize.environment_info, one.initialize.user_info) == (EnvironmentInfo(), UserInfo())
    everything = texts(messages)
    for inside in (str(ROOT), sys.prefix, streamlit.__version__, platform.python_version()):
        assert inside not in everything, inside
    for path in ("/", "/nowhere", "/_stcore/health", "/_stcore/host-config"):
        found, text = ask(url, path)
        assert found.getheader("Server") is None
        assert found.getheader("X-Content-Type-Options") == "nosniff"
        assert str(ROOT) not in text


def test_names_that_the_operator_did_not_give_are_refused(url: str) -> None:
    assert ask(url, "/", Host="dp.example")[0].status == 200
    for host in ("evil.example", "dp.example.evil", ""):
        assert ask(url, "/", Host=host)[0].status in (400, 403)
    port = urlsplit(url).port
    for host, origin, status in (
        (f"127.0.0.1:{port}", f"http://127.0.0.1:{port}", 101),
        (f"127.0.0.1:{port}", "http://evil.example", 403),
        (f"evil.example:{port}", f"http://evil.example:{port}", 403),
    ):
        assert shake_hands(url, Host=host, Origin=origin) == status


# --- limits -----------------------------------------------------------------------------------------------------------


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_an_allowance_fills_again_with_time_and_never_holds_more_than_it_may() -> None:
    clock = Clock()
    allowance = Allowance(3, 2.0, clock)
    assert [allowance.spend() for _ in range(5)] == [True, True, True, False, False]
    assert allowance.wait() == 0.5
    clock.now = 0.5
    assert [allowance.spend(), allowance.spend()] == [True, False]
    clock.now = 100.0
    assert [allowance.spend() for _ in range(4)] == [True, True, True, False]


def test_each_visitor_has_an_allowance_and_few_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpviz.ui.public.limits.REMEMBERED", 2)
    several = Allowances(1, 1.0, Clock())
    assert [several.of(name).spend() for name in ("a", "b", "a", "b")] == [True, True, False, False]
    assert [several.of(name).spend() for name in ("c", "b", "a")] == [True, False, True]  # a was forgotten


def test_sessions_at_once_are_counted_for_each_address_and_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpviz.ui.public.limits.SOCKETS", 3)
    monkeypatch.setattr("dpviz.ui.public.limits.SOCKETS_OF_ADDRESS", 2)
    sockets = Sockets()
    for address in ("a", "a"):
        assert not sockets.refusal(address)
        sockets.enter(address)
    assert sockets.refusal("a").startswith("Your network has 2 pages open")
    assert not sockets.refusal("b")
    sockets.enter("b")
    assert sockets.refusal("b").startswith("This server is full: 3 visitors")
    sockets.leave("a")
    assert not sockets.refusal("a")


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("10.0.0.1", "10.0.0.1"), ("::ffff:10.0.0.1", "10.0.0.1"), ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        ("testclient", "testclient"), ("", ""),
    ],
)  # fmt: skip
def test_addresses_of_one_network_of_version_6_are_one_visitor(host: str, name: str) -> None:
    assert visitor(host) == name


def test_one_page_too_many_is_refused_in_words_and_the_others_go_on(url: str) -> None:
    with ExitStack() as stack:
        sessions = [stack.enter_context(connected(url)) for _ in range(SOCKETS_OF_ADDRESS)]
        with pytest.raises(InvalidStatus) as refused, connected(url):
            pass
        assert refused.value.response.status_code == 429
        assert b"Close one" in (refused.value.response.body or b"")
        found, text = ask(url, "/compose")
        assert (found.status, found.getheader("Retry-After")) == (429, "60")
        assert text.startswith(f"Your network has {SOCKETS_OF_ADDRESS} pages open")
        assert ask(url, "/_stcore/health")[0].status == 200
        assert heard(sessions[0], rerun("attack"))


def test_a_message_longer_than_any_page_sends_ends_its_session_alone(url: str) -> None:
    with connected(url) as other, connected(url) as session:
        heard(other, rerun("attack"))
        session.send(rerun("compose", "x" * LONGEST_MESSAGE).SerializeToString())
        with pytest.raises(ConnectionClosed) as closed:
            heard(session)
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1009
        assert heard(other, rerun("attack"))


@pytest.mark.parametrize(("sent", "code"), [("text", 1003), (b"\xff\xff\xff", 1002)])
def test_what_is_no_message_ends_the_session(url: str, sent: str | bytes, code: int) -> None:
    with connected(url) as session:
        session.send(sent)
        with pytest.raises(ConnectionClosed) as closed:
            session.recv(timeout=60)
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == code


Sent = list[dict[str, Any]]


def guarded(inner: ASGIApp) -> PublicGuard:
    return PublicGuard(inner, "", OPEN)


async def through(guard: PublicGuard, path: str, client: str = "10.0.0.1") -> tuple[int, str, dict[str, str]]:
    """Status, text and headers of the answer to a request."""
    sent: Sent = []

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http", "method": "GET", "path": path, "query_string": b"", "headers": [(b"host", b"localhost")],
        "client": (client, 1), "scheme": "http",
    }  # fmt: skip
    await guard(scope, None, send)  # type: ignore[arg-type]
    headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], sent[1]["body"].decode(), headers


def test_requests_above_the_limit_are_told_when_to_come_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpviz.ui.public.guard.PAGES_AND_SOCKETS", (2, 1e-3))
    monkeypatch.setattr("dpviz.ui.public.guard.MADE", (1, 1e-3))
    guard = guarded(PlainTextResponse("inside"))

    async def statuses(path: str, count: int, client: str = "10.0.0.1") -> list[int]:
        return [(await through(guard, path, client))[0] for _ in range(count)]

    async def everything() -> None:
        assert await statuses("/compose", 3) == [200, 200, 429]
        assert await statuses("/compose", 1, "10.0.0.2") == [200]
        assert await statuses("/_dpviz/frames/abc", 2) == [200, 429]
        assert await statuses("/_stcore/health", 5) == [200] * 5
        assert await statuses("/static/js/index.js", 5) == [200] * 5
        status, text, headers = await through(guard, "/orders")
        assert (status, text) == (429, TOO_MANY.format(headers["retry-after"]))
        assert 900 <= int(headers["retry-after"]) <= 1000

    asyncio.run(everything())


class Session:
    """A websocket through a guard whose inside takes messages and finishes a script when it is told to."""

    def __init__(self, guard: PublicGuard, address: str = "10.0.0.1") -> None:
        self.inbox: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.finish = asyncio.Event()
        scope = {
            "type": "websocket", "path": "/_stcore/stream", "query_string": b"", "client": (address, 1),
            "headers": [(b"host", b"localhost"), (b"origin", b"http://localhost")], "session": self,
        }  # fmt: skip
        self.task = asyncio.create_task(guard(scope, self.inbox.get, self.send))

    taken = 0
    status = ForwardMsg.FINISHED_SUCCESSFULLY

    def rerun(self) -> None:
        self.inbox.put_nowait({"type": "websocket.receive", "bytes": rerun("compose").SerializeToString()})

    async def send(self, message: Any) -> None:
        pass

    async def leave(self) -> None:
        self.inbox.put_nowait({"type": "websocket.disconnect"})
        await self.task


async def inside(scope: Any, receive: Any, send: Any) -> None:
    session = scope["session"]
    while (await receive())["type"] == "websocket.receive":
        session.taken += 1
        await session.finish.wait()
        await send({"type": "websocket.send", "bytes": ForwardMsg(script_finished=session.status).SerializeToString()})


async def settled() -> None:
    for _ in range(50):
        await asyncio.sleep(0)


def test_pages_are_run_in_turn_and_a_visitor_who_leaves_gives_the_turn_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpviz.ui.public.guard.TURNS", 1)

    async def everything() -> None:
        guard = guarded(inside)
        first, second, third = (Session(guard) for _ in range(3))
        for one in (first, second, third):
            one.rerun()
            await settled()
        assert [one.taken for one in (first, second, third)] == [1, 0, 0]
        first.finish.set()
        await settled()
        assert [one.taken for one in (first, second, third)] == [1, 1, 0]
        second.task.cancel()  # its connection broke
        await settled()
        assert third.taken == 1
        third.finish.set()
        await first.leave()
        await third.leave()

    asyncio.run(everything())


def test_a_page_that_is_begun_again_keeps_its_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpviz.ui.public.guard.TURNS", 1)

    async def everything() -> None:
        guard = guarded(inside)
        first, second = Session(guard), Session(guard)
        first.status = ForwardMsg.FINISHED_EARLY_FOR_RERUN
        for one in (first, second):
            one.rerun()
            await settled()
        first.finish.set()
        await settled()
        assert not second.taken, "its script runs on"
        first.status = ForwardMsg.FINISHED_SUCCESSFULLY
        first.rerun()
        await settled()
        assert (first.taken, second.taken) == (2, 1)
        second.finish.set()
        await first.leave()
        await second.leave()

    asyncio.run(everything())


def test_one_address_with_many_sessions_makes_its_own_line_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpviz.ui.public.guard.TURNS", 1)

    async def everything() -> None:
        guard = guarded(inside)
        strangers, other = [Session(guard) for _ in range(20)], Session(guard, "10.0.0.2")
        for one in (*strangers, other):
            one.rerun()
            await settled()
        strangers[3].task.cancel()  # who leaves gives its place in line up
        for done in (0, 1):
            assert not other.taken
            strangers[done].finish.set()
            await settled()
        assert other.taken, "after the next one of the other line"
        assert [one.taken for one in strangers[:5]] == [1, 1, 0, 0, 0]
        for one in (*strangers, other):
            one.finish.set()
        await settled()
        assert [one.taken for one in strangers] == [1, 1, 1, 0, *[1] * 16]
        for one in (*strangers[:3], *strangers[4:], other):
            await one.leave()

    asyncio.run(everything())


def test_a_turn_ends_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpviz.ui.public.limits.LONGEST_TURN", 0.01)

    async def everything() -> None:
        turns = Turns(1)
        first, second, third = (Turn(turns, "10.0.0.1") for _ in range(3))
        await first.take()
        await first.take()  # it keeps it
        await second.take()
        second.give()
        first.give()  # it has none any more: there is one turn, not two
        await third.take()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(turns.acquire("10.0.0.2"), 0.0)

    asyncio.run(everything())


def test_messages_of_a_session_that_come_too_quickly_wait_and_none_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpviz.ui.public.guard.MESSAGES", (2, 1.0))
    gate = asyncio.Event()
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)
        await gate.wait()
        monkeypatch.setattr(Allowance, "spend", lambda _: True)

    async def everything() -> None:
        session = Session(guarded(inside))
        session.finish.set()
        for _ in range(4):
            session.rerun()
        with monkeypatch.context() as patched:
            patched.setattr("dpviz.ui.public.guard.asyncio.sleep", sleep)
            for _ in range(50):
                await asyncio.wait([session.task], timeout=0)
            assert (session.taken, len(waits)) == (2, 1)
            assert 0.5 < waits[0] <= 1.0
            gate.set()
            for _ in range(50):
                await asyncio.wait([session.task], timeout=0)
        assert session.taken == 4
        await session.leave()

    asyncio.run(everything())


# --- the switch -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "public"), [("1", True), ("0", False), ("", False)])
def test_the_variable_says_whether_a_server_is_public(text: str, public: bool) -> None:
    assert is_public({"DPVIZ_PUBLIC": text}) is public
    assert not is_public({})


@pytest.mark.parametrize("text", ["yes", "true", " 1", "2"])
def test_a_misspelt_yes_starts_no_server(text: str) -> None:
    with pytest.raises(ValueError, match="DPVIZ_PUBLIC=.* to be 1 for a public server"):
        is_public({"DPVIZ_PUBLIC": text})


def test_the_engine_of_runs_refuses_whoever_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPVIZ_PUBLIC", "1")
    with pytest.raises(StoreError, match=NO_TRAINING.partition(":")[0]):
        engine()
