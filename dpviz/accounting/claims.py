"""The privacy claim of a plan or a run: one ε at one δ, its accountant, its coverage and its conditions.

Every place that shows an ε of a run reads a `Claim` and nothing else; what accountants read step by step are readings.

>>> planned = Claim(epsilon=3.0, delta=1e-5, accountant="tight", covers="plan", lower=2.98, steps=150)
>>> planned.if_it_ended(odometer=1.25, step=20).epsilon, planned.if_it_ended(odometer=5.0, step=150).epsilon
(1.25, 3.0)
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any, Literal, Self, get_args

from dpviz.accounting.adaptive import filter
from dpviz.accounting.attack.membership import attack_success
from dpviz.accounting.methods import PROVERS, MixtureOdometer

Covers = Literal["plan", "any_end", "adaptive", "nothing"]

NAMES = PROVERS | {filter.NAME: "filter's budget", "": "nothing"}
SHORT = {  # what it covers, after the accountant's name
    "plan": "whole plan",
    "any_end": "valid at any stop",
    "adaptive": "valid with adaptive steps",
    "nothing": "",
}
TOLD = "as told by the program"
DEMONSTRATION = "Demonstration: its noise can be replayed"
_COVERAGE = {
    "plan": "everything was fixed in advance; it holds wherever the run ends, up to step {steps}",
    "any_end": "it holds whenever and for whatever reason the run ended",
    "adaptive": "it holds for all decisions during the run, and wherever it ends",
    "nothing": "nothing is claimed",
}


@dataclass(frozen=True, kw_only=True)
class Claim:
    """(ε, δ)-differential privacy of everything that a plan or a run releases by what ε covers.

    Attributes:
        epsilon: An upper bound; inf where nothing is claimed.
        delta: δ in (0, 1).
        accountant: Key of NAMES: who proves it.
        covers: "plan": mechanisms and their largest number were fixed ahead, so any earlier end is covered as well;
            "any_end": read off an odometer, whose reading is itself a result of the run and holds but for δ at every
            end; "adaptive": a filter's budget, which holds whatever decided about mechanisms; "nothing".
        lower: What the ε of the same releases is not below; None where that is not known.
        steps: The most steps that are covered.
        counts: The most private counts that are covered.
        success: The highest share of right guesses of membership at even odds, from the privacy curve of the whole
            plan where it is known, which also bounds what an earlier end shows; None where only (ε, δ) is known.
        order: The one Rényi order, fixed ahead, at which a filter enforces it.
        conditions: What must be true of this run besides, in words.
        reason: Why nothing is claimed; empty where something is.
        unit: Whose data it protects: "example", or "person" with all their rows.
        as_told: Whether it rests on what a program told of its steps, which nobody here saw.
        with_secret_noise: Of a demonstration, whose noise came from a seed that is kept: what the same run could claim
            had nobody been able to replay it. It itself claims nothing.
    """

    epsilon: float
    delta: float
    accountant: str
    covers: Covers
    lower: float | None = None
    steps: int = 0
    counts: int = 0
    success: float | None = None
    order: float | None = None
    conditions: tuple[str, ...] = ()
    reason: str = ""
    unit: str = "example"
    as_told: bool = False
    with_secret_noise: Self | None = None

    def __post_init__(self) -> None:
        if self.accountant not in NAMES or self.covers not in get_args(Covers):
            raise ValueError(f"Expected a known accountant and cover, found {self.accountant!r}, {self.covers!r}.")
        if math.isnan(self.epsilon) or self.epsilon < 0.0:
            raise ValueError(f"Expected epsilon={self.epsilon} >= 0.")
        if not 0.0 < self.delta < 1.0:
            raise ValueError(f"Expected delta={self.delta} in (0, 1).")

    @classmethod
    def nothing(cls, reason: str, delta: float = 0.5, conditions: tuple[str, ...] = ()) -> Self:
        """No claim, and why; `conditions` for an odometer that may still say something (`if_it_ended`)."""
        return cls(epsilon=math.inf, delta=delta, accountant="", covers="nothing", reason=reason, conditions=conditions)

    def as_demonstration(self) -> Self:
        """No claim, because batches and noise came from a seed that is kept; this one is what could be claimed else."""
        reason = "its noise can be replayed from its seed, so it protects nobody"
        return replace(self.nothing(reason, self.delta), with_secret_noise=self)

    @property
    def demonstration(self) -> bool:
        """Whether its noise can be replayed."""
        return self.with_secret_noise is not None

    @property
    def shown(self) -> Self:
        """What is drawn and compared: the claim, of a demonstration the one that secret noise would allow."""
        return self if self.with_secret_noise is None else self.with_secret_noise

    @property
    def holds(self) -> bool:
        """Whether anything is claimed."""
        return math.isfinite(self.epsilon)

    @property
    def name(self) -> str:
        """The accountant in words, and whether what it adds up was only told."""
        return NAMES[self.accountant] + f", {TOLD}" * self.as_told

    @property
    def coverage(self) -> str:
        """What it covers, in words that continue a sentence."""
        return self.reason or _COVERAGE[self.covers].format(steps=f"{self.steps:,}")

    @property
    def guess(self) -> float:
        """The highest share of right guesses at even odds whether one example took part, over all attacks.

        The least of what the steps so far and the whole plan allow.
        """
        return self.pair if self.success is None else min(self.pair, self.success)

    @property
    def pair(self) -> float:
        """What ε and δ alone allow, which is what papers state."""
        return float(attack_success(self.epsilon, delta=self.delta)) if self.holds else 1.0

    def if_it_ended(self, *, odometer: float, step: int) -> Self:
        """What may be claimed of a run that ends after `step`: the odometer's reading where it is less.

        Never more than what was claimed ahead. The odometer covers every end, so nothing is asked about who ended it:
        the Whitehouse odometer, whoever chose noise and batches (docs/work/proofs.md, “One odometer”).
        """
        if self.with_secret_noise is not None:
            return replace(self, with_secret_noise=self.with_secret_noise.if_it_ended(odometer=odometer, step=step))
        if not (math.isfinite(odometer) and odometer < self.epsilon):
            return self
        return replace(
            self, epsilon=odometer, accountant=MixtureOdometer.name, covers="any_end", lower=None,
            order=None, steps=step,
            reason="",
        )  # fmt: skip

    def to_json(self) -> dict[str, Any]:
        """JSON values, None where nothing is claimed; `from_json` gives the same claim back."""
        epsilon = self.epsilon if self.holds else None
        stored = asdict(self) | {"epsilon": epsilon, "conditions": list(self.conditions)}
        if self.with_secret_noise is not None:
            stored["with_secret_noise"] = self.with_secret_noise.to_json()
        return stored

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """From `to_json`.

        Raises:
            ValueError: for what is no claim.
        """
        names = {field.name for field in fields(cls)}
        if more := set(stored) - names:
            raise ValueError(f"Expected a claim with {', '.join(sorted(names))}; found {', '.join(sorted(more))}.")
        try:
            given = ((name, value) for name, value in stored.items() if value is not None or name in _NEVER_NONE)
            values = {name: _READ[name](value) for name, value in given}
        except (TypeError, ValueError) as error:
            raise ValueError(f"Expected a claim with numbers: {error}.") from None
        try:
            return cls(**({"epsilon": math.inf} if "epsilon" in stored else {}) | values)
        except TypeError as error:
            raise ValueError(f"Expected a claim, found {error}.") from None


def rounded_up(value: float, digits: int = 3) -> float:
    """`digits` significant digits, never below `value`: bounds stay bounds where they are shown."""
    return _rounded(value, digits, ROUND_CEILING)


def rounded_down(value: float, digits: int = 3) -> float:
    """`digits` significant digits, never above `value`: a number that says "at least", or a largest one that holds."""
    return _rounded(value, digits, ROUND_FLOOR)


def _rounded(value: float, digits: int, rounding: str) -> float:
    if not math.isfinite(value) or value == 0:
        return value
    exact = Decimal(value)
    return float(exact.quantize(Decimal(1).scaleb(exact.adjusted() - digits + 1), rounding=rounding))


_READ: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("epsilon", "delta", "lower", "success", "order"), float),
    **dict.fromkeys(("accountant", "covers", "reason", "unit"), str),
    **dict.fromkeys(("steps", "counts"), int),
    "as_told": bool,
    "conditions": lambda texts: tuple(str(text) for text in texts),
    "with_secret_noise": Claim.from_json,
}
_NEVER_NONE = _READ.keys() - {"epsilon", "lower", "success", "order", "with_secret_noise"}
