"""My run: the settings of one training that all pages share, each in a short phrase, and what one asks of it.

>>> from dpviz.questions.layout import of_texts
>>> " · ".join(phrase.text for phrase in phrases(of_texts({"persons": "5"})) if phrase.text)
'σ 4 · 600 of 60\u202f000 · 100 epochs · Poisson · 5 rows a person · δ 1e-5'
"""

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from dpviz.fields import AnyField, Number, numbers
from dpviz.fields.parameters import PARAMETERS
from dpviz.mechanisms import SampledGaussian
from dpviz.questions import kinds, units
from dpviz.questions.catalogue import PAGES
from dpviz.questions.layout import FieldControl, Reader, control
from dpviz.questions.mechanism import DELTA, RATE, SIZE, STEPS
from dpviz.questions.question import AnyQuestion
from dpviz.questions.readings import READINGS
from dpviz.questions.shared import LAW, TRIED


class Phrase(NamedTuple):
    """One part of the run in words.

    Attributes:
        text: the words; empty where there is nothing to say.
        field: the key of the number that stands in them, empty for none.
        before, after: what stands around that number.
        silent: the number of which nothing is said.
        others: keys of further numbers that change the words.
    """

    text: str
    field: str = ""
    before: str = ""
    after: str = ""
    silent: str = ""
    others: tuple[str, ...] = ()


class Part(NamedTuple):
    """One part of the run: its name, keys of the fields of which a question needs one to use it, and its words."""

    name: str
    fields: Set[str]
    phrase: Callable[[Reader], Phrase]


def _noise(get: Reader) -> Phrase:
    field = PARAMETERS[kinds.KINDS[get(kinds.KIND)].noise]
    return Phrase(f"{field.symbol} {field.show(get(field))}", field.key, f"{field.symbol} ")


def _batch(get: Reader) -> Phrase:
    names = kinds.KINDS[get(kinds.KIND)].parameters()
    field = "batch" if "sample_rate" in names else kinds.BATCH_SIZE.key if "batch" in names else ""
    size = f" of {SIZE.show(get(SIZE))}"
    others = (RATE.key, SIZE.key, kinds.BATCHES.key)
    return Phrase(f"{numbers.plain(kinds.batch(get), digits=6)}{size}", field, "", size, others=others)


def _length(get: Reader) -> Phrase:
    kind, steps = kinds.KINDS[get(kinds.KIND)], get(STEPS)
    if kind.step == "run":
        field, count = (kinds.PASSES, get(kinds.PASSES))
        runs = "" if steps == 1 else f"{STEPS.show(steps)} runs of "
        return Phrase(f"{runs}{_counted(count, 'epoch')}", field.key, runs, " epochs", others=(STEPS.key,))
    if kind.step == "epoch":
        return Phrase(_counted(steps, "epoch"), STEPS.key, "", " epochs")
    if "sample_rate" not in kind.parameters():
        return Phrase(_counted(steps, "step"), STEPS.key, "", " steps")
    return Phrase(_counted(units.epochs(get), "epoch"), units.EPOCHS.key, "", " epochs", others=(RATE.key, STEPS.key))


def _counted(count: float, word: str) -> str:
    return f"{numbers.plain(count, digits=6)} {word}{'s' * (count != 1)}"


def _sampler(get: Reader) -> Phrase:
    """Poisson sampling, or what the mechanism's title says of its batches."""
    kind = kinds.KINDS[get(kinds.KIND)]
    how = kind.title.partition(", ")[2]
    if kind.sampler == "poisson":
        how = "Poisson" if kind.kind != "replace" else f"Poisson, {how}"
    return Phrase(how)


def _rows(get: Reader) -> Phrase:
    rows, after = get(kinds.ROWS), " rows a person"
    return Phrase(f"{numbers.steps(rows)}{after}" if rows > 1 else "", kinds.ROWS.key, "", after, "1")


def _tried(get: Reader) -> Phrase:
    tried, before, after = get(TRIED), "best of ", "" if get(LAW) == "fixed" else " on average"
    return Phrase(f"{before}{numbers.steps(tried)}{after}" if tried > 1 else "", TRIED.key, before, after, "1")


def _delta(get: Reader) -> Phrase:
    return Phrase(f"{DELTA.symbol} {DELTA.show(get(DELTA))}", DELTA.key, f"{DELTA.symbol} ")


NOISES = {PARAMETERS[kind.noise].key for kind in kinds.KINDS.values()}
NOISE = Part("noise", NOISES, _noise)
SAMPLER = Part("sampler", {kinds.KIND.key}, _sampler)
PARTS = (
    NOISE,
    Part("batch", {RATE.key, kinds.BATCH_SIZE.key, kinds.BATCHES.key}, _batch),
    Part("length", {STEPS.key, kinds.PASSES.key}, _length),
    SAMPLER,
    Part("rows", {kinds.ROWS.key}, _rows),
    Part("runs tried", {TRIED.key}, _tried),
    Part("δ", {DELTA.key}, _delta),
)


def _own(question: AnyQuestion | None) -> dict[str, AnyField]:
    return {field.key: field for field in question.fields} if question else {}


def as_asked(question: AnyQuestion | None, get: Reader) -> Reader:
    """A reader of a run's settings as a question has them: N starts at another value on Langevin."""
    own = _own(question)

    def read(field: AnyField, /) -> Any:
        return get(own.get(field.key, field))

    return read


def phrases(get: Reader) -> list[Phrase]:
    """The run, part by part."""
    return [part.phrase(get) for part in PARTS]


# What the words of the run's batch and length say of a mechanism's parameters.
_SAID = {"sample_rate", "size", "batch", "batches", "epochs"}


def change(before: Reader, now: Reader) -> str:
    r"""What another mechanism does to a run, in a line: what is kept, changed and dropped, and what is new.

    Empty where both have the same mechanism.

    >>> shuffled = of_texts({"mech": "shuffled", "batches": "100", "steps": "100"})
    >>> change(of_texts({}), shuffled)
    'Kept: σ 4, 600 of 60\u202f000, 100 epochs, δ 1e-5. T now counts epochs: 100.'
    """
    old, new = kinds.KINDS[before(kinds.KIND)], kinds.KINDS[now(kinds.KIND)]
    if old is new:
        return ""
    parts = [part for part in PARTS if part is not SAMPLER and (part is not NOISE or old.noise == new.noise)]
    pairs = [(part.phrase(before).text, part.phrase(now).text) for part in parts]
    gone = [PARAMETERS[name] for name in old.parameters() if name not in {*_SAID, *new.parameters()}]
    come = [PARAMETERS[name] for name in new.parameters() if name not in {*_SAID, *old.parameters()}]
    lists = {
        "Kept": [was for was, words in pairs if was and was == words],
        "Changed": [f"{was or 'nothing'} → {words or 'nothing'}" for was, words in pairs if was != words],
        "Dropped": [f"{field.symbol} {field.show(before(field))}" for field in gone],
        "New": [f"{field.symbol} {field.show(now(field))}{_default(field, now)}" for field in come],
    }
    sentences = [f"{name}: {', '.join(items)}." for name, items in lists.items() if items]
    if old.step != new.step:
        sentences.append(f"T now counts {new.step}s: {STEPS.show(now(STEPS))}.")
    return " ".join(sentences)


def _default(field: Number, get: Reader) -> str:
    return " (default)" if get(field) == field.default else ""


def unused(question: AnyQuestion | None, get: Reader) -> str:
    """Which parts of the run a question cannot use, in words; empty where it uses all that there is to say."""
    asked = {field.key for field in question.fields} if question else set[str]()
    asked |= {one.key for key in asked & READINGS.keys() for one in READINGS[key].of}
    kind, shown = kinds.KINDS[get(kinds.KIND)], [part for part in PARTS if part.phrase(get).text]
    asked -= NOISES - {PARAMETERS[kind.noise].key}  # σ is no b
    absent = [part for part in shown if not part.fields & asked]
    if kind is SampledGaussian and RATE.key in asked:  # what such a question takes without asking
        absent = [part for part in absent if part is not SAMPLER]
    if len(absent) in (0, len(shown)):
        return "not used here" if absent else ""
    return f"not used here: {', '.join(part.name for part in absent)}"


def caution(question: AnyQuestion | None, get: Reader) -> str:
    """That a question reads T otherwise than the run counts it, and shows another training; empty where it does not."""
    asked = {field.key for field in question.fields} if question else set[str]()
    kind = kinds.KINDS[get(kinds.KIND)]
    if kind.step == "step" or STEPS.key not in asked or kinds.KIND.key in asked:
        return ""
    return (
        f"This question reads T as steps; your run counts {kind.step}s of another sampling. What is shown here is not "
        "that of your run."
    )


class PoissonRun(NamedTuple):
    """The run with Poisson batches of the same size, for the same epochs: what to set, and its length in both units."""

    sets: Sequence[tuple[AnyField, float | str]]
    words: str


def as_poisson(question: AnyQuestion | None, get: Reader) -> PoissonRun | None:
    """What makes T mean the same where a question knows Poisson batches only; None where it does, or has no q.

    >>> from dpviz.questions.catalogue import QUESTIONS
    >>> shuffled = of_texts({"mech": "shuffled", "batches": "100", "steps": "60"})
    >>> as_poisson(QUESTIONS["orders"], shuffled).words
    '60 epochs as 6000 Poisson steps'
    """
    if question is None or RATE not in question.fields or not caution(question, get):
        return None
    old, new = get(kinds.KIND), SampledGaussian.kind
    changed = kinds.follows(old, new, get)
    if STEPS not in changed:  # more steps than T can count
        return None
    lasting = _counted(kinds.epochs(get), "epoch")
    words = f"{lasting} as {_counted(changed[STEPS], 'Poisson step')}"
    return PoissonRun([*changed.items(), (kinds.KIND, new)], words)


def controls(question: AnyQuestion | None, get: Reader) -> list[FieldControl]:
    """The controls of all its parts, of the question's own fields where it has them."""
    own: dict[str, AnyField] = {field.key: field for field in question.fields} if question else {}
    items = [control(item) for item in (*kinds.controls(get), TRIED, *[LAW] * (get(TRIED) > 1))]
    return [
        replace(one, expert=False, fields=tuple(own.get(field.key, field) for field in one.fields)) for one in items
    ]


@dataclass(frozen=True)
class NextQuestion:
    """A question that one asks of a run, and where it is answered.

    Attributes:
        name: on its button.
        asks: the question in full.
        key: of the question that answers it.
        opens: the part of the details that is open there, empty for none.
    """

    name: str
    asks: str
    key: str
    opens: str = ""

    @property
    def page(self) -> str:
        """The key of the page."""
        return next(page.key for page in PAGES if any(one.key == self.key for one in page.questions))

    @property
    def texts(self) -> dict[str, str]:
        """What the page's fields say there, by key."""
        page = next(page for page in PAGES if page.key == self.page)
        asked_as = next(one.asked_as for one in page.questions if one.key == self.key)
        return {page.choice.key: asked_as} if page.choice else {}


NEXT = {
    "claim": NextQuestion("Claim", "What may I claim?", "guarantee"),
    "noise": NextQuestion("Noise", "Which σ do I need?", "solve"),
    "attack": NextQuestion("Attack", "What can an attacker do?", "roc"),
    "write": NextQuestion("Write down", "What do I write down?", "guarantee", "Use it"),
}
