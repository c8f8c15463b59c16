"""Exported runs as trees that tests change, and back as files."""

import gzip
import json
from collections.abc import Callable
from contextlib import closing
from typing import Any

from dpviz.runs.exchange.import_run import read_run
from dpviz.runs.store.records import RunRecord
from dpviz.runs.store.spool import Spool
from dpviz.training.covered import NOT_COVERED

LAST = ("attempts", NOT_COVERED)  # what the last line of a file holds


def opened(content: bytes) -> Any:
    """The first and the last line of a file together, and all between as its "events"."""
    first, *events, last = map(json.loads, gzip.decompress(content).splitlines())
    return {**first, **last, "events": events}


def plain(content: bytes) -> bytes:
    """The text of a file, from its first bracket to its last."""
    return gzip.decompress(content).strip()


def lines(tree: Any) -> list[Any]:
    """What the lines of the file of a tree hold; any tree has one."""
    events = tree.get("events", [])
    events = events if isinstance(events, list) else [events]
    first = {name: value for name, value in tree.items() if name not in (*LAST, "events")}
    return [first, *events, {name: tree[name] for name in LAST if name in tree} | {"events": len(events)}]


def closed(tree: Any) -> bytes:
    """The file of a tree, not compressed."""
    return b"\n".join(json.dumps(line).encode() for line in lines(tree))


def changed(change: Callable[[Any], object]) -> Callable[[bytes], bytes]:
    """Makes a file with another content."""

    def apply(content: bytes) -> bytes:
        tree = opened(content)
        change(tree)
        return closed(tree)

    return apply


def read(content: bytes) -> RunRecord:
    """The record of the run in a file, all of which is checked."""
    with closing(Spool()) as spool:
        return read_run(content, spool)[0]
