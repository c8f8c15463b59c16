"""What a worker process does first: end when its host ends, and load what training needs ahead of the first launch."""

from __future__ import annotations

import ctypes
import importlib
import os
import signal
import sys

# Names of modules to load, with commas between; set by the host.
PRELOAD_VARIABLE = "DPVIZ_PRELOAD"

_PR_SET_PDEATHSIG = 1


def end_with_parent() -> None:
    """On Linux the kernel kills this process when its parent ends, also when it is busy in native code.

    Elsewhere the worker's own watch over its parent does it once Python runs again.
    """
    if not sys.platform.startswith("linux"):
        return
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() == 1:  # it had ended before we asked
        os._exit(1)


def load_ahead() -> None:
    """Import the modules that PRELOAD_VARIABLE names. One that fails to load fails its run later, in words."""
    for name in filter(None, os.environ.get(PRELOAD_VARIABLE, "").split(",")):
        try:
            importlib.import_module(name)
        except Exception as error:
            print(f"dpviz worker: could not load {name} ahead: {error!r}", file=sys.stderr)
