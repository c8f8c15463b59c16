"""What came of an attack, and bounds for each of its files: time, memory, and where it broke."""

import os
import signal
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path


class TooLong(Exception):
    """A file took more time than it may."""


@dataclass
class Outcome:
    """What came of a number of files.

    Attributes:
        refused: in words.
        harmless: shown everywhere.
        broken: where something broke → how often.
        slowest: seconds of the slowest file.
        memory: largest resident memory of the process beyond what it had before, in bytes.
        examples: a file for each way of breaking.
    """

    refused: int = 0
    harmless: int = 0
    broken: Counter[str] = field(default_factory=Counter)
    slowest: float = 0.0
    memory: int = 0
    examples: dict[str, bytes] = field(default_factory=dict)

    @property
    def files(self) -> int:
        return self.refused + self.harmless + self.broken.total()


def place(error: BaseException) -> str:
    """Where it broke: the last frame of ours."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "dpviz/" in f.filename]
    at = f"{Path(frames[-1].filename).name}:{frames[-1].name}" if frames else "?"
    return f"{type(error).__name__} in {at}"


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    def ring(*_: object) -> None:
        raise TooLong

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def rows(found: Outcome, harmless: str) -> str:
    """The outcome as a Markdown table, what broke below it."""
    table = [
        ("files", f"{found.files:,}"),
        ("refused in words", f"{found.refused:,}"),
        (harmless, f"{found.harmless:,}"),
        ("broke something", f"{found.broken.total():,}"),
        ("slowest file", f"{found.slowest:.1f} s"),
        ("most memory beyond the start's", f"{found.memory / 2**20:.0f} MB"),
    ]
    lines = "\n".join(f"| {name} | {value} |" for name, value in table)
    return f"| | |\n|---|---|\n{lines}\n" + "".join(f"\n- {n} × {name}" for name, n in found.broken.most_common())
