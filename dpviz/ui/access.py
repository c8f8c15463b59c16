"""Access control of the app: its owner alone, and only from pages of this server, addressed by one of its own names.

On Linux the kernel names the account that opened the other end of a loopback connection. Elsewhere, in
containers with accounts of their own and behind proxies, a token is asked for: once in the address, then as a cookie.

A page of another origin, another port of this machine included, must not reach the websocket that starts, stops and
deletes runs; nor may a name that was pointed at this machine after its page was loaded (DNS rebinding), nor a page that
shows ours in a frame. Streamlit itself lets every port of localhost in.
"""

from __future__ import annotations

import hmac
import os
import re
import secrets
import socket
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import quote

from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit import config

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


# --- from which page --------------------------------------------------------------------------------------------------

# Websocket close code of "policy violation" (RFC 6455, section 7.4.1); before the handshake it becomes HTTP 403.
POLICY_VIOLATION = 1008

# The variable that names the sites, as origins, whose pages may show the app in a frame: none if unset.
FRAMED_BY = "DPVIZ_FRAMED_BY"
_ORIGIN = re.compile(r"https?://(\[[0-9a-f:.]+\]|[a-z0-9.-]+)(:[0-9]{1,5})?", re.IGNORECASE)

# No embedding of the app's answers by others, no handle on its window, no address told outside.
HEADERS = (
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"referrer-policy", b"same-origin"),
    (b"x-content-type-options", b"nosniff"),
)

# host, host:port or [v6]:port; whatever else a Host header holds is nobody's name.
_HOST = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[^\s:/@?#\[\]]+)(:(?P<port>[0-9]{1,5}))?", re.IGNORECASE)


def host_is_ours(host: str, allowed: list[str]) -> bool:
    """Whether a Host header names this server: one of `server.allowedHosts`, on whatever port."""
    match = _HOST.fullmatch(host)
    if match is None:
        return False
    name = match["name"].strip("[]").lower().rstrip(".")
    for entry in allowed:
        wanted = entry.strip().lower().rstrip(".")
        if wanted in ("*", name) or (wanted.startswith("*.") and name.endswith(wanted[1:])):
            return True
    return False


def origin_is_ours(origin: str, host: str, also: list[str]) -> bool:
    """Whether an Origin header is exactly the server as it was addressed, or one of `server.corsAllowedOrigins`."""
    return origin.lower() in (f"http://{host}".lower(), f"https://{host}".lower()) or origin in also


def refusal(scope: Scope) -> str:
    """Why a request is refused, in words with a way out; "" if it is welcome."""
    headers = [(name.lower(), value.decode("latin-1").strip()) for name, value in scope["headers"]]
    hosts = [value for name, value in headers if name == b"host"]
    origins = [value for name, value in headers if name == b"origin"]
    host = hosts[0] if len(hosts) == 1 else ""
    if not host_is_ours(host, config.get_option("server.allowedHosts")):
        return (
            f"Expected Host={', '.join(hosts)!r} to be a name of this server. Open it as http://localhost, "
            "or start it with --server.allowedHosts and its name."
        )
    if scope["type"] == "websocket" and not origins:
        return "Expected an Origin header: only browsers are served here."
    also = [origin.strip() for origin in config.get_option("server.corsAllowedOrigins")]
    strangers = [origin for origin in origins if not origin_is_ours(origin, host, also)]
    if strangers:
        return f"Expected Origin={', '.join(strangers)!r} to be this server: other pages are not served."
    return ""


def framing(allowed: str) -> tuple[tuple[bytes, bytes], ...]:
    """Headers that let nobody show the app in a frame but the sites named: origins, with spaces between.

    Raises:
        ValueError: a name that is no origin. Patterns are none: "*" would let everybody in.
    """
    sites = allowed.split()
    for site in sites:
        if not _ORIGIN.fullmatch(site):
            raise ValueError(f"Expected {FRAMED_BY} to name origins like https://example.com; found {site!r}.")
    if not sites:
        return ((b"content-security-policy", b"frame-ancestors 'none'"), (b"x-frame-options", b"DENY"))
    # The older header knows no list, and would refuse them.
    return ((b"content-security-policy", f"frame-ancestors 'self' {' '.join(sites)}".encode("ascii")),)


def with_headers(send: Send, headers: Sequence[tuple[bytes, bytes]]) -> Send:
    """Sends with these headers, in place of the app's own of the same names and of what it says of frames."""
    ours = {b"x-frame-options", *(name for name, _ in headers)}

    async def guarded(message: Message) -> None:
        if message["type"] == "http.response.start":
            others = [(name, value) for name, value in message["headers"] if name.lower() not in ours]
            message = {**message, "headers": [*others, *headers]}
        await send(message)

    return guarded


class Guard:
    """Lets only the owner through, and only from pages of this server; nobody else frames or embeds the answers.

    A request is judged before anything else sees it, a websocket once, at its handshake.
    """

    def __init__(self, app: ASGIApp, owner: Access, framed_by: str = "") -> None:
        self._app = app
        self._owner = owner
        self._framed = bool(framed_by.split())
        self._headers = (*framing(framed_by), *HEADERS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return

        guarded = with_headers(send, self._headers)
        why, answer = refusal(scope), None
        if not why:
            why, answer = self._admission(scope)
        if why and scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": POLICY_VIOLATION, "reason": why[:120]})
            return
        if why:
            answer = PlainTextResponse(why, 403)
        await (answer or self._app)(scope, receive, guarded)

    def _admission(self, scope: Scope) -> tuple[str, Response | None]:
        """Why nobody but the owner gets in, "" for the owner; and the answer to an address that holds the token.

        That is the same address without it, so that it stays in no history and in no link.
        """
        parameters = scope["query_string"].decode("latin-1").split("&")
        tokens = [text.removeprefix("token=") for text in parameters if text.startswith("token=")]
        at_other_end = self._owner.at_other_end(scope)
        by_token = not at_other_end and any(map(self._owner.is_token, tokens))
        if not (at_other_end or by_token or self._owner.has_cookie(scope)):
            return NOT_THE_OWNER, None
        if not tokens or scope["type"] != "http" or scope["method"] not in ("GET", "HEAD"):
            return "", None
        # Relative: a proxy may have taken the beginning of the path away.
        query = "&".join(text for text in parameters if not text.startswith("token="))
        location = f"./{quote(scope['path'].rpartition('/')[2])}" + (f"?{query}" if query else "")
        answer = Response(status_code=303, headers={"Location": location, "Cache-Control": "no-store"})
        if by_token:
            answer.raw_headers.append((b"set-cookie", self._owner.cookie(scope, framed=self._framed)))
        return "", answer
