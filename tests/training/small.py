"""The shipped digits and the small networks that read them."""

from functools import partial

from torch import nn

from dpviz.runs.exchange.recheck import Recheck
from dpviz.runs.store.records import Event
from dpviz.training.data import DATA_SETS
from dpviz.training.data.catalogue import load
from dpviz.training.networks.by_name import build
from dpviz.training.settings import RunSettings

digits = partial(load, "mnist-10k")
# A fraction of a second; from a seed: the same numbers at every run of the tests.
ABALONE = RunSettings(
    data="abalone", model="logistic", batch_size=256, steps=20, learning_rate=0.2, evaluation_every=10,
    secure_noise=False,
)  # fmt: skip


class Applied(nn.Module):
    """A network of layers and parameters with a forward of its own, of a type that the engine does not know."""

    def __init__(self, apply, **parts):
        super().__init__()
        self.apply_parts = apply
        for name, part in parts.items():
            setattr(self, name, part)

    def forward(self, x):
        return self.apply_parts(self, x)


def small(name, *, seed):
    """A network for the digits with weights from `seed`."""
    return build(name, DATA_SETS["mnist-10k"], seed=seed)


def told(events):
    """(step, {accountant: ε}) as the events say."""
    return [
        (event["first"] + at, {name: row[at] for name, row in event["epsilon"].items()})
        for event in events
        if event["kind"] == "step"
        for at in range(event["count"])
    ]


def told_anew(events):
    """The same from the mechanisms and distances that the events hold, as an import works it out."""
    [settings] = [RunSettings.from_json(event["settings"]) for event in events if event["kind"] == "started"]
    rows = [Event(1, seq, event["kind"], event["step"], event["time"], event) for seq, event in enumerate(events)]
    return told(row.data | {"kind": row.kind} for row in Recheck(settings).attempt(rows, gap=False))
