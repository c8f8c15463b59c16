"""Who may talk to the app's server: its owner, from pages of this very server under a name that it is known by.

`dpviz.ui.owner` tells the owner from other accounts of the machine. A page of another origin, another port of this
machine included, must not reach the websocket that starts, stops and deletes runs; nor may a name that was pointed at
this machine after its page was loaded (DNS rebinding), nor a page that shows ours in a frame. Streamlit itself lets
every port of localhost in.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import quote

from starlette.responses import PlainTextResponse, Response
from streamlit import config

from dpviz.ui.owner import NOT_THE_OWNER, Access

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

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
            "or start it with --server.allowedHosts and the name that it is to have."
        )
    if scope["type"] == "websocket" and not origins:
        return "Expected an Origin header: only browsers are served here."
    also = [origin.strip() for origin in config.get_option("server.corsAllowedOrigins")]
    strangers = [origin for origin in origins if not origin_is_ours(origin, host, also)]
    if strangers:
        return f"Expected Origin={', '.join(strangers)!r} to be this server: pages of others are not served."
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

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                ours = {b"x-frame-options", *(name for name, _ in self._headers)}
                others = [(name, value) for name, value in message["headers"] if name.lower() not in ours]
                message = {**message, "headers": [*others, *self._headers]}
            await send(message)

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
