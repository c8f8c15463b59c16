"""Files that the browser fetches beside Streamlit's own: the scripts of our components as one file, and Plotly's."""

import gzip
import hashlib
import json
import re
import zlib
from collections.abc import AsyncIterator, Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

import plotly
import streamlit as st
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse
from starlette.routing import Route
from streamlit import config
from streamlit.file_util import get_static_dir

from dpviz._remember import remembered
from dpviz.charts import browser as charts
from dpviz.charts.browser import LOOK, SCRIPTS
from dpviz.ui.browser import frames, slow_parts, updates, warmup

OURS = SCRIPTS | {file.name: file for file in sorted(Path(__file__).parent.glob("*.js"))}
COMPONENTS = ("chart", "number", "history", "strip", "story", "follow", "images", "run")
BUNDLE, PLOTLY = "dpviz.js", "plotly.js"
FOREVER = "public, max-age=31536000, immutable"  # another content has another address


def root() -> str:
    """Where they lie on this server."""
    base = str(config.get_option("server.baseUrlPath") or "").strip("/")
    return f"/{base}/_dpviz" if base else "/_dpviz"


def routes(pages: Iterable[str]) -> list[Route]:
    """For the server's table; `pages` are the addresses of its pages but Home, which is at the root."""
    return [
        Route(f"{root().removesuffix('_dpviz')}home", _home),
        *(Route(f"{root().removesuffix('_dpviz')}{page}", _page) for page in ("", *pages)),
        Route(f"{root()}/frames/{{token}}", _frames),
        Route(f"{root()}/slow/{{token}}", _slow),
        Route(f"{root()}/updates/{{token}}", _updates),
        Route(f"{root()}/{{mark}}/{{name}}", _file),
    ]


# --- scripts ----------------------------------------------------------------------------------------------------------

# What a link says of a bare page, as `present` reads it, in JavaScript.
BARE = "/[?&](present|embed)=(?!(0|false)?(&|$))/i"
_IMPORT = re.compile(r'^import (\w+|\{[^}]*\}) from "\./(\w+)\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|class|const) (\w+))", re.MULTILINE)


def _imported(line: re.Match[str]) -> str:
    """An import from another file, as it is within one."""
    names, file = line.groups()
    return f"const {names} = ${file}{'' if names.startswith('{') else '.component'};\n"


@lru_cache(maxsize=1)
def bundle() -> str:
    """The scripts of all components as one module, which exports each under its name: one request in place of twenty.

    Each file is a function's body that returns what it exports, in an order in which all that it imports comes before.
    """
    parts: dict[str, str] = {}

    def add(name: str) -> None:
        if name in parts:
            return
        text = OURS[f"{name}.js"].read_text(encoding="utf-8")
        for _, other in _IMPORT.findall(text):
            add(other)
        exported = [*_EXPORT.findall(text), *(["component"] if "export default" in text else [])]
        text = _EXPORT.sub("", _IMPORT.sub(_imported, text)).replace("export default ", "const component = ")
        parts[name] = f"const ${name} = (() => {{\n{text}return {{ {', '.join(exported)} }};\n}})();\n"

    for name in COMPONENTS:
        add(name)
    ends = [f"export const {name} = ${name}.component;\n" for name in COMPONENTS]
    ends += ["export const { link } = $link;\n"]
    return "".join([*parts.values(), *ends])


@lru_cache(maxsize=1)
def mark() -> str:
    """Changes whenever one of the files does."""
    return hashlib.sha256(f"{bundle()}{plotly.__version__}".encode()).hexdigest()[:12]


def _address(name: str) -> str:
    return f"{root()}/{mark()}/{name}"


def stub(name: str) -> str:
    """The script that Streamlit sends with every component: it fetches the real one, once a browser.

    No top-level await: several components import this at once, and WebKit would hand it out unfinished (its bug
    242740).
    Streamlit waits for what the exported function returns.
    """
    return (
        f"const real = import(new URL({json.dumps(_address(BUNDLE))}, location.origin).href);\n"
        f"export default async (component) => (await real).{name}(component);\n"
    )


@lru_cache(maxsize=1)
def _html() -> bytes:
    """Streamlit's HTML with three scripts and a look more.

    The first says where its server is: else the browser looks below the page's own address first, and asks twice before
    it connects, one round trip each. Streamlit's dialogs about errors are off. The second says whether the link
    asks for a bare page, beside which no side bar will come. The third keeps what is entered while there is no
    connection, and says so. The look is there before the first page is drawn, which would jump else, and
    behind Streamlit's own, which it changes, and before that of a bare page.
    """
    base = root().removesuffix("/_dpviz")
    scripts = (
        f"<script>window.__streamlit = {{BACKEND_BASE_URL: location.origin + {json.dumps(base)}, HOST_CONFIG: "
        "{allowedOrigins: [location.origin], useExternalAuthToken: false, blockErrorDialogs: true}}</script>"
        f"<script>document.documentElement.toggleAttribute('data-dpviz-bare', {BARE}.test(location.search))</script>"
        f'<script type="module">import {{ link }} from {json.dumps(_address(BUNDLE))}; '
        f"link.watch({json.dumps(f'{base}/_stcore/health')})</script>"
    )
    page = (Path(get_static_dir()) / "index.html").read_text(encoding="utf-8")
    style = f"<style>{LOOK.read_text()}{(Path(__file__).parents[1] / 'look.css').read_text()}</style>"
    return gzip.compress(page.replace("<head>", f"<head>{scripts}", 1).replace("<body>", f"<body>{style}", 1).encode())


def _home(request: Request) -> Response:
    return RedirectResponse(f"./?{request.url.query}".rstrip("?"))


def _page(_request: Request) -> Response:
    """Names the scripts that it will need, so that they come beside Streamlit's own."""
    links = f"<{_address(BUNDLE)}>; rel=modulepreload, <{_address(PLOTLY)}>; rel=preload; as=script"
    headers = {"Cache-Control": "no-cache", "Content-Encoding": "gzip", "Link": links}
    return Response(_html(), media_type="text/html", headers=headers)


def component(name: str) -> Any:
    """One of our components for the browser, whose script has this name."""
    return st.components.v2.component(f"dpviz.{name}", js=stub(name), isolate_styles=False)


@remembered
def _packed(name: str) -> bytes:
    return gzip.compress(bundle().encode() if name == BUNDLE else charts.plotly().read_bytes(), 6)


def _file(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in (BUNDLE, PLOTLY) or request.path_params["mark"] != mark():
        return Response("There is no such file.", 404, media_type="text/plain")
    headers = {"Cache-Control": FOREVER, "Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
    return Response(_packed(name), media_type="text/javascript", headers=headers)


async def _frames(request: Request) -> Response:
    """Frames of one field at the values "at", line by line as they are made."""
    warmup.make_way()
    offer = frames.find_offer(request.path_params["token"])
    if offer is None or offer.recipe.sweep.moved.key != request.query_params.get("field"):
        return _over()
    lines = frames.stream(offer, request.query_params.get("at", "").split(","))
    # Proxies are not to wait for the end.
    headers = {**_FRESH, "X-Accel-Buffering": "no"}
    return StreamingResponse(_zipped(lines), headers=headers, media_type="application/x-ndjson")


async def _zipped(lines: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Each line at once: the next one repeats much of it."""
    zipping = zlib.compressobj(1, wbits=31)
    async for line in lines:
        yield zipping.compress(line) + zipping.flush(zlib.Z_SYNC_FLUSH)
    yield zipping.flush()


async def _slow(request: Request) -> Response:
    parts = slow_parts.find(request.path_params["token"])
    if parts is None:
        return _over()
    content = await slow_parts.answered(parts, request.is_disconnected)
    return Response(status_code=204) if content is None else _fresh(content)


async def _updates(request: Request) -> Response:
    watched = updates.find(request.path_params["token"])
    if watched is None:
        return _over()
    update = watched.recent
    if update is None:
        update = await run_in_threadpool(watched.now)
    if request.headers.get("If-None-Match") == update.mark:
        return Response(status_code=304)
    return Response(update.content, media_type="application/json", headers={**_FRESH, "ETag": update.mark})


def _over() -> Response:
    """The page has moved on: what has this name is not kept any more. No error, which browsers would log as one."""
    return Response(status_code=205)


# Of what nobody keeps.
_FRESH = {"Cache-Control": "no-store", "Content-Encoding": "gzip"}


def _fresh(content: bytes) -> Response:
    return Response(gzip.compress(content, 1), media_type="application/json", headers=_FRESH)
