"""TLS for the local cluster: a certificate made at its start keeps strangers out, and no web pages are served.

Without it any process on this machine could connect to the loopback address and run code as the app's owner. Both
sides of every connection show the one certificate, whose key lies in a folder that only the owner may enter. A cluster
at DASK_SCHEDULER_ADDRESS has its own (Dask's `distributed.comm.tls` settings).
"""

from pathlib import Path
from typing import Any


def temporary() -> str:
    """A new self-signed certificate and its private key as one PEM text, by Dask."""
    from distributed.security import Security

    make: Any = Security
    made = make.temporary()
    return f"{made.tls_ca_file}{made.tls_scheduler_key}"


def security_with(certificate: Path) -> Any:
    """Dask's `Security` with the file for all three roles: who cannot show it is not connected."""
    from distributed.security import Security

    make: Any = Security
    shown = [f"tls_{role}_{part}" for role in ("client", "scheduler", "worker") for part in ("cert", "key")]
    return make(require_encryption=True, **dict.fromkeys(["tls_ca_file", *shown], str(certificate)))


def without_pages(node: Any) -> Any:
    """Dask's `Scheduler` or `Worker` without its web server, which answers whoever asks, whatever is configured."""

    class Quiet(node):  # type: ignore[misc]
        def start_http_server(self, *_: object, **__: object) -> None:
            """Nothing listens."""

    Quiet.__name__ = Quiet.__qualname__ = str(node.__name__)
    return Quiet
