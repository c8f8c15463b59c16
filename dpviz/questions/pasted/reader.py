"""The one reader of pasted texts: all evidence of a private training in a program, settings, a log or a history.

*Check a program* and `translate` both build on it. A text is parsed, never run.

>>> text = read("compute_dp_sgd_privacy(n=60000, batch_size=256, noise_multiplier=1.1, epochs=60, delta=1e-5)")
>>> text.values("kbatch")
[Reading(value=256.0, line=1)]
"""

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass

from dpviz.mechanisms import Event
from dpviz.questions import DELTA, SIZE
from dpviz.questions.check.fields import BATCH, NOISE, ROWS
from dpviz.questions.pasted.bindings import Bindings, Reading
from dpviz.questions.pasted.evidence import Evidence, single
from dpviz.questions.pasted.histories import events_of, histories_in
from dpviz.questions.pasted.lengths import Span, agreed, all_spans
from dpviz.questions.pasted.loops import Loops
from dpviz.questions.pasted.microbatching import SWITCH, lines_with, words
from dpviz.questions.pasted.names import WRITTEN, name_of
from dpviz.questions.pasted.quantities import (
    ACCUMULATION,
    CHANGES,
    DERIVED,
    MICROBATCHES,
    NAMES,
    PHYSICAL,
    UNTRANSLATED,
    WORDS,
)
from dpviz.questions.pasted.repetitions import repetitions
from dpviz.questions.pasted.sampling import neighbours, sampler, units
from dpviz.questions.pasted.texts import parsed
from dpviz.questions.pasted.training_calls import lines_that_train
from dpviz.questions.pasted.training_loops import loop_spans


@dataclass(frozen=True)
class Pasted:
    """All that a text says of a private training.

    Attributes:
        program: whether it is a program: more than values.
        readings: quantity → every value with its line; keys are those of `quantities.NAMES`, and "accumulation",
            "microbatches" and "drop_last".
        sampler, neighbours: how batches are made, and which data sets are neighbours.
        several: "engines", "trainings" or "accumulation", done more than once, or maybe → the lines.
        physical: lines that split a batch in memory alone.
        opaque: lines that may set any name.
        others: line, name and problem of what describes another mechanism or unit.
        microbatched: lines that say that gradients of microbatches are clipped.
        opacus: whether Opacus's engine makes the batches.
        spans: how long the training is, a place of the text each.
        summed: how many of the text's batches one noisy step adds up; None where it does not say.
        unclear_sums: lines that may add up several batches in a step, without a number of them.
        kind: "history" or "events" where an accountant counted the steps; empty elsewhere.
        events: what it counted.
    """

    program: bool
    readings: Mapping[str, list[Reading]]
    sampler: Evidence
    neighbours: Evidence
    several: Mapping[str, tuple[int, ...]]
    physical: frozenset[int]
    opaque: tuple[int, ...]
    others: tuple[tuple[int, str, str], ...]
    opacus: bool
    microbatched: tuple[int, ...] = ()
    spans: tuple[Span, ...] = ()
    summed: float | None = None
    unclear_sums: tuple[int, ...] = ()
    kind: str = ""
    events: tuple[Event, ...] = ()

    def values(self, key: str) -> list[Reading]:
        """Every reading of a quantity."""
        return self.readings.get(key, [])


def read(text: str) -> Pasted:
    """All that a text says: a program, settings, a command, a log, an accountant's history, dp_accounting's events.

    Args:
        text: at most 20,000 characters.

    Raises:
        ValueError: it is too long, says nothing of a private training, or holds what cannot be read.
    """
    try:
        tree, program = parsed(text)
        bindings = Bindings(tree)
        pasted = _pasted(bindings, program)
    except (RecursionError, MemoryError):
        raise ValueError("This text is nested too deeply to be read: paste only the settings.") from None
    if pasted.kind and not pasted.events:
        raise ValueError("These events release nothing.")
    if not pasted.kind and not pasted.spans and not any(pasted.readings.values()):
        raise ValueError(WORDS["ask"]["nothing"])
    return pasted


def _pasted(bindings: Bindings, program: bool) -> Pasted:
    loops, trained = Loops(bindings), lines_that_train(bindings)
    several = repetitions(loops)
    kind: str = ""
    events: tuple[Event, ...] = ()
    lines: tuple[int, ...] = ()
    if not program or not trained:
        kind, events, lines = events_of(bindings, program=program, repeats=loops.repeats)
    elif earlier := histories_in(bindings):  # and what is trained here comes on top
        several["trainings"] = tuple(sorted({*several["trainings"], *earlier, *trained}))
    readings = _all_readings(bindings)
    physical = {line for name in bindings if PHYSICAL.fullmatch(name) for line in bindings.lines(name)}
    physical |= {call.lineno for call in bindings.calls.get("batchmemorymanager", ())}
    microbatched = tuple(sorted(set(lines_with(bindings))))
    summed = _summed(readings["accumulation"])
    if kind and summed and summed > 1.0:  # its batches were counted as steps
        summed = None
    return Pasted(
        program=program,
        readings=readings,
        sampler=sampler(bindings),
        neighbours=neighbours(bindings),
        several=several,
        physical=frozenset(physical),
        opaque=tuple(sorted(bindings.opaque)),
        others=tuple(one for one in _others(bindings) if one[0] not in lines),
        opacus=any(name.startswith("make_private") for name in bindings.calls),
        microbatched=microbatched,
        summed=summed,
        unclear_sums=_unclear_sums(bindings, several["accumulation"], readings, physical) if summed is None else (),
        spans=all_spans(readings, loop_spans(loops)),
        kind=kind,
        events=events,
    )


def microbatching_words(pasted: Pasted) -> str:
    """What the training costs with microbatching and without."""
    sigma, delta, size, batch = (single(pasted.values(key)) for key in (NOISE.key, DELTA.key, SIZE.key, BATCH.key))
    share = batch / size if batch and size else single(pasted.values("rate"))
    lengths = agreed(pasted.spans, 1.0 / share if share else None)
    epochs = [length.epochs(1.0 / share) for length in lengths if share]
    sampler_name = next(iter(pasted.sampler.values), "")
    longest = max(epochs, default=None)
    return words(sigma=sigma, epochs=longest, delta=delta, sampler=sampler_name, rate=share)


def _summed(readings: list[Reading]) -> float | None:
    """The one number of batches in a step; ValueError where it is not whole and at least 1."""
    values = {reading.value for reading in readings}
    count = next(iter(values)) if len(values) == 1 else None
    if count is None or isinstance(count, bool):
        return None
    if not (count >= 1.0 and count == int(count)):
        raise ValueError(f"Expected a whole number of micro-batches in a step, at least 1, found {count:.12g}.")
    return count


def _unclear_sums(
    bindings: Bindings, lines: tuple[int, ...], readings: Mapping[str, list[Reading]], physical: set[int]
) -> tuple[int, ...]:
    """Lines that may add up several batches in a step, where no line says how many.

    Args:
        lines: those that name or do something like it.
        physical: lines that split a batch in memory alone.
    """
    accumulation, microbatches = ({r.line for r in readings[key]} for key in ("accumulation", "microbatches"))
    elsewhere = physical | microbatches | set(bindings.lines(SWITCH))
    return tuple(sorted((set(lines) - elsewhere) | accumulation))


def _others(bindings: Bindings) -> list[tuple[int, str, str]]:
    """Line, name and problem of what is neither one clipped, noisy sum of examples nor one example of a person."""
    return (
        [
            (line, name, problem)
            for names, problem in UNTRANSLATED.items()
            for name in filter(names.fullmatch, bindings)
            for value, line in bindings.readings(name)
            if value not in (0.0, 1.0)
        ]
        + units(bindings)
        + _targets(bindings)
    )


def _targets(bindings: Bindings) -> list[tuple[int, str, str]]:
    """A target ε that may choose σ although σ is there: beside it in a call, or a setting of its own."""
    noise = NAMES[NOISE.key]
    if not any(map(noise.fullmatch, bindings)):
        return []
    reports = {
        word.value
        for calls in bindings.calls.values()
        for call in calls
        for word in call.keywords
        if word.arg == "target_epsilon"
        and all(other.arg and not noise.fullmatch(other.arg.lower()) for other in call.keywords)
        if name_of(call) not in WRITTEN
    }
    return [
        (line, "target_epsilon", WORDS["units"]["target"])
        for value, line in bindings.bound("target_epsilon")
        if value not in reports and not (isinstance(value, ast.Constant) and value.value is None)
    ]


def _all_readings(bindings: Bindings) -> dict[str, list[Reading]]:
    """Every reading of each quantity of `NAMES`; σ also from a standard deviation, which counts in C."""
    readings = {key: _readings(bindings, key) for key in NAMES}
    for key, names in (("accumulation", ACCUMULATION), ("microbatches", MICROBATCHES)):
        readings[key] = [r for name in bindings if names.fullmatch(name) for r in bindings.readings(name)]
    if readings["clients"]:  # a client is what an example is elsewhere; its own data have batches of their own
        readings |= {BATCH.key: readings["clients"], SIZE.key: readings["all_clients"], ROWS.key: []}
    readings["drop_last"] = bindings.readings("drop_last")
    clip, batch = single(readings["clip"]), single(readings[BATCH.key])
    for key, share in (("sum_std", 1.0), ("mean_std", batch)):
        for value, line in readings.pop(key):
            noise = value * share / clip if value is not None and clip and share else None
            readings[NOISE.key].append(Reading(noise, line))
    return readings


def _readings(bindings: Bindings, key: str) -> list[Reading]:
    names, changes, derived = NAMES[key], CHANGES.get(key), DERIVED.get(key)
    readings = [
        reading if derived is None or not derived.fullmatch(name) else Reading(None, reading.line)
        for name in bindings if names.fullmatch(name) for reading in bindings.readings(name)
    ]  # fmt: skip
    return readings + [
        Reading(None, call.lineno)
        for name, calls in bindings.calls.items()
        for call in calls
        if (changes is not None and changes.search(name) and not _gives(bindings, call, names))
        or (
            key == NOISE.key
            and name.startswith("make_private")
            and all(w.arg not in (None, "noise_multiplier") for w in call.keywords)
        )
        or (key == SIZE.key and name == "dataloader" and any(isinstance(n, ast.Slice) for n in ast.walk(call)))
    ]


def _gives(bindings: Bindings, call: ast.Call, names: re.Pattern[str]) -> bool:
    """Whether a call names the quantity itself, with a value that is read."""
    values = [word.value for word in call.keywords if word.arg is not None and names.fullmatch(word.arg.lower())]
    return any(reading.value is not None for value in values for reading in bindings.evaluate(value))
