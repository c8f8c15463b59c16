"""A check of a claimed ε against a described training: consistent, too low, or what is missing to tell."""

from collections.abc import Sequence
from typing import Annotated

from dpviz import library as dpviz
from dpviz._version import __version__
from dpviz.accounting.guarantee import Losses, below_one_over
from dpviz.accounting.methods import Renyi
from dpviz.accounting.tuning import Law
from dpviz.charts import Axis, Dot, DotPlot, look
from dpviz.fields import AnyField, Number, numbers
from dpviz.fields.parameters import PARAMETERS
from dpviz.questions import (
    DELTA,
    LAW,
    SIZE,
    TRIED,
    Answer,
    FieldControl,
    Formula,
    Layout,
    Question,
    Reader,
    experts,
    slow_facts,
    units,
)
from dpviz.questions.answer import PENDING
from dpviz.questions.budget.blocks import Block
from dpviz.questions.check import fields
from dpviz.questions.check.described import LARGEST, described, ends, renyi_above
from dpviz.questions.check.facts import CheckFacts, StepsAndRate
from dpviz.questions.check.words import WORDS, assumption_table
from dpviz.questions.guarantee.card import Guarantee, Reply
from dpviz.questions.guarantee.plan import tuning_words
from dpviz.questions.guarantee.question import files_of
from dpviz.questions.guarantee.words import NO, SAMPLERS, UNKNOWN, YES
from dpviz.questions.layout import Item
from dpviz.questions.pasted.form import read_code


def check(
    *,
    size: Annotated[int, SIZE],
    batch: Annotated[int, fields.BATCH],
    epochs: Annotated[float, fields.EPOCHS],
    noise_multiplier: Annotated[float, fields.NOISE],
    delta: Annotated[float, DELTA],
    adjacency: Annotated[str, fields.ADJACENCY],
    rows: Annotated[int, fields.ROWS],
    largest_batch: Annotated[int, fields.FURTHER["largest_batch"]],
    decay: Annotated[float, fields.FURTHER["decay"]],
    band: Annotated[int, fields.FURTHER["band"]],
    least_epochs: Annotated[float, fields.LEAST],
    loader: Annotated[str, fields.LOADER],
    parts: Annotated[int, fields.PARTS],
    claimed: Annotated[float, fields.CLAIM],
    sampler: Annotated[str, fields.SAMPLER],
    tried: Annotated[int, TRIED],
    law: Annotated[Law, LAW],
    unsettled: Annotated[tuple[str, ...], fields.UNSETTLED],
    counted: Annotated[tuple[Block, ...], fields.COUNTED],
) -> Answer[CheckFacts]:
    """Bounds of the ε of what is described, beside the claim; there is no verdict while something is `unsettled`.

    Args:
        parts: Poisson batches that are added up in one step; an example may be in each of them, as a row of its own.
    """
    samples = batch
    if sampler not in ("poisson", "unsaid"):  # an example is in one of the batches that are added up
        samples, epochs, least_epochs, parts = batch * parts, epochs * parts, least_epochs * parts, 1
    if samples > size and not counted:
        raise ValueError(f"A batch of {samples} is more than the N = {size} examples there are: lower it, or raise N.")
    if not counted and fields.steps_of(size, samples, epochs) > 10**12:
        raise ValueError("These are more than 1e12 steps: lower the epochs, or raise the batch.")
    training = described(
        size=size,
        batch=samples,
        epochs=epochs,
        sigma=noise_multiplier,
        sampler=sampler,
        replace=adjacency == "replace",
        rows=rows * parts,
        least_epochs=min(least_epochs, epochs),
        loader=loader,
        counted=counted,
        largest_batch=largest_batch,
        decay=decay,
        band=band,
    ).best_of(tried, law)
    renyi = renyi_above(training, delta)
    facts = CheckFacts(
        described=training,
        length=length_and_rate(size, samples, epochs, least_epochs, loader, counted),
        renyi=renyi,
        low=PENDING,
        high=renyi,
        claimed=claimed,
        size=size,
        batch=batch,
        noise_multiplier=noise_multiplier,
        delta=delta,
        sampler=sampler,
        adjacency=adjacency,
        rows=rows,
        largest_batch=largest_batch,
        decay=decay,
        band=band,
        tried=tried,
        law=law,
        counted=counted,
        unsettled=unsettled,
    )
    return Answer(claim_and_bounds(facts), facts)


def length_and_rate(
    size: int, batch: int, epochs: float, least_epochs: float, loader: str, counted: Sequence[Block]
) -> StepsAndRate:
    """The most and the fewest steps, and q."""
    if counted:
        total, rates = sum(block.steps for block in counted), sorted({block.rate for block in counted})
        words = "q = " + " to ".join(dict.fromkeys(numbers.plain(rate) for rate in (rates[0], rates[-1])))
        formulas = Formula("Steps", f"T = {total}"), Formula("Rate", rf"q \le {rates[-1]:.6g}")
        return StepsAndRate(total, total, words, formulas)
    fewest, many = fields.loader_batches(size, batch, loader)
    most, least = fields.whole_steps(epochs * many), fields.whole_steps((least_epochs or epochs) * fewest)
    rates = sorted({1.0 / many, 1.0 / fewest})
    per_epoch = {
        "exact": r"N / \text{batch}",
        "loader": r"\lceil N / \text{batch} \rceil",
        "dropped": r"\lfloor N / \text{batch} \rfloor",
        "either": r"\text{batches of the loader}",
    }[loader]
    either = r" \text{ or } ".join(f"{rate:.6g}" for rate in rates)
    share = r"\text{batch} / N" if loader == "exact" else f"1 / {per_epoch}"
    return StepsAndRate(
        most,
        least,
        "q = " + " or ".join(map(numbers.plain, rates)),
        (
            Formula("Steps", rf"T = \lceil \text{{epochs}} \cdot {per_epoch} \rceil = {most}"),
            Formula("Rate", f"q = {share} = {either}"),
        ),
    )


def claim_and_bounds(facts: CheckFacts) -> DotPlot:
    """The claim and the bounds on one axis: an upper end is rounded up, a lower one down."""
    claimed, most = facts.claim, [numbers.up(value, 4) for value in (facts.high, facts.renyi)]
    marks = [] if claimed is None else [("claimed", "claimed", claimed, numbers.entered(claimed), look.BROWN)]
    if facts.low is not PENDING and facts.low > 0.0:
        marks.append(("low", "at least", facts.low, numbers.at_least(facts.low, 4), look.GREY))
    if facts.high < facts.renyi:
        marks.append(("high", "at most", facts.high, most[0], look.GREY))
    if facts.renyi <= LARGEST or facts.high == facts.renyi:
        marks.append((Renyi.name, "at most, Rényi", facts.renyi, most[1], look.GREEN))
    dots = tuple(Dot(name, at, text, f"{name}: ε = {at:.4g}", color, key=key) for key, name, at, text, color in marks)
    axis = Axis("ε", column="epsilon", log=True)
    return DotPlot(axis, dots, rows="bound", reference=claimed, summary="ε of the claim")


def tight_key(answer: Answer[CheckFacts]) -> tuple[object, ...] | None:
    """What decides the interval; None where it is there."""
    facts = answer.facts
    training = facts.described
    key = training.above, training.below, training.runs, training.law, facts.delta
    return key if facts.coming else None


def tight_ends(answer: Answer[CheckFacts]) -> dict[str, float]:
    """The least and the largest ε that what is described may have."""
    low, high = ends(answer.facts.described, answer.facts.renyi, answer.facts.delta)
    return {"low": low, "high": high}


def card(facts: CheckFacts) -> Guarantee:
    """What the description says and leaves open; no ε where it does not decide one."""
    adjacency = fields.ADJACENCY.options[facts.adjacency]
    kind = fields.KINDS.get(facts.sampler)
    sampler = UNKNOWN if kind is None else SAMPLERS[kind.sampler or kind.kind]
    unit = "one example" if facts.rows == 1 else f"one person, with up to {facts.rows} rows"
    noise = [block.words for block in facts.counted] or [f"σ = {facts.noise_multiplier:.6g}"]
    noise += [f"{PARAMETERS[name].symbol} = {getattr(facts, name):.6g}" for name in further_of(facts.sampler)]
    decided = not (facts.unsettled or facts.sampler_unsaid or facts.adjacency_unsaid)
    low = None if facts.low is PENDING else facts.low
    below = below_one_over(facts.size, facts.delta)
    stated = Reply(NO, "not stated") if facts.adjacency_unsaid else Reply(YES, f"{unit}: {adjacency}")
    replies = {"adjacency": stated, "delta": Reply(YES if below else NO, f"N = {facts.size:,}")}
    if facts.tried > 1:
        replies["tuning"] = Reply(YES, tuning_words(facts.tried, facts.law))
    return Guarantee(
        losses=Losses(
            epsilon=facts.high if decided else None,
            delta=facts.delta,
            epsilon_lower=low if decided else None,
            epsilon_published=facts.claim,
            why="the description does not decide it",
        ),
        statements={
            "privacy_loss": {
                "privacy_unit": unit.partition(",")[0],
                "privacy_unit_description": f"{unit}: {adjacency}",
            },
            "accounting": {
                "composition": f"{facts.length.most:,} steps",
                "version": f"bounds by dpviz {__version__}",
            },
            "implementation": {
                "mechanisms": f"Gaussian noise, {', '.join(noise)}, on a sum of clipped gradients",
                "sampler_as_run": sampler,
                "size": f"{facts.size:,}",
            },
        },
        replies=replies | ({"rows": Reply(YES, unit)} if facts.rows > 1 else {}),
    )


def further_of(sampler: str) -> dict[str, Number]:
    """The fields, by their names, that this sampler has beside those of every claim."""
    kind = fields.KINDS.get(sampler, dpviz.SampledGaussian)
    return {name: field for name, field in fields.FURTHER.items() if name in kind.parameters()}


# What a text fills.
FILLED = (
    SIZE,
    fields.BATCH,
    fields.NOISE,
    fields.EPOCHS,
    fields.LEAST,
    DELTA,
    fields.CLAIM,
    fields.SAMPLER,
    fields.ADJACENCY,
    fields.ROWS,
    TRIED,
    LAW,
    fields.LOADER,
    fields.PARTS,
    fields.COUNTED,
)


def layout(get: Reader) -> Layout:
    sampler, counted = get(fields.SAMPLER), get(fields.COUNTED)
    poisson = sampler in ("poisson", "unsaid")
    length = ("epochs", *shown_or_rare(get, fields.LEAST))
    plan = ("noise_multiplier", *length, SIZE, "batch", units.suggested(SIZE, get))
    rate = shown_or_rare(get, fields.LOADER) if poisson and not counted else ()
    parts = shown_or_rare(get, fields.PARTS) if poisson else ()
    rows = (*shown_or_rare(get, fields.ROWS), *shown_or_rare(get, TRIED), *experts(LAW) * (get(TRIED) > 1))
    unsettled = get(fields.UNSETTLED)
    still_open = (FieldControl((fields.UNSETTLED,), options=unsettled),) if unsettled else ()
    return {
        "Claim": ("claimed", *((FieldControl((fields.COUNTED,), drawn_as="counted"), SIZE) if counted else plan)),
        "Described": ("sampler", *rate, *parts, *further_of(sampler).values(), "adjacency", *rows),
        "From code": (FieldControl(FILLED, drawn_as="snippet"), *still_open),
    }


def shown_or_rare(get: Reader, field: AnyField) -> tuple[Item, ...]:
    """The field; for experts alone while it has its default."""
    return (field,) if get(field) != field.default else experts(field)


CHECK = Question(
    "check",
    "Check a program",
    check,
    WORDS,
    asks="verdict",
    slow=(slow_facts(tight_key, tight_ends, tight_ends, lambda answer: claim_and_bounds(answer.facts)),),
    layout=layout,
    below=lambda answer: [assumption_table(answer.facts)],
    reads={"code": read_code},
    more={"Use it": lambda answer: files_of(card(answer.facts))},
)
