"""The start of the app's server: `dpviz app`, `make run`. A taken port is told first, in one line."""

import errno
import importlib.util
import os
import platform
import runpy
import signal
import socket
import sys
from collections.abc import Sequence
from pathlib import Path

from dpviz._extras import extra
from dpviz._public import PUBLIC_VARIABLE, is_public

PACKAGE = Path(__file__).resolve().parents[1]

# app.py, pages/ and .streamlit/: in the package where it is installed, beside it in the source tree.
LAYOUTS = (PACKAGE / "app", PACKAGE.parent)

LOCAL = "127.0.0.1"
NAMES = ("localhost", LOCAL, "::1")  # as .streamlit/config.toml has them

NEEDED = ("streamlit", "plotly", "pandas", "jinja2", "psutil", "pydantic", "segno")


def checked_port(text: str) -> int:
    """A port that can be listened on.

    Raises:
        ValueError: if it is none, or cannot be had; the message says what would do.
    """
    if not (text.isascii() and text.isdecimal() and 1 <= int(text) <= 65535):
        raise ValueError(
            f"Expected PORT={text} to be a whole number from 1 to 65535, in the digits 0 to 9: {_try(8502)}."
        )
    port = int(text)
    for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
        try:
            with socket.socket(family) as probe:
                # As servers do: a port whose last connections are still closing is free.
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind((host, port))
        except PermissionError:
            raise ValueError(f"Port {port} needs an administrator's rights: {_try(8501)}.") from None
        except OSError as error:
            if family == socket.AF_INET6 and error.errno != errno.EADDRINUSE:
                continue  # no version 6 here
            other = port + 1 if port < 65535 else 8501
            raise ValueError(f"Port {port} is in use by another program: stop it, or {_try(other)}.") from None
    return port


def _try(port: int) -> str:
    return f"try 'make run PORT={port}' or 'dpviz app --port {port}'"


def has_display() -> bool:
    """Whether a browser can be opened here."""
    if platform.system() == "Linux":
        return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
    return "SSH_CONNECTION" not in os.environ


def launch(port_text: str, *, public: bool = False, address: str = LOCAL, names: Sequence[str] = ()) -> None:
    """Serve the app until it is ended.

    Args:
        public: Whether everybody may use it, without training; so does `DPVIZ_PUBLIC`.
        address: The one that it listens at; "0.0.0.0" is every one of this machine.
        names: What browsers may call it by, beside localhost: "dp.example.com".

    Raises:
        ValueError: for a port that cannot be had, a site that may frame the app and is none, a token too short, or
            another value of `DPVIZ_PUBLIC` than 1 and 0.
        StoreError: where DPVIZ_HOME cannot name a folder.
        MissingExtra: where Streamlit or another package of the app is not installed.
    """
    port = checked_port(port_text)
    with extra("app"):
        for package in NEEDED:
            if importlib.util.find_spec(package) is None:
                raise ModuleNotFoundError(name=package)
    if public:
        os.environ[PUBLIC_VARIABLE] = "1"
    public = is_public()
    from dpviz.runs.store.folders import home
    from dpviz.ui.access import FRAMED_BY, Access, framing

    # All say what is wrong with their setting before anything listens.
    framing(os.environ.get(FRAMED_BY, ""))
    if not public:
        Access.of(os.environ)
        home()
    options = {
        "server.port": port,
        "server.address": address,
        "server.allowedHosts": [*NAMES, *names],
        "browser.serverAddress": next((name for name in names if "*" not in name), "localhost"),
        "server.headless": not has_display(),
        "server.showEmailPrompt": False,
    }
    app = next(folder / "app.py" for folder in LAYOUTS if (folder / "app.py").exists())
    # The server ends in order and then raises the signal that it was ended by once more: that is no failure.
    for ending in (signal.SIGINT, signal.SIGTERM):
        signal.signal(ending, lambda *_: sys.exit(0))
    if public:
        from dpviz.ui.public.serve import serve

        serve(app, options)
        return
    flags = [f"--{name}={each}" for name, value in options.items() for each in _texts(value)]
    sys.argv = ["streamlit", "run", str(app), *flags]
    runpy.run_module("streamlit", run_name="__main__", alter_sys=True)


def _texts(value: object) -> list[str]:
    """An option's value as the command line says it: one text for each of several."""
    return [str(value).lower() if isinstance(value, bool) else str(value)] if not isinstance(value, list) else value


def stop() -> None:
    """End the workers of this machine, and the runs that they compute; what waits, waits on.

    Raises:
        StoreError: if the recorded runs cannot be read.
    """
    from dpviz.runs.engine import engine

    print("The workers were ended." if engine().end_workers() else "No workers run.")
