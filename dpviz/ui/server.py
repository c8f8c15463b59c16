"""What the app's server is made of beside Streamlit: the guard, how it begins and how it ends."""

from __future__ import annotations

import asyncio
import os
import sys
import webbrowser
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from starlette.middleware import Middleware
from streamlit import config
from streamlit.runtime.pages_manager import PagesManager

from dpviz.runs.engine import shutdown_shared
from dpviz.runs.memory import keep_little
from dpviz.ui import departed
from dpviz.ui.guard import FRAMED_BY, Guard, framing


def guarded() -> tuple[Middleware, ...]:
    """Before every request; a start with a wrong `DPVIZ_FRAMED_BY` ends here, with what is wrong in one line."""
    try:
        return (Middleware(Guard, framed=framing(os.environ.get(FRAMED_BY, ""))),)
    except ValueError as problem:
        sys.exit(str(problem))


def own_address() -> str:
    """Where a browser on this machine finds the server."""
    name = config.get_option("browser.serverAddress") if config.is_manually_set("browser.serverAddress") else ""
    path = str(config.get_option("server.baseUrlPath") or "").strip("/")
    return f"http://{name or 'localhost'}:{config.get_option('server.port')}/{path}"


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
    if not config.get_option("server.headless"):
        asyncio.get_running_loop().call_soon(webbrowser.open, own_address())
    watching = asyncio.create_task(departed.watch())
    yield
    watching.cancel()
    await asyncio.to_thread(shutdown_shared)
