"""Which requests a public server answers: those that are named here, and no others.

Streamlit answers every unknown path with its page, takes files, tells metrics and its settings, and serves programs;
another version may bring more. All of that is closed, because it is not named.
"""

import re
from collections.abc import Iterable
from enum import Enum

from starlette.types import Scope


class Door(Enum):
    """What a request is for, as far as limits differ."""

    PAGE = "page"
    STREAM = "stream"  # the websocket of a session
    MADE = "made"  # frames and slow parts, computed for a session
    FILE = "file"  # scripts and downloads, which are there
    HEALTH = "health"
    SETTINGS = "settings"  # of Streamlit's page, without which it does not connect


METHODS = ("GET", "HEAD")
_TOKEN = r"[A-Za-z0-9_-]{1,64}"
_OURS = {
    re.compile(rf"_dpviz/(frames|slow)/{_TOKEN}"): Door.MADE,
    re.compile(r"_dpviz/[0-9a-f]{1,64}/[a-z.]{1,32}"): Door.FILE,
}
_STREAMLITS = {
    re.compile(r"_stcore/health"): Door.HEALTH,
    re.compile(r"_stcore/host-config"): Door.SETTINGS,
    re.compile(r"_stcore/stream"): Door.STREAM,
    re.compile(r"static(/[A-Za-z0-9_-][A-Za-z0-9_.-]*)+|favicon\.png|manifest\.json"): Door.FILE,
    re.compile(r"media/[0-9a-f]{1,128}\.[A-Za-z0-9]{1,16}"): Door.FILE,
}


class Doors:
    """The requests that are answered.

    Args:
        root: the path below which the app lies: "" or "/base".
        pages: the addresses of its pages.
    """

    def __init__(self, root: str, pages: Iterable[str]) -> None:
        self._root = f"{root}/"
        names = "|".join(map(re.escape, ("home", *pages)))
        self._doors = {re.compile(f"({names})?"): Door.PAGE, **_OURS, **_STREAMLITS}

    def of(self, scope: Scope) -> Door | None:
        """The door of a request; None where there is none. A path counts letter by letter, as the server decoded it."""
        path: str = scope["path"]
        if not path.startswith(self._root):
            return None
        inside = path.removeprefix(self._root)
        door = next((door for pattern, door in self._doors.items() if pattern.fullmatch(inside)), None)
        return door if (door is Door.STREAM) == (scope["type"] == "websocket") else None
