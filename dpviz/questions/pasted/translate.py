"""Settings of another library as a plan here: its events, δ and C, and what was assumed. Text is parsed, never run.

>>> plan = translate("history = [(1.1, 0.01, 3510), (1.3, 0.01, 100)]; delta = 1e-5")
>>> [count for _, count in plan.events], round(plan.epsilon(), 2)
([3510, 100], 2.94)
>>> translate("noise_multiplier=1.1, batch_size=256, epochs=15").gaps
('N is missing: add “n = 60000”.',)
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpviz import library as dpviz
from dpviz.accounting.methods import Tight
from dpviz.fields.expression import steps_of
from dpviz.mechanisms import Event, Mechanism
from dpviz.questions import DELTA, SIZE, TRIED
from dpviz.questions.check.described import described
from dpviz.questions.check.fields import BATCH, EPOCHS, NOISE, ROWS
from dpviz.questions.pasted.evidence import lines_text, single
from dpviz.questions.pasted.histories import whole
from dpviz.questions.pasted.lengths import STEPS, Length, agreed
from dpviz.questions.pasted.quantities import WORDS
from dpviz.questions.pasted.reader import Pasted, microbatching_words, read

ASK, ASSUMED, LABELS = WORDS["ask"], WORDS["assumed"], WORDS["names_of"]


@dataclass(frozen=True)
class Translation:
    """A plan in dpviz's terms.

    Attributes:
        events: (mechanism, steps), in the order of the text; empty where something is missing.
        delta, clip: δ and C, where the text gives them.
        readings: each value with its lines.
        assumptions: what the text does not say, and how it was understood.
        gaps: what is missing or not settled, and what to write.
    """

    events: tuple[Event, ...]
    delta: float | None = None
    clip: float | None = None
    readings: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()
    gaps: tuple[str, ...] = ()

    def epsilon(self, delta: float | None = None, bound: str = "upper") -> float:
        """ε of all events at δ by the PLD accountant; δ is the text's where none is given.

        Raises:
            ValueError: something is missing, or the mechanisms have no common ε.
        """
        target = self.delta if delta is None else delta
        if self.gaps or target is None:
            raise ValueError(f"There is no ε yet. {' '.join(self.gaps) or ASK['delta']}")
        return float(dpviz.accountant(Tight.name, bound=bound).of_events(self.events, target).epsilon)


def translate(text: str) -> Translation:
    """The plan that a text describes: code, a configuration, a log, an accountant's history, or dp_accounting events.

    Args:
        text: at most 20,000 characters.

    Raises:
        ValueError: it is too long, says nothing of a private training, or holds what has no translation.
    """
    pasted = read(text)
    settings = _Settings(pasted)
    return settings.around() if pasted.kind else settings.plan()


class _Settings:
    """The settings of a text, with what is said of them."""

    def __init__(self, pasted: Pasted) -> None:
        self._pasted, self._given = pasted, pasted.readings
        self._readings: list[str] = []
        self._assumptions: list[str] = [] if pasted.program else [ASSUMED["pairs"]]
        self._gaps: list[str] = []

    def around(self) -> Translation:
        """The events of an accountant, with δ, C and the sampler from the text around them."""
        self._assumptions = []
        kind, events, batches = self._pasted.kind, self._pasted.events, self._pasted.sampler
        self._structure()
        if lines := self._pasted.unclear_sums:
            self._gaps.append(f"{lines_text(lines).capitalize()}: {ASK['accumulation']}")
        if not batches.values or batches.unread or kind == "events":
            self._assume(kind)
        if any(isinstance(step, dpviz.FixedSize) for step, _ in events):
            self._assume("fixed")
        order = next((chosen for chosen in batches.values if chosen != "poisson"), "")
        gaussian = [(step, count) for step, count in events if isinstance(step, dpviz.SampledGaussian)]
        if order and len(gaussian) < len(events):
            self._gaps.append(ASK["sampler"])
        elif order:
            return self._made([self._passes(order, step.noise_multiplier, step.sample_rate, n) for step, n in gaussian])
        return self._made(list(events))

    def plan(self) -> Translation:
        """The plan of a program, a configuration or a log."""
        self._structure()
        sigma = self._needed(NOISE.key)
        chosen, replaced = self._sampler()
        share = self._accumulated()
        rates = self._rate(poisson=chosen == "poisson")
        if share > 1.0 and chosen == "poisson":
            self._assume("independent")
            if replaced:
                self._gaps.append(ASK["replace"])
        lengths = self._lengths(1.0 / (share * rates[1]) if rates and rates[1] > 0.0 else None)
        if self._gaps or sigma is None or rates is None:
            return self._made([])
        each, epoch = rates
        rate = share * each
        if not 0.0 < rate <= 1.0:
            raise ValueError(f"Expected a sampling rate q above 0, at most 1, found {rate:.12g}.")
        batches = 1.0 / (share * epoch)
        each_count = {length: _steps(length, batches) for length in lengths}
        count = whole(math.ceil(max(each_count.values())))
        if len(set(each_count.values())) > 1:
            either = " or ".join(f"{length.words} ({lines_text(length.lines)})" for length in lengths)
            self._assume("longer", lengths=f"{either[:1].upper()}{either[1:]}", steps=f"{count}")
        if chosen == "poisson" and share > 1.0:  # as often as it was drawn, an example is in the sum
            return self._made([(dpviz.PersonRows(sigma, each, whole(share)), count)])
        if chosen == "poisson":
            return self._made([((dpviz.ReplaceOneGaussian if replaced else dpviz.SampledGaussian)(sigma, rate), count)])
        if chosen not in ("shuffled", "partition"):
            return self._made(self._drawn(chosen, sigma, share, max(length.epochs(1.0 / rate) for length in lengths)))
        return self._made(
            [self._passes(chosen, sigma, rate, max(length.epochs(1.0 / rate) for length in lengths) / rate)]
        )

    def _lengths(self, batches: float | None) -> tuple[Length, ...]:
        """The lengths that the text allows; what is not settled is said."""
        spans = self._pasted.spans
        if not spans:
            self._gaps.append(ASK["steps"])
            return ()
        lengths = agreed(spans, batches)
        if not lengths:
            unread = {line for s in spans for length in s.either if length.count is None for line in length.lines}
            read = [one for span in spans for one in span.either if one.count is not None]
            parts = [f"{one.words} ({lines_text(one.lines)})" for one in read]
            parts += [f"{lines_text(sorted(unread))} not read"] if unread else []
            key = "steps" if all(one.unit == STEPS for span in spans for one in span.either) else EPOCHS.key
            self._gaps.append(f"{LABELS[key]}: {', '.join(parts)}. {ASK['conflict']}")
        self._readings += [f"length = {one.words} ({lines_text(one.lines)})" for one in lengths]
        return lengths

    def _drawn(self, sampler: str, sigma: float, share: float, epochs: float) -> list[Event]:
        """Batches that are neither Poisson samples nor passes; their N and batch decide."""
        batch, size = self._needed(BATCH.key), self._needed(SIZE.key)
        if batch is None or size is None:
            return []
        if sampler == "fixed":
            self._assume("fixed")
        plan = {"size": whole(size), "batch": whole(batch * share), "epochs": epochs, "sigma": sigma}
        return list(described(sampler=sampler, replace=False, **plan).above)  # type: ignore[arg-type]

    def _passes(self, order: str, sigma: float, rate: float, steps: float) -> Event:
        """Epochs over shuffled batches, or over the same ones."""
        self._assume("shuffled")
        epochs, batches = (math.ceil(float(f"{exact:.12g}")) for exact in (steps * rate, 1.0 / rate))
        return (dpviz.Shuffled(sigma, batches) if order == "shuffled" else dpviz.FixedPartition(sigma)), max(1, epochs)

    def _structure(self) -> None:
        """What a program does more than once, and what has no translation."""
        if self._given["clients"]:
            self._assume("clients")
        if self._pasted.microbatched:
            where = lines_text(self._pasted.microbatched).capitalize()
            self._gaps.append(f"{where}: {microbatching_words(self._pasted)}.")
        for key in ("engines", "trainings"):
            if lines := self._pasted.several[key]:
                self._gaps.append(f"{lines_text(lines).capitalize()}: {ASK[key]}")
        if self._pasted.opaque:
            self._assume("opaque", lines=lines_text(self._pasted.opaque).capitalize())
        self._gaps += [f"Line {line}: {name}: {problem}." for line, name, problem in self._pasted.others]

    def _sampler(self) -> tuple[str, bool]:
        """How batches are made, and whether an example is replaced."""
        batches, relation = self._pasted.sampler, self._pasted.neighbours
        chosen = next(iter(batches.values), "poisson")
        if len(batches.values) > 1 or batches.unread:
            self._gaps.append(ASK["sampler"])
        elif not batches.values:
            self._assume("sampler")
        replaced = "replace" in relation.values
        if not relation.values and chosen == "poisson":
            self._assume("neighbours")
        if replaced and chosen != "poisson":
            self._gaps.append(ASK["replace"])
        return chosen, replaced

    def _accumulated(self) -> float:
        """How many of the text's batches one noisy step has."""
        share, parts = self._pasted.summed, self._number("microbatches")
        if self._pasted.physical:
            self._assume("virtual")
        if lines := self._pasted.unclear_sums:
            self._gaps.append(f"{lines_text(lines).capitalize()}: {ASK['accumulation']}")
        if parts is not None and parts != single(self._given[BATCH.key]):
            self._gaps.append(ASK["microbatches"])
        if share is not None:
            self._assume("accumulation", count=f"{share:.12g}")
        return 1.0 if share is None else share

    def _rate(self, *, poisson: bool) -> tuple[float, float] | None:
        """q of a batch, not below the truth, and 1 ÷ the batches of an epoch, not above it; None if not settled."""
        batch_given, size_given = single(self._given[BATCH.key]), single(self._given[SIZE.key])
        if self._given["rate"]:
            if (rate := self._number("rate")) is None:
                return None
            if self._given[BATCH.key] and batch_given is None:
                self._assume("batch", lines=lines_text(sorted({reading.line for reading in self._given[BATCH.key]})))
            others = batch_given / size_given if batch_given and size_given else 0.0
            if others > rate * (1.0 + 1e-9):
                self._assume("larger", rate=f"{others:.6g}")
            return max(rate, others), max(rate, others)
        batch = self._needed(BATCH.key)
        size = self._needed(SIZE.key) if self._given[BATCH.key] else None
        if batch is None or size is None or not size > 0.0:
            return None
        rate = batch / size
        if not (poisson and self._pasted.opacus and 0.0 < rate <= 1.0):
            return rate, rate
        dropped = {reading.value for reading in self._given["drop_last"]}
        fewest = (math.floor if dropped - {False} else math.ceil)(1.0 / rate)
        most = (math.floor if dropped == {True} else math.ceil)(1.0 / rate)
        self._assume("opacus", batches=f"{fewest}" if fewest == most else f"{fewest} or {most}")
        return 1.0 / fewest, 1.0 / most

    def _needed(self, key: str) -> float | None:
        if not self._given[key]:
            self._gaps.append(ASK[key])
        return self._number(key)

    def _number(self, key: str, *, open_to: list[str] | None = None) -> float | None:
        """The one value, the costlier one where readings differ in their last digits; what is not settled is said."""
        readings = self._given[key]
        lines: dict[str, list[int]] = {}
        for value, line in readings:
            usable = value is not None and not isinstance(value, bool)
            lines.setdefault(f"{value:.12g}" if usable else "", []).append(line)
        unread = lines.pop("", [])
        texts = [f"{text} ({lines_text(sorted(set(where)))})" for text, where in lines.items()]
        if len(lines) == 1 and not unread:
            self._readings.append(f"{LABELS[key]} = {texts[0]}")
            costlier = min if key in (NOISE.key, SIZE.key, DELTA.key) else max
            return costlier(float(value) for value, _ in readings if value is not None)
        if readings:
            texts += [f"{lines_text(sorted(set(unread)))} not read"] if unread else []
            (self._gaps if open_to is None else open_to).append(f"{LABELS[key]}: {', '.join(texts)}. {ASK['conflict']}")
        return None

    def _assume(self, key: str, **values: str) -> None:
        self._assumptions.append(ASSUMED[key].format(**values))

    def _made(self, events: list[Event]) -> Translation:
        delta = self._number(DELTA.key, open_to=self._assumptions)
        clip = self._number("clip", open_to=self._assumptions)
        if delta is not None and not 0.0 < delta < 1.0:
            raise ValueError(f"Expected δ between 0 and 1, found {delta:.12g}.")
        if not self._given["clip"]:
            self._assume("clip")
        if (rows := self._number(ROWS.key)) is not None:
            events = [(_of_person(step, whole(rows)), count) for step, count in events]
        if (runs := self._number(TRIED.key)) is not None and runs > 1.0:
            self._assume("tried", count=f"{runs:.12g}")
            events = [(step, count * whole(runs)) for step, count in events]
        lists = (self._readings, self._assumptions, self._gaps)
        return Translation(() if self._gaps else tuple(events), delta, clip, *(tuple(dict.fromkeys(x)) for x in lists))


def _of_person(step: Mechanism, rows: int) -> Mechanism:
    """A step that protects all rows of a person, each of which may already count as several."""
    if isinstance(step, dpviz.PersonRows):
        return dpviz.PersonRows(step.noise_multiplier, step.sample_rate, step.rows * rows)
    return dpviz.of_person(step, rows)


def _steps(length: Length, batches: float) -> float:
    """Whole steps of a length, rounded up."""
    return math.ceil(length.count or 0.0) if length.unit == STEPS else steps_of(length.count or 0.0, 1.0 / batches)
