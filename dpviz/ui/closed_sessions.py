"""Sessions whose visitor left: ended after a while with all they hold, and their memory given back.

Streamlit keeps the session of a lost connection for two minutes, then until somebody else leaves; Python frees what is
in cycles at some time, and the C library keeps what was freed. An upload of 200 MB is not to wait for all of them.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import Any

from streamlit.runtime import get_instance
from streamlit.runtime.scriptrunner import get_script_run_ctx

from dpviz.runs.cluster.memory import give_back

AWAY = 60.0  # seconds in which a lost connection finds its session again; Streamlit itself would wait for 120
EVERY = 10.0

_met: dict[str, float | None] = {}  # session → when it was first found without a visitor


def met() -> None:
    """A page is drawn for the present session."""
    context = get_script_run_ctx(suppress_warning=True)
    if context is not None:
        _met[context.session_id] = None


def end(sessions: Any, now: float) -> int:
    """End the sessions whose visitor has been away for `AWAY` seconds at `now`; how many they were.

    `sessions` is Streamlit's runtime.
    """
    ended = 0
    for session, since in list(_met.items()):
        if sessions.is_active_session(session):
            _met[session] = None
        elif since is None:
            _met[session] = now
        elif now - since >= AWAY:
            held = _held_by(sessions, session)
            sessions.close_session(session)
            if held is not None:
                held.clear()
            del _met[session]
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
