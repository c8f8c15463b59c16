"""The error boundary of a page: a failure is told in words with a way on, and the rest of the state is kept.

A visitor can go back to the last state that the page was drawn with, reset the page's own fields, or copy what to
report; the server's console gets the traceback.
"""

import logging
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import streamlit as st

from dpviz.fields import AnyField
from dpviz.ui import offered, state
from dpviz.ui.state import Keys

_log = logging.getLogger(__name__)
_LONGEST = 300  # characters of an error's own words
_OURS = Path(__file__).parents[2]


class Boundary:
    """Holds the parts of one page in one run of it; `fields` are those that the page is reset by."""

    def __init__(self, page: str, fields: tuple[AnyField, ...]) -> None:
        self.page = page
        self.fields = fields
        self.failed = False

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Draw the part `name` of the page inside: what it raises is said where it would have stood.

        Streamlit's own signals (stop, rerun, switch page) are no `Exception` and pass.
        """
        if st.session_state.pop(Keys.AGAIN, False):
            st.rerun()  # a way on was taken, perhaps within a fragment: the whole page follows it
        try:
            yield
        except Exception as error:
            self.failed = True
            log(self.page, error)
            self._say(name, error)

    def worked(self) -> None:
        """The page is drawn: if no part of it failed, this is a state to come back to."""
        if not self.failed:
            st.session_state[Keys.worked(self.page)] = state.texts(self.fields)

    def _say(self, part: str, error: Exception) -> None:
        good: dict[str, str] | None = st.session_state.get(Keys.worked(self.page))
        now = state.texts(self.fields)
        ways = []
        if good is not None and good != now:
            ways.append(("Back to the last state that worked", good, ":material/undo:"))
        if now and good != {}:
            ways.append(("Reset this page", {}, ":material/restart_alt:"))
        what = "This page" if part == "page" else f"This page's {part}"
        hint = "Move a control, or choose:" if ways else "Open another page, or load this one again."
        st.html(
            f'<div class="dpviz-problem" role="alert">{what} could not be drawn because of an error. '
            f"Your settings, pins and runs have not changed. {hint}</div>"
        )
        with st.container(horizontal=True):
            for name, texts, icon in ways:
                key = f"{self.page}.{part}.{name}"
                st.button(name, key=key, on_click=self._go, args=(texts,), icon=icon)
        _to_report(self.page, part, error, state.query(self.fields))

    def _go(self, texts: dict[str, str]) -> None:
        state.assign(self.fields, texts)
        st.session_state[Keys.AGAIN] = True


def uncaught(error: Exception) -> bool:
    """What no boundary holds, a control's callback for one, is said in words too: Streamlit then shows no traceback."""
    log("of an action", error)
    st.html(
        '<div class="dpviz-problem" role="alert">Your last action failed because of an error. '
        "Your settings are in this page’s address, and pins and runs have not changed: load the page again.</div>"
    )
    _to_report("", "action", error, "")
    return True


def _to_report(page: str, part: str, error: Exception, query: str) -> None:
    """What broke and where, to be copied; strangers hear nothing of a public server's inside."""
    if not offered.PUBLIC:
        with st.expander("What to report"):
            st.code(report(page, part, error, query), language=None, wrap_lines=True)


def report(page: str, part: str, error: BaseException, query: str) -> str:
    """What a visitor can copy: the page, its link, what broke and where."""
    where = [
        f"  {Path(frame.filename).relative_to(_OURS)}, line {frame.lineno}, in {frame.name}"
        for frame in traceback.extract_tb(error.__traceback__)
        if Path(frame.filename).is_relative_to(_OURS / "dpviz")
    ]
    return "\n".join([f"dpviz, page {page}, {part}", f"?{query}", _named(error), *where])


def log(page: str, error: BaseException) -> None:
    """The traceback on the server's console. Its own lines are code; an error's words, which may quote a link or a
    file, are escaped and cut short, so that nobody can write lines of his own there."""
    lines = [f"Page {page} failed:"]
    seen: list[BaseException] = []
    following: BaseException | None = error
    while following is not None and following not in seen:
        seen.append(following)
        following = following.__cause__ or following.__context__
    for one in reversed(seen):
        lines += [*(line.rstrip("\n") for line in traceback.format_tb(one.__traceback__)), _named(one)]
    _log.error("%s", "\n".join(lines))


def _named(error: BaseException) -> str:
    return f"{type(error).__name__}: {str(error)[:_LONGEST]!a}"
