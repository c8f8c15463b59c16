"""Which process is meant by an owner or a host, whether it still lives, and children of our own.

A process id alone is not enough: ids are used again. The pair of id and starting mark is unique on one machine
between two boots.
"""

from __future__ import annotations

import os
import platform
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]

from dpviz.runs.store.permissions import only_a_file, scratch_folder


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
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""


@cache
def this_machine() -> str:
    """Host name / boot / process namespace: process ids can be compared only where all three agree."""
    boot = _text("/proc/sys/kernel/random/boot_id") or f"{psutil.boot_time():.0f}"
    try:
        namespace = os.readlink("/proc/self/ns/pid")
    except OSError:
        namespace = platform.system()
    return f"{socket.gethostname()}/{boot}/{namespace}"


def start_mark(pid: int) -> str | None:
    """When `pid` started; None if there is no such process, or if it is dead and only waits to be collected."""
    stat = _text(f"/proc/{pid}/stat")
    if stat:
        # After the name, which may hold spaces and brackets: state, then … the start in ticks since boot (proc(5)).
        # Ticks, because a wall-clock time shifts when the clock is set.
        fields = stat.rpartition(")")[2].split()
        return None if fields[0] in "ZX" else fields[19]
    try:
        process = psutil.Process(pid)
        return None if process.status() == psutil.STATUS_ZOMBIE else f"{process.create_time():.2f}"
    except psutil.Error:
        return None


def this_process() -> Process:
    return Process(this_machine(), os.getpid(), start_mark(os.getpid()) or "")


def process_of(pid: int) -> Process:
    """The process that has this id now on this machine; its mark is empty if there is none."""
    return Process(this_machine(), pid, start_mark(pid) or "")


def is_alive(process: Process) -> bool | None:
    """Whether it runs; None if it belongs to another machine, where only its heartbeat can tell."""
    if process.machine == this_machine():
        return bool(process.mark) and start_mark(process.pid) == process.mark
    name, boot, _ = (process.machine.split("/", 2) + ["", ""])[:3]
    here, boot_here, _ = this_machine().split("/", 2)
    if name == here and boot != boot_here:
        return False  # this machine was started again since
    return None


def start_child(arguments: Sequence[str], log: Path, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """`python` with these arguments, heard and spoken to over pipes; it is to end when its input closes.

    What it says on standard error is added to `log`, which only its owner may read, and its temporary files lie beside
    that. It has a process group of its own: Ctrl-C in the app's terminal goes to the app alone, which then ends it.

    Raises:
        PermissionError: if its temporary files would lie in a folder of another account.
    """
    scratch = str(scratch_folder(log))
    # Dask's scratch folder stands first on its processes' import path.
    temporary = dict.fromkeys(("TMPDIR", "TEMP", "TMP", "DASK_TEMPORARY_DIRECTORY"), scratch)
    only_a_file(log)
    with os.fdopen(os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "ab") as messages:
        return subprocess.Popen(
            [sys.executable, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=messages,
            env={**environment, **temporary},
            start_new_session=True,
        )


def end_child(child: subprocess.Popen[bytes], limit: float) -> None:
    """End it: by closing its input, by force after `limit` seconds."""
    if child.stdin is not None:
        with suppress(OSError):
            child.stdin.close()
    try:
        child.wait(limit)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
