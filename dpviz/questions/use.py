"""Uses of a training's numbers: what to set, a paragraph for a paper, and code that trains with each library.

Every number is written as it is used, never on the unsafe side. The libraries' code stands in use.toml; it draws
Poisson batches by q itself, not by a batch size, and divides sums by the expected batch: what ε counts.
"""

import math
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from dpviz._remember import remembered
from dpviz._version import __version__
from dpviz.accounting.accountant import Accountant, needs_sampled_gaussian
from dpviz.accounting.methods import Moments, Tight
from dpviz.fields import numbers
from dpviz.mechanisms import Mechanism, SampledGaussian, Shuffled
from dpviz.questions import DELTA, Answer, Block, Folded, Note, Onward, kinds
from dpviz.questions.methods import NAMES, method
from dpviz.questions.needed import SYMBOLS, Composed, dp_need, too_slow

CODE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
# Library → the release that its code was written for and run with.
RELEASES = {key: library["name"] for key, library in CODE["libraries"].items()}
DIGITS = 4  # of a solved σ or q
MOST_STEPS = 2.0**53  # more are no whole number that code can count
CLIP = 1.0  # C in the text and the code: σ counts in it, so that every C costs the same ε


@dataclass(frozen=True)
class Plan:
    """T steps of Poisson sampled Gaussian noise, one example added or removed.

    Attributes:
        noise_multiplier, sample_rate, steps, delta: σ, q, T, δ, exactly as text and code say them.
        key, amplification: the accountant whose ε is said, as pages call it.
        unknown: which of the four was solved for; "" where all were given.
        target_epsilon: what it was solved for; NaN where all were given.
        moment: the one λ = α − 1 that the accountant looks at; 0 for the best.
    """

    noise_multiplier: float
    sample_rate: float
    steps: int
    delta: float
    key: str
    amplification: str
    unknown: str = ""
    target_epsilon: float = math.nan
    moment: int = 0

    @property
    def known(self) -> dict[str, float]:
        """The four by name."""
        return {name: float(getattr(self, name)) for name in SYMBOLS}

    @property
    def accountant(self) -> Accountant:
        return method(self.key, self.amplification, self.moment)

    @property
    def name(self) -> str:
        """What pages call the accountant."""
        ordered = self.moment and self.accountant != method(self.key, self.amplification)
        return f"{NAMES[self.key]}, λ = {self.moment}" if ordered else NAMES[self.key]

    @property
    def epsilon(self) -> float:
        """What that accountant says of these very numbers."""
        return float(self.accountant.evaluate(**self.known).epsilon)

    @property
    def target(self) -> float:
        """The ε at which accountants are compared."""
        return self.target_epsilon if self.unknown else self.epsilon


def gaussian(mechanism: Mechanism) -> SampledGaussian:
    """The mechanism, if text and code know it; ValueError says that they do not."""
    if not isinstance(mechanism, SampledGaussian):
        raise ValueError(f"No text and code here: {needs_sampled_gaussian(mechanism)}")
    return mechanism


def solved(composed: Composed, key: str, amplification: str, unknown: str, value: float, target: float) -> Plan:
    """The plan with the answer in its place, rounded to the safe side: σ and δ up, q down, T whole already.

    Raises:
        ValueError: nothing can be trained with that answer; says why.
    """
    gaussian(composed.mechanism)
    if unknown == "steps" and not 0 < value < MOST_STEPS:
        raise ValueError("Any number of steps will do." if value > 0 else "One step alone costs more than the target.")
    if unknown == "noise_multiplier" and not value > 0.0:
        raise ValueError("No noise is needed: nothing is released, or δ guarantees nothing.")
    if unknown in ("sample_rate", "delta") and not 0.0 < value < 1.0 + (unknown == "sample_rate"):
        raise ValueError(f"{SYMBOLS[unknown]} = {numbers.delta(value)} cannot be used in a training.")
    four = dict(composed.known(unknown)) | {unknown: safe(unknown, value)}
    if not four["delta"] < 1.0:
        raise ValueError("δ = 1 guarantees nothing: choose a smaller δ or add noise.")
    return checked(
        Plan(
            four["noise_multiplier"], four["sample_rate"], int(four["steps"]), four["delta"], key, amplification,
            unknown, target,
        )
    )  # fmt: skip


def checked(plan: Plan) -> Plan:
    """The plan itself.

    Raises:
        ValueError: nothing can be trained with it, or nothing promised; says why.
    """
    if plan.sample_rate == 0.0:
        raise ValueError("With q = 0, no example joins a batch and nothing is trained: choose q above 0.")
    if plan.steps >= MOST_STEPS:
        raise ValueError("A training cannot have so many steps: lower the target or raise q.")
    if not math.isfinite(plan.epsilon):
        raise ValueError(f"{plan.name} proves no finite ε here: add noise.")
    return plan


@remembered
def tight_epsilon(plan: Plan) -> float:
    """ε of the plan by the tight accountant; NaN where it would take too long."""
    if too_slow(plan.steps):
        return math.nan
    return float(Tight().evaluate(**plan.known).epsilon)


def shuffled_epsilon(plan: Plan) -> float:
    """What is proven if the batches are those of shuffled passes: one Gaussian step in each epoch, begun or whole."""
    mechanism = Shuffled(plan.noise_multiplier, min(math.ceil(1.0 / plan.sample_rate), 100_000))
    passes = max(1, math.ceil(float(f"{plan.steps * plan.sample_rate:.12g}")))
    return float(Tight().of_events([(mechanism, passes)], plan.delta).epsilon)


def safe(unknown: str, value: float) -> float:
    """A solved value with few digits, on the safe side."""
    if unknown == "steps":
        return value
    if unknown == "sample_rate":
        return numbers.rounded_down(value, DIGITS)
    return numbers.rounded_up(value, 3 if unknown == "delta" else DIGITS)


# --- in words ---------------------------------------------------------------------------------------------------------


def value_text(name: str, value: float) -> str:
    """The number in a sentence: "4.126", "1e-5", "10 000"; where it has more digits, rounded to what costs more."""
    if name == "steps":
        return numbers.steps(value)
    digits = 3 if name == "delta" else 6
    if float(f"{value:.{digits}g}") != value:
        value = (numbers.rounded_down if name == "noise_multiplier" else numbers.rounded_up)(value, digits)
    return numbers.delta(value) if name == "delta" else numbers.plain(value, digits=digits)


def spared(plan: Plan) -> str:
    """What the tight accountant allows at the same ε; both numbers on the safe side, the share rounded down."""
    unknown = plan.unknown or "noise_multiplier"
    if plan.target == 0.0:
        return ""
    composed = Composed(SampledGaussian(plan.noise_multiplier, plan.sample_rate), plan.steps, plan.delta)
    need = dp_need(Tight.name, "", unknown, plan.target, composed.without(unknown))
    if need.value is not None and not 0.0 < need.value < math.inf:
        return ""
    if need.value is None:
        return f"The PLD accountant has no number to compare with: {need.why.rstrip('.') or 'none here'}."
    return f"The PLD accountant {compared(unknown, plan.known[unknown], safe(unknown, need.value))}."


def compared(unknown: str, mine: float, tight: float) -> str:
    """What the tight accountant's value allows beyond mine; continues a sentence."""
    allowed = f"{SYMBOLS[unknown]} = {value_text(unknown, tight)}"
    ratio = tight / mine if unknown in ("steps", "sample_rate") else mine / tight
    if not ratio > 1.0:
        return f"allows no more than that ({allowed})"
    if unknown == "delta":
        return f"reaches {allowed} with the same noise"
    if unknown == "noise_multiplier":
        return f"allows {percent_down(1.0 - tight / mine)} less noise: {allowed}"
    more = percent_down(ratio - 1.0)
    if unknown == "steps":
        return f"allows {more} more steps: {allowed}"
    return f"allows a {more} higher sampling rate: {allowed}"


def percent_down(share: float) -> str:
    """A share in percent, rounded down to two digits."""
    return f"{numbers.plain(numbers.rounded_down(100.0 * share, 2), digits=2)} %"


def used(plan: Plan) -> str:
    """The one line that says what to set, and what that proves."""
    unknown = plan.unknown or "noise_multiplier"
    setting = f"{SYMBOLS[unknown]} = {value_text(unknown, plan.known[unknown])}"
    return f"Use {setting}: ε ≤ {numbers.up(plan.epsilon)} at δ = {value_text('delta', plan.delta)} ({plan.name})."


def paragraph(plan: Plan) -> str:
    """What was done, what that promises, by whose theorem, and what must be true; plain text, ε rounded up."""
    noise, rate, delta = (value_text(n, plan.known[n]) for n in ("noise_multiplier", "sample_rate", "delta"))
    steps, epochs = numbers.steps(plan.steps), numbers.plain(plan.steps * plan.sample_rate)
    batch = "all N examples" if plan.sample_rate == 1 else "the expected batch size qN"
    card, alone = plan.accountant.card, f"; order α = {plan.moment + 1} alone" if "λ" in plan.name else ""
    return (
        f"We train with DP-SGD (Abadi et al. 2016). In each of T = {steps} steps, every example joins the batch "
        f"independently with probability q = {rate} (Poisson sampling; {epochs} epochs in expectation). Per-example "
        f"gradients are clipped to ℓ2 norm C = {CLIP:g}; Gaussian noise of standard deviation σC with σ = {noise} is "
        f"added to their sum, which is divided by {batch}. The training satisfies (ε, δ)-differential privacy with "
        f"ε = {numbers.up(plan.epsilon)} and δ = {delta} for data sets that differ by adding or removing one example, "
        f"by {card.title} ({card.cited}{alone}). {tighter(plan)}The guarantee covers all intermediate parameters. It "
        "takes the number of examples N as public and batches and noise as drawn from secret randomness. It does not "
        "cover quantities measured on the training data without noise, the choice of hyperparameters by the private "
        f"data, or the finite precision of the noise. Computed with dpviz {__version__}."
    )


def tighter(plan: Plan) -> str:
    """What the tight accountant gives, in a sentence; none where that is no less."""
    tight, card = tight_epsilon(plan), Tight().card
    if not tight < plan.epsilon:
        return ""
    return f"{card.title[0].upper()}{card.title[1:]} ({card.cited}) give ε = {numbers.up(tight)}. "


def bibliography(plan: Plan) -> str:
    """BibTeX of everything that the paragraph cites, each once."""
    tight = Tight().card.bibtex if math.isfinite(tight_epsilon(plan)) else ()
    entries = (*Moments().card.bibtex[:1], *plan.accountant.card.bibtex, *tight)
    return "\n\n".join(dict.fromkeys(entries))


def snippets(plan: Plan) -> dict[str, str]:
    """Library → Python source that trains with exactly these numbers; each defines `train` and says its own ε."""
    values = {
        "shuffled": f"ε ≤ {numbers.up(shuffled_epsilon(plan))}",
        "sigma": repr(plan.noise_multiplier),
        "rate": repr(plan.sample_rate),
        "steps": f"{plan.steps:_}",
        "clip": repr(CLIP),
        "delta": repr(plan.delta),
    }
    return {key: _filled_in(library, values) for key, library in CODE["libraries"].items()}


def _filled_in(library: Mapping[str, str], values: Mapping[str, str]) -> str:
    """The code of one library with the plan's numbers and the parts that libraries share."""
    settings = CODE["numbers"].format_map({**values, "sampler": library["sampler"]})
    return library["source"].format_map({"numbers": settings, "account": CODE["account"]})


def to_card(mechanism: Mechanism, steps: int, delta: float) -> list[Block]:
    """The way to the guarantee card of these steps; none for a mechanism whose privacy loss is not known."""
    if Tight().supports(mechanism):
        return []
    own = {kinds.T[mechanism.step].key: str(steps), DELTA.key: DELTA.write(delta)}
    card = {"kview": "guarantee", "gof": "plan", kinds.ROWS.key: "1"}
    return [Onward("Guarantee card of these settings", "check", card | dict(kinds.texts(mechanism)) | own)]


class StepFacts(Protocol):
    """Facts of an answer that has a mechanism, steps and δ."""

    @property
    def mechanism(self) -> Mechanism: ...
    @property
    def steps(self) -> int: ...
    @property
    def delta(self) -> float: ...


def card_from(answer: Answer[StepFacts]) -> list[Block]:
    """The same of an answer's own mechanism, steps and δ."""
    return to_card(answer.facts.mechanism, answer.facts.steps, answer.facts.delta)


def use_it(make: Callable[[], Plan], instead: Sequence[Block] = ()) -> list[Block]:
    """Blocks of a page's details; where `make` has no plan to give, the reason, and `instead`."""
    try:
        plan = make()
    except ValueError as none:
        return [Note(str(none)), *instead]
    code = snippets(plan)
    return [
        Note(f"{used(plan)} {spared(plan)}".strip()),
        Folded("Paragraph for the paper", source=paragraph(plan), open=True),
        Folded("BibTeX", source=bibliography(plan), language="bibtex"),
        *(Folded(name, source=code[key], language="python") for key, name in RELEASES.items()),
        *to_card(SampledGaussian(plan.noise_multiplier, plan.sample_rate), plan.steps, plan.delta),
    ]
