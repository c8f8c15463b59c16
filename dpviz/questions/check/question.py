"""A check of a claimed ε against a described training: consistent, too low, or what is missing to tell."""

from typing import Annotated, Any

from dpviz import library as dpviz
from dpviz._version import __version__
from dpviz.accounting.guarantee import Losses, below_one_over
from dpviz.accounting.methods import Renyi
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
    Layout,
    Question,
    Reader,
    annotated,
    experts,
    slow_facts,
    units,
)
from dpviz.questions.answer import PENDING
from dpviz.questions.check import fields
from dpviz.questions.check.described import LARGEST, ends
from dpviz.questions.check.facts import CheckFacts
from dpviz.questions.check.program import Program
from dpviz.questions.check.words import WORDS, assumption_table
from dpviz.questions.guarantee.card import Guarantee, Reply
from dpviz.questions.guarantee.plan import tuning_words
from dpviz.questions.guarantee.question import files_of
from dpviz.questions.guarantee.words import NO, SAMPLERS, UNKNOWN, YES
from dpviz.questions.layout import Item
from dpviz.questions.pasted.form import read_code


def check(*, claimed: Annotated[float, fields.CLAIM], **described: Any) -> Answer[CheckFacts]:
    """Bounds of the ε of what is described, beside the claim; other keywords as in `Program`.

    There is no verdict while something is unsettled.
    """
    program = Program(**described)
    facts = CheckFacts(program, program.renyi, PENDING, program.renyi, claimed)
    return Answer(claim_and_bounds(facts), facts)


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
    training = answer.facts.program.training
    key = training.above, training.below, training.runs, training.law, answer.facts.program.delta
    return key if answer.facts.coming else None


def tight_ends(answer: Answer[CheckFacts]) -> dict[str, float]:
    """The least and the largest ε that what is described may have."""
    program = answer.facts.program
    low, high = ends(program.training, program.renyi, program.delta)
    return {"low": low, "high": high}


def card(facts: CheckFacts) -> Guarantee:
    """What the description says and leaves open; no ε where it does not decide one."""
    program = facts.program
    adjacency = fields.ADJACENCY.options[program.adjacency]
    kind = fields.KINDS.get(program.sampler)
    sampler = UNKNOWN if kind is None else SAMPLERS[kind.sampler or kind.kind]
    unit = "one example" if program.rows == 1 else f"one person, with up to {program.rows} rows"
    noise = [block.words for block in program.counted] or [f"σ = {program.noise_multiplier:.6g}"]
    noise += [f"{PARAMETERS[name].symbol} = {getattr(program, name):.6g}" for name in further_of(program.sampler)]
    decided = not (program.unsettled or facts.sampler_unsaid or facts.adjacency_unsaid)
    low = None if facts.low is PENDING else facts.low
    below = below_one_over(program.size, program.delta)
    stated = Reply(NO, "not stated") if facts.adjacency_unsaid else Reply(YES, f"{unit}: {adjacency}")
    replies = {"adjacency": stated, "delta": Reply(YES if below else NO, f"N = {program.size:,}")}
    if program.tried > 1:
        replies["tuning"] = Reply(YES, tuning_words(program.tried, program.law))
    return Guarantee(
        losses=Losses(
            epsilon=facts.high if decided else None,
            delta=program.delta,
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
                "composition": f"{program.length.most:,} steps",
                "version": f"bounds by dpviz {__version__}",
            },
            "implementation": {
                "mechanisms": f"Gaussian noise, {', '.join(noise)}, on a sum of clipped gradients",
                "sampler_as_run": sampler,
                "size": f"{program.size:,}",
            },
        },
        replies=replies | ({"rows": Reply(YES, unit)} if program.rows > 1 else {}),
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
    return {
        "Claim": ("claimed", *planned(get)),
        "Described": as_described(get),
        "From code": from_code(get),
    }


def planned(get: Reader) -> tuple[Item | str, ...]:
    """Controls of noise, length and batches, or of the steps that an accountant counted."""
    if get(fields.COUNTED):
        return FieldControl((fields.COUNTED,), drawn_as="counted"), SIZE
    length = ("epochs", *shown_or_rare(get, fields.LEAST))
    return "noise_multiplier", *length, SIZE, "batch", units.suggested(SIZE, get)


def as_described(get: Reader) -> tuple[Item | str, ...]:
    """Controls of how batches are made, who is protected and how many runs there are."""
    sampler = get(fields.SAMPLER)
    poisson = sampler in ("poisson", "unsaid")
    rate = shown_or_rare(get, fields.LOADER) if poisson and not get(fields.COUNTED) else ()
    parts = shown_or_rare(get, fields.PARTS) if poisson else ()
    rows = (*shown_or_rare(get, fields.ROWS), *shown_or_rare(get, TRIED), *experts(LAW) * (get(TRIED) > 1))
    return "sampler", *rate, *parts, *further_of(sampler).values(), "adjacency", *rows


def from_code(get: Reader, fills: tuple[AnyField, ...] = FILLED) -> tuple[Item, ...]:
    """The text that fills the form, and what it leaves open."""
    unsettled = get(fields.UNSETTLED)
    still_open = (FieldControl((fields.UNSETTLED,), options=unsettled),) if unsettled else ()
    return FieldControl(fills, drawn_as="snippet"), *still_open


def shown_or_rare(get: Reader, field: AnyField) -> tuple[Item, ...]:
    """The field; for experts alone while it has its default."""
    return (field,) if get(field) != field.default else experts(field)


CHECK = Question(
    "check",
    "Check a program",
    check,
    WORDS,
    asks="verdict",
    settings=annotated(Program),
    slow=(slow_facts(tight_key, tight_ends, tight_ends, lambda answer: claim_and_bounds(answer.facts)),),
    layout=layout,
    below=lambda answer: [assumption_table(answer.facts.program)],
    reads={"code": read_code},
    more={"Use it": lambda answer: files_of(card(answer.facts))},
)
