"""Words of a claim check: the claim beside the description."""

from collections.abc import Iterator

from dpviz.accounting.tuning import SCORE
from dpviz.fields import numbers
from dpviz.questions import LATER, Formula, Metric, Note, Words
from dpviz.questions.answer import PENDING
from dpviz.questions.check.facts import CheckFacts
from dpviz.questions.check.fields import ADJACENCY, SAMPLER, UNSETTLED
from dpviz.questions.check.program import Program
from dpviz.questions.listing import Listing

ASSUMPTIONS = """
- **Poisson sampling:** the interval is that of the PLD accountant.
- **Fixed size:** the upper bound is that of subsampling without replacement, where two batches differ by up to 2C; the
  lower bound uses data whose other gradients are zero, or, where one example is replaced, all opposite. “Without one
  example” means: a record that contributes nothing takes its place.
- **Shuffled:** the upper bound is one Gaussian release per epoch, for any order; the lower bound is an attack's on one
  pair of data sets. The true ε lies between them; where is not known.
- **One random batch per epoch, and batches made once:** the choice is uniform, secret and independent of other
  examples. If one example is replaced, the upper bound is group privacy: the example is left out, then another one
  joins.
- **A person's rows:** Poisson batches, batches with replacement and known batches have exact bounds. Otherwise the
  upper bound is group privacy from the privacy curve of one row, and the lower bound is that of one row.
- **N is public:** no ε here covers what the size of the data reveals. Some libraries divide the noisy sum by a number
  that follows N, such as Opacus 1.6 (N ÷ batches, rounded down), so that the noise itself depends on N. *What if N is
  not public?* has the cost.
- **Not stated:** Poisson sampling and adding or removing are assumed, and the verdict says so.
- **Too low** means: some attack does better than the claim allows, whatever the accountant.
"""


def headline(f: CheckFacts) -> str:
    claim = "The claim" if f.claim is None else f"The claimed <b>ε = {numbers.entered(f.claim)}</b>"
    return f"{claim} {judgement(f)}"


def judgement(f: CheckFacts) -> str:
    """The verdict; continues the sentence about the claim."""
    high = numbers.up(f.high, 4)
    match f.verdict:
        case "unsettled":
            return (
                "<b>cannot be checked yet</b>: the code does not determine "
                f"{UNSETTLED.show(f.program.unsettled)}. Enter these values, or untick in “From code” what does not "
                "apply."
            )
        case "low":
            return (
                f"is <b>too low by a factor of at least {numbers.at_least(f.too_low, 4)}</b>: the described training "
                f"costs <b>ε ≥ {numbers.down(f.least, 4)}</b>, as some attack shows."
            )
        case "open":
            return unsaid(f)
        case "consistent":
            return f"is <b>consistent</b> with the described training, which costs <b>ε ≤ {high}</b>."
        case "waiting":
            bound = f"is below the Rényi bound <b>{numbers.up(f.renyi, 4)}</b>"
            return f"{bound}; the PLD interval is {LATER}."
        case _:
            bounds = f"the bounds known for the described training (at most {high})"
            return f"is <b>neither proven nor refuted</b> by {bounds}."


def unsaid(f: CheckFacts) -> str:
    """What is missing for a verdict, and what it would be as the description is read."""
    missing, reading = [], []
    if f.sampler_unsaid:
        missing.append("how batches are made")
        reading.append("as Poisson sampling")
    if f.adjacency_unsaid:
        missing.append("which data sets are neighbours")
        reading.append("for one example added or removed")
    if f.claimed >= f.high:
        verdict = f"it would be consistent (ε ≤ {numbers.up(f.high, 4)})"
    elif f.low is PENDING:
        verdict = f"the PLD interval is {LATER}"
    elif f.claimed < f.low:
        verdict = f"it would be too low by a factor of at least {numbers.at_least(f.too_low, 4)}"
    else:
        verdict = f"it is not proven (ε ≤ {numbers.up(f.high, 4)})"
    stated = f"it is not stated {' and '.join(missing)}"
    return f"<b>cannot be checked</b>: {stated}. Read {' and '.join(reading)}, {verdict}."


def metrics(f: CheckFacts) -> Iterator[Metric]:
    claim = "not entered" if f.claim is None else numbers.entered(f.claim)
    yield Metric("Claimed", claim, f"at δ = {numbers.delta(f.program.delta)}")
    if f.low is PENDING:
        yield Metric("At least", LATER, "some data reach it")
    elif f.low == 0:
        yield Metric("At least", "nothing known", "for such batches")
    else:
        yield Metric("At least", numbers.down(f.low, 4), "some data reach it")
    yield Metric("At most", numbers.up(f.high, 4), "Rényi" if f.high == f.renyi else "PLD")
    yield Metric("Steps", f.program.length.text, f.program.length.rate)


def notes(f: CheckFacts) -> Iterator[Note]:
    if f.program.unsettled:
        unsettled = "The chart and the numbers use the values of the form, which the code does not determine."
        yield Note(unsettled, "caution")
    if f.program.sampler == "shuffled":
        yield Note(
            "Shuffled batches: the upper bound counts each example once per epoch, without a gain from shuffling. The "
            "ε of Poisson sampling is not a bound for them: the lower bound may exceed it.",
            "caution",
        )
    if f.program.delta >= 1 / f.program.size:
        yield Note(
            "δ should be well below 1/N. With this δ, publishing one random record would count as private.", "caution"
        )
    if not f.coming and f.huge:
        yield Note(
            "So large an ε guarantees almost nothing: its upper end is that of Rényi divergences, which may be loose."
        )
    if f.program.tried > 1:
        yield Note(SCORE)
    yield Note("This compares a number with a description. It does not check any program.")


def formulas(f: CheckFacts) -> tuple[Formula, ...]:
    return f.program.length.formulas


def assumption_rows(program: Program) -> Iterator[tuple[str, str, str]]:
    """What a reader should find in the paper: what is assumed, how it is described, and why it matters."""
    counted, unchecked = bool(program.counted), "not checked here"
    yield "Batches", SAMPLER.options[program.sampler], program.training.why
    yield "Neighbours", ADJACENCY.options[program.adjacency], "Replacing one moves the sum by up to 2C, not C."
    clipping = "Each example's own gradient is clipped to C before the sum, not the mean of a batch."
    yield "Clipping", unchecked, clipping
    yield (
        "Noise",
        "as counted" if counted else f"σ = {numbers.entered(program.noise_multiplier)}",
        "Its standard deviation is σC on the sum (σC/batch on the mean). It is fresh at every step and comes from a "
        "secure generator.",
    )
    yield "Steps", program.length.text, "Count all steps, also those of restarts and of the last partial epoch."
    yield (
        "N and batch",
        f"{numbers.steps(program.size)}, {program.length.rate if counted else numbers.steps(program.batch)}",
        "N is treated as public. Sums are divided by the expected batch size, not by the number drawn.",
    )
    yield "δ", numbers.delta(program.delta), "Fixed in advance, well below 1/N."
    cost = "A fixed number of runs costs what all of them cost; a random one less. The lower bound is that of one run."
    yield "Runs tried", program.runs or "one", cost
    looks = "Early stopping, normalisation and pre-training on the same data also cost privacy."
    yield "Other looks at the data", unchecked, looks
    person = "A person with several rows is protected less: set “Rows of a person k” (expert)."
    yield "Who is protected", program.protected, person


def assumption_table(program: Program) -> Listing:
    return Listing(("Assumption", "As described", "Effect"), tuple(assumption_rows(program)), (1.6, 2.2, 4.0))


WORDS = Words(headline, metrics, notes, formulas, ASSUMPTIONS)
