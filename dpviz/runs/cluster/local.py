"""The local cluster of a store: found, started and ended by whoever opens the store."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from functools import cache
from pathlib import Path
from typing import NamedTuple

from dpviz._version import __version__
from dpviz.runs.processes import Process, is_alive
from dpviz.runs.store.folders import only_a_file, private_folder, scratch_folder

HOST_MODULE = "dpviz.runs.cluster.host"

# In the folder of the cluster: where it is, its certificate with the key, and what the one that lives has locked.
PLACE = "place.json"
CERTIFICATE = "certificate.pem"
LOCK = "lock"

# Seconds that ending it may take.
ENDING = 10.0

# Those that this process started: they outlive it, or end while it goes on.
_started: list[subprocess.Popen[bytes]] = []


class Cluster(NamedTuple):
    """One that lives; `code`: what it computes with."""

    address: str
    certificate: Path
    process: Process
    code: str


def folder_of(store: Path) -> Path:
    """The folder of the store's cluster."""
    return store / "runs-cluster"


@cache
def code() -> str:
    """The version of dpviz in this process and a digest of its code, but for the pages: what it would compute with."""
    package, digest = Path(__file__).parents[2], hashlib.sha256()
    for path in sorted(package.rglob("*")):
        name = path.relative_to(package)
        if path.suffix in (".py", ".toml") and name.parts[0] != "ui":
            digest.update(f"{name}\n".encode() + path.read_bytes())
    return f"{__version__}-{digest.hexdigest()[:16]}"


def find(store: Path) -> Cluster | None:
    """The cluster of the store in this folder; None where none is up.

    Raises:
        OSError: if that cannot be found out now, as where too many files are open: there may be one.
    """
    _started[:] = [process for process in _started if process.poll() is None]
    folder = folder_of(store)
    try:
        place = json.loads((folder / PLACE).read_text())
        process, computes_with = Process.from_json(place["process"]), str(place.get("code", ""))
        cluster = Cluster(place["address"], folder / CERTIFICATE, process, computes_with)
    except (FileNotFoundError, NotADirectoryError, ValueError, KeyError):
        return None
    return cluster if is_alive(cluster.process) else None


def start(store: Path, workers: int, log: Path, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    """Start one; it goes on when this process ends. Of several that are started at once, one stays.

    What it says is added to `log`, which only its owner may read, and its temporary files lie beside that.

    Raises:
        PermissionError: if its temporary files would lie in a folder of another account.
    """
    private_folder(folder_of(store))
    scratch = str(scratch_folder(log))
    # Dask's scratch folder stands first on its processes' import path.
    temporary = dict.fromkeys(("TMPDIR", "TEMP", "TMP", "DASK_TEMPORARY_DIRECTORY"), scratch)
    only_a_file(log)
    with os.fdopen(os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "ab") as messages:
        process = subprocess.Popen(
            [sys.executable, "-m", HOST_MODULE, str(store), str(workers)],
            stdin=subprocess.DEVNULL,
            stdout=messages,
            stderr=messages,
            env={**environment, **temporary},
            start_new_session=True,
        )
    _started.append(process)
    return process


def stop(store: Path) -> bool:
    """End the store's cluster and all that it computes, at once; whether there was one."""
    cluster = find(store)
    if cluster is None:
        return False
    os.kill(cluster.process.pid, signal.SIGTERM)
    end = time.monotonic() + ENDING
    while is_alive(cluster.process) and time.monotonic() < end:
        time.sleep(0.02)
    if is_alive(cluster.process):
        os.kill(cluster.process.pid, getattr(signal, "SIGKILL", signal.SIGTERM))
    return True
