"""A run's start: random weights, or those of a finished run with the same network."""

from dpviz.accounting.claims import Claim
from dpviz.fields import numbers
from dpviz.runs.claims import FINISHED, StartFrom, claim_of_record, settings_of, start_of, unfit
from dpviz.runs.engine import Engine, engine
from dpviz.runs.store.records import Chosen, RunRecord
from dpviz.training.data.own.place import data_of
from dpviz.training.models import MODELS
from dpviz.training.settings import RunSettings

RANDOM = "random weights"
MOST = 50  # runs that are offered, the latest


def start(run: str, data: str, model: str) -> StartFrom:
    """The start from the weights of `run`, of a network that is to learn `data`.

    Raises:
        ValueError: naming start_from, if that run cannot be a start, or not of this network.
    """
    origin = start_of(run, engine().store, engine().weights)
    record = engine().store.run(run)
    why = _other(str(record.settings["data"]), str(record.settings["model"]), data, model)
    if why:
        raise ValueError(f"Expected start_from={record.title!r} to be of the same network, found {why}.")
    return origin


def offered(engine: Engine, data: str, model: str, chosen: str) -> dict[str, str]:
    """What can be started from now: run → its name and what it reached; what is chosen is among them in any case."""
    options = {"": RANDOM}
    for record in engine.store.each(Chosen(states=FINISHED, model=(model,))):
        settings = settings_of(record)
        if settings is None or _other(settings.data, settings.model, data, model):
            continue
        if not unfit(record, engine.weights):
            options[record.id] = _named(record, settings, claim_of_record(record, engine.store), data)
        if len(options) > MOST:
            break
    if chosen not in options:
        options[chosen] = f"{_title(engine, chosen)} (cannot be started from)"
    return options


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
    if (one.shape, one.classes) != (other.shape, other.classes):
        return f"one made for {one.title}, which has other examples or classes: choose another start"
    return ""


def _named(record: RunRecord, settings: RunSettings, claim: Claim, data: str) -> str:
    accuracy = record.summary.get("test_accuracy")
    parts = [record.title, *([data_of(settings.data).title] if settings.data != data else [])]
    if isinstance(accuracy, float):
        parts.append(numbers.tenths(accuracy))
    parts.append(f"ε ≤ {numbers.epsilon(claim.epsilon, up=True)}" if claim.holds else "no ε")
    return " · ".join(parts)
