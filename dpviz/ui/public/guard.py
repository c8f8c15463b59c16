"""The guard of a public server: everybody gets in, from pages of this server, through its doors, within limits.

Messages of a session that come too quickly wait, and pages are run in turn: nothing is lost. Requests above a limit are
answered with 429 and when to come again.
"""

import asyncio
import math
from collections.abc import Iterable

from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dpviz.ui.access import HEADERS, POLICY_VIOLATION, framing, refusal, with_headers
from dpviz.ui.public.doors import METHODS, Door, Doors
from dpviz.ui.public.limits import TURNS, Allowance, Allowances, Sockets, Turn, Turns, visitor
from dpviz.ui.public.messages import ImproperMessage, reticent, taken

PAGES_AND_SOCKETS = (600, 10.0)  # at once, and a second; of one address
MADE = (3_000, 200.0)  # the same for frames and slow parts
MESSAGES = (30, 5.0)  # the same of one session

# In place of Streamlit's own, which tell what was set: the page takes no messages from a page around it.
SETTINGS = {"allowedOrigins": [], "useExternalAuthToken": False, "enableCustomParentMessages": False}
NOTHING_HERE = "There is nothing at this address."
TOO_MANY = "There are too many requests from your network. Try again in {} s."
TRY_LATER = 1013  # close code


class PublicGuard:
    """Judges every request before anything else sees it.

    Args:
        root: the path below which the app lies: "" or "/base".
        pages: the addresses of its pages.
        framed_by: origins whose pages may show the app in a frame, with spaces between.
    """

    def __init__(self, app: ASGIApp, root: str, pages: Iterable[str], framed_by: str = "") -> None:
        self._app = app
        self._doors = Doors(root, pages)
        self._headers = (*framing(framed_by), *HEADERS)
        pages_and_sockets = Allowances(*PAGES_AND_SOCKETS)
        self._allowances = {
            Door.PAGE: pages_and_sockets,
            Door.STREAM: pages_and_sockets,
            Door.MADE: Allowances(*MADE),
        }
        self._sockets = Sockets()
        self._turns = Turns(TURNS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return

        guarded = with_headers(send, self._headers)
        answer = self._answered(scope)
        if answer is not None and scope["type"] == "websocket":
            await _deny(answer, scope, receive, send)
        elif answer is not None:
            await answer(scope, receive, guarded)
        elif scope["type"] == "websocket":
            await self._session(scope, receive, send)
        else:
            await self._app(scope, receive, guarded)

    def _answered(self, scope: Scope) -> Response | None:
        """The answer to a request that goes no further; None to one that does."""
        if why := refusal(scope):
            return PlainTextResponse(why, 403)
        door = self._doors.of(scope)
        if door is None:
            return PlainTextResponse(NOTHING_HERE, 404)
        if scope["type"] == "http" and scope["method"] not in METHODS:
            return PlainTextResponse("Only GET and HEAD are answered.", 405, {"Allow": ", ".join(METHODS)})
        if door is Door.SETTINGS:
            return JSONResponse(SETTINGS, headers={"Cache-Control": "no-cache"})
        return self._too_many(door, _address(scope))

    def _too_many(self, door: Door, address: str) -> Response | None:
        if door in self._allowances and not (allowance := self._allowances[door].of(address)).spend():
            seconds = math.ceil(allowance.wait())
            return PlainTextResponse(TOO_MANY.format(seconds), 429, {"Retry-After": str(seconds)})
        if door in (Door.PAGE, Door.STREAM) and (why := self._sockets.refusal(address)):
            return PlainTextResponse(why, 429, {"Retry-After": "60"})
        return None

    async def _session(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The websocket of one session."""
        address, pace = _address(scope), Allowance(*MESSAGES)
        turn = Turn(self._turns, address)

        async def listened() -> Message:
            while True:
                message = await receive()
                if message["type"] != "websocket.receive":
                    return message
                try:
                    kind = taken(message.get("bytes"))
                except ImproperMessage as improper:
                    await send({"type": "websocket.close", "code": improper.code})
                    return {"type": "websocket.disconnect", "code": improper.code}
                while not pace.spend():
                    await asyncio.sleep(pace.wait())
                if kind == "rerun_script":
                    await turn.take()
                if kind:
                    return message

        async def spoken(message: Message) -> None:
            if message["type"] == "websocket.send" and message.get("bytes"):
                kind, data = reticent(message["bytes"])
                message = {**message, "bytes": data}
                if kind == "script_finished":
                    turn.give()
            await send(message)

        self._sockets.enter(address)
        try:
            await self._app(scope, listened, spoken)
        finally:
            turn.give()
            self._sockets.leave(address)


def _address(scope: Scope) -> str:
    client = scope.get("client")
    return visitor(client[0]) if client else ""


async def _deny(answer: Response, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a websocket's handshake with a response where the server can, else close it."""
    await receive()
    if "websocket.http.response" not in scope.get("extensions", {}):
        code = TRY_LATER if answer.status_code == 429 else POLICY_VIOLATION
        await send({"type": "websocket.close", "code": code, "reason": bytes(answer.body).decode()[:120]})
        return
    await send({"type": "websocket.http.response.start", "status": answer.status_code, "headers": answer.raw_headers})
    await send({"type": "websocket.http.response.body", "body": answer.body})
