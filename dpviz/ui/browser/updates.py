"""What goes on changing on a page that many watch: made once for all of them, and fetched without a page run.

A browser asks for it again and again, and hears in a few bytes when it has it already. Sessions that show the same
share one `Updates`, which is gone with the last of them.
"""

import gzip
import hashlib
import secrets
import threading
import time
from collections.abc import Callable, Hashable, Mapping
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

import streamlit as st

from dpviz.questions.frames import as_json
from dpviz.ui.state import Keys

MOST_AGE = 0.1  # seconds after which it is looked at again, however many ask


class Update(NamedTuple):
    """What is to be seen now.

    Attributes:
        mark: Another one for another content, as HTTP's ETag.
        content: JSON, compressed.
    """

    mark: str
    content: bytes

    @classmethod
    def of(cls, shown: Mapping[str, Any]) -> "Update":
        text = as_json(shown)
        return cls(f'"{hashlib.sha256(text).hexdigest()[:16]}"', gzip.compress(text, 1))


class Updates:
    """What changes, as it is now.

    Args:
        look: Says what is to be seen; it does not raise.

    Attributes:
        token: Its name for browsers.
    """

    def __init__(self, look: Callable[[], Update]) -> None:
        self.token = secrets.token_urlsafe(15)
        self._look = look
        self._looking = threading.Lock()
        self._last = Update("", b"")
        self._looked = float("-inf")

    @property
    def recent(self) -> Update | None:
        """What was seen last, if that was just now."""
        return self._last if time.monotonic() - self._looked <= MOST_AGE else None

    def now(self) -> Update:
        """What is to be seen now; while another thread looks, what was seen before."""
        if not self._looking.acquire(blocking=not self._last.mark):
            return self._last
        try:
            if self.recent is None:
                self._last, self._looked = self._look(), time.monotonic()
            return self._last
        finally:
            self._looking.release()


_shared: WeakValueDictionary[Hashable, Updates] = WeakValueDictionary()
_by_token: WeakValueDictionary[str, Updates] = WeakValueDictionary()
_lock = threading.Lock()


def offer(key: Hashable, look: Callable[[], Update]) -> str:
    """The token of what sessions with this key show, which this session keeps until its next one."""
    with _lock:
        updates = _shared.get(key) or Updates(look)
        _shared[key] = _by_token[updates.token] = updates
    st.session_state[Keys.UPDATES] = updates
    return updates.token


def find(token: str) -> Updates | None:
    return _by_token.get(token)
