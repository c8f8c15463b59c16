"""Whether the owner is at the other end of a connection: by account where the kernel names it, else by token.

On Linux the kernel names the account that opened the other end of a loopback connection. Elsewhere, in
containers with accounts of their own and behind proxies, a token is asked for: once in the address, then as a cookie.
"""

from __future__ import annotations

import hmac
import os
import re
import secrets
import socket
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.requests import cookie_parser

if TYPE_CHECKING:
    from starlette.types import Scope

# The variable that holds a token of the owner's own choice; with it every account is asked for it, the owner's too.
TOKEN_VARIABLE = "DPVIZ_TOKEN"
_TOKEN = re.compile(r"[A-Za-z0-9._~-]{16,}")  # characters that an address and a cookie take as they are

# Headers by which proxies say that a request is somebody else's.
_PROXIED = re.compile(rb"forwarded|via|x-real-ip|x-forwarded-.*")

NOT_THE_OWNER = (
    "Only the owner of this app may use it: open the address with ?token= that it printed when it started, or start "
    f"it with {TOKEN_VARIABLE} set and add ?token= and that token to its address."
)

Address = tuple[str, int]

# sock_diag(7), linux/inet_diag.h. A header of 16 bytes comes before every message.
_NETLINK_SOCK_DIAG = 4
_BY_FAMILY, _REQUEST = 20, 1
_HEADER, _ABOUT = struct.Struct("=IHHII"), struct.Struct("=BBBBI")
_ENDS = struct.Struct("!HH16s16s")  # ports and addresses, as on the wire
_ANY = bytes(4) + b"\xff" * 8  # interface, cookie
_ANSWER = struct.Struct(f"=xB2x{_ENDS.size + len(_ANY)}x12xII")  # state, uid, inode
_ESTABLISHED = 1


def account_of(client: Address, server: Address) -> int | None:
    """The account (uid) that opened a connection, both ends of it on this machine: Linux is asked for this one socket.

    Args:
        client, server: The ends, as (host, port).

    Returns:
        None if the kernel names nobody: it cannot be asked, the socket is of another network namespace, or it was
        closed, when it is nobody's and counts as root's.
    """
    hosts = [_plain(host) for host, _ in (client, server)]
    family = socket.AF_INET if hosts[0].version == 4 else socket.AF_INET6
    ends = _ENDS.pack(client[1], server[1], *(host.packed for host in hosts))
    question = _ABOUT.pack(family, socket.IPPROTO_TCP, 0, 0, 2**32 - 1) + ends + _ANY
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, _NETLINK_SOCK_DIAG) as kernel:
            kernel.send(_HEADER.pack(_HEADER.size + len(question), _BY_FAMILY, _REQUEST, 0, 0) + question)
            answer = kernel.recv(4096, socket.MSG_DONTWAIT)
    except OSError:
        return None
    if _HEADER.unpack_from(answer)[1] != _BY_FAMILY:
        return None
    state, uid, inode = _ANSWER.unpack_from(answer, _HEADER.size)
    return uid if state == _ESTABLISHED and inode else None


def _plain(host: str) -> Any:
    """The address, in version 4 where it is only wrapped into version 6."""
    ip = ip_address(host)
    return getattr(ip, "ipv4_mapped", None) or ip


def on_loopback(host: str) -> bool:
    """Whether only this machine reaches the address or name."""
    try:
        return bool(_plain(host.strip("[]")).is_loopback)
    except ValueError:
        return host.lower().rstrip(".") == "localhost"


def accounts_are_named(uid_map: Path = Path("/proc/self/uid_map")) -> bool:
    """Whether this system names accounts, and one number stands for one account.

    Inside a container with a user namespace a forwarder that serves the whole machine has the owner's number.
    """
    try:
        return uid_map.read_text().split() == ["0", "0", str(2**32 - 1)]
    except OSError:
        return False


@dataclass(frozen=True, slots=True)
class Access:
    """Who may use the app.

    Attributes:
        token: What lets in whoever holds it.
        chosen: Whether it is `DPVIZ_TOKEN`'s.
        account: The uid that needs no token; None if everybody does.
    """

    token: str
    chosen: bool
    account: int | None

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> Access:
        """The account of this process, and the token in `environment` or a new one.

        Raises:
            ValueError: for a token that can be guessed, or that an address cannot hold.
        """
        token = environment.get(TOKEN_VARIABLE)
        if token is None:
            return cls(secrets.token_urlsafe(24), False, os.geteuid() if accounts_are_named() else None)
        if not _TOKEN.fullmatch(token):
            raise ValueError(
                f"Expected {TOKEN_VARIABLE} to be 16 or more letters, digits, '.', '_', '~' or '-'; it has "
                f"{len(token)} characters. 'openssl rand -hex 16' makes one."
            )
        return cls(token, True, None)

    def at_other_end(self, scope: Scope) -> bool:
        """Whether the owner's account opened this connection, directly and to a name of this machine."""
        client, server = scope.get("client"), scope.get("server")
        if self.account is None or not client or not server or server[1] is None:
            return False
        # A proxy of the owner's serves strangers too. The server takes the client's address from these headers.
        if any(_PROXIED.fullmatch(name.lower()) for name, _ in scope["headers"]):
            return False
        hosts = [re.sub(r":\d+$", "", value.decode("latin-1")) for name, value in scope["headers"] if name == b"host"]
        if not all(on_loopback(host) for host in (*hosts, client[0], server[0])):
            return False
        return account_of(tuple(client), tuple(server)) == self.account

    def has_cookie(self, scope: Scope) -> bool:
        """Whether the request brings the cookie."""
        cookies = [value.decode("latin-1") for name, value in scope["headers"] if name == b"cookie"]
        value = cookie_parser("; ".join(cookies)).get(_cookie_name(scope), "")
        return hmac.compare_digest(value.encode(), self._cookie_value().encode())

    def is_token(self, text: str) -> bool:
        return hmac.compare_digest(text.encode(), self.token.encode())

    def cookie(self, scope: Scope, *, framed: bool) -> bytes:
        """The Set-Cookie header; with `framed`, and over TLS, one that the named sites' frames send too."""
        secure = scope["scheme"] in ("https", "wss")
        site = "SameSite=None; Partitioned" if framed and secure else "SameSite=Lax"
        parts = [f"{_cookie_name(scope)}={self._cookie_value()}", "Path=/", "HttpOnly", site]
        return "; ".join([*parts, "Secure"] if secure else parts).encode()

    def _cookie_value(self) -> str:
        """Not the token itself: browsers send cookies to every port of a host."""
        return hmac.new(self.token.encode(), b"dpviz cookie", "sha256").hexdigest()


def _cookie_name(scope: Scope) -> str:
    """Cookies know no ports; two apps of one machine have names of their own."""
    server = scope.get("server")
    return f"dpviz-{server[1] if server else 0}"
