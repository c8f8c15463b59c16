"""Where a run starts: random weights, or those of a finished run with the same network."""

from __future__ import annotations

from dpviz.accounting.claims import Claim
from dpviz.fields import numbers
from dpviz.fields.field import Choice
from dpviz.runs.claims import claim_of_record, settings_of
from dpviz.runs.engine import Engine
from dpviz.runs.origins import FINISHED, StartFrom, start_of, unfit
from dpviz.runs.store.records import RunRecord
from dpviz.training.data import DataSet
from dpviz.training.models import MODELS
from dpviz.training.settings import RunSettings
from dpviz.ui import state
from dpviz.ui.train.facts import data_of
from dpviz.ui.train.fields import DATA, MODEL, START

RANDOM = "random weights"
MOST = 50  # runs that are offered, the latest


def chosen(engine: Engine) -> StartFrom | None:
    """The start that the form names; None for random weights.

    Raises:
        ValueError: naming start_from, if that run cannot be a start, or not of this network.
    """
    run = state.get(START)
    if not run:
        return None
    found = start_of(run, engine.store, engine.weights)
    record = engine.store.run(run)
    data, model = state.get(DATA), state.get(MODEL)
    why = _other(str(record.settings["data"]), str(record.settings["model"]), data, model)
    if why:
        raise ValueError(f"Expected start_from={record.title!r} to be of the same network, found {why}.")
    return found


def offered(engine: Engine) -> Choice:
    """The field START as a list of the runs that can be started from now; what is chosen is in it in any case."""
    options = {"": RANDOM}
    for record in engine.store.runs(states=FINISHED):
        settings = settings_of(record)
        if settings is None or _other(settings.data, settings.model, state.get(DATA), state.get(MODEL)):
            continue
        if not unfit(record, engine.weights):
            options[record.id] = _named(record, settings, claim_of_record(record, engine.store))
        if len(options) > MOST:
            break
    now = state.get(START)
    if now not in options:
        options[now] = f"{_title(engine, now)} (cannot be started from)"
    return Choice(key=START.key, label=START.label, default="", options=options, help=START.help)


def _title(engine: Engine, run: str) -> str:
    try:
        return engine.store.run(run).title
    except KeyError:
        return f"run {run}"


def _other(data: str, model: str, wanted_data: str, wanted_model: str) -> str:
    """Why weights of `model` on `data` do not fit, in words; empty where they do."""
    if model != wanted_model:
        return f"{MODELS[model].title if model in MODELS else model}: choose that model, or another start"
    one, other = data_of(data), data_of(wanted_data)
    if _sizes(one) != _sizes(other):
        return f"one made for {one.title}, whose examples or classes are others: choose another start"
    return ""


def _sizes(data: DataSet) -> tuple[tuple[int, ...], int]:
    return data.shape, data.classes


def _named(record: RunRecord, settings: RunSettings, claim: Claim) -> str:
    accuracy = record.summary.get("test_accuracy")
    parts = [record.title, *([data_of(settings.data).title] if settings.data != state.get(DATA) else [])]
    if isinstance(accuracy, float):
        parts.append(f"{100 * accuracy:.1f} %")
    parts.append(f"ε ≤ {numbers.epsilon(claim.epsilon, up=True)}" if claim.holds else "no ε")
    return " · ".join(parts)
