"""Settings of another library as a plan here: its events, δ and C, and what was assumed. Text is parsed, never run.

>>> plan = translate("history = [(1.1, 0.01, 3510), (1.3, 0.01, 100)]; delta = 1e-5")
>>> [count for _, count in plan.events], round(plan.epsilon(), 2)
([3510, 100], 2.94)
>>> translate("noise_multiplier=1.1, batch_size=256, epochs=15").gaps
('N is missing: add “n = 60000”.',)
"""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from dpviz import library as dpviz
from dpviz.accounting.methods import Tight
from dpviz.fields.expression import steps_of
from dpviz.mechanisms import Event, Mechanism, merge_events
from dpviz.questions import DELTA, SIZE
from dpviz.questions.papers import snippet
from dpviz.questions.papers.bindings import Bindings, name_of
from dpviz.questions.papers.check import BATCH, EPOCHS, NOISE
from dpviz.questions.papers.snippet import WORDS, lines_text, single
from dpviz.questions.papers.trainings import Trainings

MOST_STEPS = 2**53
ALIASES = {"T": "steps", "C": "max_grad_norm", "ε": "epsilon"}
ASK, ASSUMED, LABELS = WORDS["ask"], WORDS["assumed"], WORDS["names_of"]
# Numbers with a type around them, as arrays print them; the list of a history; a name and a number in a line of a log.
TYPED = re.compile(r"\b(?:(?:np|numpy|jnp)\.(?:float|u?int|array|asarray)\w*|(?:torch\.)?tensor)\(\s*([-+.\w]+)\s*\)")
HISTORY = re.compile(r"\[\s*(?:[\[(][^\[\]()]*[\])][\s,]*)+\]")
WORD = r"[^\W\d][\w.-]*"
PAIR = re.compile(
    rf"(?<![\w.-])((?:{WORD} ){{0,2}}{WORD})['\"]? ?[=: ] ?([-+]?\.?\d[\w.,+-]*|[Tt]rue|[Ff]alse)"
    r"( ?[/%*^×±+]|\(| \d| (?:x|of) \d)?"  # what follows, where the value is then not all that is meant
)
OPTION = re.compile(r"^-+(?=[^\W\d])")  # what a command writes before a name
NUMBER = re.compile(r"[-+]?(?=\.?\d)\d*(\.\d*)?([eE][-+]?\d+)?")
# Counts may have commas between thousands, for which other quantities have their decimal sign; with points, who knows.
COUNT, COUNTED = re.compile(r"[1-9]\d{0,2}(,\d{3})+"), (BATCH.key, EPOCHS.key, SIZE.key, "steps")
UNCLEAR = re.compile(r"[1-9]\d{0,2}(\.\d{3})+")
CODE = re.compile(r"(?m)^[ \t]*(?:(?:async |for|while|def|class|with|if)\b.*:(?:\s|$)|import |from .* import )")
ACCUMULATION = re.compile(r"\w*accum\w*steps?|\w*accum\w*iters?|\w*acc_steps")
PHYSICAL = re.compile(r"\w*physical\w*|batchmemorymanager")
MICROBATCHES = re.compile(r"num_micro_?batches")
UNTRANSLATED = {re.compile(names): problem for names, problem in WORDS["untranslated"].items()}
# Names that a log's pairs may have: those that are read, and those that say why a plan is not.
PATTERNS = (
    *snippet.NAMES.values(), *UNTRANSLATED, PHYSICAL, MICROBATCHES,
    re.compile(r"poisson_sampling|shuffle|drop_last|\w*accum\w*"),
)  # fmt: skip
UNREAD = "unread"  # what stands for a value that is no plain number
# dp_accounting's events → their numbers, in order, and the mechanism; `SAMPLED` ones hold an event behind them.
EVENTS: dict[str, tuple[tuple[str, ...], Callable[..., Mechanism]]] = {
    "gaussiandpevent": (("noise_multiplier",), dpviz.SampledGaussian),
    "laplacedpevent": (("noise_multiplier",), dpviz.Laplace),
    "truncatedsubsampledgaussiandpevent": (
        ("dataset_size", "sampling_probability", "truncated_batch_size", "noise_multiplier"),
        lambda size, rate, largest, sigma: dpviz.TruncatedPoisson(sigma, rate, int(size), int(largest)),
    ),
}
SAMPLED: dict[str, tuple[tuple[str, ...], Callable[..., Mechanism]]] = {
    "poissonsampleddpevent": (("sampling_probability",), lambda step, rate: replace(step, sample_rate=rate)),
    "sampledwithoutreplacementdpevent": (
        ("source_dataset_size", "sample_size"),
        lambda step, size, batch: dpviz.FixedSize(step.noise_multiplier, size, batch),
    ),
}


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
        """ε of all events at δ by the numerical (PLD) accountant; δ is the text's where none is given.

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
    cleaned = TYPED.sub(r"\1", snippet.python(text))
    try:
        bindings, program = _parsed(cleaned)
        settings = _Settings(bindings, program=program)
        kind, events = ("", []) if program else _events(bindings)
        return settings.around(kind, events) if kind else settings.plan()
    except (RecursionError, MemoryError):
        raise ValueError("This text is nested too deeply to be read: paste only the settings.") from None


def _parsed(text: str) -> tuple[Bindings, bool]:
    """The text's names, and whether it is a program: more than values."""
    tree = _tree(text)
    nodes = list(ast.walk(tree))
    called = {name_of(node) for node in nodes if isinstance(node, ast.Call)}
    values = {name for name in called if name.endswith("dpevent")} | {"ordereddict", "dict", UNREAD}
    assigned = all(isinstance(statement, ast.Assign | ast.AnnAssign | ast.Expr) for statement in tree.body)
    program = not (assigned and called <= values)
    if not program:
        for node in nodes:
            if isinstance(node, ast.Name):
                node.id = ALIASES.get(node.id, node.id)
    return Bindings(tree), program


def _tree(text: str) -> ast.Module:
    with suppress(ValueError):
        return ast.parse(repr(json.loads(text)))
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as problem:
        if CODE.search(text):
            where = f" in line {problem.lineno}" if isinstance(problem, SyntaxError) else ""
            raise ValueError(ASK["python"].format(where=where)) from None
        return _pairs(text)
    lines_of_yaml = (n for n in tree.body if isinstance(n, ast.AnnAssign) and isinstance(n.annotation, ast.Constant))
    return _pairs(text) if any(lines_of_yaml) else tree


def _pairs(text: str) -> ast.Module:
    """A log's or a command's pairs of name and number as assignments, each on its line; a history as one more."""
    lines: list[list[str]] = [[] for _ in range(text.count("\n") + 1)]
    for match in HISTORY.finditer(text):
        lines[text.count("\n", 0, match.start())].append("history = " + " ".join(match[0].split()))
    rest = HISTORY.sub(lambda match: "\n" * match[0].count("\n"), text)
    for place, line in zip(lines, rest.split("\n"), strict=True):
        for words, value, after in PAIR.findall(" ".join(OPTION.sub("", word) for word in line.split())):
            value, name = value.rstrip(",."), _name(re.split(r"[ .-]+", words.strip("-."))[-6:])
            counts = any(snippet.NAMES[key].fullmatch(name.lower()) for key in COUNTED)
            digits = value.replace(",", "") if counts and COUNT.fullmatch(value) else value
            plain = NUMBER.fullmatch(digits) and not after and not (counts and UNCLEAR.fullmatch(value))
            number = repr(float(digits)) if plain else f"{UNREAD}()"
            if name:
                place.append(f"{name} = {value.capitalize() if value.lower() in ('true', 'false') else number}")
    try:
        return ast.parse("\n".join("; ".join(place) for place in lines))
    except (SyntaxError, ValueError):
        raise ValueError(ASK["nothing"]) from None


def _name(words: list[str]) -> str:
    """The longest name at the end of these words that is known; empty where none is."""
    for first in range(len(words)):
        name = "_".join(words[first:])
        if name in ALIASES or any(one.fullmatch(name.lower()) for one in PATTERNS):
            return ALIASES.get(name, name)
    return ""


def _events(bindings: Bindings) -> tuple[str, list[Event]]:
    """ "history" or "events", and what an accountant counted, in its order; empty where the text has none."""
    roots = list(_roots(bindings.nodes[0]))
    if len(roots) > 1:
        raise ValueError(ASK["several"].format(count=len(roots)))
    if not roots:
        return "", []
    kind = "events" if isinstance(roots[0], ast.Call) else "history"
    events = _of_call(bindings, roots[0]) if kind == "events" else [_row(bindings, row) for row in roots[0].elts]
    return kind, [event for event in merge_events(events) if event[0].releases]


def _roots(node: ast.AST) -> Iterable[Any]:
    """The outermost events, and lists of rows of three values."""
    rows = node.elts if isinstance(node, ast.List | ast.Tuple) else []
    history = bool(rows) and all(isinstance(row, ast.List | ast.Tuple) and len(row.elts) == 3 for row in rows)
    if history or (isinstance(node, ast.Call) and name_of(node).endswith("dpevent")):
        yield node
    else:
        for child in ast.iter_child_nodes(node):
            yield from _roots(child)


def _row(bindings: Bindings, row: Any) -> Event:
    sigma, rate, count = row.elts
    step = dpviz.SampledGaussian(_number(bindings, sigma, "noise multiplier"), _number(bindings, rate, "sampling rate"))
    return step, _whole(_number(bindings, count, "steps"))


def _of_call(bindings: Bindings, node: ast.AST) -> list[Event]:
    """The steps of an event of dp_accounting."""
    name = name_of(node)
    behind = {"selfcomposeddpevent": ("event", "count"), "composeddpevent": ("events",), "noopdpevent": ()}.get(name)
    numbers, make = (EVENTS | SAMPLED).get(name, ((), None))
    if not isinstance(node, ast.Call) or (behind is None and make is None):
        raise ValueError(f"{_short(node)} has no translation.")
    names = behind if behind is not None else (*numbers, "event") if name in SAMPLED else numbers
    words = {word.arg: word.value for word in node.keywords} | dict(zip(names, node.args, strict=False))
    if words.keys() != set(names) or len(node.args) + len(node.keywords) != len(words):
        raise ValueError(f"Expected {', '.join(names)} in {_short(node)}.")
    if "events" in words:
        if not isinstance(parts := words["events"], ast.List | ast.Tuple):
            raise ValueError(f"Expected a list of events, found {_short(parts)}.")
        return [event for part in parts.elts for event in _of_call(bindings, part)]
    inner = _of_call(bindings, words["event"]) if "event" in words else []
    if "count" in words:
        count = _whole(_number(bindings, words["count"], "count"))
        return [(step, _whole(times * count)) for step, times in inner]
    if make is None:
        return []
    if name in SAMPLED and [(type(step), times, getattr(step, "sample_rate", 0.0)) for step, times in inner] != [
        (dpviz.SampledGaussian, 1, 1.0)
    ]:
        raise ValueError(f"{_short(node)} has no translation: it does not sample one release of Gaussian noise.")
    return [(make(*(step for step, _ in inner), *(_number(bindings, words[key], key) for key in numbers)), 1)]


def _number(bindings: Bindings, node: ast.expr, name: str) -> float:
    values = {reading.value for reading in bindings.evaluate(node)}
    value = next(iter(values)) if len(values) == 1 else None
    if value is None or isinstance(value, bool):
        raise ValueError(f"{name} = {_short(node)} cannot be read as a number.")
    return value


def _whole(count: float) -> int:
    if not (1 <= count < MOST_STEPS and count == int(count)):
        raise ValueError(f"Expected a whole number of steps from 1 to 9e15, found {count:.12g}.")
    return int(count)


def _short(node: ast.AST) -> str:
    return ast.unparse(node)[:60]


class _Settings:
    """The settings of a text, with what is said of them."""

    def __init__(self, bindings: Bindings, *, program: bool) -> None:
        self._bindings, self._trainings = bindings, Trainings(bindings)
        self._given = snippet.all_readings(bindings, self._trainings)
        for key, names in (("accumulation", ACCUMULATION), ("microbatches", MICROBATCHES)):
            self._given[key] = [r for name in bindings if names.fullmatch(name) for r in bindings.readings(name)]
        self._readings: list[str] = []
        self._assumptions: list[str] = [] if program else [ASSUMED["pairs"]]
        self._gaps: list[str] = []

    def around(self, kind: str, events: list[Event]) -> Translation:
        """The events of an accountant, with δ, C and the sampler from the text around them."""
        if not events:
            raise ValueError("These events release nothing.")
        self._assumptions = []
        batches = snippet.sampler(self._bindings)
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
        return self._made(events)

    def plan(self) -> Translation:
        """The plan of a program, a configuration or a log."""
        if not any(self._given.values()):
            raise ValueError(ASK["nothing"])
        self._structure()
        sigma = self._needed(NOISE.key)
        chosen, replaced = self._sampler()
        share = self._accumulated()
        rates = self._rate(poisson=chosen == "poisson")
        if share > 1.0 and chosen == "poisson":
            self._assume("independent")
            if replaced:
                self._gaps.append(ASK["replace"])
        steps, epochs = self._number("steps"), self._number(EPOCHS.key)
        if not self._given["steps"] and not self._given[EPOCHS.key]:
            self._gaps.append(ASK["steps"])
        if self._gaps or sigma is None or rates is None:
            return self._made([])
        each, epoch = rates
        rate = share * each
        if not 0.0 < rate <= 1.0:
            raise ValueError(f"Expected a sampling rate q above 0, at most 1, found {rate:.12g}.")
        longest = steps_of(epochs or 0.0, share * epoch)
        if steps and epochs and steps != longest:
            self._assume("longer", steps=f"{max(steps, longest):.0f}")
        count = _whole(max(math.ceil(steps or 0.0), longest))
        if chosen == "poisson" and share > 1.0:  # as often as it was drawn, an example is in the sum
            return self._made([(dpviz.PersonRows(sigma, each, _whole(share)), count)])
        if chosen == "poisson":
            return self._made([((dpviz.ReplaceOneGaussian if replaced else dpviz.SampledGaussian)(sigma, rate), count)])
        return self._made([self._passes(chosen, sigma, rate, max(steps or 0.0, (epochs or 0.0) / rate))])

    def _passes(self, order: str, sigma: float, rate: float, steps: float) -> Event:
        """Epochs over shuffled batches, or over the same ones."""
        self._assume("shuffled")
        epochs, batches = (math.ceil(float(f"{exact:.12g}")) for exact in (steps * rate, 1.0 / rate))
        return (dpviz.Shuffled(sigma, batches) if order == "shuffled" else dpviz.FixedPartition(sigma)), max(1, epochs)

    def _structure(self) -> None:
        """What a program does more than once, and what has no translation."""
        for key in ("engines", "trainings"):
            if lines := self._trainings.several[key]:
                self._gaps.append(f"{lines_text(lines).capitalize()}: {ASK[key]}")
        if self._bindings.opaque:
            self._assume("opaque", lines=lines_text(sorted(self._bindings.opaque)).capitalize())
        for names, problem in UNTRANSLATED.items():
            for name in filter(names.fullmatch, self._bindings):
                for value, line in self._bindings.readings(name):
                    if value not in (0.0, 1.0):
                        self._gaps.append(f"Line {line}: {name}: {problem}.")

    def _sampler(self) -> tuple[str, bool]:
        """How batches are made, and whether an example is replaced."""
        batches, relation = snippet.sampler(self._bindings), snippet.neighbours(self._bindings)
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
        lines = set(self._trainings.several["accumulation"])
        physical = {line for name in self._bindings if PHYSICAL.fullmatch(name) for line in self._bindings.lines(name)}
        physical |= {call.lineno for call in self._bindings.calls.get("batchmemorymanager", ())}
        share, parts = self._number("accumulation"), self._number("microbatches")
        lines -= physical | {reading.line for key in ("accumulation", "microbatches") for reading in self._given[key]}
        if physical:
            self._assume("virtual")
        if lines and share is None:
            self._gaps.append(f"{lines_text(sorted(lines)).capitalize()}: {ASK['accumulation']}")
        if parts is not None and parts != single(self._given[BATCH.key]):
            self._gaps.append(ASK["microbatches"])
        if share is not None and not (share >= 1.0 and share == int(share)):
            raise ValueError(f"Expected a whole number of micro-batches in a step, at least 1, found {share:.12g}.")
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
        opacus = poisson and any(name.startswith("make_private") for name in self._bindings.calls)
        if not (opacus and 0.0 < rate <= 1.0):
            return rate, rate
        dropped = {reading.value for reading in self._bindings.readings("drop_last")}
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
        lists = (self._readings, self._assumptions, self._gaps)
        return Translation(() if self._gaps else tuple(events), delta, clip, *(tuple(dict.fromkeys(x)) for x in lists))
