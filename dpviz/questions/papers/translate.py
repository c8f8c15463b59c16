"""Settings of another library as a plan here: its events, δ and C, and what was assumed. Text is parsed, never run.

>>> plan = translate("history = [(1.1, 0.01, 3510), (1.3, 0.01, 100)]; delta = 1e-5")
>>> [count for _, count in plan.events], round(plan.epsilon(), 2)
([3510, 100], 2.98)
>>> translate("noise_multiplier=1.1, batch_size=256, epochs=15").gaps
('N is missing: add “n = 60000”.',)
"""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from dpviz.accounting.pld.accountant import Tight
from dpviz.fields.expression import steps_of
from dpviz.fields.field import Number
from dpviz.mechanisms import (
    Event,
    FixedPartition,
    FixedSize,
    Laplace,
    Mechanism,
    ReplaceOneGaussian,
    SampledGaussian,
    Shuffled,
    TruncatedPoisson,
    WithReplacement,
    merge_events,
)
from dpviz.questions.mechanism import DELTA, SIZE
from dpviz.questions.papers.bindings import Bindings, name_of
from dpviz.questions.papers.check import BATCH, EPOCHS, NOISE
from dpviz.questions.papers.snippet import (
    FIELDS,
    NAMES,
    WORDS,
    all_readings,
    lines_text,
    neighbours,
    python,
    sampler,
    single,
)
from dpviz.questions.papers.trainings import Trainings

MOST_STEPS = 2**53
ALIASES = {"T": "steps", "C": "max_grad_norm", "ε": "epsilon"}
ASK, ASSUMED = WORDS["ask"], WORDS["assumed"]
# Numbers with a type around them, as arrays print them; the list of a history; a name and a number in a line of a log.
TYPED = re.compile(r"\b(?:(?:np|numpy)\.\w+|tensor)\(\s*([-+.\w]+)\s*\)")
HISTORY = re.compile(r"\[\s*(?:[\[(][^\[\]()]*[\])][\s,]*)+\]")
WORD = r"[^\W\d][\w.-]*"
PAIR = re.compile(rf"(?<![\w.-])((?:{WORD} ){{0,2}}{WORD})['\"]? ?[=: ] ?([-+]?\.?\d[\w.,+-]*|[Tt]rue|[Ff]alse)(.?)")
OPTION = re.compile(r"^-+(?=[^\W\d])")  # what a command writes before a name
NUMBER = re.compile(r"[-+]?(\d{1,3}(,\d{3})+|\d*)(\.\d*)?([eE][-+]?\d+)?")
CODE = re.compile(r"(?m)^[ \t]*(?:(?:async |for|while|def|class|with|if)\b.*:(?:\s|$)|import |from .* import )")
SWITCHES = re.compile("poisson_sampling|shuffle|drop_last")
ACCUMULATION = re.compile(r"\w*accum\w*steps?|\w*accum\w*iters?|\w*acc_steps")
PHYSICAL = re.compile(r"\w*physical\w*|batchmemorymanager")
MICROBATCHES = re.compile(r"num_micro_?batches")
UNREAD = "unread"  # what stands for a value that is no plain number
PROGRAM = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, ast.For, ast.While, ast.If, ast.With,
           ast.Import, ast.ImportFrom, ast.Try, ast.comprehension)  # fmt: skip
# The parameters of dp_accounting's events, in their order.
EVENTS = {
    "gaussiandpevent": ("noise_multiplier",),
    "laplacedpevent": ("noise_multiplier",),
    "poissonsampleddpevent": ("sampling_probability", "event"),
    "sampledwithoutreplacementdpevent": ("source_dataset_size", "sample_size", "event"),
    "sampledwithreplacementdpevent": ("source_dataset_size", "sample_size", "event"),
    "truncatedsubsampledgaussiandpevent": (
        "dataset_size", "sampling_probability", "truncated_batch_size", "noise_multiplier",
    ),
    "selfcomposeddpevent": ("event", "count"),
    "composeddpevent": ("events",),
    "noopdpevent": (),
}  # fmt: skip


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
        gaps = [*self.gaps, *([ASK["delta"]] if target is None else [])]
        if gaps or target is None:
            raise ValueError(f"There is no ε yet. {' '.join(gaps)}")
        return float(Tight(bound).of_events(self.events, target).epsilon)


def translate(text: str) -> Translation:
    """The plan that a text describes: code, a configuration, a log, an accountant's history, or dp_accounting events.

    Args:
        text: at most 20,000 characters.

    Raises:
        ValueError: it is too long, says nothing of a private training, or holds what has no translation.
    """
    cleaned = TYPED.sub(r"\1", python(text))
    try:
        bindings, program = _parsed(cleaned)
        settings = _Settings(bindings, program=program)
        kind, events = ("", []) if program else _Events(bindings).all()
        return settings.around(kind, events) if kind else settings.plan()
    except (RecursionError, MemoryError):
        raise ValueError("This text is nested too deeply to be read: paste only the settings.") from None


def _parsed(text: str) -> tuple[Bindings, bool]:
    """The text's names, and whether it is a program: more than values."""
    tree = _tree(text)
    nodes = list(ast.walk(tree))
    called = {name_of(node) for node in nodes if isinstance(node, ast.Call)}
    values = {name for name in called if name.endswith("dpevent")} | {"ordereddict", "dict", UNREAD}
    program = any(isinstance(node, PROGRAM) for node in nodes) or not called <= values
    if not program:
        for node in nodes:
            if isinstance(node, ast.Name):
                node.id = ALIASES.get(node.id, node.id)
    return Bindings(tree), program


def _tree(text: str) -> ast.Module:
    try:
        return ast.parse(repr(json.loads(text)))
    except ValueError:  # no JSON, or NaN in it
        pass
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as problem:
        if CODE.search(text):
            where = f" in line {problem.lineno}" if isinstance(problem, SyntaxError) else ""
            raise ValueError(
                f"This is not valid Python{where}: paste complete lines of code, or the settings alone."
            ) from None
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
            if name := _name(re.split(r"[ .-]+", words.strip("-."))[-6:]):
                place.append(f"{name} = {_plain(value.rstrip(',.'), after)}")
    try:
        return ast.parse("\n".join("; ".join(place) for place in lines))
    except (SyntaxError, ValueError):
        raise ValueError(ASK["nothing"]) from None


def _name(words: list[str]) -> str:
    """The longest name at the end of these words that is known; empty where none is."""
    for first in range(len(words)):
        name = "_".join(words[first:])
        if name in ALIASES or any(one.fullmatch(name.lower()) for one in (*NAMES.values(), SWITCHES, ACCUMULATION)):
            return ALIASES.get(name, name)
    return ""


def _plain(value: str, after: str) -> str:
    """A number as Python; what is none, or is followed by more, as a call that is not read."""
    if value.lower() in ("true", "false"):
        return value.capitalize()
    plain = NUMBER.fullmatch(value) and after not in ("/", "%", "*", "(")
    return repr(float(value.replace(",", ""))) if plain and any(c.isdigit() for c in value) else f"{UNREAD}()"


class _Events:
    """What an accountant counted: Opacus's history, or an event of dp_accounting."""

    def __init__(self, bindings: Bindings) -> None:
        self._bindings = bindings

    def all(self) -> tuple[str, list[Event]]:
        """ "history" or "events", and the events in their order; empty where the text has none."""
        calls = self._outermost(lambda node: isinstance(node, ast.Call) and name_of(node).endswith("dpevent"))
        histories = self._outermost(_is_history)
        for nodes, problem in ((calls, "events"), (histories, "histories")):
            if len(nodes) > 1:
                raise ValueError(ASK[problem].format(count=len(nodes)))
        events = [event for node in calls for event in self._of_call(node)]
        events += [self._step(row) for node in histories for row in node.elts]  # type: ignore[attr-defined]
        released = [event for event in merge_events(events) if event[0].releases]
        return "events" if calls else "history" if histories else "", released

    def _outermost(self, wanted: Callable[[ast.AST], bool]) -> list[ast.AST]:
        nodes = {node for node in self._bindings.nodes if wanted(node)}
        return [node for node in self._bindings.nodes if node in nodes and not nodes & set(self._around(node))]

    def _around(self, node: ast.AST) -> Iterable[ast.AST]:
        while (node := self._bindings.parents.get(node)) is not None:  # type: ignore[assignment]
            yield node

    def _step(self, row: ast.expr) -> Event:
        sigma, rate, count = row.elts  # type: ignore[attr-defined]
        step = SampledGaussian(self._number(sigma, "noise multiplier"), self._number(rate, "sampling rate"))
        return step, self._count(count, "steps")

    def _of_call(self, node: ast.AST) -> list[Event]:
        name = name_of(node)
        if not isinstance(node, ast.Call) or name not in EVENTS:
            raise ValueError(f"{_where(node)}: {_short(node)} has no translation.")
        words = {word.arg: word.value for word in node.keywords} | dict(zip(EVENTS[name], node.args, strict=False))
        if words.keys() != set(EVENTS[name]) or len(node.args) + len(node.keywords) != len(words):
            raise ValueError(f"{_where(node)}: Expected {', '.join(EVENTS[name])} in {_short(node)}.")
        if name == "composeddpevent":
            parts = getattr(words["events"], "elts", None)
            if parts is None:
                raise ValueError(f"{_where(node)}: Expected a list of events, found {_short(words['events'])}.")
            return [event for part in parts for event in self._of_call(part)]
        if name == "selfcomposeddpevent":
            count = self._count(words["count"], "count")
            return [(step, _whole(times * count, _where(node))) for step, times in self._of_call(words["event"])]
        return [(step, 1) for step in self._released(name, node, words)]

    def _released(self, name: str, node: ast.Call, words: dict[str | None, ast.expr]) -> list[Mechanism]:
        """What one event releases."""
        values = [self._number(words[key], key) for key in EVENTS[name] if key not in ("event", "events")]
        if name == "truncatedsubsampledgaussiandpevent":
            size, rate, largest, sigma = values
            return [TruncatedPoisson(sigma, rate, int(size), int(largest))]
        if "event" not in words:
            kinds = {"gaussiandpevent": SampledGaussian, "laplacedpevent": Laplace}
            return [kinds[name](*values)] if name in kinds else []
        inner = self._of_call(words["event"])
        base = inner[0][0] if len(inner) == 1 and inner[0][1] == 1 else None
        if isinstance(base, SampledGaussian | Laplace) and base.sample_rate == 1.0:
            if name == "poissonsampleddpevent":
                return [replace(base, sample_rate=values[0])]
            if isinstance(base, SampledGaussian):
                batches = FixedSize if name == "sampledwithoutreplacementdpevent" else WithReplacement
                return [batches(base.noise_multiplier, int(values[0]), int(values[1]))]
        raise ValueError(f"{_where(node)}: {_short(node)} has no translation: it samples more than one release.")

    def _number(self, node: ast.expr, name: str) -> float:
        values = {reading.value for reading in self._bindings.evaluate(node)}
        value = next(iter(values)) if len(values) == 1 else None
        if value is None or isinstance(value, bool):
            raise ValueError(f"{_where(node)}: {name} = {_short(node)} is no number that can be read.")
        return value

    def _count(self, node: ast.expr, name: str) -> int:
        return _whole(self._number(node, name), _where(node))


def _is_history(node: ast.AST) -> bool:
    """Whether it is a list of rows of three values."""
    rows = node.elts if isinstance(node, ast.List | ast.Tuple) else []
    return bool(rows) and all(isinstance(row, ast.List | ast.Tuple) and len(row.elts) == 3 for row in rows)


def _whole(count: float, where: str) -> int:
    if not (1 <= count < MOST_STEPS and count == int(count)):
        raise ValueError(f"{where}: Expected a whole number of steps from 1 to 9e15, found {count:.12g}.")
    return int(count)


def _where(node: ast.AST) -> str:
    return f"line {getattr(node, 'lineno', 1)}"


def _short(node: ast.AST) -> str:
    text = ast.unparse(node)
    return text if len(text) <= 60 else f"{text[:57]}…"


class _Settings:
    """The settings of a text, with what is said of them."""

    def __init__(self, bindings: Bindings, *, program: bool) -> None:
        self._bindings, self._trainings = bindings, Trainings(bindings)
        self._given = all_readings(bindings, self._trainings)
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
        batches = sampler(self._bindings)
        if not batches.values or batches.unread or kind == "events":
            self._assume(kind)
        if any(isinstance(step, FixedSize | WithReplacement) for step, _ in events):
            self._assume("fixed")
        order = next((chosen for chosen in batches.values if chosen != "poisson"), "")
        gaussian = [(step, count) for step, count in events if isinstance(step, SampledGaussian)]
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
        sigma = self._needed(NOISE.key, larger=False)
        chosen, replaced = self._sampler()
        share = self._accumulated()
        rate, whole_epoch = self._rate(share, poisson_loader=chosen == "poisson")
        steps, epochs = self._number("steps"), self._number(EPOCHS.key)
        if not self._given["steps"] and not self._given[EPOCHS.key]:
            self._gaps.append(ASK["steps"])
        if self._gaps or sigma is None or rate is None or whole_epoch is None:
            return self._made([])
        longest = steps_of(epochs or 0.0, whole_epoch)
        if steps and epochs and steps != longest:
            self._assume("longer", steps=f"{max(steps, longest):.0f}")
        count = _whole(max(math.ceil(steps or 0.0), longest), "steps")
        if chosen == "poisson":
            return self._made([((ReplaceOneGaussian if replaced else SampledGaussian)(sigma, rate), count)])
        return self._made([self._passes(chosen, sigma, rate, max(steps or 0.0, (epochs or 0.0) / rate))])

    def _passes(self, order: str, sigma: float, rate: float, steps: float) -> Event:
        """Epochs over shuffled batches, or over the same ones."""
        self._assume("shuffled")
        epochs, batches = (math.ceil(float(f"{exact:.12g}")) for exact in (steps * rate, 1.0 / rate))
        return (Shuffled(sigma, batches) if order == "shuffled" else FixedPartition(sigma)), max(1, epochs)

    def _structure(self) -> None:
        """What a program does more than once, and what has no translation."""
        for key in ("engines", "trainings"):
            if lines := self._trainings.several[key]:
                self._gaps.append(f"{lines_text(lines).capitalize()}: {ASK[key]}")
        if self._bindings.opaque:
            self._assume("opaque", lines=lines_text(sorted(self._bindings.opaque)).capitalize())
        for names, problem in WORDS["untranslated"].items():
            for name in (name for name in self._bindings if re.fullmatch(names, name)):
                for value, line in self._bindings.readings(name):
                    if value != 1.0:
                        self._gaps.append(f"Line {line}: {name}: {problem}.")

    def _sampler(self) -> tuple[str, bool]:
        """How batches are made, and whether an example is replaced."""
        batches, relation = sampler(self._bindings), neighbours(self._bindings)
        chosen = next(iter(batches.values), "poisson")
        if len(batches.values) > 1 or batches.unread:
            self._gaps.append(ASK["sampler"])
        elif not batches.values:
            self._assume("sampler")
        replaced = "replace" in relation.values
        if not relation.values:
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
            raise ValueError(f"Expected a whole number of micro-batches, found {share:.12g}.")
        if share is not None and share > 1.0:
            self._assume("accumulation", count=f"{share:.0f}")
        return share or 1.0

    def _rate(self, share: float, *, poisson_loader: bool) -> tuple[float | None, float | None]:
        """q of a noisy step, and 1 ÷ the steps of an epoch; not below, and not above the truth."""
        if self._given["rate"]:
            rate = self._number("rate")
            if rate is not None and any(reading.value is None for reading in self._given[BATCH.key]):
                unread = sorted({r.line for r in self._given[BATCH.key] if r.value is None})
                self._assume("batch", lines=lines_text(unread))
            rates = None if rate is None else min(1.0, rate * share) if rate <= 1.0 else rate
            return self._checked(rates), rates
        batch = self._needed(BATCH.key)
        size = self._needed(SIZE.key, larger=False) if self._given[BATCH.key] else None
        if batch is None or size is None:
            return None, None
        if not 0.0 < batch * share <= size:
            raise ValueError(f"Expected a batch from 1 to N = {size:.12g}, found {batch * share:.12g}.")
        rate = batch * share / size
        opacus = any(name.startswith("make_private") for name in self._bindings.calls)
        if not (opacus and poisson_loader):
            return rate, rate
        dropped = {reading.value for reading in self._bindings.readings("drop_last")}
        batches = size / (batch * share)
        fewest = math.floor(batches) if dropped - {False} else math.ceil(batches)
        most = math.floor(batches) if dropped == {True} else math.ceil(batches)
        self._assume("opacus", batches=f"{fewest}" if fewest == most else f"{fewest} or {most}")
        return 1.0 / fewest, 1.0 / most

    @staticmethod
    def _checked(rate: float | None) -> float | None:
        if rate is not None and not 0.0 < rate <= 1.0:
            raise ValueError(f"Expected a sampling rate q above 0, at most 1, found {rate:.12g}.")
        return rate

    def _needed(self, key: str, *, larger: bool = True) -> float | None:
        if not self._given[key]:
            self._gaps.append(ASK[key])
        return self._number(key, larger=larger)

    def _number(self, key: str, *, larger: bool = True, open_to: list[str] | None = None) -> float | None:
        """The one value, the costlier one where readings differ in their last digits; what is not settled is said."""
        readings = self._given[key]
        lines: dict[str, list[int]] = {}
        for value, line in readings:
            usable = value is not None and not isinstance(value, bool)
            lines.setdefault(f"{value:.12g}" if usable else "", []).append(line)
        unread = lines.pop("", [])
        field = FIELDS.get(key)
        label = WORDS["names_of"].get(key) or (field.symbol if isinstance(field, Number) and field.symbol else key)
        texts = [f"{text} ({lines_text(sorted(set(where)))})" for text, where in lines.items()]
        if len(lines) == 1 and not unread:
            self._readings.append(f"{label} = {texts[0]}")
            return (max if larger else min)(float(value) for value, _ in readings if value is not None)
        if readings:
            texts += [f"{lines_text(sorted(set(unread)))} not read"] if unread else []
            (self._gaps if open_to is None else open_to).append(f"{label}: {', '.join(texts)}. {ASK['conflict']}")
        return None

    def _assume(self, key: str, **values: str) -> None:
        self._assumptions.append(ASSUMED[key].format(**values))

    def _made(self, events: list[Event]) -> Translation:
        delta = self._number(DELTA.key, larger=False, open_to=self._assumptions)
        clip = self._number("clip", open_to=self._assumptions)
        if delta is not None and not 0.0 < delta < 1.0:
            raise ValueError(f"Expected δ between 0 and 1, found {delta:.12g}.")
        if not self._given["clip"]:
            self._assume("clip")
        lists = (self._readings, self._assumptions, self._gaps)
        return Translation(() if self._gaps else tuple(events), delta, clip, *(tuple(dict.fromkeys(x)) for x in lists))
