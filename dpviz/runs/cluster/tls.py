"""What keeps strangers out of the local cluster: a certificate made at its start, and no web pages.

Without it any process on this machine could connect to the loopback address and run code as the app's owner. Both
sides of every connection show the one certificate whose key only host, workers and app hold, in memory; they hand it
on through pipes. A cluster at DASK_SCHEDULER_ADDRESS has its own (Dask's `distributed.comm.tls` settings).
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

# Valid from long ago until long after: a clock that is set must not lock workers out.
YEARS = 20


@dataclass(frozen=True, slots=True, repr=False)
class Certificate:
    """A self-signed certificate and its private key, both PEM. Never shown, never written to a file of ours."""

    certificate: str
    key: str

    def to_json(self) -> dict[str, str]:
        return {"certificate": self.certificate, "key": self.key}

    @classmethod
    def from_json(cls, sent: dict[str, Any]) -> Certificate:
        return cls(str(sent["certificate"]), str(sent["key"]))

    def security(self, scratch: Path | None = None) -> Any:
        """Dask's `Security` with it for all three roles: who cannot show it is not connected.

        Args:
            scratch: Folder of the owner's in which the key lies while OpenSSL reads it, which takes files alone; this
                process's own for temporary files if None.
        """
        from distributed.security import Security

        class InScratch(Security):
            def _get_tls_context(self, tls: dict[str, Any], purpose: Any) -> Any:
                load: Any = super()._get_tls_context
                with TemporaryDirectory(dir=scratch) as folder:
                    pair = {part: Path(folder, part) for part in ("cert", "key")}
                    for part, file in pair.items():
                        file.write_text(tls[part])
                    return load(tls | {part: str(file) for part, file in pair.items()}, purpose)

        make: Any = InScratch
        roles = ("client", "scheduler", "worker")
        return make(
            require_encryption=True,
            tls_ca_file=self.certificate,
            **{f"tls_{role}_cert": self.certificate for role in roles},
            **{f"tls_{role}_key": self.key for role in roles},
        )


def make_certificate() -> Certificate:
    """A new one (elliptic curve P-256: a millisecond, where RSA takes a tenth of a second)."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "dpviz-workers")])
    now = datetime.datetime.now(tz=datetime.UTC)
    span = datetime.timedelta(days=365 * YEARS)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - span)
        .not_valid_after(now + span)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return Certificate(made.public_bytes(serialization.Encoding.PEM).decode(), private.decode())


def without_pages(node: Any) -> Any:
    """Dask's `Scheduler` or `Worker` without its web server, which answers whoever asks, whatever is configured."""

    class Quiet(node):  # type: ignore[misc]
        def start_http_server(self, *_: object, **__: object) -> None:
            """Nothing listens."""

    Quiet.__name__ = Quiet.__qualname__ = str(node.__name__)
    return Quiet
