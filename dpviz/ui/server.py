"""The app's server around Streamlit: access guard, start and end, and the sessions of visitors who left."""

import asyncio
import errno
import os
import socket
import sys
import time
import webbrowser
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from functools import cache
from typing import Any

import psutil
from starlette.middleware import Middleware
from streamlit import config
from streamlit.runtime import get_instance
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.scriptrunner import get_script_run_ctx

from dpviz.runs.cluster.memory import give_back, keep_little
from dpviz.runs.engine import shutdown_shared
from dpviz.runs.store.folders import home, private_file, private_folder
from dpviz.ui.access import FRAMED_BY, TOKEN_VARIABLE, Access, Guard, framing, on_loopback
from dpviz.ui.browser import warmup
from dpviz.ui.browser.pool import pool
from dpviz.ui.browser.routes import root
from dpviz.ui.offered import PUBLIC
from dpviz.ui.public.guard import PublicGuard


@cache
def owner() -> Access:
    """Whose this process's server is; its token lasts as long as the process."""
    return Access.of(os.environ)


def guarded(pages: Iterable[str]) -> tuple[Middleware, ...]:
    """Before every request; a start with a wrong setting ends here, with what is wrong in one line.

    Args:
        pages: the addresses of the server's pages.
    """
    framed_by = os.environ.get(FRAMED_BY, "")
    try:
        framing(framed_by)
        if PUBLIC:
            return (Middleware(PublicGuard, root=root().removesuffix("/_dpviz"), pages=pages, framed_by=framed_by),)
        return (Middleware(Guard, owner=owner(), framed_by=framed_by),)
    except ValueError as problem:
        sys.exit(str(problem))


def own_address() -> str:
    """Where a browser on this machine finds the server, without a token."""
    name = config.get_option("browser.serverAddress") if config.is_manually_set("browser.serverAddress") else ""
    path = str(config.get_option("server.baseUrlPath") or "").strip("/")
    scheme = "https" if config.get_option("server.sslCertFile") else "http"
    return f"{scheme}://{name or 'localhost'}:{config.get_option('server.port')}/{path}"


def public_announcement(address: str) -> str:
    """The same of a public server."""
    return f"dpviz: open {address} (a public server: everybody who reaches it may use it, and it trains nothing)."


def announcement(owner: Access, address: str, *, local: bool, terminal: bool) -> str:
    """What the console says at the start.

    Args:
        local: Whether the server listens on this machine only.
        terminal: Whether a person reads it. A log may be open to others: a token stands there only where it is needed.
    """
    if owner.chosen:
        return f"dpviz: open {address}?token= with your {TOKEN_VARIABLE} behind it."
    by_token = f"{address}?token={owner.token}"
    if owner.account is None or not local:
        return f"dpviz: open {by_token} (anyone with this address can use the app as you)."
    elsewhere = f" Through a proxy or from a container: {by_token}" if terminal else ""
    return f"dpviz: open {address} (other accounts of this machine are refused).{elsewhere}"


@contextmanager
def no_other_localhost(port: int) -> Iterator[None]:
    """Keep [::1] at the same port from other programs: browsers try it first when they are told "localhost".

    The page of another account would be there what ours is, and could then talk to ours.
    """
    with socket.socket(socket.AF_INET6) as reserved:
        try:
            reserved.bind(("::1", port))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                print(f"dpviz: another program has [::1]:{port}. Write 127.0.0.1 in place of localhost.", flush=True)
        yield


def send_at_once(port: int) -> None:
    """Let no answer wait for the acknowledgement of the one before (TCP_NODELAY): from afar each would cost one round
    trip more.

    Connections take it over from the socket that listens, which Streamlit opens without it; asyncio sets it only where
    a socket names its protocol, as this one does not.
    """
    for one in psutil.Process().net_connections("tcp"):
        if one.fd >= 0 and one.status == psutil.CONN_LISTEN and one.laddr.port == port:
            with socket.socket(fileno=os.dup(one.fd)) as listening:
                listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


@contextmanager
def browser_opened(owner: Access | None, address: str) -> Iterator[None]:
    """Open a browser. A token travels in a file that only the owner may read: command lines are seen by everybody.

    Args:
        owner: None where everybody gets in.
    """
    file = home() / "logs" / f"open-{config.get_option('server.port')}.html"
    if owner is not None and owner.account is None:
        private_folder(file.parent)
        private_file(file)
        file.write_text(f'<meta http-equiv="refresh" content="0; url={address}?token={owner.token}">', encoding="utf-8")
        address = file.absolute().as_uri()
    asyncio.get_running_loop().call_soon(webbrowser.open, address)
    try:
        yield
    finally:
        file.unlink(missing_ok=True)


@asynccontextmanager
async def lifetime(_app: Any) -> AsyncIterator[None]:
    """At the beginning a browser, unless it is headless; sessions of who left end; at the end runs stop in order.

    Streamlit opens browsers only for scripts without a server of their own, and a server that was ended by a signal
    ends by that signal: nothing that waits for the interpreter's end would be called.

    Streamlit takes a folder named pages/ for its own, older page system until st.navigation has run once: the first
    visitor of a page's own address would get the page without the app around it, or be told that there is none.
    """
    PagesManager.uses_pages_directory = False
    keep_little()
    address, port = own_address(), int(config.get_option("server.port"))
    local = on_loopback(str(config.get_option("server.address") or ""))
    if PUBLIC:
        config.set_option("client.showErrorDetails", "none")
        print(public_announcement(address), flush=True)
    else:
        print(announcement(owner(), address, local=local, terminal=sys.stdout.isatty()), flush=True)
    send_at_once(port)
    with ExitStack() as at_the_end:
        if local:
            at_the_end.enter_context(no_other_localhost(port))
        if not config.get_option("server.headless"):
            at_the_end.enter_context(browser_opened(None if PUBLIC else owner(), address))
        pool.begin()
        at_the_end.callback(pool.end)
        beside = [asyncio.create_task(watch()), asyncio.create_task(warmup.warm_up())]
        yield
        for task in beside:
            task.cancel()
        await asyncio.to_thread(shutdown_shared)


# --- sessions whose visitor left --------------------------------------------------------------------------------------

# They end after a while with all they hold, and their memory is given back. Streamlit keeps the session of a lost
# connection for two minutes, then until somebody else leaves; Python frees what is in cycles at some time, and the C
# library keeps what was freed. An upload of 200 MB is not to wait for all of them.

AWAY = 60.0  # seconds in which a lost connection finds its session again; Streamlit itself would wait for 120
EVERY = 10.0

_visited: dict[str, float | None] = {}  # session → when it was first found without a visitor


def visited() -> None:
    """A page is drawn for the present session."""
    warmup.make_way()
    context = get_script_run_ctx(suppress_warning=True)
    if context is not None:
        _visited[context.session_id] = None


def end(sessions: Any, now: float) -> int:
    """End the sessions whose visitor has been away for `AWAY` seconds at `now`; how many they were.

    `sessions` is Streamlit's runtime.
    """
    ended = 0
    for session, since in list(_visited.items()):
        if sessions.is_active_session(session):
            _visited[session] = None
        elif since is None:
            _visited[session] = now
        elif now - since >= AWAY:
            held = _held_by(sessions, session)
            sessions.close_session(session)
            if held is not None:
                held.clear()
            del _visited[session]
            ended += 1
    return ended


def _held_by(sessions: Any, session: str) -> Any:
    """What a session holds, to be let go of with it: Streamlit's loop keeps the last session that left until another
    comes, by private names that a later version may not have."""
    with suppress(AttributeError):
        info = sessions._session_mgr.get_session_info(session)
        return None if info is None else info.session.session_state
    return None


async def watch() -> None:
    """Look every `EVERY` seconds, in the server's loop, where sessions live; memory is given back in a thread."""
    while True:
        await asyncio.sleep(EVERY)
        if end(get_instance(), time.monotonic()):
            await asyncio.to_thread(give_back)
