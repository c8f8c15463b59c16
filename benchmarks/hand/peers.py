"""The peers: one slider and the same figure in bare Streamlit, in Dash, and in a page that is Plotly alone.

Each scales the figure's numbers by its slider, so that every movement changes every curve; no privacy is computed.
"""

import importlib.util
import json
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import plotly

from tests.browser.driver import free_port, running_app

STREAMLIT = """
import json

import plotly.graph_objects as go
import streamlit as st

scale = st.slider("Scale", 1, 100, 50)
figure = json.loads(open({dump!r}).read())
for trace in figure["data"]:
    trace["y"] = [None if y is None else y * scale / 50 for y in trace["y"]]
st.plotly_chart(go.Figure(figure, skip_invalid=True), width="stretch", key="chart")
"""

DASH = """
import json

import dash
from dash import Dash, Input, Output, dcc, html

app = Dash(__name__)
figure = json.loads(open({dump!r}).read())
slider = dcc.Slider(1, 100, 1, value=50, marks=None, id="scale", updatemode="drag")
app.layout = html.Div([html.Div(slider, style={{"width": 400}}), dcc.Graph(id="chart", figure=figure)])


@app.callback(Output("chart", "figure"), Input("scale", "value"))
def scaled(scale):
    traces = [
        {{**trace, "y": [None if y is None else y * scale / 50 for y in trace["y"]]}} for trace in figure["data"]
    ]
    return {{"data": traces, "layout": figure["layout"]}}


app.run(port={port}, debug=False)
"""

PLOTLY = """<!doctype html><meta charset="utf-8"><script src="plotly.js"></script>
<input type="range" min="1" max="100" value="50" style="width: 400px; display: block"><div id="chart"></div>
<script>
const figure = FIGURE, ys = figure.data.map(trace => trace.y);
Plotly.newPlot("chart", figure.data, figure.layout);
document.querySelector("input").addEventListener("input", event => Plotly.restyle("chart",
  {y: ys.map(y => y.map(v => v === null ? null : v * event.target.value / 50))}));
</script>
"""


def plain(figure: dict[str, Any]) -> dict[str, Any]:
    """The figure less its traces without numbers, and with its axes held: what is scaled stays on the chart."""

    def numeric(trace: dict[str, Any]) -> bool:
        return all(y is None or isinstance(y, int | float) for y in trace.get("y") or [""])

    return {"data": [trace for trace in figure["data"] if numeric(trace)], "layout": figure["layout"]}


@contextmanager
def streamlit(figure: dict[str, Any], folder: Path) -> Iterator[str]:
    """Address of a bare Streamlit page."""
    script = folder / "bare.py"
    script.write_text(STREAMLIT.format(dump=_dumped(figure, folder)))
    with running_app(script, folder / "bare.log") as address:
        yield address


@contextmanager
def dash(figure: dict[str, Any], folder: Path) -> Iterator[str]:
    """Address of a Dash page.

    Raises:
        RuntimeError: Dash is not installed.
    """
    if importlib.util.find_spec("dash") is None:
        raise RuntimeError("Dash is not installed here: python tools/install.py bench installs it.")
    port = free_port()
    script = folder / "in_dash.py"
    script.write_text(DASH.format(dump=_dumped(figure, folder), port=port))
    with (folder / "dash.log").open("w") as log:
        server = subprocess.Popen([sys.executable, str(script)], stdout=log, stderr=subprocess.STDOUT)
    try:
        address = f"http://127.0.0.1:{port}"
        _wait(address, server, folder / "dash.log")
        yield address
    finally:
        server.kill()
        server.wait()


def plotly_alone(figure: dict[str, Any], folder: Path) -> str:
    """Address of a page without a server."""
    library = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
    (folder / "plotly.js").write_bytes(library.read_bytes())
    page = folder / "alone.html"
    page.write_text(PLOTLY.replace("FIGURE", json.dumps(figure).replace("</", "<\\/")))
    return page.as_uri()


def _dumped(figure: dict[str, Any], folder: Path) -> str:
    dump = folder / "figure.json"
    dump.write_text(json.dumps(figure))
    return str(dump)


def _wait(address: str, server: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(600):
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except (urllib.error.URLError, OSError):
            if server.poll() is not None:
                break
            time.sleep(0.05)
    raise RuntimeError(f"Dash did not come up. Its output:\n{log.read_text(errors='replace')}")
