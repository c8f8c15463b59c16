"""Does a claimed ε follow from what is described? Consistent, too low, or what is missing to tell."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpviz import library as dpviz
from dpviz._remember import remembered
from dpviz._version import __version__
from dpviz.accounting.guarantee import NO, SAMPLERS, UNKNOWN, YES, Guarantee, Losses, Reply
from dpviz.accounting.methods import Renyi
from dpviz.accounting.pld.bounds import tight_epsilon
from dpviz.accounting.pld.plan import rough_epsilon
from dpviz.charts import Axis, Dot, DotPlot, look
from dpviz.fields import Number, choice, number, numbers, several
from dpviz.fields.parameters import PARAMETERS
from dpviz.mechanisms import MECHANISMS, Mechanism
from dpviz.questions import DELTA, SIZE, Block, Named, Own, Reader, experts, kinds, make_question, rows, units
from dpviz.questions.answer import PENDING, Answer, Pending, slow_facts
from dpviz.questions.listing import Listing
from dpviz.questions.papers.guarantee import files_of

BATCH, EPOCHS, NOISE, CLAIM = number("kbatch"), number("kepochs"), number("ksigma"), number("kclaim")
ADJACENCY, ROWS, UNSETTLED = choice("kadj"), number("kpersons"), several("kopen")
LARGEST = 500.0  # ε beyond which no tight interval is computed

# --- from a description to what bounds its ε from above and below -----------------------------------------------------

Steps = tuple[Mechanism, int]


# Every mechanism whose noise is a claim's σ, by how it makes batches.
KINDS: dict[str, type[Mechanism]] = {}
for _kind in MECHANISMS:
    if _kind.noise == "noise_multiplier":
        KINDS.setdefault(_kind.sampler if _kind.sampler == "poisson" else _kind.kind, _kind)
SAMPLER = choice(
    "ksampler",
    options={key: f"{(text := SAMPLERS.get(key, kind.title))[:1].upper()}{text[1:]}" for key, kind in KINDS.items()}
    | {"unsaid": "Not said"},
)
# What some of them need beside σ, N, batch and epochs.
FURTHER = {name: number("k" + PARAMETERS[name].key) for name in ("largest_batch", "decay", "band")}


@dataclass(frozen=True)
class Described:
    """What is known of a description.

    Attributes:
        above: equal steps behind the upper bound.
        below: equal steps whose ε some such training reaches on some data.
        loose: equal steps that show no less than `above`, and have Rényi divergences.
        why: the reason, with its source.
    """

    above: Steps
    below: Steps
    loose: Steps
    why: str


def steps_of(size: int, batch: int, epochs: float) -> int:
    """Steps taken, rounded up: fewer would be reported as less loss."""
    return max(1, math.ceil(epochs * size / batch * (1.0 - 1e-12)))


def described(
    *, size: int, batch: int, epochs: float, sigma: float, sampler: str, replace: bool, rows: int = 1, **further: float
) -> Described:
    """What bounds a training with this sampler; "unsaid" is read as Poisson sampling.

    The mechanisms say why. Where whole epochs or runs count, a part of one counts from above, and batches are N ÷
    batch, rounded to the side that the bound allows.

    Args:
        rows: k, of one person, who is protected; 1 protects an example.
        further: largest_batch, decay and band, where the sampler has them.
    """
    kind, rate = KINDS.get(sampler, dpviz.SampledGaussian), batch / size
    given = {"noise_multiplier": sigma, "sample_rate": rate, "size": size, "batch": batch, **further}
    ends = []
    for whole, most in ((math.ceil(epochs), True), (math.floor(epochs), False)):
        count = {"step": steps_of(size, batch, epochs), "epoch": whole, "run": min(whole, 1)}[kind.step]
        steps = []
        for batches in (size // batch, math.ceil(size / batch)):
            values = given | {"batches": batches, "epochs": max(whole, 1)}
            steps.append(kind(**{name: values[name] for name in kind.parameters()}))
        if all(step.as_gaussian is not None for step in steps):
            steps.sort(key=lambda step: step.as_gaussian or 0.0)
        ends.append((steps[0] if most else steps[1], count))  # more batches show less, where noise is independent
    (step, count), (other, fewer) = ends
    above = protecting(step, rows, replace=replace)
    least = protecting(other, rows, replace=replace).least
    if isinstance(step, dpviz.FixedSize) and not replace:  # others' gradients are 0
        least = dpviz.SampledGaussian(sigma, rate)
    if isinstance(step, dpviz.TruncatedPoisson) and replace:
        least = step.least
    gaussian = above.gaussian_above
    loose = above if above.renyi() is not None or gaussian is None else dpviz.SampledGaussian(gaussian)
    sampling = "" if "**Sampling:**" in kind.assumes else kinds.POISSON.partition("\n")[0] + " "
    why = (sampling + kind.assumes).replace("**", "").replace(" Shuffled or", "")
    if isinstance(above, dpviz.PersonOf) and above.exact is None:
        why += (
            f" The upper end lets {above.rows} changes happen in turn (group privacy), which may be loose; the "
            "lower end is an attack's on fewer changes, or on one pair of data sets."
        )
    return Described((above, count), (least, fewer), (loose, count), why)


def protecting(step: Mechanism, rows: int, *, replace: bool) -> Mechanism:
    """The step with all rows of a person removed, or replaced: what is known of it from above.

    Where rows are replaced, they are removed, and others are added in their place, unless a mechanism knows better. A
    Poisson sample that is cut to a largest batch keeps a row or the one in its place, with probability q at most.
    """
    if not replace or step.adjacency == dpviz.Adjacency.REPLACE_ONE:
        return dpviz.of_person(step, rows)
    if "sample_rate" in step.parameters():
        return dpviz.of_person(dpviz.ReplaceOneGaussian(step.noise_multiplier, step.sample_rate), rows)  # type: ignore[attr-defined]
    together = step.of_rows(rows)
    return dpviz.PersonOf(step, 2 * rows) if together is None else dpviz.PersonOf(together, 2)


def renyi_above(known: Described, delta: float) -> float:
    """The upper bound on ε by Rényi divergences."""
    mechanism, count = known.loose
    return float(dpviz.epsilon(Renyi.name, mechanism=mechanism, steps=count, delta=delta))


# --- the claim beside it ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CheckFacts:
    """What is known of the ε of such a training.

    Attributes:
        described: the mechanisms behind the bounds.
        renyi: an upper bound by Rényi divergences.
        low, high: between which ε lies; `low` is PENDING while the tight interval is to come, and NaN where none is
            computed. `high` starts as `renyi`.
        steps: T.
    """

    described: Described
    renyi: float
    low: float | Pending
    high: float
    steps: int

    @property
    def coming(self) -> bool:
        """Whether the tight interval is still to come."""
        return self.low is PENDING

    def verdict(self, given: Mapping[str, Any]) -> str:
        """ "consistent", "low", "unsettled" (by the code), "open" (something is missing), "between" or "waiting"."""
        claimed, unsaid = given["claimed"], "unsaid" in (given["sampler"], given["adjacency"])
        if given["unsettled"]:
            return "unsettled"
        # Replacing one never costs less than leaving it out.
        if self.low is not PENDING and claimed < self.low and given["sampler"] != "unsaid":
            return "low"
        if unsaid:
            return "open"
        if claimed >= self.high:
            return "consistent"
        return "waiting" if self.coming else "between"

    def unsettled(self, keys: tuple[str, ...]) -> str:
        return UNSETTLED.show(keys)


def check(
    *,
    size: int,
    batch: int,
    epochs: float,
    noise_multiplier: float,
    delta: float,
    sampler: str,
    adjacency: str,
    claimed: float,
    rows: int = 1,
    largest_batch: int = 800,
    decay: float = 0.9,
    band: int = 10,
    unsettled: tuple[str, ...] = (),
) -> Answer[CheckFacts]:
    """Bounds of the ε of what is described, beside the claim; there is no verdict while something is `unsettled`."""
    if batch > size:
        raise ValueError(f"A batch of {batch} is more than the N = {size} examples there are: lower it, or raise N.")
    if steps_of(size, batch, epochs) > 10**12:
        raise ValueError("These are more than 1e12 steps: lower the epochs, or raise the batch.")
    known = described(
        size=size,
        batch=batch,
        epochs=epochs,
        sigma=noise_multiplier,
        sampler=sampler,
        replace=adjacency == "replace",
        rows=rows,
        largest_batch=largest_batch,
        decay=decay,
        band=band,
    )
    renyi = renyi_above(known, delta)
    low = PENDING if renyi <= LARGEST or rough_epsilon(*known.above, delta) <= LARGEST else math.nan
    facts = CheckFacts(known, renyi, low, renyi, steps_of(size, batch, epochs))
    return Answer(beside(facts, claimed), facts)


def beside(facts: CheckFacts, claimed: float) -> DotPlot:
    """The claim and the bounds on one axis: an upper end is rounded up, a lower one down."""
    most = [numbers.epsilon(value, digits=4, up=True) for value in (facts.high, facts.renyi)]
    marks = [("claimed", "claimed", claimed, numbers.plain(claimed, digits=4), look.GREY)]
    if facts.low is not PENDING and facts.low > 0.0:
        marks.append(("low", "at least", facts.low, numbers.plain(numbers.down(facts.low, 4), digits=4), look.ORANGE))
    if facts.high < facts.renyi:
        marks.append(("high", "at most", facts.high, most[0], look.GREEN))
    if facts.renyi <= LARGEST or facts.high == facts.renyi:
        marks.append((Renyi.name, "at most, Rényi", facts.renyi, most[1], look.MAUVE))
    dots = tuple(Dot(name, at, text, f"{name}: ε = {at:.4g}", color, key=key) for key, name, at, text, color in marks)
    axis = Axis("ε", column="epsilon", log=True)
    return DotPlot(axis, dots, rows="bound", reference=claimed, summary="ε of the claim")


def tight_key(answer: Answer[CheckFacts]) -> tuple[object, ...] | None:
    """What decides the interval; None where it is not computed."""
    known = answer.facts.described
    return (known.above, known.below, answer.given["delta"]) if answer.facts.low is PENDING else None


def tight_ends(answer: Answer[CheckFacts]) -> dict[str, float]:
    """The least and the largest ε that what is described may have."""
    low, high = ends(answer.facts.described, answer.facts.renyi, answer.given["delta"])
    return {"low": low, "high": high}


@remembered
def ends(known: Described, renyi: float, delta: float) -> tuple[float, float]:
    """Some 10 ms, a second for random allocation, so that no other number need stand in their place."""
    low = float(np.asarray(tight_epsilon(*known.below, delta).lower))
    return low, min(renyi, float(np.asarray(tight_epsilon(*known.above, delta).upper)))


def below(answer: Answer[CheckFacts]) -> list[Block]:
    """What a reader should find in the paper."""
    labels = {"batches": SAMPLER.options[answer.given["sampler"]], "who": ADJACENCY.options[answer.given["adjacency"]]}
    listed = [tuple(row.values()) for row in rows("papers/check", "check", {"answer": answer, **labels})]
    return [Listing(("Assumption", "As described", "Effect"), tuple(listed), (1.6, 2.2, 4.0))]


def card(answer: Answer[CheckFacts]) -> Guarantee:
    """What the description says and leaves open; no ε where it does not decide one."""
    given, facts = answer.given, answer.facts
    adjacency, rows = ADJACENCY.options[given["adjacency"]], given["rows"]
    kind = KINDS.get(given["sampler"])
    sampler = UNKNOWN if kind is None else SAMPLERS[kind.sampler or kind.kind]
    unit = "one example" if rows == 1 else f"one person, with up to {rows} rows"
    noise = [f"σ = {given['noise_multiplier']:.6g}"]
    noise += [f"{PARAMETERS[n].symbol} = {given[n]:.6g}" for n in FURTHER if kind and n in kind.parameters()]
    decided = not given["unsettled"] and "unsaid" not in (given["sampler"], given["adjacency"])
    low = facts.low if isinstance(facts.low, float) and not math.isnan(facts.low) else None
    below = given["delta"] * given["size"] < 1.0 - 1e-12
    stated = Reply(NO, "not stated") if given["adjacency"] == "unsaid" else Reply(YES, f"{unit}: {adjacency}")
    return Guarantee(
        losses=Losses(
            epsilon=facts.high if decided else None,
            delta=given["delta"],
            epsilon_lower=low if decided else None,
            epsilon_published=None if CLAIM.key in given["unsettled"] else given["claimed"],
            why="the description does not decide it",
        ),
        statements={
            "privacy_loss": {
                "privacy_unit": unit.partition(",")[0],
                "privacy_unit_description": f"{unit}: {adjacency}",
            },
            "accounting": {"composition": f"{facts.steps:,} steps", "version": f"bounds by dpviz {__version__}"},
            "implementation": {
                "mechanisms": f"Gaussian noise, {', '.join(noise)}, on a sum of clipped gradients",
                "sampler_as_run": sampler,
                "size": f"{given['size']:,}",
            },
        },
        replies={"adjacency": stated, "delta": Reply(YES if below else NO, f"N = {given['size']:,}")}
        | ({"rows": Reply(YES, unit)} if rows > 1 else {}),
    )


def further_of(sampler: str) -> list[Number]:
    """The fields that this sampler has beside those of every claim."""
    kind = KINDS.get(sampler, dpviz.SampledGaussian)
    return [field for name, field in FURTHER.items() if name in kind.parameters()]


def layout(get: Reader) -> Named:
    return {
        "Claim": (CLAIM, NOISE, EPOCHS, SIZE, BATCH, units.suggested(SIZE, get)),
        "Described": (SAMPLER, *further_of(get(SAMPLER)), ADJACENCY, *experts(ROWS)),
        "From code": (Own("snippet", (SIZE, BATCH, NOISE, EPOCHS, DELTA, CLAIM, SAMPLER, ADJACENCY)), UNSETTLED),
    }


CHECK = make_question(
    "papers/check/check",
    check,
    layout,
    {"sampler": SAMPLER, "unsettled": UNSETTLED},
    slow=(slow_facts(tight_key, tight_ends, tight_ends, lambda answer: beside(answer.facts, answer.given["claimed"])),),
    below=below,
    more={"Use it": lambda answer: files_of(card(answer))},
)
