"""What leaves this machine with a run: no path and no process of it.

>>> without_paths('File "/home/jane/dpviz/training/loop.py", line 3: no /tmp/a b/c.pt')
'File "…/loop.py", line 3: no …/a b/c.pt'
"""

from __future__ import annotations

import re
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from dpviz.runs.store import jsontext
from dpviz.runs.views import RunView

A_FILE = "a file"  # stands for the parameters that a run started from: that there were some is part of its claim
# Folders, then the name that stays: it says what went wrong, and where it lay says who works where.
_QUOTED = re.compile(r"""(["'])(?:[A-Za-z]:)?[\\/](?:[^"'\n]*[\\/])?([^"'\\/\n]*)\1""")
_BARE = re.compile(r"(?<![\w.:/\\<])…?(?:[A-Za-z]:[\\/]|[\\/]|\\\\)(?:[^\s\"'\\/:<>]+[\\/])+([^\s\"'\\/:<>]*)")


def without_paths(text: str) -> str:
    """The text with every absolute path cut down to its last name.

    A folder with a space in its name is known as one between quotes, or below the usual places, only.
    """
    for place in _known_places():
        text = text.replace(place, "…")
    return _BARE.sub(r"…/\1", _QUOTED.sub(r"\1…/\2\1", text))


def _known_places() -> list[str]:
    """Folders whose names hold spaces perhaps; the longest first."""
    places = {str(Path.home()), str(Path.cwd()), sys.prefix, sys.base_prefix, tempfile.gettempdir()}
    return sorted((place for place in places if len(place) > 3), key=len, reverse=True)


def shared(value: Any) -> Any:
    """A JSON value with `without_paths` in every text."""
    if isinstance(value, str):
        return without_paths(value)
    if isinstance(value, dict):
        return {key: shared(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [shared(entry) for entry in value] if not _numbers(value) else list(value)
    return value


def _numbers(value: Any) -> bool:
    """Whether the list begins with a number: a column of them, which needs no look at each."""
    return bool(value) and isinstance(value[0], (int, float)) and not any(isinstance(v, str) for v in value)


def shared_settings(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings without the folders and files of this machine."""
    hidden = {"data_folder": None, "start_from": A_FILE}
    public: dict[str, Any] = shared(settings)
    return public | {name: word for name, word in hidden.items() if public.get(name) is not None}


def shared_event(data: dict[str, Any]) -> dict[str, Any]:
    """An event, or a summary, likewise."""
    public: dict[str, Any] = shared(data)
    if isinstance(public.get("settings"), dict):
        public["settings"] = shared_settings(data["settings"])
    return public | ({"weights": None} if "weights" in public else {})


def shared_view(view: RunView) -> RunView:
    """A run's texts and settings likewise; its numbers tell of no machine."""
    record = view.record
    return replace(
        view,
        record=replace(record, settings=shared_settings(record.settings), reason=without_paths(record.reason)),
        started=shared_event(view.started),
        notes=tuple((step, without_paths(text)) for step, text in view.notes),
        final=shared_event(view.final),
    )


def cut(text: str, most: int) -> str:
    """At most `most` characters, so that what is exported can be imported."""
    return text if len(text) <= most and text not in jsontext.WORDS else f"{text[: most - 1]}…"
