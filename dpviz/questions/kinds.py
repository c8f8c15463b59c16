"""Which mechanism a question is about, as one setting made of fields: its kind, and its parameters."""

from collections.abc import Mapping
from typing import Any

from dpviz.charts import Guide
from dpviz.fields import Number, choice, number, numbers
from dpviz.fields.parameters import PARAMETERS
from dpviz.mechanisms import MECHANISMS, Mechanism, of_person, one_row_of
from dpviz.questions import units
from dpviz.questions.layout import Item, Reader, experts
from dpviz.questions.mechanism import PUBLIC_SIZE, SIZE, STEPS
from dpviz.questions.question import Compound

KINDS = {kind.kind: kind for kind in MECHANISMS}
T = {"step": STEPS, "epoch": number("tepochs"), "run": number("truns")}  # by what a step is called
ROWS = PARAMETERS["rows"]
KIND = choice("mech", options={key: kind.title for key, kind in KINDS.items()})


def read(get: Reader) -> Mechanism:
    """The mechanism that the fields ask for."""
    kind = KINDS[get(KIND)]
    return of_person(kind(**{name: get(PARAMETERS[name]) for name in kind.parameters()}), int(get(ROWS)))


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
    (KIND, *PARAMETERS.values()),
    read,
    texts,
    {KIND.key: "mechanism"} | {field.key: name for name, field in PARAMETERS.items()},
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


def follows(before: str, kind: str, get: Reader) -> Mapping[Number, float]:
    """T when another kind is chosen: the usual number of its steps, unless it was changed from that of the one before.

    Ten thousand batches are usual, and ten thousand epochs are not.
    """
    old, new = (float(T[KINDS[one].step].example) for one in (before, kind))
    return units.sets(STEPS, new, get) if get(STEPS) == old != new else {}


def with_noise(mechanism: Mechanism, noise: float) -> Mechanism:
    """The same with so much noise."""
    return mechanism.changed(**{mechanism.noise: noise})


def noise_label(mechanism: Mechanism) -> str:
    """Its noise in a sentence: "noise multiplier σ"."""
    label = PARAMETERS[mechanism.noise].label
    return f"{label[0].lower()}{label[1:]}"


def noise_axis(mechanism: Mechanism, low: float, high: float) -> dict[str, Any]:
    """The attributes of an axis of its noise."""
    name = noise_label(mechanism)
    title, hover = f"{name} (noise ÷ sensitivity)", f"{mechanism.symbol} = %{{x:.3~g}}"
    return {"title": title, "name": name, "column": mechanism.noise, "log": True, "shown": (low, high), "hover": hover}


def noise_guide(mechanism: Mechanism, noise: float) -> Guide:
    """The chosen noise on that axis."""
    return Guide("x", noise, f"my {mechanism.symbol} = {numbers.plain(noise)}")


def in_words(mechanism: Mechanism, *, without: str = "") -> list[str]:
    """Its parameters, as "σ = 4" each, but for one."""
    names = (name for name in mechanism.parameters() if name != without)
    return [f"{PARAMETERS[name].symbol} = {numbers.plain(getattr(mechanism, name), digits=4)}" for name in names]


POISSON = """**Sampling:** every example joins each batch independently with probability q (Poisson). Shuffled or
  fixed-size batches are not covered by these numbers.
- """


def assumed(mechanism: Mechanism) -> str:
    """Who is protected, and what is done to the data, as Markdown."""
    adjacency = mechanism.adjacency
    offered = mechanism.kind in KINDS
    sampling = "" if "**Sampling:**" in mechanism.assumes else POISSON
    return f"""
- **Who is protected:** {adjacency.unit}. {adjacency.neighbours} give outputs that an
  attacker can tell apart only as far as ε and δ allow.
- {sampling + mechanism.assumes if offered else f"**The mechanism:** {mechanism.text}."} All intermediate results may be
  seen by the attacker.
{PUBLIC_SIZE if adjacency.size_is_secret and offered else ""}"""
