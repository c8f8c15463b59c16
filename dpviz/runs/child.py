"""Child processes, and the messages between the app and them.

The parent says lines of JSON on the child's standard input; the child answers pairs (kind, content) as pickles on its
standard output, only ever read from a child of our own, and ends when its input closes.
"""

import ctypes
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from dpviz.runs.store.folders import only_a_file, scratch_folder

_PR_SET_PDEATHSIG = 1


class Child:
    """`python` with these arguments, heard and spoken to over pipes.

    What it says on standard error is added to `log`, which only its owner may read, and its temporary files lie beside
    that. It has a process group of its own: Ctrl-C in the app's terminal goes to the app alone, which then ends it.
    To be started from a thread that lives on, for it may end with that.

    Attributes:
        log: What it and its libraries print goes there.
        output: What it says; to be closed by who reads it, for children of its own may hold the other end for longer.

    Raises:
        PermissionError: if its temporary files would lie in a folder of another account.
    """

    def __init__(self, arguments: Sequence[str], log: Path, environment: Mapping[str, str]) -> None:
        self.log = log
        scratch = str(scratch_folder(log))
        # Dask's scratch folder stands first on its processes' import path.
        temporary = dict.fromkeys(("TMPDIR", "TEMP", "TMP", "DASK_TEMPORARY_DIRECTORY"), scratch)
        only_a_file(log)
        with os.fdopen(os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "ab") as messages:
            self._process = subprocess.Popen(
                [sys.executable, *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=messages,
                env={**environment, **temporary},
                start_new_session=True,
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._input, self.output = self._process.stdin, self._process.stdout
        self._speaking = threading.Lock()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    @property
    def code(self) -> int | None:
        """What it ended with, once it has; of one that is about to end after some seconds at most."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(5.0)
        return self._process.returncode

    def say(self, message: Mapping[str, Any]) -> None:
        """A line of JSON; one that has ended hears nothing."""
        with self._speaking, suppress(OSError, ValueError):
            self._input.write(json.dumps(message).encode() + b"\n")
            self._input.flush()

    def messages(self) -> Iterator[tuple[str, Any]]:
        """What it says, until it has ended."""
        with suppress(EOFError, OSError, ValueError, pickle.UnpicklingError):
            while True:
                yield pickle.load(self.output)

    def wait(self) -> None:
        """Until it has ended."""
        self._process.wait()

    def close(self, limit: float) -> None:
        """End it: by closing its input, by force after `limit` seconds."""
        with self._speaking:  # nobody is in the middle of a line
            with suppress(OSError):
                self._input.close()
            try:
                self._process.wait(limit)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()


def end_with_parent() -> None:
    """On Linux the kernel kills this process when its parent ends, also when it is busy in native code; elsewhere a
    thread does it once Python runs again."""
    parent = os.getppid()
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it ended before we asked; one that ended still earlier has closed our input
            os._exit(1)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, name="dpviz-parent", daemon=True).start()


class Parent:
    """The parent, as its child hears it and speaks to it; what libraries print goes to the log from here on."""

    def __init__(self) -> None:
        self.output = os.fdopen(os.dup(1), "wb")
        os.dup2(2, 1)
        self._speaking = threading.Lock()

    def say(self, kind: str, content: Any) -> None:
        """Short messages of several processes that share the output do not mix."""
        with self._speaking:
            self.output.write(pickle.dumps((kind, content), protocol=pickle.HIGHEST_PROTOCOL))
            self.output.flush()

    def messages(self) -> Iterator[dict[str, Any]]:
        """What it says, until its end closes."""
        return map(json.loads, sys.stdin)
