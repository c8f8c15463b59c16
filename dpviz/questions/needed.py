"""The missing one of noise, T, q and δ for a target ε, by one DP method: what pages solve for."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from dpviz import library as dpviz
from dpviz._remember import remembered
from dpviz.accounting.methods import Renyi, Tight
from dpviz.accounting.no_answer import NoAnswer
from dpviz.fields import numbers
from dpviz.mechanisms import Mechanism
from dpviz.questions.kinds import with_noise
from dpviz.questions.methods import called, left_out

SYMBOLS = {"noise_multiplier": "σ", "steps": "T", "sample_rate": "q", "delta": "δ"}
MOST_TIGHT_STEPS = 1e7  # the tight accountant's grids grow with T: beyond, an answer takes seconds to minutes
TOLERANCE = 4e-4  # of σ and q: three digits are shown
_ANY = {"noise_multiplier": 1.0, "steps": 1.0, "sample_rate": 1.0, "delta": 0.5}

Known = tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Need:
    """The missing number, on the safe side; None where there is none, and why if there is a reason to tell.

    `waits`: there is none yet.
    """

    value: float | None
    why: str = ""
    waits: bool = False


@dataclass(frozen=True)
class Composed:
    """T steps of a mechanism, at δ; the noise is called noise_multiplier, whatever the mechanism calls it."""

    mechanism: Mechanism
    steps: float
    delta: float

    def put(self, name: str, value: float) -> Composed:
        """The same with another value of one of SYMBOLS."""
        if name == "noise_multiplier":
            return replace(self, mechanism=with_noise(self.mechanism, value))
        if name == "sample_rate":
            if name not in self.mechanism.parameters():
                raise ValueError(
                    f"{self.mechanism.title}: there is no sampling rate q to solve for; choose another one."
                )
            return replace(self, mechanism=self.mechanism.changed(sample_rate=value))
        return replace(self, delta=value) if name == "delta" else replace(self, steps=value)

    def without(self, name: str) -> Composed:
        """What decides an answer for `name`: it at one value for all."""
        return self.put(name, _ANY[name])

    def known(self, unknown: str) -> Known:
        """The three others of a sampled Gaussian; what of them another mechanism has."""
        four = {"steps": self.steps, "delta": self.delta} | asdict(self.mechanism)
        return tuple((name, float(four[name])) for name in SYMBOLS if name != unknown and name in four)


Search = tuple[tuple[str, Any], ...]


def too_slow(steps: float) -> str:
    """Why the tight accountant is not asked for so many steps; empty where it is."""
    if not steps > MOST_TIGHT_STEPS:
        return ""
    return f"the PLD accountant is too slow beyond {numbers.steps(MOST_TIGHT_STEPS)} steps"


@remembered
def dp_need(key: str, amplification: str, unknown: str, target: float, composed: Composed, search: Search = ()) -> Need:
    """The answer of one DP method, or of "tight", which takes a tenth of a second; `composed` is without `unknown`.

    `search` are the keywords of `dpviz.solve` for the best of several runs.
    """
    if key == Tight.name and (why := too_slow(tight_steps(unknown, target, composed))):
        return Need(None, why)
    name, options = called(key, amplification)
    given: dict[str, Any] = {"mechanism": composed.mechanism, "steps": composed.steps, "delta": composed.delta}
    given.pop(unknown, None)
    given |= {"method": name, "target_epsilon": target, "tolerance": TOLERANCE, **options, **dict(search)}
    try:
        return Need(dpviz.solve(unknown, **given))
    except ValueError as problem:
        if not (search or isinstance(problem, NoAnswer)):  # of some searches there is no bound
            raise
        return Need(None, getattr(problem, "why", str(problem)))


def tight_steps(unknown: str, target: float, composed: Composed) -> float:
    """How many steps the tight accountant would meet: those given, or nearly those that Rényi allows."""
    if unknown != "steps":
        return composed.steps
    family = Renyi().family
    if left_out((family,), composed.mechanism):
        return 0.0
    return dp_need(family, "", unknown, target, composed).value or 0.0
