"""Blocks of events: what is one number a step as columns of 64-bit numbers, the rest as JSON, all of it compressed.

>>> event = Event(1, 0, "step", 2, 0.5, {"first": 1, "count": 2, "loss": [0.1, None], "mechanisms": [[2.0, 0.1, 2]]})
>>> unpacked(packed([event]), 1) == [event]
True
"""

import zlib
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from dpviz.runs.store import jsontext
from dpviz.runs.store.records import Event

# Events, and steps, that make one block.
FULL = 1024

_LENGTH = 8  # bytes that say how long the JSON is
Column = np.ndarray[Any, np.dtype[Any]]


def pack(rest: Any, columns: Mapping[str, Column]) -> bytes:
    """A JSON value and named columns, of 64-bit numbers or bytes, as compressed bytes.

    The JSON comes first, after its length. Of each column the first bytes of all numbers stand together, then the
    second ones: neighbours are alike in sign and size, which compresses better.
    """
    kinds = {name: (column.dtype.str.replace(">", "<"), column.size) for name, column in columns.items()}
    head = jsontext.write([rest, kinds]).encode()
    little = [column.astype(column.dtype.newbyteorder("<"), copy=False) for column in columns.values()]
    planes = [np.ascontiguousarray(column).view(np.uint8).reshape(column.size, -1).T.tobytes() for column in little]
    return zlib.compress(b"".join([len(head).to_bytes(_LENGTH, "little"), head, *planes]), 1)


def unpack(packed: bytes) -> tuple[Any, dict[str, Column]]:
    """From `pack`; the columns are read-only.

    Raises:
        ValueError: for bytes that it did not write, or that were changed since.
    """
    try:
        data = zlib.decompress(packed)
    except zlib.error as error:
        raise ValueError(f"a block that cannot be read ({error})") from None
    at = _LENGTH + int.from_bytes(data[:_LENGTH], "little")
    rest, kinds = jsontext.read(data[_LENGTH:at].decode())
    columns = {}
    for name, (kind, size) in kinds.items():
        width = np.dtype(kind).itemsize
        planes = np.frombuffer(data, np.uint8, size * width, at).reshape(width, size)
        column = np.ascontiguousarray(planes.T).reshape(-1).view(kind)
        columns[name] = column.astype(column.dtype.newbyteorder("="), copy=False)
        columns[name].flags.writeable = False
        at += size * width
    return rest, columns


def packed(events: Sequence[Event]) -> bytes:
    """Events of one attempt as bytes, from which `unpacked` makes exactly the same ones."""
    stretches = [event.data for event in events if _is_stretch(event)]
    columns: dict[str, Column] = {}
    moved = set()
    for path in _paths(stretches):
        name = ".".join(path)
        if (column := _column([_at(data, path) for data in stretches], stretches)) is not None:
            moved.add(path)
            columns[name], missing = column
            columns |= {f"{name}?": missing} if missing.any() else {}
    rows = [[*e[1:-1], _without(e.data, moved) if _is_stretch(e) else e.data] for e in events]
    return pack(rows, columns)


def unpacked(block: bytes, attempt: int) -> list[Event]:
    """The events of a block.

    Raises:
        ValueError, KeyError, TypeError: for bytes that are no block.
    """
    rows, columns = unpack(block)
    values = {name: column.tolist() for name, column in columns.items() if not name.endswith("?")}
    for name, column in values.items():
        for place in np.flatnonzero(columns.get(f"{name}?", ())).tolist():
            column[place] = None
    events, at = [], 0
    for seq, kind, step, time, data in rows:
        event = Event(attempt, seq, kind, step, time, data)
        if _is_stretch(event):
            for name, column in values.items():
                outer, _, key = name.rpartition(".")
                (data[outer] if outer else data)[key] = column[at : at + data["count"]]
            at += data["count"]
        events.append(event)
    return events


def _is_stretch(event: Event) -> bool:
    return event.kind == "step" and "first" in event.data and type(event.data.get("count")) is int


def _paths(stretches: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """The keys of each list in the first stretch, and in a dict inside it, that may have one entry a step."""
    paths: list[tuple[str, ...]] = []
    for key, value in stretches[0].items() if stretches else ():
        paths += [(key,)] if isinstance(value, list) else []
        paths += [(key, name) for name, v in value.items() if isinstance(v, list)] if isinstance(value, dict) else []
    return [path for path in paths if not any(mark in key for key in path for mark in ".?")]


def _at(data: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        data = data.get(key) if isinstance(data, dict) else None
    return data


def _column(lists: Sequence[Any], stretches: Sequence[Mapping[str, Any]]) -> tuple[Column, Column] | None:
    """All entries as one column, and which are missing; None unless all come back as they are."""
    for entries, data in zip(lists, stretches, strict=True):
        if not isinstance(entries, list) or len(entries) != data["count"]:
            return None
    values = list(chain.from_iterable(lists))
    kinds = set(map(type, values))
    if kinds == {int} and max(map(abs, values)) < 2**63:
        return np.array(values, dtype=np.int64), np.zeros(len(values), dtype=bool)
    if kinds <= {float, type(None)}:
        return np.array(values, dtype=np.float64), np.array([value is None for value in values])
    return None


def _without(data: Mapping[str, Any], paths: set[tuple[str, ...]]) -> dict[str, Any]:
    """The data without the entries at these paths."""
    left = {key: value for key, value in data.items() if (key,) not in paths}
    inside = {path[0] for path in paths if len(path) > 1}
    return left | {key: {n: v for n, v in data[key].items() if (key, n) not in paths} for key in inside}
