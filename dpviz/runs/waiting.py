"""Events of a run in a file of its worker's, where they wait until an app has them in its store.

The file lies beside the store where the worker sees it, else in dpviz's own folder on the worker's machine. It grows by
whole lines, the first of which says whose they are; each is on the disk before what it charges is released.
"""

import hashlib
import os
import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from dpviz.runs.exchange.checksums import KEY, checksum
from dpviz.runs.processes import Process, is_alive
from dpviz.runs.store import jsontext
from dpviz.runs.store.folders import FILE, home, private_folder
from dpviz.runs.store.records import CHARGED_KIND, CONTINUED_KIND, FINAL_KINDS, Delivery, EventRow

FOLDER = "runs-waiting"
STORE = "runs.sqlite"
WEIGHTS = "weights"

SUFFIX, CHECKPOINT = ".jsonl", ".checkpoint"

# Bytes of one file that are read at once.
MOST = 4_000_000

# What a damaged line may raise while it is read.
DAMAGED = (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError)


class Place(NamedTuple):
    """Where the events of a store's runs wait.

    Attributes:
        store: The folder of the store, on its own machine.
        name: The store's name on other machines.
    """

    store: str
    name: str

    @classmethod
    def of(cls, folder: Path) -> "Place":
        store = str(folder.absolute())
        return cls(store, hashlib.sha256(f"{socket.gethostname()}:{store}".encode()).hexdigest()[:16])

    @property
    def beside(self) -> bool:
        """Whether the store lies on this machine."""
        return Path(self.store, STORE).is_file()

    @property
    def folder(self) -> Path:
        """The folder on this machine."""
        return Path(self.store, FOLDER) if self.beside else home() / FOLDER / self.name

    def checkpoint(self, run: str) -> Path:
        """Its checkpoint on this machine: beside its weights, or where its events wait and then with them."""
        return (Path(self.store, WEIGHTS) if self.beside else self.folder) / f"{run}{CHECKPOINT}"


class EventFile:
    """The file of one execution of a run.

    Args:
        place: Where it is to lie.
        head: What `Delivery` says of all its rows: "run", "execution", "worker", "begun", "earlier".

    Raises:
        OSError: if it cannot be made.
    """

    def __init__(self, place: Place, head: Mapping[str, Any]) -> None:
        folder = place.folder
        private_folder(folder.parent)
        private_folder(folder)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL
        self._file = os.open(folder / f"{head['run']}-{head['execution']}{SUFFIX}", flags, FILE)
        self._size = 0
        self._write(jsontext.write(dict(head)) + "\n")

    def append(self, rows: Sequence[EventRow]) -> None:
        """Add events; they are on the disk when this returns, all or none of them.

        Raises:
            OSError: if there is no room.
        """
        self._write("".join(jsontext.write(list(row)) + "\n" for row in rows))

    def _write(self, text: str) -> None:
        left = memoryview(text.encode())
        size = self._size + len(left)
        try:
            while left:
                left = left[os.write(self._file, left) :]
            os.fsync(self._file)
        except OSError:
            os.ftruncate(self._file, self._size)
            raise
        self._size = size

    def close(self) -> None:
        os.close(self._file)


class Piece(NamedTuple):
    """Whole lines of the file `name`, from byte `start` on; `last` if its writer had ended before they were read."""

    name: str
    start: int
    lines: bytes
    last: bool


def pieces(place: Place, read: Mapping[str, int]) -> list[Piece]:
    """What came on this machine after the first `read` bytes of each file; also called by workers elsewhere."""
    came = []
    for path in sorted(place.folder.glob(f"*{SUFFIX}")):
        start = read.get(path.name, 0)
        with suppress(FileNotFoundError), path.open("rb") as file:  # another app has all of it
            ended = _ended(file.readline())
            file.seek(start)
            text = file.read(MOST)
            if b"\n" not in text:  # a long line, whole or not
                text += file.readline()
            whole, last = text.rfind(b"\n") + 1, ended and len(text) < MOST
            if whole or last:
                came.append(Piece(path.name, start, text[:whole], last))
    return came


def _ended(head: bytes) -> bool:
    """Whether who wrote a file with this first line has ended, as far as it is known on this machine."""
    with suppress(*DAMAGED):
        return is_alive(Process.from_json(jsontext.read(head.decode())["worker"])) is False
    return False


def remove(place: Place, names: Sequence[str]) -> None:
    """Remove files of runs that are over, of which the store has everything; of other machines checkpoints too."""
    for name in names:
        (place.folder / name).unlink(missing_ok=True)
        if not place.beside:
            remove_checkpoint(place.checkpoint(parts_of(name)[0]))


def keep(path: Path, saved: bytes) -> None:
    """Write a checkpoint, which is on the disk when this returns; whoever reads it meanwhile finds the one before.

    Raises:
        OSError: if there is no room.
    """
    private_folder(path.parent)
    fresh = path.with_name(f"{path.name}-{os.getpid()}")
    try:
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, FILE), "wb") as file:
            file.write(saved)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise


def remove_checkpoint(path: Path) -> None:
    """Remove a checkpoint, with what a killed process had begun to write beside it."""
    for one in path.parent.glob(f"{path.name}*"):
        one.unlink(missing_ok=True)


class Excerpt(NamedTuple):
    """What an execution told: up to its event "continued", if it has one, and from its last charge on."""

    begin: list[EventRow]
    rest: list[EventRow]


def excerpt(place: Place, run: str, execution: str) -> Excerpt | None:
    """What tells how much an execution of a run was charged, however long it was; None where that is not known on this
    machine: its file is damaged or not here, or it may still be written.
    """
    path = place.folder / f"{run}-{execution}{SUFFIX}"
    try:
        with path.open("rb") as file:
            ended = _ended(file.readline())
            text = file.read()
    except FileNotFoundError:
        return None
    lines = text[: text.rfind(b"\n") + 1].splitlines()
    kinds = [line.partition(b',"')[2].partition(b'"')[0].decode(errors="replace") for line in lines]
    begins = kinds.index(CONTINUED_KIND) + 1 if CONTINUED_KIND in kinds else 0
    charges = max((at for at, kind in enumerate(kinds) if kind == CHARGED_KIND), default=begins)
    reader, later = WaitingEvents(), WaitingEvents()
    begin = reader.rows(path.name, lines[:begins])
    # The line before the last charge says what its checksum goes on from.
    rest = later.rows(path.name, lines[max(charges - 1, 0) :])[min(charges, 1) :]
    whole = not reader.damaged and not later.damaged
    return Excerpt(begin, rest) if ended and whole and all(b.seq == a.seq + 1 for a, b in pairwise(rest)) else None


class WaitingEvents:
    """Turns the pieces of many files into deliveries, each line once.

    Attributes:
        read: Bytes of each file that were read so far, by its name.
        damaged: What is wrong with a file, in words, by its name. What can be read of it is delivered.
        whole: Files to which nothing is added any more, all of which was read: with their last event, or undamaged
            ones whose writer has ended.
    """

    def __init__(self) -> None:
        self.read: dict[str, int] = {}
        self.damaged: dict[str, str] = {}
        self.whole: set[str] = set()
        self._heads: dict[str, dict[str, Any]] = {}
        self._checksums: dict[str, str] = {}  # of the last event of each file

    def deliveries(self, came: Sequence[Piece]) -> list[Delivery]:
        """What the store is to record; a piece that does not continue what was read is passed over."""
        made = []
        for piece in came:
            if piece.start != self.read.get(piece.name, 0):
                continue
            lines = piece.lines.splitlines()
            if lines and piece.start == 0:
                self._heads[piece.name] = self._head(piece.name, lines.pop(0))
            rows = tuple(self.rows(piece.name, lines))
            if any(row.kind in FINAL_KINDS for row in rows) or (piece.last and piece.name not in self.damaged):
                self.whole.add(piece.name)
            if piece.lines:
                made.append(Delivery(**self._heads[piece.name], rows=rows))
                self.read[piece.name] = piece.start + len(piece.lines)
        return made

    def rows(self, name: str, lines: Sequence[bytes]) -> list[EventRow]:
        """The events of lines of a file that follow each other, but for those that are damaged."""
        return [row for line in lines if (row := self._row(name, line)) is not None]

    def _head(self, name: str, line: bytes) -> dict[str, Any]:
        """What a file says of all its rows."""
        run, execution = parts_of(name)
        with suppress(*DAMAGED):
            head = jsontext.read(line.decode())
            Process.from_json(head["worker"])
            earlier = tuple(map(str, head.get("earlier", ())))
            return {
                "run": run,
                "execution": execution,
                "worker": head["worker"],
                "begun": float(head["begun"]),
                "earlier": earlier,
            }
        self._note_damage(name)
        return {"run": run, "execution": execution, "worker": {}, "begun": 0.0}

    def _note_damage(self, name: str) -> None:
        self.damaged[name] = f"Events of this run are damaged in the file {name}, so its whole plan will be claimed."

    def _row(self, name: str, line: bytes) -> EventRow | None:
        """The event of a line; None where it is not as it was written."""
        with suppress(*DAMAGED):
            row = EventRow(*jsontext.read(line.decode()))
            data = jsontext.read(row.text)
            before, own = self._checksums.pop(name, ""), data.get(KEY)
            unchecked = own is None or (row.seq and not before)
            right = unchecked or own == checksum(before, row.seq, jsontext.strict(data))
            if right and data["kind"] == row.kind:
                self._checksums[name] = own or ""
                return EventRow(int(row.seq), str(row.kind), int(row.step), float(row.time), row.text)
        self._note_damage(name)
        return None

    def copy(self) -> "WaitingEvents":
        """As it is now, whatever is read later."""
        same = WaitingEvents()
        same.read, same.damaged, same.whole = self.read.copy(), self.damaged.copy(), self.whole.copy()
        same._heads, same._checksums = self._heads.copy(), self._checksums.copy()
        return same

    def damage_of(self, run: str) -> str:
        """What is wrong with the files of a run, in words; "" if nothing is."""
        return " ".join(what for name, what in self.damaged.copy().items() if parts_of(name)[0] == run)

    def forget(self, names: Sequence[str]) -> None:
        for name in names:
            for kept in (self.read, self.damaged, self._heads, self._checksums):
                kept.pop(name, None)
            self.whole.discard(name)


def parts_of(name: str) -> tuple[str, str]:
    """The run and the execution that a file is of."""
    run, _, execution = name.removesuffix(SUFFIX).rpartition("-")
    return run, execution
