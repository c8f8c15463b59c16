"""Open the app: ``python tools/launch.py PORT``. Checks the port first, so that a taken one is said in one line."""

import os
import platform
import runpy
import signal
import socket
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def checked_port(text: str) -> int:
    if not (text.isdecimal() and 1 <= int(text) <= 65535):
        sys.exit(f"Expected PORT={text} to be a whole number from 1 to 65535: try 'make run PORT=8502'.")
    port = int(text)
    with socket.socket() as probe:
        # As servers do: a port whose last connections are still closing is free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except PermissionError:
            sys.exit(f"Port {port} needs an administrator's rights: try 'make run PORT=8501'.")
        except OSError:
            other = port + 1 if port < 65535 else 8501
            sys.exit(f"Port {port} is in use by another program: stop it, or try 'make run PORT={other}'.")
    return port


def has_display() -> bool:
    if platform.system() == "Linux":
        return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
    return "SSH_CONNECTION" not in os.environ


def main(port_text: str) -> None:
    port = checked_port(port_text)
    options = {
        "server.port": port,
        "server.address": "127.0.0.1",
        "browser.serverAddress": "localhost",
        "server.headless": str(not has_display()).lower(),
        "server.showEmailPrompt": "false",
    }
    flags = [f"--{name}={value}" for name, value in options.items()]
    os.chdir(ROOT)
    # The server ends in order and then raises the signal that it was ended by once more: that is no failure.
    for ending in (signal.SIGINT, signal.SIGTERM):
        signal.signal(ending, lambda *_: sys.exit(0))
    sys.path[0] = str(ROOT)
    sys.argv = ["streamlit", "run", "app.py", *flags]
    runpy.run_module("streamlit", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main(sys.argv[1])
