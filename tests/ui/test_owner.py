"""Who gets in: the owner's account, or a holder of the token; nobody else, however the request is dressed."""

import asyncio
import os
import re
import socket
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest

from dpviz.ui import access, server
from dpviz.ui.access import NOT_THE_OWNER, TOKEN_VARIABLE, Access, Guard, account_of, accounts_are_named
from tests.other_account import by_another, needs_root, other_account

linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux names the account at the other end")
TOKEN = "a-token-of-sixteen"
ME = 1000


@pytest.fixture(
    params=[
        ("127.0.0.1", "127.0.0.1"), ("127.0.0.1", "::ffff:127.0.0.1"), ("::", "127.0.0.1"), ("::", "::1"),
        ("::1", "::1"),
    ]
)  # fmt: skip
def listening(request: pytest.FixtureRequest) -> Iterator[tuple[socket.socket, str, int]]:
    """A socket that listens at the first address, the second, by which it is called, and its port."""
    host, to = request.param
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as server:
        if host == "::":
            server.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        server.bind((host, 0))
        server.listen()
        server.settimeout(60)
        yield server, to, server.getsockname()[1]


@linux
def test_the_account_of_a_connection_until_it_is_closed(listening: tuple[socket.socket, str, int]) -> None:
    """The kernel has a closed one as root's until the last packets have gone."""
    server, to, port = listening
    with socket.create_connection((to, port)) as client, server.accept()[0] as there:
        ends = there.getpeername()[:2], there.getsockname()[:2]
        assert account_of(*ends) == os.geteuid()
        assert account_of(ends[0], (ends[1][0], ends[1][1] ^ 1)) is None
        client.sendall(b"GET / HTTP/1.1\r\n\r\n")
        client.close()
        assert account_of(*ends) is None


@linux
@needs_root
def test_the_account_of_another(listening: tuple[socket.socket, str, int]) -> None:
    server, to, port = listening
    with ThreadPoolExecutor(1) as pool:
        calling = pool.submit(by_another, "socket.create_connection((sys.argv[1], sys.argv[2])).recv(1)", to, port)
        with server.accept()[0] as there:
            account = account_of(there.getpeername()[:2], there.getsockname()[:2])
        calling.result()
    assert account == other_account()


def test_a_kernel_that_cannot_be_asked_names_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr("dpviz.ui.access.socket.socket", refuse)
    assert account_of(("127.0.0.1", 8533), ("127.0.0.1", 8501)) is None


def test_one_number_is_one_account_outside_of_user_namespaces_alone(tmp_path: Path) -> None:
    assert not accounts_are_named(tmp_path / "uid_map")
    for ids, named in (("0 0 4294967295", True), ("0 1000 1", False), ("0 100000 65536", False)):
        (tmp_path / "uid_map").write_text(f"         {ids}\n")
        assert accounts_are_named(tmp_path / "uid_map") is named


def ask(
    owner: Access,
    account: int | None = 2000,
    *,
    framed_by: str = "",
    path: str = "/compose",
    query: str = "",
    **scope: Any,
) -> SimpleNamespace:
    """Status, headers and text of the answer; `inner` if the app itself gave it. `account`: who asks."""
    answered = SimpleNamespace(inner=False, status=0, headers={}, text="")

    async def app(scope: Any, receive: Any, send: Any) -> None:
        answered.inner = True
        kind = "http.response.start" if scope["type"] == "http" else "websocket.accept"
        await send({"type": kind, "status": 200, "headers": []})

    async def receive() -> Any:
        return {"type": "http.request"}

    async def send(message: Any) -> None:
        answered.status = message.get("status", answered.status)
        answered.headers |= {name.decode(): value.decode() for name, value in message.get("headers", [])}
        answered.text += message.get("body", b"").decode() + message.get("reason", "")

    headers = {"host": "localhost:8501", "origin": "http://localhost:8501", **scope.pop("headers", {})}
    whole = {
        "type": "http", "method": "GET", "scheme": "http", "path": path, "query_string": query.encode(),
        "client": ("127.0.0.1", 50000), "server": ("127.0.0.1", 8501),
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()], **scope,
    }  # fmt: skip
    with patch.object(access, "account_of", lambda *_: account):
        asyncio.run(Guard(app, owner, framed_by)(whole, receive, send))
    return answered


MINE = Access(TOKEN, False, ME)
ANYWHERE = Access(TOKEN, False, None)
COOKIE = {"cookie": f"other=1; dpviz-8501={MINE._cookie_value()}"}
PROXIED = [
    {name: value}
    for name, value in (
        ("X-Forwarded-For", "127.0.0.1"), ("x-forwarded-proto", "https"), ("forwarded", "for=::1"), ("via", "1.1 x"),
        ("x-real-ip", "127.0.0.1"), ("x-forwarded-host", "localhost"), ("x-forwarded-for", ""),
    )
]  # fmt: skip


@pytest.mark.parametrize("kind", ["http", "websocket"])
@pytest.mark.parametrize(
    ("owner", "account", "how", "welcome"),
    [
        (MINE, ME, {}, True),
        (MINE, ME, {"client": ("::ffff:127.0.0.1", 50000)}, True),
        (MINE, 0, {}, False),  # root has ways of its own, and its proxies serve everybody
        (MINE, 2000, {}, False),
        (MINE, None, {}, False),
        (MINE, ME, {"client": None}, False),
        (MINE, ME, {"client": ("192.168.1.7", 50000)}, False),
        (MINE, ME, {"server": ("192.168.1.7", 8501)}, False),
        (MINE, ME, {"client": ("testclient", 50000)}, False),
        (ANYWHERE, ME, {}, False),
        (Access(TOKEN, True, None), ME, {}, False),
        *((MINE, ME, {"headers": headers}, False) for headers in PROXIED),
        *((one, 2000, {"headers": COOKIE}, True) for one in (MINE, ANYWHERE)),
        *((ANYWHERE, None, {"headers": COOKIE | headers}, True) for headers in PROXIED),
        (MINE, 2000, {"headers": {"cookie": COOKIE["cookie"][:-1]}}, False),
        (MINE, 2000, {"headers": {"cookie": "dpviz-8501="}}, False),
        (MINE, 2000, {"headers": {"cookie": f"dpviz-8501={TOKEN}"}}, False),
        (MINE, 2000, {"headers": {"cookie": COOKIE["cookie"].replace("8501", "8502")}}, False),
        (MINE, 2000, {"headers": COOKIE, "server": ("127.0.0.1", 8502)}, False),
    ],
)
def test_who_gets_in(owner: Access, account: int | None, how: dict[str, Any], welcome: bool, kind: str) -> None:
    answered = ask(owner, account, type=kind, **how)
    assert answered.inner is welcome
    if not welcome and kind == "http":
        assert (answered.status, answered.text) == (403, NOT_THE_OWNER)


def test_a_name_of_another_machine_is_a_proxys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpviz.ui.access.config.get_option", lambda name: ["*"] if "Hosts" in name else [])
    named = {"host": "app.example.com", "origin": "https://app.example.com"}
    assert not ask(MINE, ME, headers=named).inner
    assert ask(MINE, ME, headers=named | COOKIE).inner
    assert ask(MINE, ME).inner


SITE = {"framed_by": "https://a.example"}


@pytest.mark.parametrize(
    ("path", "query", "how", "location", "end"),
    [
        ("/", f"token={TOKEN}", {}, "./", "SameSite=Lax"),
        ("/compose", f"sigma=3&token={TOKEN}&pin=a%26b", {}, "./compose?sigma=3&pin=a%26b", "SameSite=Lax"),
        ("//evil.example", f"token={TOKEN}", {}, "./evil.example", "SameSite=Lax"),
        ("/a:b", f"token=wrong&token={TOKEN}", {}, "./a%3Ab", "SameSite=Lax"),
        ("/", f"token={TOKEN}", SITE, "./", "SameSite=Lax"),  # frames get it over TLS alone
        ("/", f"token={TOKEN}", {"scheme": "https"}, "./", "SameSite=Lax; Secure"),
        ("/", f"token={TOKEN}", {"scheme": "https"} | SITE, "./", "SameSite=None; Partitioned; Secure"),
    ],
)
def test_a_token_moves_from_the_address_into_a_cookie(
    path: str, query: str, how: dict[str, Any], location: str, end: str
) -> None:
    answered = ask(MINE, path=path, query=query, **how)
    assert (answered.status, answered.headers["location"], answered.inner) == (303, location, False)
    cookie = COOKIE["cookie"].removeprefix("other=1; ")
    assert answered.headers["set-cookie"] == f"{cookie}; Path=/; HttpOnly; {end}"
    assert TOKEN not in str(answered)
    assert answered.headers["referrer-policy"] == "same-origin"


@pytest.mark.parametrize("query", ["token=", "token", f"token={TOKEN[:-1]}", f"token={TOKEN}x", f"Token={TOKEN}"])
def test_another_token_is_refused(query: str) -> None:
    answered = ask(MINE, query=query)
    assert answered.status == 403
    assert "set-cookie" not in answered.headers


@pytest.mark.parametrize("token", [TOKEN, "wrong"])
def test_the_owners_account_gets_no_cookie(token: str) -> None:
    """Browsers would send it to every port of this machine."""
    headers = ask(MINE, ME, query=f"token={token}&q=0.1").headers
    assert headers["location"] == "./compose?q=0.1"
    assert "set-cookie" not in headers


def test_tokens_that_can_be_guessed_are_refused() -> None:
    for wrong in ("", "short", "fifteen-letters", "sixteen letters;", "ä" * 20, f"{TOKEN}\n"):
        with pytest.raises(ValueError, match=rf"Expected {TOKEN_VARIABLE} to be 16") as problem:
            Access.of({TOKEN_VARIABLE: wrong})
        assert not wrong or wrong not in str(problem.value)
    assert Access.of({TOKEN_VARIABLE: TOKEN}) == Access(TOKEN, True, None)
    new = Access.of({})
    assert len(new.token) >= 32
    assert new.token != Access.of({}).token
    assert new.account == (os.geteuid() if accounts_are_named() else None)


def test_a_token_stands_in_no_log_that_does_not_need_it() -> None:
    address = "http://localhost:8501/"
    for owner, local, terminal, shown in (
        (MINE, True, True, True), (MINE, True, False, False), (MINE, False, False, True), (ANYWHERE, True, False, True),
        (Access(TOKEN, True, None), True, True, False), (Access(TOKEN, True, None), False, False, False),
    ):  # fmt: skip
        line = server.announcement(owner, address, local=local, terminal=terminal)
        assert (f"{address}?token={TOKEN}" in line) is shown
        assert (TOKEN in line) is shown
        assert address in line


def test_a_browser_is_opened_without_a_token_on_its_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DPVIZ_HOME", str(tmp_path))
    opened: list[str] = []
    monkeypatch.setattr(server.webbrowser, "open", opened.append)

    async def start(owner: Access) -> None:
        with server.browser_opened(owner, "http://localhost:8501/"):
            await asyncio.sleep(0)
            if opened[-1].startswith("file:"):
                file = Path(opened[-1].removeprefix("file://"))
                assert re.search(f'url=http://localhost:8501/\\?token={TOKEN}"', file.read_text())
                assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)

    asyncio.run(start(MINE))
    asyncio.run(start(ANYWHERE))
    assert opened[0] == "http://localhost:8501/"
    assert opened[1].startswith("file:")
    assert TOKEN not in str(opened)
    assert not list((tmp_path / "logs").iterdir())


def test_no_answer_waits_for_the_acknowledgement_of_the_one_before() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        server.send_at_once(port)
        with socket.create_connection(("127.0.0.1", port)), listening.accept()[0] as accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
