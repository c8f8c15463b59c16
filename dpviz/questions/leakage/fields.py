"""Settings of the questions about a trained network, and the network that they name."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import ModuleType

from dpviz.fields import AnyField, Field
from dpviz.fields.declared import choice, field, flag, number
from dpviz.gradients.leakage import Leakage
from dpviz.questions import Compound, FieldControl, Item, Reader, experts
from dpviz.questions.networks import Network, RunNetwork, SmallNetwork, StandIn
from dpviz.questions.source import Source, origin
from dpviz.training import models

NEWEST, SMALL = "newest", "small"


@dataclass(frozen=True)
class RunChoice(Field[str]):
    """A run of the store by its id, the newest one, or none. Whether it is there is asked when it is looked for."""

    def parse(self, text: str) -> str:
        if not re.fullmatch(r"[0-9A-Za-z_-]{1,64}", text):
            raise ValueError(f"{self.label}: “{text[:40]}” is not a run; choose one from the list.")
        return text

    def write(self, value: str) -> str:
        return value

    def show(self, value: str) -> str:
        return {NEWEST: "newest", SMALL: "small network"}.get(value, value[:8])


RUN = field(RunChoice, "lkrun")
EXAMPLES = number("lkexamples")
SEED = number("lkseed")
MODEL = choice("lkmodel", options={key: model.short for key, model in models.SMALL.items()})
STEPS = number("lksteps")
LOG_X = flag("lklogx")


def network(get: Reader) -> Network:
    """The network that the settings name; nothing is measured yet.

    Raises:
        ValueError: for an odd number of examples, a run that is not here or kept no weights, or a small network that
            would take too long to train.
    """
    run, examples, seed = get(RUN), int(get(EXAMPLES)), int(get(SEED))
    if examples % 2:
        raise ValueError(f"Examples: {examples} is odd, but examples are used in pairs; try {examples + 1}.")
    if run != SMALL:
        record = next(_stored().finished_runs(), None) if run == NEWEST else _stored().finished_run(run)
        if record is not None:
            stored: Network = _stored().of_run(record, examples, seed)
            return stored
    if run not in (NEWEST, SMALL):
        raise ValueError(
            f"The run “{run}” is not among those that ended here and kept their weights: choose another one under "
            "Network, or the newest."
        )
    model, steps = get(MODEL), int(get(STEPS))
    most = models.SMALL[model].most_plain_steps
    if most is not None and steps > most:
        raise ValueError(
            f"Training steps before: {steps} of the {models.SMALL[model].short} would take minutes here; take at most "
            f"{most}, or the MLP."
        )
    return (StandIn if run == NEWEST else SmallNetwork)(model, steps, examples, seed)


def _stored() -> ModuleType:
    """Only where runs are asked for: what looks at them is not there wherever questions are."""
    from dpviz.questions.leakage import stored

    return stored


def texts(network: Source[Leakage]) -> Mapping[str, str]:
    """The fields' texts that ask for this network, by their keys in links."""
    named = origin(network)
    assert isinstance(named, SmallNetwork | RunNetwork)
    written = {RUN.key: SMALL, EXAMPLES.key: EXAMPLES.write(named.examples), SEED.key: SEED.write(named.seed)}
    if isinstance(named, RunNetwork):
        return written | {RUN.key: named.run}
    return written | {MODEL.key: named.model, STEPS.key: STEPS.write(named.training_step)}


NAMED: dict[str, AnyField] = {
    RUN.key: RUN,
    MODEL.entry: MODEL,
    STEPS.key: STEPS,
    EXAMPLES.key: EXAMPLES,
    SEED.entry: SEED,
}
NETWORK = Compound(NAMED, network, texts, of_runs=True)


def controls(get: Reader) -> tuple[Item, ...]:
    """Which network; how a small one is trained where none of a run is looked at; which examples."""
    run = get(RUN)
    small = run == SMALL or (run == NEWEST and next(_stored().finished_runs(), None) is None)
    return FieldControl((RUN,), drawn_as="network"), *((MODEL, STEPS) if small else ()), EXAMPLES, *experts(SEED)
