"""The mechanism that a question is about, as one setting made of fields: its kind, and its parameters."""

import math
from collections.abc import Mapping

from dpviz.charts import Axis, Guide
from dpviz.fields import Number, choice, number, numbers
from dpviz.fields.expression import steps_of
from dpviz.fields.parameters import PARAMETERS
from dpviz.mechanisms import MECHANISMS, Mechanism, of_person, one_row_of
from dpviz.questions import units
from dpviz.questions.layout import Item, Reader, experts, made_once
from dpviz.questions.mechanism import PUBLIC_SIZE, RATE, SIZE, STEPS
from dpviz.questions.question import Compound

KINDS = {kind.kind: kind for kind in MECHANISMS}
T = {"step": STEPS, "epoch": number("tepochs"), "run": number("truns")}  # by what a step is called
ROWS, PASSES = PARAMETERS["rows"], PARAMETERS["epochs"]
KIND = choice("mech", options={key: kind.title for key, kind in KINDS.items()})


def read(get: Reader) -> Mechanism:
    """The mechanism that the fields ask for."""
    return made_once(get, "mechanism", _read)


def _read(get: Reader) -> Mechanism:
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


def follows(before: str, kind: str, get: Reader) -> Mapping[Number, float]:
    """T, and the epochs of a run, when a kind is chosen whose steps are something else: the same epochs as before.

    Ten thousand batches of a hundredth of the data each are a hundred epochs, or one run of a hundred.
    """
    old, new = KINDS[before], KINDS[kind]
    share = _share(new, get)
    if old.step == new.step or not share:
        return {}
    epochs = float(f"{get(STEPS) * _share(old, get):.12g}")  # without binary dust
    if new.step == "run":
        runs = math.ceil(epochs / PASSES.high)
        return {PASSES: max(1.0, math.ceil(epochs / max(runs, 1))), **units.sets(STEPS, max(runs, 1), get)}
    return units.sets(STEPS, min(max(1.0, steps_of(epochs, share)), STEPS.high), get)


def _share(kind: type[Mechanism], get: Reader) -> float:
    """What one step of this kind takes of an epoch: q, B/N, all of it, or the E epochs of a run."""
    if kind.step != "step":
        return get(PASSES) if kind.step == "run" else 1.0
    return get(RATE) if "sample_rate" in kind.parameters() else get(PARAMETERS["batch"]) / get(SIZE)


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
    return Guide("x", noise, f"my {mechanism.symbol} = {numbers.entered(noise)}")


def in_words(mechanism: Mechanism, *, without: str = "") -> list[str]:
    """Its parameters, as "σ = 4" each, but for one.

    A bound that holds for them holds at what is written: q is often a quotient and is rounded down; all others, which
    people enter, are written as they are.
    """

    def text(name: str) -> str:
        value = float(getattr(mechanism, name))
        return numbers.at_least(value, 4) if name == "sample_rate" else numbers.entered(value)

    return [f"{PARAMETERS[name].symbol} = {text(name)}" for name in mechanism.parameters() if name != without]


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
