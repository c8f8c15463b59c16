"""Memory that steps add to a process of their own at its peak (VmHWM less VmRSS before), in MiB; Linux only."""

import ctypes
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

MIB = 2**20
ROOT = Path(__file__).resolve().parents[1]


def print_added(step: Callable[[], object]) -> None:
    """Print what three steps add to this process."""
    print(added_by(lambda: (step(), step(), step())) / MIB)


def added_by(act: Callable[[], object]) -> float:
    """Bytes that it adds to this process at its peak."""
    ctypes.CDLL(None).malloc_trim(0)  # what was freed before and is still held would be used again, and not be counted
    Path("/proc/self/clear_refs").write_text("5")
    before = _status("VmRSS")
    act()
    return _status("VmHWM") - before


def _status(field: str) -> float:
    """Bytes, of this process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024.0 * int(line.split()[1]) for line in lines if line.startswith(field))


def added(script: str, *arguments: str) -> str:
    """What `script` prints last where its first argument is "memory"; "–" where it fails."""
    command = [sys.executable, "-W", "ignore", script, "memory", *arguments]
    # A script finds what lies beside it, not this package.
    ended = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    return f"{float(ended.stdout.split()[-1]):.0f}" if ended.returncode == 0 else "–"
