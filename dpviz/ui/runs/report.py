"""A run as one HTML page that needs nothing else, no network, and prints well; and all its files in one bundle."""

import base64
import hashlib
import io
import json
import time
import zipfile
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, FileSystemLoader, Template

from dpviz._arrays import Array
from dpviz.accounting.bayesian import accountant as bayesian
from dpviz.accounting.claims import DEMONSTRATION, Claim
from dpviz.accounting.methods import READINGS, Moments
from dpviz.charts import look, training
from dpviz.charts.browser import HERE
from dpviz.charts.browser.pack import Packer, compressed, compressed_plotly
from dpviz.charts.marks import Line, extremes
from dpviz.charts.plot import Axis, LinePlot
from dpviz.questions.guarantee.run import guarantee_of_run
from dpviz.questions.guarantee.words import SOURCES
from dpviz.runs.claims import claim_of_view
from dpviz.runs.exchange.checks import NotARun
from dpviz.runs.exchange.disputes import IMPORTED, dispute_words
from dpviz.runs.exchange.files import RUN_FILE, export_run, shared_view, steps_csv, steps_parquet
from dpviz.runs.store.store import Store
from dpviz.runs.views import RunView, view_now
from dpviz.training.covered import NOT_COVERED, heading, titled
from dpviz.training.summary import accuracy_of, below_majority
from dpviz.ui.runs.charts import LINES
from dpviz.ui.runs.fields import CHART_TABLE

ACCOUNTANTS = READINGS | {Moments.name: "moments accountant", bayesian.NAME: "Bayesian"}
REPORTED = "reported by the program's library"
_FAMILIES = {label: training.FAMILY.get(name, name) for name, label in ACCOUNTANTS.items()}

# What the report shows comes from files that may have come from elsewhere: no script but this one, and what it unpacks.
_SCRIPT = (
    (HERE / "columns.js").read_text()
    + """
await loadPacked("plotly");
const { figures, columns } = await (await packed("figures")).json();
figures.forEach((figure, at) => {
  const { data, layout } = unpacked(figure, columns);
  Plotly.newPlot(`chart-${at}`, data, layout, { staticPlot: true });
});
"""
)


def _moment(seconds: float | None) -> str:
    return "–" if seconds is None else time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(seconds))


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, dict):
        return ", ".join(f"{key} {_text(entry)}" for key, entry in value.items())
    if isinstance(value, (list, tuple)):
        shown = ", ".join(_text(entry) for entry in value[:6])
        return f"{shown}, … ({len(value)} in all)" if len(value) > 6 else shown
    return "–" if value is None else str(value)


_ENDED = {"done": "It finished", "stopped": "It was stopped", "failed": "It failed", "lost": "It was lost"}


def _final_numbers(view: RunView) -> dict[str, Any]:
    """Numbers of the last event; where it did not come, the last accuracy."""
    elsewhere = ("kind", "traceback", "text", "mechanisms", "epsilon", "claim", "weights")
    measured = view.evaluations.get("test_accuracy", np.empty(0))[-1:].tolist()
    final = dict(zip(("test_accuracy",), measured, strict=False)) | view.final
    return {heading("done", name): value for name, value in final.items() if name not in elsewhere}


def _readings(view: RunView) -> dict[str, Any]:
    """Every accountant's last ε, which takes the end for planned; the odometer's does not."""
    epsilon = view.final.get("epsilon")
    if not isinstance(epsilon, dict):
        epsilon = {
            name.removeprefix("epsilon."): float(values[-1])
            for name, values in view.steps.items()
            if name.startswith("epsilon.") and values.size
        }
    reported = view.steps.get("reported_epsilon", np.empty(0))
    last = {REPORTED: float(finite[-1])} if (finite := reported[np.isfinite(reported)]).size else {}
    return last | {
        titled(f"ε, {ACCOUNTANTS.get(name, name)}", {("step", f"epsilon.{name}"): name}): value
        for name, value in epsilon.items()
    }


# More points than these cannot be seen.
_MOST_POINTS = 800


def _line(name: str, x: Array, y: Array) -> Line:
    """A quantity of the run: an accountant's ε looks as on every page."""
    keep, family = extremes(y, _MOST_POINTS), _FAMILIES.get(name)
    color = None if family else look.measured(name)
    return Line(name, name, x[keep], y[keep], family or look.NEUTRAL, color=color)


def _charts(view: RunView) -> list[tuple[str, str, dict[str, Any]]]:
    """Title, words and figure of each chart that there are numbers for."""
    readings = {("step", name): ACCOUNTANTS.get(name[8:], name[8:]) for name in view.steps if name[:8] == "epsilon."}
    charts = []
    for key, row in CHART_TABLE.items():
        labels = readings | {("step", "reported_epsilon"): REPORTED} if key == "epsilon" else LINES[key]
        series, mark = view.series(labels)
        finite = {name: (x[good], y[good]) for name, (x, y) in series.items() if (good := np.isfinite(y)).any()}
        lines = [_line(name, x, y) for name, (x, y) in finite.items()]
        if lines:
            span = 0.0, max(1.0, *(float(x[-1]) for x, _ in finite.values()))
            figure, _ = LinePlot(Axis("step", kind="steps", shown=span), Axis(row["axis"]), tuple(lines)).chart(300)
            ends = "; ".join(f"{name} ends at {y[-1]:.4g}" for name, (_, y) in finite.items())
            title = row["title"] + mark
            charts.append((title, f"{title}. {ends}.", figure))
    return charts


LEFT_OUT = f"Measurements on the training data are {NOT_COVERED} and are left out of this page."


@cache
def _page() -> Template:
    pages = Environment(autoescape=True, loader=FileSystemLoader(Path(__file__).parent))
    pages.filters["text"] = _text
    return pages.get_template("report.html")


def html_report(view: RunView, claim: Claim, *, measured: bool = False) -> str:
    """The page; every text in it is escaped, whatever a run was named, and none names a folder of this machine.

    Args:
        view: the run.
        claim: what may be said of it.
        measured: whether what is not covered by ε (loss, norms, the Bayesian ε, times) is in it too, with that mark.
            Without it the page may be published.
    """
    view = shared_view(view if measured else view.covered())
    record = view.record
    charts, packer, packed = _charts(view), Packer(), {}
    if charts:
        figures = {"figures": [packer.figure(figure) for _, _, figure in charts], "columns": packer.columns}
        packed = {"figures": compressed(json.dumps(figures).encode()), "plotly": compressed_plotly()}
    named = ("data", "data_mark", "model", "parameters", "examples", "device", "noise_source")
    facts: dict[str, Any] = {name: view.started[name] for name in named if name in view.started}
    return _page().render(
        view=view,
        record=record,
        claim=claim,
        measured=measured,
        ended=_ENDED.get(record.state, f"It is {record.state}"),
        imported=IMPORTED,
        disputes=dispute_words(view.disputes),
        demonstration=f"{DEMONSTRATION}.",
        card=guarantee_of_run(view, claim, measured=measured),
        numbers=_final_numbers(view),
        warning=below_majority(accuracy_of(view.final), view.started.get("majority")),
        charts=charts,
        readings=_readings(view),
        facts=facts | {name: _moment(getattr(record, name)) for name in ("created", "started", "ended")},
        excluded=LEFT_OUT,
        sources=SOURCES,
        packed=packed,
        script=_SCRIPT,
        allowed=base64.b64encode(hashlib.sha256(_SCRIPT.encode()).digest()).decode(),
    )


def bundle(store: Store, run: str) -> bytes:
    """A zip file with run.jsonl.gz (which can be imported, so not of a run that is too long for it), steps.csv,
    steps.parquet and report.html, all measurements in it and marked."""
    view = view_now(store, run)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        with suppress(NotARun):
            archive.writestr(f"run.{RUN_FILE}", export_run(store, run))
        archive.writestr("steps.csv", steps_csv(store, run))
        archive.writestr("steps.parquet", steps_parquet(store, run))
        archive.writestr("report.html", html_report(view, claim_of_view(view, store), measured=True))
    return out.getvalue()
