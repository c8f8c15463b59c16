"""The mechanism that a question is about, as one setting made of fields: its kind, and its parameters."""

import math
from collections.abc import Mapping
from contextlib import suppress

from dpviz.charts import Axis, Guide
from dpviz.fields import Number, Several, choice, number, numbers
from dpviz.fields.expression import steps_of
from dpviz.fields.parameters import PARAMETERS
from dpviz.mechanisms import MECHANISMS, Mechanism, of_person, one_row_of
from dpviz.questions import units
from dpviz.questions.layout import Item, Reader, experts, made_once, moved
from dpviz.questions.mechanism import PUBLIC_SIZE, RATE, SIZE, STEPS
from dpviz.questions.methods import left_out
from dpviz.questions.question import Compound

KINDS = {kind.kind: kind for kind in MECHANISMS}
T = {"step": STEPS, "epoch": number("tepochs"), "run": number("truns")}  # by what a step is called
ROWS, PASSES = PARAMETERS["rows"], PARAMETERS["epochs"]
BATCH_SIZE, BATCHES = PARAMETERS["batch"], PARAMETERS["batches"]  # B, where every batch has as many; t of an epoch
KIND = choice("mech", options={key: kind.title for key, kind in KINDS.items()})


def read(get: Reader) -> Mechanism:
    """The mechanism that the fields ask for."""
    return made_once(get, "mechanism", _read)


def _read(get: Reader) -> Mechanism:
    kind = KINDS[get(KIND)]
    return of_person(kind(**{name: get(PARAMETERS[name]) for name in kind.parameters()}), int(get(ROWS)))


def offered(field: Several, get: Reader) -> tuple[str, ...]:
    """The curves of a field that there are under the mechanism; all, where no mechanism has such values."""
    try:
        excluded = left_out(field.options, read(get))
    except ValueError:
        return tuple(field.options)
    return tuple(key for key in field.options if key not in excluded)


def texts(mechanism: Mechanism) -> Mapping[str, str]:
    """The fields' texts that ask for it, by their keys in links.

    Raises:
        ValueError: no page offers it.
    """
    if type(one_row_of(mechanism)[0]) is not KINDS.get(mechanism.kind):
        raise ValueError(f"Expected a mechanism that pages offer, found {mechanism.text}: no page offers it.")
    own = {name: field for name, field in PARAMETERS.items() if name in mechanism.parameters()}
    return {KIND.key: mechanism.kind} | {field.key: field.write(getattr(mechanism, n)) for n, field in own.items()}


# A question with this setting takes any mechanism; its layout shows `controls`.
MECHANISM = Compound(
    {"mechanism": KIND, **PARAMETERS},
    read,
    texts,
)


def controls(get: Reader, unknown: str = "") -> tuple[Item, ...]:
    """The mechanism with its parameters, T and δ; `unknown` is looked for, and is not asked.

    Where a rate q is sampled with, it and T are in either units, N among them.
    """
    kind = KINDS[get(KIND)]
    names, looked_for = kind.parameters(), {kind.noise if unknown == "noise_multiplier" else unknown}
    if "sample_rate" in names:
        own = [PARAMETERS[name] for name in names if name not in looked_for | {"sample_rate", "size"}]
        own += [SIZE] if "size" in names and unknown == "sample_rate" else []
        return *experts(KIND, ROWS), *own, *units.controls(get, unknown)[unknown != "noise_multiplier" :]
    own = [PARAMETERS[name] for name in names if name not in looked_for]
    own += [] if SIZE in own or unknown == "delta" else [SIZE]
    own += [] if unknown == "steps" else [T[kind.step]]
    return *experts(KIND, ROWS), *own, *(() if unknown == "delta" else (units.suggested(SIZE, get),))


def batch(get: Reader) -> float:
    """How many examples one step takes: q·N, B, or N ÷ t where an epoch has t batches and q·N does not make as many."""
    names, expected = KINDS[get(KIND)].parameters(), units.batch(get)
    if "batch" in names:
        return get(BATCH_SIZE)
    if "batches" in names and _batches(expected, get(SIZE)) != get(BATCHES):
        return float(f"{get(SIZE) / get(BATCHES):.12g}")
    return expected


def epochs(get: Reader) -> float:
    """How often one example is used, or may be, in all steps: as it was entered, where q and T are made of it."""
    kind = KINDS[get(KIND)]
    if kind.step != "step":
        return get(STEPS) * (get(PASSES) if kind.step == "run" else 1.0)
    if "sample_rate" in kind.parameters():
        return units.epochs(get)
    return float(f"{get(STEPS) * get(BATCH_SIZE) / get(SIZE):.12g}")


def sized(batch: float, get: Reader) -> dict[Number, float]:
    """The same batch for every kind: q, B rounded up, and t rounded down, as fewer and larger batches cost more.

    Raises:
        ValueError: it is more than N.
    """
    rate = {} if batch == units.batch(get) else {RATE: units.rate_of(batch, get(SIZE))}
    batches = {BATCHES: _batches(batch, get(SIZE))} if batch else {}
    return {**rate, BATCH_SIZE: max(1.0, math.ceil(batch)), **batches}


def with_batch(batch: float, get: Reader) -> dict[Number, float]:
    """The same run with batches of this size: its epochs stay.

    Raises:
        ValueError: the batch is more than N, or the epochs are then too many steps.
    """
    changed = sized(batch, get)
    if KINDS[get(KIND)].step != "step":
        return changed
    return changed | lasting(epochs(get), _after(changed, get))


def lasting(epochs: float, get: Reader) -> dict[Number, float]:
    """So many epochs of the kind that there is, its whole steps rounded up.

    Raises:
        ValueError: they are too many steps.
    """
    kind = KINDS[get(KIND)]
    if kind.step == "run":
        runs = math.ceil(epochs / PASSES.high)
        return {PASSES: max(1.0, math.ceil(epochs / max(runs, 1))), **units.sets(STEPS, max(runs, 1), get)}
    if kind.step == "step" and "sample_rate" in kind.parameters():
        return units.sets(units.EPOCHS, epochs, get)
    share = 1.0 if kind.step == "epoch" else get(BATCH_SIZE) / get(SIZE)
    return units.sets(STEPS, min(max(1.0, steps_of(epochs, share)), STEPS.high), get)


def sets(field: Number, value: float, get: Reader) -> dict[Number, float]:
    """What entering `value` for `field` sets (`units.sets`); batches keep their size when N changes.

    Raises:
        ValueError: no q or T goes with it.
    """
    names = KINDS[get(KIND)].parameters()
    if field != SIZE or "sample_rate" in names:
        return units.sets(field, value, get)
    kept = "batch" not in names and get(units.UNITS) == "person"  # T counts no batches of rate q: it stays
    return {SIZE: value, **(sized(batch(get), moved(get, SIZE, value)) if kept else {})}


def follows(before: str, kind: str, get: Reader) -> Mapping[Number, float]:
    """What another kind sets, so that the run stays the same: batches of the same size, for the same epochs.

    Ten thousand batches of a hundredth of the data each are a hundred epochs, or one run of a hundred. A batch beyond
    N, or more steps than T can count, cannot be kept.
    """
    old, new = KINDS[before], KINDS[kind]
    rates = "sample_rate" in old.parameters() and "sample_rate" in new.parameters()
    if rates or not units.batch(get):
        return {}
    changed: dict[Number, float] = {}
    if not set(old.parameters()) & set(new.parameters()) & {"batch", "batches"}:
        with suppress(ValueError):
            changed = sized(batch(get), get)
    if old.step != new.step:
        with suppress(ValueError):
            changed |= lasting(epochs(get), moved(_after(changed, get), KIND, kind))
    return changed


def _after(changed: Mapping[Number, float], get: Reader) -> Reader:
    """What `get` reads once these are set."""
    for field, value in changed.items():
        get = moved(get, field, value)
    return get


def _batches(batch: float, size: float) -> float:
    """Whole batches of an epoch, rounded down: the last one takes what is left over."""
    return min(max(1.0, math.floor(size / batch * (1.0 + 1e-12))), BATCHES.high) if batch else math.nan


def with_noise(mechanism: Mechanism, noise: float) -> Mechanism:
    """The same with so much noise."""
    return mechanism.changed(**{mechanism.noise: noise})


def noise_label(mechanism: Mechanism) -> str:
    """Its noise in a sentence: "noise multiplier σ"."""
    label = PARAMETERS[mechanism.noise].label
    return f"{label[0].lower()}{label[1:]}"


def noise_axis(mechanism: Mechanism, low: float, high: float, unit: str = "C") -> Axis:
    """An axis of its noise, in units of C, or of 2C for pairs of gradients."""
    name = noise_label(mechanism)
    return Axis(
        f"{name} (noise ÷ {unit})",
        name=name,
        column=mechanism.noise,
        log=True,
        shown=(low, high),
        hover=f"{mechanism.symbol} = %{{x:.3~g}}",
    )


def noise_guide(mechanism: Mechanism, noise: float) -> Guide:
    """The chosen noise on that axis."""
    name = f"my {mechanism.symbol} = {numbers.entered(noise)}"
    return Guide("x", noise, name, sets=PARAMETERS[mechanism.noise])


def in_words(mechanism: Mechanism, *, without: str = "") -> list[str]:
    """Its parameters, as "σ = 4" each, but for one."""
    return [text for _, text in named(mechanism, without=without)]


def named(mechanism: Mechanism, *, without: str = "") -> list[tuple[Number, str]]:
    """The fields of its parameters, and what is said of each.

    A bound that holds for them holds at what is written: q is often a quotient and is rounded down; all others, which
    people enter, are written as they are.
    """

    def text(name: str) -> str:
        value = float(getattr(mechanism, name))
        return numbers.at_least(value, 4) if name == "sample_rate" else numbers.entered(value)

    fields = [(name, PARAMETERS[name]) for name in mechanism.parameters() if name != without]
    return [(field, f"{field.symbol} = {text(name)}") for name, field in fields]


POISSON = """**Sampling:** every example joins each batch independently with probability q (Poisson). Shuffled or
  fixed-size batches are not covered by these numbers.
- """


def assumed(mechanism: Mechanism) -> str:
    """Who is protected, and what is done to the data, as Markdown."""
    adjacency = mechanism.adjacency
    offered = mechanism.kind in KINDS
    sampling = "" if "**Sampling:**" in mechanism.assumes else POISSON
    return f"""
- **Who is protected:** {adjacency.unit}. {adjacency.neighbours} are neighbours: ε and δ
  bound how well an attacker can tell them apart.
- {sampling + mechanism.assumes if offered else f"**The mechanism:** {mechanism.text}."} All intermediate results may be
  seen by the attacker.
{PUBLIC_SIZE if adjacency.size_is_secret and offered else ""}"""
