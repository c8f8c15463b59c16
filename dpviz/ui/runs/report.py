"""A run as one HTML page that needs nothing else, no network, and prints well; and all its files in one bundle."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import time
import zipfile
from collections.abc import Mapping
from html import escape
from itertools import cycle
from typing import Any

import numpy as np

from dpviz.accounting.bayesian import accountant as bayesian
from dpviz.accounting.claims import DEMONSTRATION, Claim, rounded_down, rounded_up
from dpviz.accounting.methods import READINGS
from dpviz.accounting.renyi.accountant import Moments
from dpviz.charts import look
from dpviz.charts.hand import HERE
from dpviz.charts.hand.pack import Packer, compressed, compressed_plotly
from dpviz.charts.look import PALETTE
from dpviz.charts.marks import Array, Line
from dpviz.charts.plot import Axis, LinePlot
from dpviz.runs.claims import claim_of_view
from dpviz.runs.exchange.disputes import IMPORTED, told
from dpviz.runs.exchange.files import export_json, steps_csv, steps_parquet
from dpviz.runs.exchange.sharing import shared_view
from dpviz.runs.store.store import Store
from dpviz.runs.views import RunView, view_of
from dpviz.training.accounts.claims import ASSUMPTIONS
from dpviz.training.events import NOT_COVERED, heading, titled
from dpviz.training.summary import accuracy_of, below_majority

ACCOUNTANTS = READINGS | {Moments.name: "moments accountant", bayesian.NAME: "Bayesian"}

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #171614; }
h1 { margin-bottom: 0; } h2 { margin-top: 2rem; break-after: avoid; }
figure { margin: 1rem 0; max-width: 44rem; break-inside: avoid; }
table { border-collapse: collapse; }
td, th { padding: 0.15rem 0.8rem 0.15rem 0; text-align: left; vertical-align: top; }
tr { border-bottom: 1px solid #eee; } td { font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
.note { color: #555; } .bad { border-left: 4px solid #d57922; padding-left: 0.8rem; }
"""

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


def _table(values: Mapping[str, Any]) -> str:
    cells = (f"<tr><th scope='row'>{escape(name)}</th><td>{escape(_text(v))}</td></tr>" for name, v in values.items())
    return f"<table>{''.join(cells)}</table>"


_ENDED = {"done": "It ran to its end", "stopped": "It was stopped", "failed": "It failed", "lost": "It was lost"}


def _headline(view: RunView) -> str:
    record = view.record
    words = f"{_ENDED.get(record.state, f'It is {record.state}')} after {record.steps} steps"
    reason = f": {record.reason}" if record.reason else "."
    again = "" if not record.restarts else f" It was started again {record.restarts} times; the last attempt is shown."
    return f"{words}{reason}{again}"


def _final_numbers(view: RunView) -> dict[str, Any]:
    """Numbers of the last event; where it did not come, the last accuracy."""
    elsewhere = ("kind", "traceback", "text", "mechanisms", "epsilon", "claim", "weights")
    measured = view.evaluations.get("test_accuracy", np.empty(0))[-1:].tolist()
    final = dict(zip(("test_accuracy",), measured, strict=False)) | view.final
    return {heading("done", name): value for name, value in final.items() if name not in elsewhere}


def _claimed(claim: Claim) -> dict[str, Any]:
    """The one ε that may be said, or why there is none."""
    if not claim.shown.holds:
        return {"claim": f"no ε: {claim.reason}"}
    label = "with secret noise" if claim.demonstration else "claim"
    values = {"claim": f"no ε: {claim.reason}"} if claim.demonstration else {}
    claim = claim.shown
    values |= {
        label: f"ε ≤ {rounded_up(claim.epsilon, 6):.6g} at δ = {claim.delta:.6g}",
        "proven by": claim.name,
        "covers": claim.coverage,
        "right guesses of membership": f"at most {rounded_up(claim.guess, 4):.4g} at even odds",
        "assuming": " ".join(ASSUMPTIONS),
    }
    if claim.lower is not None:
        values["not below"] = f"ε = {rounded_down(claim.lower, 6):.6g}"
    if claim.conditions:
        values["on condition that"] = "; ".join(claim.conditions)
    return values


def _readings(view: RunView) -> dict[str, Any]:
    """Every accountant's last ε, which takes the end for planned; the odometer's does not."""
    epsilon = view.final.get("epsilon")
    if not isinstance(epsilon, dict):
        epsilon = {
            name.removeprefix("epsilon."): float(values[-1])
            for name, values in view.steps.items()
            if name.startswith("epsilon.") and values.size
        }
    return {
        titled(f"ε, {ACCOUNTANTS.get(name, name)}", {("step", f"epsilon.{name}"): name}): value
        for name, value in epsilon.items()
    }


# Title, unit, and what each number of the events is called: "kind number label".
_CHARTS = (
    (
        "Accuracy",
        "share correct",
        "evaluation train_accuracy train, evaluation test_accuracy test, evaluation posterior_accuracy posterior",
    ),
    ("Loss", "mean loss", "step loss batch, evaluation train_loss train, evaluation test_loss test"),
    ("Share of examples clipped", "share", "step clipped clipped"),
    ("Noise multiplier", "σ", "step noise_multiplier σ"),
    ("Batch size", "examples", "step batch_size drawn, step expected_batch_size expected"),
)


# More points than these cannot be seen.
_MOST_POINTS = 800


def _thinned(x: Array, y: Array) -> tuple[Array, Array]:
    """Some `_MOST_POINTS`: the first, the last, lowest and highest of each stretch, so that no peak is lost."""
    if x.size <= _MOST_POINTS:
        return x, y
    parts = np.array_split(np.arange(x.size), _MOST_POINTS // 2)
    keep = {0, x.size - 1, *(part[of(y[part])] for part in parts for of in (np.argmin, np.argmax))}
    return x[sorted(keep)], y[sorted(keep)]


def _charts(view: RunView) -> list[tuple[str, str, dict[str, Any]]]:
    """Title, words and figure of each chart that there are numbers for."""
    readings = {
        ("step", name): ACCOUNTANTS.get(name[8:], name[8:]) for name in view.steps if name.startswith("epsilon.")
    }
    shown = [("Privacy loss", "ε", readings)]
    for title, unit, numbers in _CHARTS:
        parts = (number.split() for number in numbers.split(", "))
        shown.append((title, unit, {(kind, name): label for kind, name, label in parts}))
    charts = []
    for title, unit, labels in shown:
        series, mark = view.series(labels)
        finite = {name: (x[good], y[good]) for name, (x, y) in series.items() if (good := np.isfinite(y)).any()}
        lines = [
            Line(name, name, *_thinned(x, y), look.NEUTRAL, color=color)
            for color, (name, (x, y)) in zip(cycle(PALETTE), finite.items(), strict=False)
        ]
        if lines:
            span = 0.0, max(1.0, *(float(x[-1]) for x, _ in finite.values()))
            figure, _ = LinePlot(Axis("step", kind="steps", shown=span), Axis(unit), tuple(lines)).chart(300)
            ends = "; ".join(f"{name} ends at {y[-1]:.4g}" for name, (_, y) in finite.items())
            charts.append((title + mark, f"{title}{mark}. {ends}.", figure))
    return charts


def _figures(charts: list[tuple[str, str, dict[str, Any]]]) -> str:
    """Each chart's place, and what draws in them."""
    if not charts:
        return ""
    packer = Packer()
    packed = {"figures": [packer.figure(figure) for _, _, figure in charts], "columns": packer.columns}
    places = "".join(
        f"<h2>{escape(title)}</h2><figure id='chart-{at}' role='img' aria-label=\"{escape(words)}\">"
        f"<noscript>{escape(words)}</noscript></figure>"
        for at, (title, words, _) in enumerate(charts)
    )
    held = {"figures": compressed(json.dumps(packed).encode()), "plotly": compressed_plotly()}
    scripts = "".join(f"<script type='application/gzip' id='{name}'>{text}</script>" for name, text in held.items())
    return f"{places}{scripts}<script type='module'>{_SCRIPT}</script>"


LEFT_OUT = f"What was measured on the training data is {NOT_COVERED} and left out of this page."


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
    title = escape(record.title)
    allowed = base64.b64encode(hashlib.sha256(_SCRIPT.encode()).digest()).decode()
    policy = f"default-src 'none'; script-src 'sha256-{allowed}' blob:; style-src 'unsafe-inline'"
    trace = view.final.get("traceback")
    warning = below_majority(accuracy_of(view.final), view.started.get("majority"))
    notes = "".join(f"<li>Step {step}: {escape(text)}</li>" for step, text in view.notes)
    warned = view.started.get("unprotected")
    times = {"created": _moment(record.created), "started": _moment(record.started), "ended": _moment(record.ended)}
    named = ("data", "data_mark", "model", "parameters", "examples", "device", "noise_source")
    facts: dict[str, Any] = {key: view.started[key] for key in named if key in view.started}
    return "".join(
        (
            "<!doctype html><html lang='en'><head><meta charset='utf-8'>",
            "<meta name='viewport' content='width=device-width'>",
            f"<meta http-equiv='Content-Security-Policy' content=\"{policy}\">",
            f"<title>{title}</title><style>{_STYLE}</style></head><body><h1>{title}</h1>",
            f"<p class='{'' if record.state == 'done' else 'bad'}'>{escape(_headline(view))}</p>",
            f"<p class='note'>{escape(IMPORTED)} {escape(view.checksums)}</p>" if record.imported else "",
            f"<p class='bad'>{escape(told(view.disputes))}</p>" if view.disputes else "",
            f"<p class='note'>{escape(record.note)}</p>" if record.note else "",
            "<h2>Privacy</h2>",
            f"<p class='bad'>{escape(DEMONSTRATION)}.</p>" if claim.demonstration else "",
            _table(_claimed(claim)),
            "<h2>Final numbers</h2>",
            _table(_final_numbers(view)),
            f"<p class='bad'>{escape(warning)}</p>" if warning else "",
            _figures(_charts(view)),
            "<h2>How each accountant reads it</h2>",
            "<p class='note'>As if the end had been planned: readings, not claims.</p>",
            _table(_readings(view)),
            f"<h2>Notes</h2><ul>{notes}</ul>" if notes else "",
            "<h2>Settings</h2>",
            _table(record.settings),
            "<h2>Facts</h2>",
            _table({**facts, **times}),
            f"<p class='note'>{escape(_text(warned))}</p>" if warned and measured else "",
            "" if measured else f"<p class='note'>{LEFT_OUT}</p>",
            f"<h2>What went wrong</h2><pre>{escape(str(trace))}</pre>" if trace else "",
            "</body></html>",
        )
    )


def bundle(store: Store, run: str) -> bytes:
    """A zip file with run.json (which can be imported), steps.csv, steps.parquet and report.html, all measurements
    in it and marked."""
    view = view_of(store.run(run), store.events(run))
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("run.json", export_json(store, run))
        archive.writestr("steps.csv", steps_csv(view))
        archive.writestr("steps.parquet", steps_parquet(view))
        archive.writestr("report.html", html_report(view, claim_of_view(view, store), measured=True))
    return out.getvalue()
