"""Does a claimed ε follow from what is described? Consistent, too low, or what is missing to tell."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from dpviz._remember import remembered
from dpviz.accounting.pld.bounds import tight_epsilon
from dpviz.charts import look
from dpviz.charts.plot import Axis
from dpviz.charts.rows import Dot, DotPlot
from dpviz.fields import numbers
from dpviz.questions import units
from dpviz.questions.answer import LATER, PENDING, Answer, Metric, Note, Pending, Slow
from dpviz.questions.layout import Groups, Own, Reader, experts
from dpviz.questions.listing import Listing
from dpviz.questions.mechanism import DELTA, SIZE
from dpviz.questions.papers.check_fields import ADJACENCY, BATCH, CLAIM, EPOCHS, NOISE, SAMPLER, UNSETTLED
from dpviz.questions.papers.described import Described, described, renyi_above, steps_of
from dpviz.questions.question import Block, Question
from dpviz.questions.shared import IMAGE

LARGEST = 500.0  # ε beyond which no tight interval is computed
SETTLE = "Enter these values, or switch off below “From code” what does not apply."
UNSAID = {"sampler": "how batches are made", "adjacency": "which data sets must look alike"}


@dataclass(frozen=True)
class CheckFacts:
    """What is known of the ε of such a training.

    Attributes:
        described: the mechanisms behind the bounds.
        renyi: an upper bound by Rényi divergences.
        low, high: between which ε lies; `low` is PENDING while the tight interval is to come, and NaN where none is
            computed. `high` starts as `renyi`.
        missing: what is not said.
    """

    described: Described
    renyi: float
    low: float | Pending
    high: float
    missing: tuple[str, ...]

    def above(self, claimed: float) -> bool:
        """Whether the least ε is there and more than the claim."""
        return self.low is not PENDING and claimed < self.low


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
    unsettled: tuple[str, ...] = (),
) -> Answer[CheckFacts]:
    """Bounds of the ε of what is described, beside the claim; there is no verdict while something is `unsettled`."""
    if batch > size:
        raise ValueError(f"A batch of {batch} is more than the N = {size} examples there are: lower it, or raise N.")
    if steps_of(size, batch, epochs) > 10**12:
        raise ValueError("These are more than 10¹² steps, which nobody takes: lower the epochs, or raise the batch.")
    known = described(
        size=size,
        batch=batch,
        epochs=epochs,
        sigma=noise_multiplier,
        sampler=sampler,
        replace=adjacency == "replace",
    )
    renyi = renyi_above(known, delta)
    said = tuple(key for key, value in (("sampler", sampler), ("adjacency", adjacency)) if value == "unsaid")
    return beside(CheckFacts(known, renyi, PENDING if renyi <= LARGEST else math.nan, renyi, said), claimed)


def beside(facts: CheckFacts, claimed: float) -> Answer[CheckFacts]:
    """The claim and the bounds on one axis."""
    rows = [("claimed", "claimed", claimed, look.GREY)]
    if facts.low is not PENDING and facts.low > 0.0:
        rows.append(("low", "at least", facts.low, look.ORANGE))
    if facts.high < facts.renyi:
        rows.append(("high", "at most", facts.high, look.GREEN))
    rows.append(("renyi", "at most, Rényi", facts.renyi, look.MAUVE))
    dots = tuple(
        Dot(name, value, written(key, value), f"{name}: ε = {value:.4g}", color, key=key)
        for key, name, value, color in rows
    )
    plot = DotPlot(Axis("ε", column="epsilon", log=True), dots, rows="bound", reference=claimed, said="ε of the claim")
    return Answer(plot, facts)


def written(key: str, value: float) -> str:
    """A claim as it is, an upper end rounded up, a lower one down."""
    if key == "high" or key == "renyi":
        return most(value)
    return numbers.plain(numbers.down(value, 4) if key == "low" else value, digits=4)


def tight_key(a: Answer[CheckFacts]) -> tuple[object, ...] | None:
    """What decides the interval; None where it is not computed."""
    known = a.facts.described
    return (known.above, known.below, a.given["delta"]) if a.facts.low is PENDING else None


def tight_ends(a: Answer[CheckFacts]) -> tuple[float, float]:
    """The least and the largest ε that what is described may have."""
    return ends(a.facts.described, a.facts.renyi, a.given["delta"])


@remembered
def ends(known: Described, renyi: float, delta: float) -> tuple[float, float]:
    """Some 10 ms, so that no other number need stand in their place."""
    low, high = 0.0, renyi
    if known.below is not None:
        low = float(np.asarray(tight_epsilon(*known.below, delta).lower))
    if not known.doubled:
        high = min(high, float(np.asarray(tight_epsilon(*known.above, delta).upper)))
    return low, high


def with_ends(a: Answer[CheckFacts], found: tuple[float, float]) -> Answer[CheckFacts]:
    """The interval in chart and facts."""
    low, high = found
    facts = replace(a.facts, low=low, high=high)
    return replace(beside(facts, a.given["claimed"]), given=a.given)


def verdict(a: Answer[CheckFacts]) -> str:
    """ "consistent", "low", "unsettled" (by the code), "open" (something is missing), "between" or "waiting"."""
    f, claimed = a.facts, a.given["claimed"]
    if a.given["unsettled"]:
        return "unsettled"
    if f.above(claimed) and "sampler" not in f.missing:  # and replacing one never costs less than leaving it out
        return "low"
    if f.missing:
        return "open"
    if claimed >= f.high:
        return "consistent"
    return "waiting" if f.low is PENDING else "between"


def headline(a: Answer[CheckFacts]) -> str:
    f, g, found = a.facts, a.given, verdict(a)
    claim = f"The claimed <b>ε = {numbers.plain(g['claimed'], digits=4)}</b>"
    if CLAIM.key in g["unsettled"]:
        claim = "The claim"
    if found == "unsettled":
        return (
            f"{claim} <b>cannot be checked yet</b>: the code does not settle {UNSETTLED.show(g['unsettled'])}. {SETTLE}"
        )
    read = [" as Poisson sampling"] if g["sampler"] == "unsaid" else []
    read += [" for one example added or removed"] if g["adjacency"] == "unsaid" else []
    if found == "low" and f.low is not PENDING:
        return (
            f"{claim} is <b>too low, by at least {factor(f.low / g['claimed'])}</b>: what is described costs "
            f"<b>ε ≥ {numbers.epsilon(numbers.down(f.low, 4), digits=4)}</b> on some data."
        )
    if found == "open":
        missing = " and ".join(UNSAID[key] for key in f.missing)
        would = f"Read{' and'.join(read)}, {fits(f, g['claimed'])}."
        return f"{claim} <b>cannot be checked</b>: it is not said {missing}. {would}"
    if found == "consistent":
        return f"{claim} is <b>consistent</b> with what is described: that costs at most <b>ε ≤ {most(f.high)}</b>."
    if found == "waiting":
        return f"{claim} is below the Rényi bound <b>{most(f.renyi)}</b>; the tight interval is {LATER}."
    return (
        f"{claim} <b>cannot be told right or wrong</b>: no bound known for what is described proves it (at most "
        f"{most(f.high)}), and none refutes it."
    )


def fits(f: CheckFacts, claimed: float) -> str:
    """Whether the claim would hold under the reading."""
    if claimed >= f.high:
        return f"it would be consistent (ε ≤ {most(f.high)})"
    if f.low is PENDING:
        return f"the tight interval is {LATER}"
    if claimed < f.low:
        return f"it would be too low, by at least {factor(f.low / claimed)}"
    return f"it is not proven (ε ≤ {most(f.high)})"


def factor(ratio: float) -> str:
    """How many times too low, rounded down."""
    return f"× {numbers.plain(numbers.down(ratio, 4), digits=4)}"


def most(value: float) -> str:
    return numbers.epsilon(value, digits=4, up=True)


def metrics(a: Answer[CheckFacts]) -> list[Metric]:
    f, g = a.facts, a.given
    if f.low is PENDING:
        least = (LATER, "some data reach it")
    elif math.isnan(f.low):
        least = ("not computed", "some data reach it")
    elif f.low == 0.0:
        least = ("nothing known", "for such batches")
    else:
        least = (numbers.epsilon(numbers.down(f.low, 4), digits=4), "some data reach it")
    return [
        Metric(
            "Claimed",
            "not entered" if CLAIM.key in g["unsettled"] else numbers.plain(g["claimed"], digits=4),
            f"at δ = {numbers.delta(g['delta'])}",
        ),
        Metric("At least", *least),
        Metric("At most", most(f.high), "Rényi" if f.high == f.renyi else "numerically tight"),
        Metric("Steps", numbers.steps(count(a)), f"q = {numbers.plain(g['batch'] / g['size'], digits=4)}"),
    ]


def count(a: Answer[CheckFacts]) -> int:
    g = a.given
    return steps_of(g["size"], g["batch"], g["epochs"])


def notes(a: Answer[CheckFacts]) -> list[Note]:
    g, built = a.given, []
    if g["unsettled"]:
        built.append(
            Note("The chart and the numbers use the form's values, which the code does not settle.", "caution")
        )
    if g["sampler"] == "shuffled":
        built.append(
            Note(
                "Shuffled batches: the bound counts one use of each example an epoch and no gain from sampling. "
                "Poisson's ε is not a bound for them, and no lower bound is computed here.",
                "caution",
            )
        )
    if g["delta"] >= 1.0 / g["size"]:
        built.append(Note("δ is not below 1/N: releasing one example at random would be allowed.", "caution"))
    if a.facts.renyi > LARGEST:
        built.append(Note("ε passes 500: no tight interval is computed, for no promise is left to sharpen."))
    built.append(Note("This checks arithmetic against a description, not a program against either."))
    return built


def below(a: Answer[CheckFacts]) -> list[Block]:
    return [Listing(("Assumption", "As described", "What hangs on it"), checklist(a), (1.6, 2.2, 4.0))]


def checklist(a: Answer[CheckFacts]) -> tuple[tuple[str, str, str], ...]:
    """What a reader should find in the paper."""
    g, f = a.given, a.facts
    return (
        ("Batches", SAMPLER.options[g["sampler"]], f"Here: {f.described.why}."),
        ("Neighbours", ADJACENCY.options[g["adjacency"]], "Replacing one moves the sum by up to 2C, not C."),
        ("Clipping", "not asked here", "Each example's own gradient to C, before the sum; not a batch's mean."),
        ("Noise", f"σ = {numbers.plain(g['noise_multiplier'], digits=4)}",
         "Std σC on the sum (σC/batch on the mean), fresh at every step, from a secure generator."),
        ("Steps", numbers.steps(count(a)), "All that were taken, restarts and the last partial epoch too."),
        ("N and batch", f"{numbers.steps(g['size'])}, {numbers.steps(g['batch'])}",
         "N counts as public. Sums are divided by the expected batch, not by the one drawn."),
        ("δ", numbers.delta(g["delta"]), "Fixed in advance, well below 1/N."),
        ("Other looks at the data", "not asked here",
         "Tuning, early stopping, normalisation and pre-training on the same data cost too."),
        ("Who is protected", "one example", "A person with k examples has far less: a promise for groups of k."),
    )  # fmt: skip


def formulas(a: Answer[CheckFacts]) -> list[tuple[str, str]]:
    g = a.given
    return [
        ("Steps", rf"T = \lceil \text{{epochs}} \cdot N / \text{{batch}} \rceil = {count(a)}"),
        ("Rate", rf"q = \text{{batch}}/N = {g['batch'] / g['size']:.6g}"),
    ]


def layout(get: Reader) -> Groups:
    return {
        "Claim": (CLAIM, NOISE, EPOCHS, SIZE, BATCH, units.suggested(SIZE, get)),
        "Described": (SAMPLER, ADJACENCY),
        "From code": (Own("snippet", (SIZE, BATCH, NOISE, EPOCHS, DELTA, CLAIM, SAMPLER, ADJACENCY)), UNSETTLED),
        "Show": experts(IMAGE),
    }


CHECK: Question[CheckFacts] = Question(
    key="check",
    title="Check a claim",
    settings={
        "size": SIZE,
        "batch": BATCH,
        "epochs": EPOCHS,
        "noise_multiplier": NOISE,
        "delta": DELTA,
        "sampler": SAMPLER,
        "adjacency": ADJACENCY,
        "claimed": CLAIM,
        "unsettled": UNSETTLED,
    },
    answer=check,
    headline=headline,
    metrics=metrics,
    notes=notes,
    formulas=formulas,
    assumptions="""
- **Poisson sampling:** the interval is numerically tight.
- **Fixed size, drawn anew:** bounded above by Rényi divergences of subsampling without replacement, two batches being
  up to 2C apart; below by data whose other gradients are zero. “Without one example” is read as: a record that
  contributes nothing in its place.
- **Shuffled:** bounded above by one Gaussian release an epoch, whatever the order; nothing below.
- **Not said:** read as Poisson sampling and as add or remove, and the verdict says that it is a reading.
- **Too low** means: on some data an attacker does better than the claim allows, however the accountant counted.
""",
    slow=(Slow(tight_key, tight_ends, with_ends, tight_ends),),
    layout=layout,
    below=below,
)
