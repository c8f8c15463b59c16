"""What keeps strangers out of the local cluster: a certificate made at its start, and no web pages.

Without it any process on this machine could connect to the loopback address and run code as the app's owner. Both
sides of every connection show the one certificate whose key only host, workers and app hold, in memory; they hand it
on through pipes. A cluster at DASK_SCHEDULER_ADDRESS has its own (Dask's `distributed.comm.tls` settings).
"""

import datetime
from typing import Any

# Valid from long ago until long after: a clock that is set must not lock workers out, as it may with Dask's own
# temporary certificates, which are valid from now on for a year.
YEARS = 20


def make_certificate() -> str:
    """A new self-signed certificate and its private key as one PEM text, never shown.

    Of an elliptic curve, P-256: a millisecond, where RSA, which Dask's own have, takes a sixth of a second.
    """
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
    return (made.public_bytes(serialization.Encoding.PEM) + private).decode()


def security_with(certificate: str) -> Any:
    """Dask's `Security` with it for all three roles: who cannot show it is not connected.

    Args:
        certificate: The PEM text, or a file that holds it: OpenSSL reads keys from files alone, so that Dask writes a
            text into this process's folder for temporary files for that moment.
    """
    from distributed.security import Security

    make: Any = Security
    shown = [f"tls_{role}_{part}" for role in ("client", "scheduler", "worker") for part in ("cert", "key")]
    return make(require_encryption=True, **dict.fromkeys(["tls_ca_file", *shown], certificate))


def without_pages(node: Any) -> Any:
    """Dask's `Scheduler` or `Worker` without its web server, which answers whoever asks, whatever is configured."""

    class Quiet(node):  # type: ignore[misc]
        def start_http_server(self, *_: object, **__: object) -> None:
            """Nothing listens."""

    Quiet.__name__ = Quiet.__qualname__ = str(node.__name__)
    return Quiet
