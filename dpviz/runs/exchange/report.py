"""A run as one HTML page that needs nothing else: no network, no scripts, and prints well."""

from __future__ import annotations

import time
from collections.abc import Mapping
from html import escape
from typing import Any

import numpy as np

from dpviz.accounting.claims import DEMONSTRATION, Claim, rounded_down, rounded_up
from dpviz.runs.exchange.disputes import IMPORTED, told
from dpviz.runs.exchange.sharing import shared_view
from dpviz.runs.exchange.svg import line_chart
from dpviz.runs.store.tables import RunView
from dpviz.training.accounts.claims import ASSUMPTIONS
from dpviz.training.events import NOT_COVERED, heading, titled
from dpviz.training.summary import accuracy_of, below_majority

ACCOUNTANTS = {
    "moments": "moments accountant",
    "renyi": "Rényi",
    "tight": "tight",
    "odometer": "odometer",
    "bayesian": "Bayesian",
}

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #171614; }
h1 { margin-bottom: 0; } h2 { margin-top: 2rem; } figure { margin: 1rem 0; } svg { width: 100%; max-width: 44rem; }
svg text { font: 12px system-ui, sans-serif; fill: #444; } svg .grid { stroke: #ddd; }
table { border-collapse: collapse; }
td, th { padding: 0.15rem 0.8rem 0.15rem 0; text-align: left; vertical-align: top; }
tr { border-bottom: 1px solid #eee; } td { font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
.note { color: #555; } .bad { border-left: 4px solid #d57922; padding-left: 0.8rem; }
"""

# As strict as can be: what the report shows comes from files that may have come from elsewhere.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


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


def _table(rows: Mapping[str, Any]) -> str:
    cells = (
        f"<tr><th scope='row'>{escape(key)}</th><td>{escape(_text(value))}</td></tr>" for key, value in rows.items()
    )
    return f"<table>{''.join(cells)}</table>"


def _headline(view: RunView) -> str:
    record = view.record
    state = {"done": "It ran to its end", "stopped": "It was stopped", "failed": "It failed", "lost": "It was lost"}
    words = f"{state.get(record.state, f'It is {record.state}')} after {record.steps} steps"
    reason = f": {record.reason}" if record.reason else "."
    again = "" if not record.restarts else f" It was started again {record.restarts} times; the last attempt is shown."
    return f"{words}{reason}{again}"


def _final_numbers(view: RunView) -> dict[str, Any]:
    """Numbers of the last event; where it did not come, the last of each column."""
    rows = {
        key: value
        for key, value in view.final.items()
        if key not in ("kind", "traceback", "text", "mechanisms", "epsilon", "claim", "weights")
    }
    if "test_accuracy" not in rows and view.evaluations.get("test_accuracy", np.empty(0)).size:
        rows["test_accuracy"] = float(view.evaluations["test_accuracy"][-1])
    return {heading("done", key): value for key, value in rows.items()}


def _claimed(claim: Claim) -> dict[str, Any]:
    """The one ε that may be said, or why there is none."""
    if not claim.shown.holds:
        return {"claim": f"no ε: {claim.reason}"}
    rows: dict[str, Any] = {}
    if claim.demonstration:
        rows["claim"], claim = f"no ε: {claim.reason}", claim.shown
        said = "with secret noise"
    else:
        said = "claim"
    rows |= {
        said: f"ε ≤ {rounded_up(claim.epsilon, 6):.6g} at δ = {claim.delta:.6g}",
        "proven by": claim.name,
        "covers": claim.coverage,
        "right guesses of membership": f"at most {rounded_up(claim.guess, 4):.4g} at even odds",
        "assuming": " ".join(ASSUMPTIONS),
    }
    if claim.lower is not None:
        rows["not below"] = f"ε = {rounded_down(claim.lower, 6):.6g}"
    if claim.conditions:
        rows["on condition that"] = "; ".join(claim.conditions)
    return rows


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


_CHARTS: tuple[tuple[str, str, dict[tuple[str, str], str]], ...] = (
    (
        "Accuracy",
        "share correct",
        {
            ("evaluation", "train_accuracy"): "train",
            ("evaluation", "test_accuracy"): "test",
            ("evaluation", "posterior_accuracy"): "posterior",
        },
    ),
    (
        "Loss",
        "mean loss",
        {("step", "loss"): "batch", ("evaluation", "train_loss"): "train", ("evaluation", "test_loss"): "test"},
    ),
    ("Share of examples clipped", "share", {("step", "clipped"): "clipped"}),
    ("Noise multiplier", "σ", {("step", "noise_multiplier"): "σ"}),
    ("Batch size", "examples", {("step", "batch_size"): "drawn", ("step", "expected_batch_size"): "expected"}),
)


def _charts(view: RunView) -> list[tuple[str, str]]:
    """Title and SVG of each chart that there are numbers for."""
    readings = {
        ("step", name): ACCOUNTANTS.get(name[8:], name[8:]) for name in view.steps if name.startswith("epsilon.")
    }
    charts = []
    for title, unit, labels in (("Privacy loss", "ε", readings), *_CHARTS):
        series, mark = view.series(labels)
        if chart := line_chart(series, title=title + mark, x_title="step", y_title=unit):
            charts.append((title + mark, chart))
    return charts


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
    charts = "".join(f"<h2>{escape(name)}</h2><figure>{chart}</figure>" for name, chart in _charts(view))
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
            f"<meta http-equiv='Content-Security-Policy' content=\"{_POLICY}\">",
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
            charts,
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
