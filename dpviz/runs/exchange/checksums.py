"""A running checksum of a run's events, which shows if one was removed or changed; no signature, it can be recomputed.

>>> one = {"kind": "step", "step": 1, "mechanisms": [[2.0, 0.1, 1]]}
>>> checksum("", 0, one) == checksum("", 0, one | {"text": "said otherwise"}), checksum("", 1, one)[:4]
(True, '3e18')
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
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


def with_checksums(events: Iterable[Event]) -> list[Event]:
    """Events in the order of their attempts, each with its checksum."""
    chained: list[Event] = []
    for event in events:
        first = not chained or chained[-1].attempt != event.attempt
        before = "" if first else chained[-1].data[KEY]
        own = checksum(before, event.seq, jsontext.strict(event.data))
        chained.append(event._replace(data=event.data | {KEY: own}))
    return chained


def verified(attempts: Sequence[Mapping[str, Any]], events: Sequence[Mapping[str, Any]]) -> str:
    """The result of checking an exported run's checksums, in words; the events are those of the file.

    An event behind a gap is held against nothing: what came before it is not there.

    Raises:
        NotARun: naming the first event that was changed, or before which one was dropped.
    """
    if not any(KEY in event["data"] for event in events):
        if any(attempt.get(KEY) for attempt in attempts):
            raise NotARun("Expected events with checksums, as their attempt has one, found none: they were changed.")
        return NONE
    last: dict[int, str] = {}
    place: dict[int, int] = {}
    for event in sorted(events, key=lambda event: (event["attempt"], event["seq"])):
        attempt, seq, data = event["attempt"], event["seq"], event["data"]
        if seq == place.get(attempt, -1) + 1 and data.get(KEY) != checksum(last.get(attempt, ""), seq, data):
            raise NotARun(
                f"Expected event {seq} of attempt {attempt} as it was recorded, found one that does not match its "
                "checksum: it was changed, or an event before it was removed."
            )
        last[attempt], place[attempt] = str(data.get(KEY)), seq
    for attempt in attempts:
        if attempt["attempt"] in last and attempt.get(KEY) != last[attempt["attempt"]]:
            raise NotARun(
                f"Expected attempt {attempt['attempt']} to end with the event of its checksum, found another end: "
                "events were removed."
            )
    return MATCH
