"""What the browser fetches beside Streamlit's own files: the scripts of our components, and Plotly's."""

from __future__ import annotations

import gzip
import hashlib
import json
from functools import lru_cache
from pathlib import Path
from typing import Any

import plotly
import streamlit as st
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from streamlit import config

from dpviz._remember import remembered
from dpviz.charts import hand as charts
from dpviz.charts.hand import SCRIPTS
from dpviz.ui.hand import fetched

OURS = SCRIPTS | {file.name: file for file in sorted(Path(__file__).parent.glob("*.js"))}
FILES = OURS | {"plotly.js": charts.plotly()}
FOREVER = "public, max-age=31536000, immutable"  # another content has another address


def root() -> str:
    """Where they lie on this server."""
    base = str(config.get_option("server.baseUrlPath") or "").strip("/")
    return f"/{base}/_dpviz" if base else "/_dpviz"


def routes() -> list[Route]:
    """For the server's table."""
    return [
        Route(f"{root()}/frames/{{token}}", _frames),
        Route(f"{root()}/late/{{token}}", _late),
        Route(f"{root()}/{{mark}}/{{name}}", _file),
    ]


@lru_cache(maxsize=1)
def mark() -> str:
    """Changes whenever one of the files does."""
    contents = [file.read_bytes() for file in OURS.values()] + [plotly.__version__.encode()]
    return hashlib.sha256(b"".join(contents)).hexdigest()[:12]


def stub(name: str) -> str:
    """The script that Streamlit sends with every component: it fetches the real one, once a browser.

    No top-level await: several components import this at once, and WebKit would hand it out unfinished (its bug
    242740).
    Streamlit waits for what the exported function returns.
    """
    at = json.dumps(f"{root()}/{mark()}/")
    return (
        f"const real = import(new URL({at}, location.origin).href + '{name}.js');\n"
        "export default async (component) => (await real).default(component);\n"
    )


def component(name: str) -> Any:
    """One of our components for the browser, whose script has this name."""
    return st.components.v2.component(f"dpviz.{name}", js=stub(name), isolate_styles=False)


@remembered
def _packed(name: str) -> bytes:
    return gzip.compress(FILES[name].read_bytes(), 6)


def _file(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in FILES or request.path_params["mark"] != mark():
        return Response("There is no such file.", 404, media_type="text/plain")
    headers = {"Cache-Control": FOREVER, "Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
    return Response(_packed(name), media_type="text/javascript", headers=headers)


async def _frames(request: Request) -> Response:
    asked, token = request.query_params, request.path_params["token"]
    values = asked.get("at", "").split(",")
    content = await fetched.frames(token, asked.get("field", ""), values, request.is_disconnected)
    if content is None:
        return Response("These frames are not kept any more.", 404, media_type="text/plain")
    return _fresh(content)


async def _late(request: Request) -> Response:
    parts = fetched.find_slow_parts(request.path_params["token"])
    if parts is None:
        return Response("This page has moved on.", 404, media_type="text/plain")
    content = await fetched.slow_parts(parts, request.is_disconnected)
    return Response(status_code=204) if content is None else _fresh(content)


def _fresh(content: bytes) -> Response:
    headers = {"Cache-Control": "no-store", "Content-Encoding": "gzip"}
    return Response(gzip.compress(content, 1), media_type="application/json", headers=headers)
