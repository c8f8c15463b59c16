"""Requests of other sites and accounts: ``python -m tools.attack.strangers``. Only the owner's own pages are answered.

Every pair of a Host and an Origin header is tried on the websocket and on each kind of address. Another account sends
the right ones, with all that proxies say, comes first to the shared folder for temporary files, and stands where
browsers look for "localhost" first. While the cluster is up, a plain Dask client without the certificate tries its
ports; another account does the same, and tries to read the certificate and what waits to be recorded.
"""

import json
import os
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from unittest.mock import patch
from urllib.parse import urlsplit

import psutil
from websockets.sync.client import connect

from dpviz.runs.cluster import local
from dpviz.runs.waiting import FOLDER as WAITING
from tests.browser.driver import ROOT, running_app
from tests.browser.test_strangers import KNOCK, SQUAT, answer, shake_hands
from tests.other_account import CAN_BE_OTHERS, by_another
from tests.runs.conftest import family
from tests.runs.test_engine import refused_by
from tests.runs.test_private import PLANT
from tools.attack.crowd import open_page

HOSTS = ("127.0.0.1", "localhost", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "0.0.0.0", "")
ORIGINS = (
    "own",
    "null",
    "http://evil.example",
    "http://localhost:{other}",
    "http://127.0.0.1:{other}",
    "https://{host}.evil",
)
DISGUISES = (
    {}, {"X-Forwarded-For": "127.0.0.1"}, {"X-Forwarded-For": "127.0.0.1:{port}"}, {"Forwarded": "for=127.0.0.1"},
    {"X-Real-IP": "::1", "Via": "1.1 proxy"}, {"Cookie": "dpviz-{port}="}, {"Cookie": "dpviz-{port}=0; dpviz=1"},
    {"Authorization": "token 0"},
)  # fmt: skip
PATHS = ("/", "/_stcore/health", "/_stcore/host-config", "/_stcore/upload_file/a/b", "/media/a.png")


def table() -> str:
    """How many requests of each kind were let in."""
    counts = {kind: [0, 0, 0] for kind in ("websocket", "GET", "PUT", "DELETE")}  # own let in, strangers, let in
    with (
        tempfile.TemporaryDirectory() as name,
        tempfile.TemporaryDirectory() as shared,
        patch.dict(os.environ, DPVIZ_HOME=str(Path(name) / "home"), TMPDIR=shared),
        running_app(ROOT / "app.py", Path(name) / "app.log") as url,
    ):
        port = urlsplit(url).port or 0
        for host, origin in product(HOSTS, ORIGINS):
            named = f"{host}:{port}"
            said = origin.replace("{other}", str(port + 1)).replace("{host}", named)
            said = f"http://{named}" if said == "own" else said
            own = host in HOSTS[:2] and origin == "own"
            if host:
                note(counts["websocket"], own, shake_hands(url, Host=named, Origin=said) == 101)
            for method, path in product(("GET", "PUT", "DELETE"), PATHS):
                found = answer(url, path, method, Host=named, Origin=said)
                note(counts[method], own, found.status != 403)
        plant(Path(shared))
        before = everything(Path(shared))
        home = Path(os.environ["DPVIZ_HOME"])
        with cluster_of(url, home) as ports:
            addresses = [f"{protocol}://127.0.0.1:{port}" for port in ports for protocol in ("tcp", "tls")]
            let_in = sum(not refused_by(address) for address in addresses)
            at_cluster = another_account_at_the_cluster(home, ports)
        ran = (Path(shared) / "dask-scratch-space" / "ran").exists()
        ours = len(everything(Path(shared)) - before)
        accounts = another_account(port)
    rows = [f"| {kind} | {own} | {strangers} | {let} |" for kind, (own, strangers, let) in counts.items()]
    return "\n".join(
        [
            "## Strangers",
            "",
            f"Every pair of {len(HOSTS)} Host and {len(ORIGINS)} Origin headers, sent to the app as it is started.",
            "",
            "| request | own pages answered | strangers' requests | let in |",
            "|---|---|---|---|",
            *rows,
            f"| Dask client without the certificate | – | {len(addresses)} | {let_in} |",
            f"| another account, at the cluster's ports and files | – | {at_cluster[0]} | {at_cluster[1]} |",
            f"| another account, right headers | – | {accounts[0]} | {accounts[1]} |",
            f"| its folder for Dask's temporary files, code run | – | {int(CAN_BE_OTHERS)} | {int(ran)} |",
            f"| files of ours in the shared folder for temporary files | – | – | {ours} |",
            *([] if CAN_BE_OTHERS else ["", "Not as root: another account could not be tried."]),
        ]
    )


def plant(shared: Path) -> None:
    """Another account comes first to the folder for temporary files."""
    shared.chmod(0o1777)
    if CAN_BE_OTHERS:
        by_another(PLANT, shared)


def another_account(port: int) -> tuple[int, int]:
    """How often another account knocked, with the headers of an own page, and how often it was let in."""
    if not CAN_BE_OTHERS:
        return 0, 0
    statuses = [200 * (by_another(SQUAT, port) != "refused") or 403]
    for disguise in DISGUISES:
        headers = {name: value.replace("{port}", str(port)) for name, value in disguise.items()}
        statuses += json.loads(by_another(KNOCK, port, json.dumps(headers)))
    return len(statuses), sum(status != 403 for status in statuses)


def note(count: list[int], own: bool, let_in: bool) -> None:
    count[0] += own and let_in
    count[1] += not own
    count[2] += not own and let_in


# What another account may try at the cluster: its files, and its ports without a certificate. Who is let in hears
# Dask's first message.
BREAK_IN = """
files, ports = json.loads(sys.argv[1]), json.loads(sys.argv[2])
outcomes = []
for file in files:
    for attempt in (lambda: open(file, "rb").read(), lambda: os.listdir(file), lambda: open(file, "ab")):
        try:
            attempt()
            outcomes.append(True)
        except OSError:
            outcomes.append(False)
blind = ssl._create_unverified_context()
for port in ports:
    for secure in (True, False):
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=2) as plain:
                connection = blind.wrap_socket(plain) if secure else plain
                heard = connection.recv(8)
            outcomes.append(bool(heard) and heard[:1] != b"\\x15")  # an alert of TLS is a refusal
        except OSError:
            outcomes.append(False)
print(json.dumps(outcomes))
"""


def another_account_at_the_cluster(home: Path, ports: Iterable[int]) -> tuple[int, int]:
    """How often another account tried to get at the cluster of the store, and how often it could."""
    if not CAN_BE_OTHERS:
        return 0, 0
    for above in (home.parent, home):  # nothing but its own permissions guards the folder of the cluster
        above.chmod(0o755)
    folder = local.folder_of(home)
    files = [folder, home / WAITING, *folder.iterdir()]
    outcomes = json.loads(
        by_another(BREAK_IN, json.dumps(list(map(str, files))), json.dumps(list(ports)), loaded="import ssl")
    )
    return len(outcomes), sum(outcomes)


def everything(folder: Path) -> set[Path]:
    """All files of this account below it."""
    return {path for path in folder.rglob("*") if path.lstat().st_uid == os.geteuid()}


@contextmanager
def cluster_of(url: str, home: Path) -> Iterator[set[int]]:
    """The ports on which scheduler and workers listen while somebody has the Train page open."""
    opened = f"http://127.0.0.1:{urlsplit(url).port}"
    with connect(
        f"{opened.replace('http', 'ws')}/_stcore/stream",
        origin=opened,  # type: ignore[arg-type]
        subprotocols=["streamlit"],  # type: ignore[list-item]
        proxy=None,
    ) as visitor:
        open_page(visitor, "train")
        end, ports = time.monotonic() + 60.0, set[int]()
        while len(ports) < 2 and time.monotonic() < end:  # scheduler and a worker
            time.sleep(0.5)
            cluster = local.find(home)
            ports = {
                connection.laddr.port
                for process in (family(cluster.process.pid) if cluster else ())
                for connection in process.net_connections()
                if connection.status == psutil.CONN_LISTEN
            }
        yield ports


if __name__ == "__main__":
    print(table())
