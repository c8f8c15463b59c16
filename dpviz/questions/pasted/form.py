"""The form of *Check a program*, filled from a pasted text, and what the text leaves open.

>>> code = filled("compute_dp_sgd_privacy(n=60000, batch_size=256, noise_multiplier=1.1, epochs=60, delta=1e-5)")
>>> code.sentences[1], code.sentences[5]
('batch = 256 (line 1)', 'claimed ε: not in the text. Enter it.')
>>> code.unsettled
('kclaim', 'clip')
"""

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from dpviz.mechanisms import FixedSize, SampledGaussian, TruncatedPoisson
from dpviz.questions import DELTA, LAW, SIZE, TRIED
from dpviz.questions.budget.blocks import Block
from dpviz.questions.check.fields import (
    ADJACENCY,
    BATCH,
    CLAIM,
    COUNTED,
    EPOCHS,
    FURTHER,
    LEAST,
    LOADER,
    NOISE,
    PARTS,
    ROWS,
    SAMPLER,
    UNSETTLED,
    loader_batches,
    whole_steps,
)
from dpviz.questions.pasted.bindings import Reading
from dpviz.questions.pasted.evidence import FIELDS, Evidence, gathered, lines_text, single
from dpviz.questions.pasted.lengths import STEPS, Length, agreed
from dpviz.questions.pasted.quantities import WORDS
from dpviz.questions.pasted.reader import Pasted, microbatching_words, read
from dpviz.questions.question import TextReading


@dataclass(frozen=True)
class Code:
    """The evidence of a text, a quantity each, and what it says of further fields.

    Attributes:
        evidence: of each quantity.
        further: key of a field beside them → its text.
    """

    evidence: tuple[Evidence, ...]
    further: Mapping[str, str] = field(default_factory=dict)

    @property
    def sentences(self) -> list[str]:
        return [each.sentence for each in self.evidence]

    @cached_property
    def unsettled(self) -> tuple[str, ...]:
        """What blocks a verdict, as keys of `UNSETTLED`."""
        return tuple(each.key for each in self.evidence if each.key in UNSETTLED.options and not each.settled)

    def texts(self, entered: Collection[str] = ()) -> dict[str, str]:
        """Texts of the fields: of what is settled, and of what is not.

        Args:
            entered: keys of fields whose values a person gave; they stand where the code gives none.
        """
        texts = {e.key: next(iter(e.values)) for e in self.evidence if e.settled and e.values and e.key in FIELDS}
        absent = {e.key for e in self.evidence if not e.values and not e.unread and e.key in entered}
        for choice in (SAMPLER, ADJACENCY):
            if choice.key not in absent:
                texts.setdefault(choice.key, "unsaid")
        for once in (ROWS, TRIED):
            if once.key not in entered:  # those of an earlier text do not stay
                texts.setdefault(once.key, "1")
        if TRIED.key in texts and LAW.key not in entered:  # a text says how many, not how many on average
            texts[LAW.key] = LAW.default
        unsettled = UNSETTLED.write(tuple(key for key in self.unsettled if key not in absent))
        return {**texts, **self.further, UNSETTLED.key: unsettled}


def filled(text: str) -> Code:
    """The evidence of a text, a quantity each.

    Raises:
        ValueError: as `reader.read` does, and where no value of a form is in the text.
    """
    pasted = read(text)
    code = _of_events(pasted) if pasted.kind else _of_settings(pasted)
    if not any(each.values for each in code.evidence) and not pasted.kind:
        raise ValueError(WORDS["ask"]["nothing"])
    return code


def read_code(text: str, given: Collection[str]) -> TextReading:
    """What a text says of the form, where fields with the `given` keys have values of their own.

    Raises:
        ValueError: as `filled` does.
    """
    code = filled(text)
    open_keys = tuple(key for key in code.unsettled if key not in given)
    return TextReading(code.texts(given) | {UNSETTLED.key: UNSETTLED.write(open_keys)}, tuple(code.sentences))


def _of_settings(pasted: Pasted) -> Code:
    """The form of a program, a configuration or a log."""
    readings = {key: list(values) for key, values in pasted.readings.items()}
    size, batch, sigma, rate = (single(readings[key]) for key in (SIZE.key, BATCH.key, NOISE.key, "rate"))
    poisson = not pasted.sampler.unread and set(pasted.sampler.values) <= {"poisson"}
    summed = pasted.summed or 1.0
    parts = summed if poisson else 1.0  # elsewhere all that a step adds up is one batch
    lengths = agreed(pasted.spans, _batches(size, batch, rate, summed))
    further = {LEAST.key: "0", LOADER.key: "exact", PARTS.key: PARTS.write(parts), COUNTED.key: ""}
    if sigma and rate and rate <= 1.0 and not (size and batch) and len(lengths) == 1:
        return _of_rate(pasted, further, sigma, rate, lengths[0], parts)
    if poisson:
        further[LOADER.key] = _loader(pasted)
    elif batch:
        readings[BATCH.key] = _scaled(readings[BATCH.key], summed)
        batch *= summed
    _batch_from_rate(readings, further[LOADER.key])
    batches = loader_batches(size, batch, further[LOADER.key])[1] if size and batch and batch <= size else None
    length, least = _length(pasted, lengths, batches, parts)
    further[LEAST.key] = least
    if pasted.microbatched:  # the form holds the costlier of both readings
        readings[NOISE.key] = _scaled(readings[NOISE.key], 0.5)
    return Code((*_field_evidence(pasted, readings, length), *_obstacles(pasted)), further)


def _loader(pasted: Pasted) -> str:
    """How many Poisson batches an epoch has, as a key of `LOADER`: Opacus makes as many as its loader does."""
    if not (pasted.opacus and pasted.sampler.values):
        return "exact"
    dropped = {reading.value for reading in pasted.values("drop_last")}
    return "dropped" if dropped == {True} else "either" if dropped - {False} else "loader"


def _scaled(readings: list[Reading], factor: float) -> list[Reading]:
    return [Reading(value and value * factor, line) for value, line in readings]


def _batches(size: float | None, batch: float | None, rate: float | None, summed: float) -> float | None:
    """Noisy steps of an epoch; None where they are not known."""
    share = batch / size if batch and size else rate
    return 1.0 / (share * summed) if share else None


def _field_evidence(pasted: Pasted, readings: Mapping[str, list[Reading]], length: Evidence) -> Iterable[Evidence]:
    """The evidence of each field."""
    for key in (SIZE.key, BATCH.key, NOISE.key):
        yield gathered(key, readings[key])
    yield length
    for key in (DELTA.key, CLAIM.key, "clip"):
        yield gathered(key, readings[key])
    yield pasted.sampler
    yield pasted.neighbours
    yield from _multiples(pasted)


def _multiples(pasted: Pasted) -> Iterable[Evidence]:
    """The rows of a person, and the runs of which one is the best, where the text gives them."""
    for key in (ROWS.key, TRIED.key):
        if readings := pasted.values(key):
            yield gathered(key, readings)


def _obstacles(pasted: Pasted) -> Iterable[Evidence]:
    """What is done more than once, or describes something else, or may set anything."""
    if pasted.others:
        problems: dict[str, tuple[int, ...]] = {}
        for line, name, problem in pasted.others:
            problems[f"{name}: {problem}"] = (*problems.get(f"{name}: {problem}", ()), line)
        yield Evidence("others", problems, tuple(sorted({line for line, _, _ in pasted.others})))
    if pasted.microbatched:
        yield Evidence("microbatching", {microbatching_words(pasted): pasted.microbatched}, pasted.microbatched)
    for key, lines in {**pasted.several, "accumulation": pasted.unclear_sums, "unread": pasted.opaque}.items():
        if lines:
            yield Evidence(key, {}, lines)


def _length(pasted: Pasted, lengths: tuple[Length, ...], batches: float | None, parts: float) -> tuple[Evidence, str]:
    """The evidence of the longer length in epochs, and the shorter one; "0" where there is one.

    Args:
        lengths: those that the text allows; empty where it does not settle one.
        batches: Poisson or other batches of an epoch, where they are known.
        parts: Poisson batches that are added up in one step.
    """

    def epochs(length: Length) -> float | None:
        if length.count is None or (length.unit == STEPS and batches is None):
            return None
        return length.count / batches if length.unit == STEPS and batches else length.count / parts

    epochs_of = {length: value for length in lengths if (value := epochs(length)) is not None}
    if not epochs_of or len(epochs_of) < len(lengths):
        every = [length for span in pasted.spans for length in span.either]
        return gathered(EPOCHS.key, [Reading(epochs(one), line) for one in every for line in one.lines]), "0"
    written = {length: EPOCHS.write(value) for length, value in epochs_of.items()}
    shortest, longest = min(epochs_of, key=epochs_of.__getitem__), max(epochs_of, key=epochs_of.__getitem__)
    lines = {length: lines_text(length.lines) for length in epochs_of}
    words = ""
    if len(epochs_of) > 1:
        readings = " or ".join(f"{length.words} ({lines[length]})" for length in epochs_of)
        words = f"length: {readings}. {WORDS['enter']['lengths']}"
    elif not longest.single or longest.unit == STEPS:
        words = f"length = {longest.words} ({lines[longest]}), which are {written[longest]} epochs"
    evidence = Evidence(EPOCHS.key, {written[longest]: longest.lines}, words=words)
    if evidence.problem:
        return Evidence(EPOCHS.key, evidence.values), "0"
    return evidence, written[shortest] if epochs_of[shortest] < epochs_of[longest] else "0"


def _of_rate(pasted: Pasted, further: dict[str, str], sigma: float, rate: float, length: Length, parts: float) -> Code:
    """The form where σ, q and T are known, and N or the batch is not: counted steps."""
    steps = length.count if length.unit == STEPS else whole_steps((length.count or 0.0) / rate / parts)
    further |= {COUNTED.key: COUNTED.write(COUNTED.accept([(sigma, rate, math.ceil(steps or 0.0))]))}
    counted = f"{math.ceil(steps or 0.0):,} steps ({length.words}, {lines_text(length.lines)})"
    evidence = [
        gathered(NOISE.key, pasted.values(NOISE.key)),
        gathered("rate", pasted.values("rate")),
        Evidence("steps", {}, words=f"length = {counted}"),
        *_besides_counted(pasted),
    ]
    return Code((*evidence, *_obstacles(pasted)), further)


def _besides_counted(pasted: Pasted) -> list[Evidence]:
    """What counted steps leave to the rest of a text."""
    size = [gathered(SIZE.key, pasted.values(SIZE.key))] if single(pasted.values(SIZE.key)) else []
    named = [gathered(key, pasted.values(key)) for key in (DELTA.key, CLAIM.key, "clip")]
    return [*size, *named, pasted.sampler, pasted.neighbours, *_multiples(pasted)]


def _of_events(pasted: Pasted) -> Code:
    """The form of an accountant's history or of events.

    Raises:
        ValueError: the form has no place for such events.
    """
    further = {LEAST.key: "0", LOADER.key: "exact", PARTS.key: "1", COUNTED.key: ""}
    around = _besides_counted(pasted)
    if all(isinstance(step, SampledGaussian) for step, _ in pasted.events):
        blocks = [Block(step.noise_multiplier, step.sample_rate, count) for step, count in pasted.events]  # type: ignore[attr-defined]
        further[COUNTED.key] = COUNTED.write(COUNTED.accept(blocks))
        counted = [Evidence("counted", {}, words=f"counted: {block.words}") for block in blocks]
        sampler_key = "poisson"
    elif len(pasted.events) == 1 and isinstance(step := pasted.events[0][0], FixedSize | TruncatedPoisson):
        size, batch = step.size, step.batch if isinstance(step, FixedSize) else round(step.sample_rate * step.size)
        numbers = {
            SIZE.key: size,
            BATCH.key: batch,
            NOISE.key: step.noise_multiplier,
            EPOCHS.key: pasted.events[0][1] * batch / size,
        }
        counted = [
            Evidence(key, {FIELDS[key].write(value): ()}, words=f"counted: {step.text}")
            for key, value in numbers.items()
        ]
        sampler_key = "fixed" if isinstance(step, FixedSize) else "truncated"
        if isinstance(step, TruncatedPoisson):
            further[FURTHER["largest_batch"].key] = FURTHER["largest_batch"].write(step.largest_batch)
            if batch != step.sample_rate * size:
                raise ValueError(WORDS["ask"]["form"])
    else:
        raise ValueError(WORDS["ask"]["form"])
    if pasted.kind == "events":
        stands = not pasted.sampler.values and not pasted.sampler.unread
        of_events = Evidence(SAMPLER.key, {sampler_key: ()}, words="batches: as the events say")
        sampler = of_events if stands else pasted.sampler
        around = [sampler if each is pasted.sampler else each for each in around]
    return Code((*counted, *around, *_obstacles(pasted)), further)


def _batch_from_rate(readings: dict[str, list[Reading]], loader: str) -> None:
    """A sampling rate is a batch where N is settled; one that cannot be compared leaves the batch open."""
    size, given = single(readings[SIZE.key]), single(readings[BATCH.key])
    for rate in readings["rate"]:
        if size and given and rate.value and 1.0 / rate.value in loader_batches(size, given, loader):
            continue
        product = None if size is None or rate.value is None else rate.value * size
        batch = None if product is None else round(product)
        same = product is not None and batch is not None and abs(product - batch) <= 1e-9 * batch
        if not same or batch != given:
            readings[BATCH.key].append(Reading(batch if same else None, rate.line))
