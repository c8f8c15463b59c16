"""Two barer ways to show a page: `present=1`, for a lecture, and `embed=1`, within another page; and a fuller one:
`expert=1`.

All are said by the link, and stay in it and in the session.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qs, urlencode

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from dpviz.ui.state import Keys

HERE = Path(__file__).parent
OFF = ("", "0", "false")


def read_link() -> None:
    """Once a session: what the link asks for."""
    if Keys.PRESENT in st.session_state:
        return
    text = st.query_params.get("present", "")
    st.session_state[Keys.PRESENT] = "" if text in OFF else text[:200]
    st.session_state[Keys.EMBED] = _asked_to_embed()
    st.session_state[Keys.EXPERT] = "" if st.query_params.get("expert", "") in OFF else "1"


def _asked_to_embed() -> bool:
    """Streamlit keeps the word from its own names for a link's parts, and knows it as "true" alone."""
    context = get_script_run_ctx(suppress_warning=True)
    text = parse_qs(context.query_string if context else "").get("embed", [""])[-1]
    return text.lower() not in OFF or bool(st.context.is_embedded)


def presenting() -> bool:
    return bool(st.session_state.get(Keys.PRESENT))


def embedded() -> bool:
    return bool(st.session_state.get(Keys.EMBED))


def expert() -> bool:
    return bool(st.session_state.get(Keys.EXPERT))


def bare() -> bool:
    return presenting() or embedded()


def style() -> str:
    """What a bare page does not show; and how large a presented one is written."""
    if not bare():
        return ""
    names = ["hidden", "presented"] if presenting() else ["hidden"]
    return f"<style>{''.join((HERE / f'{name}.css').read_text() for name in names)}</style>"


def kept(query: str) -> str:
    """A query string with what the link says of the mode."""
    more = {
        "present": st.session_state.get(Keys.PRESENT, ""),
        "embed": "true" if embedded() else "",
        "expert": "1" if expert() else "",
    }
    return "&".join(filter(None, [query, urlencode({key: text for key, text in more.items() if text})]))
