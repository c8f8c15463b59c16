"""Identity of a run's owner or host process, and whether it still lives.

A process id alone is not enough: ids are used again. The pair of id and starting mark is unique on one machine
between two boots. Linux tells both in files; elsewhere psutil does, which comes with `dpviz[train]` and `dpviz[app]`.
"""

from __future__ import annotations

import os
import platform
import socket
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from dpviz._extras import extra


@dataclass(frozen=True, slots=True)
class Process:
    """One process on one machine.

    Attributes:
        machine: Host name, boot and process namespace, as `this_machine` says them.
        pid: Process id.
        mark: When it started, in the machine's own words.
    """

    machine: str
    pid: int
    mark: str

    def to_json(self) -> dict[str, Any]:
        return {"machine": self.machine, "pid": self.pid, "mark": self.mark}

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Process:
        return cls(str(stored["machine"]), int(stored["pid"]), str(stored["mark"]))


def _text(path: str) -> str:
    """What a file of the kernel's says; "" where there is none for us: no such process, another system.

    Raises:
        OSError: if it cannot be read now, as where too many files are open. That says nothing of the process.
    """
    try:
        return Path(path).read_text().strip()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return ""


@cache
def this_machine() -> str:
    """Host name / boot / process namespace: process ids can be compared only where all three agree.

    Raises:
        OSError: if that cannot be read now.
    """
    boot = _text("/proc/sys/kernel/random/boot_id")
    if not boot:
        with extra("train"):
            import psutil
        boot = f"{psutil.boot_time():.0f}"
    try:
        namespace = os.readlink("/proc/self/ns/pid")
    except OSError:
        namespace = platform.system()
    return f"{socket.gethostname()}/{boot}/{namespace}"


def start_mark(pid: int) -> str | None:
    """When `pid` started; None if there is no such process, or if it is dead and only waits to be collected.

    Raises:
        OSError: if that cannot be read now.
    """
    stat = _text(f"/proc/{pid}/stat")
    if stat:
        # After the name, which may hold spaces and brackets: state, then … the start in ticks since boot (proc(5)).
        # Ticks, because a wall-clock time shifts when the clock is set.
        fields = stat.rpartition(")")[2].split()
        return None if fields[0] in "ZX" else fields[19]
    if Path("/proc/self/stat").exists():
        return None
    with extra("train"):
        import psutil
    try:
        process = psutil.Process(pid)
        return None if process.status() == psutil.STATUS_ZOMBIE else f"{process.create_time():.2f}"
    except psutil.Error:
        return None


def this_process() -> Process:
    return process_of(os.getpid())


def process_of(pid: int) -> Process:
    """The process that has this id now on this machine; its mark is empty if there is none."""
    return Process(this_machine(), pid, start_mark(pid) or "")


def is_alive(process: Process) -> bool | None:
    """Whether it runs; None if it belongs to another machine, where only its heartbeat can tell.

    Raises:
        OSError: if that cannot be found out now: it may run.
    """
    if process.machine == this_machine():
        return bool(process.mark) and start_mark(process.pid) == process.mark
    name, boot, _ = (process.machine.split("/", 2) + ["", ""])[:3]
    here, boot_here, _ = this_machine().split("/", 2)
    if name == here and boot != boot_here:
        return False  # this machine was started again since
    return None
