"""A public server as a process, without the packages that only training needs: `sitecustomize` refuses them to it, and
to all that it starts."""

import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.browser.driver import ROOT, TIMEOUT_MS, end_group, free_port

OF_TRAINING = ("torch", "torchvision", "distributed", "dask", "cryptography")

REFUSE = f"""
import sys

class Missing:
    def find_spec(self, name, *_):
        if name.partition(".")[0] in {OF_TRAINING!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Missing())
"""


@contextmanager
def public_server(folder: Path, *options: str) -> Iterator[str]:
    """The address of a server, whose output is `folder`/log, and whose runs would be in `folder`/home."""
    (folder / "without").mkdir()
    (folder / "without" / "sitecustomize.py").write_text(REFUSE)
    port = free_port()
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(folder / "without"), str(ROOT)]),
        "DPVIZ_HOME": str(folder / "home"),
        "OMP_NUM_THREADS": "1",
        "DISPLAY": "",
        "WAYLAND_DISPLAY": "",
    }
    command = [sys.executable, "-m", "dpviz", "app", "--public", f"--port={port}", *options]
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
        )
    url = f"http://127.0.0.1:{port}"
    try:
        _wait(f"{url}/_stcore/health", server, folder / "log")
        yield url
    finally:
        end_group(server)


def _wait(address: str, server: "subprocess.Popen[bytes]", log: Path) -> None:
    end = time.monotonic() + TIMEOUT_MS / 1000
    while time.monotonic() < end and server.poll() is None:
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.05)
    raise RuntimeError(f"The server did not come up at {address}. Its output:\n{log.read_text(errors='replace')}")
