"""A running checksum of a run's events, which shows if one was removed or changed; no signature, it can be recomputed.

>>> one = {"kind": "step", "step": 1, "mechanisms": [[2.0, 0.1, 1]]}
>>> checksum("", 0, one) == checksum("", 0, one | {"text": "said otherwise"}), checksum("", 1, one)[:4]
(True, '3e18')
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from dpviz.runs.exchange.checks import NotARun
from dpviz.runs.store import jsontext
from dpviz.runs.store.records import Event

KEY = "checksum"
NONE = "Its file has no checksums: whether events were removed or changed is not known."
MATCH = "Its checksums match: no event was removed or changed since it was recorded."

_OF_A_MACHINE = ("data_folder", "start_from")  # settings that an export replaces


def checksum(before: str, seq: int, data: Mapping[str, Any]) -> str:
    """The checksum of event `seq` and all earlier ones, whose checksum is `before` ("" for the first): 32 hex digits.

    It covers the kind, every number, and the words among the settings. Other words may name folders, which exports
    leave out; NaN and infinities are written as words.
    """
    settings = data.get("settings")
    words = settings.items() if isinstance(settings, Mapping) else ()
    covered = [
        seq,
        data["kind"],
        _numbers({name: value for name, value in data.items() if name != KEY}),
        sorted((name, value) for name, value in words if isinstance(value, str) and name not in _OF_A_MACHINE),
    ]
    return hashlib.sha256(f"{before}{json.dumps(covered, sort_keys=True)}".encode()).hexdigest()[:32]


def _numbers(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _numbers(entry) for name, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_numbers(entry) for entry in value]
    return None if isinstance(value, str) else value


def with_checksums(events: Iterable[Event]) -> Iterator[Event]:
    """Events in the order of their attempts, each with its checksum."""
    before, attempt = "", -1
    for event in events:
        before = checksum(before if event.attempt == attempt else "", event.seq, jsontext.strict(event.data))
        attempt = event.attempt
        yield event._replace(data=event.data | {KEY: before})


class ChecksumChain:
    """The checksums of a file's events, held against what they cover, one event after the other.

    An event behind a gap is held against nothing: what came before it is not there.
    """

    def __init__(self) -> None:
        self._last: dict[int, str] = {}  # by attempt
        self._place = (-1, -1)
        self._present: bool | None = None  # known from the first event on

    def take(self, attempt: int, seq: int, data: Mapping[str, Any]) -> None:
        """The next event, as the file has it.

        Raises:
            NotARun: if it was changed, or if one before it was dropped.
        """
        if self._present is None:
            self._present = KEY in data
        follows = (attempt, seq) == (self._place[0], self._place[1] + 1) or (attempt != self._place[0] and seq == 0)
        right = self._present == (KEY in data)
        if right and self._present and follows:
            right = data[KEY] == checksum(self._last.get(attempt, ""), seq, data)
        if not right:
            raise NotARun(
                f"Expected event {seq} of attempt {attempt} as it was recorded, found one that does not match its "
                "checksum: it was changed, or an event before it was removed."
            )
        self._place = attempt, seq
        if self._present:
            self._last[attempt] = str(data[KEY])

    def end(self, attempts: Iterable[Mapping[str, Any]]) -> str:
        """What these checksums say, in words, once all events were taken.

        Raises:
            NotARun: if an attempt ends otherwise than it says.
        """
        for attempt in attempts:
            number, stated = attempt["attempt"], attempt.get(KEY)
            if not self._present and stated:
                raise NotARun("Expected events with checksums, as their attempt has, found none: they were changed.")
            if number in self._last and stated != self._last[number]:
                raise NotARun(
                    f"Expected attempt {number} to end with the event of its checksum, found another end: "
                    "events were removed."
                )
        return MATCH if self._present else NONE
