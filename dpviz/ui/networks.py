"""The chooser for the run whose network is looked at."""

from __future__ import annotations

from dpviz.fields.field import Choice
from dpviz.questions.leakage.fields import NEWEST, RUN, SMALL
from dpviz.questions.leakage.stored import finished_runs
from dpviz.ui import controls, state


def chooser() -> None:
    """The newest run, each that ended here and kept its weights, and none."""
    runs = finished_runs()
    names = {NEWEST: f"The newest run: {runs[0].title}" if runs else "The newest run (none yet)"}
    names |= {run.id: _named(run.number, run.title) for run in runs}
    names[SMALL] = "No run: a small network, no noise"
    chosen = state.get(RUN)
    if chosen not in names:
        names[chosen] = f"{chosen[:12]} (not here)"
    controls.choice(Choice(RUN.key, RUN.label, NEWEST, RUN.help, options=names), horizontal=False)


def _named(number: int, title: str) -> str:
    """Runs may be called alike; their numbers differ."""
    return title if title == f"Run {number}" else f"{title} · run {number}"
