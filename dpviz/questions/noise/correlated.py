"""The error of all steps together at the same ε against κ, beside bands and sampling: what does correlation buy?"""

import math
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any, NamedTuple

import numpy as np

from dpviz import library as dpviz
from dpviz._arrays import Array
from dpviz._remember import remembered
from dpviz.accounting.methods import Tight
from dpviz.charts import Axis, Guide, Line, LinePlot, Ring, look
from dpviz.fields import numbers
from dpviz.fields.parameters import PARAMETERS
from dpviz.mechanisms import BandedNoise, Correlated, CorrelatedNoise
from dpviz.questions import DELTA, Answer, Formula, Metric, Note, Question, Words, cards, slow_facts
from dpviz.questions.needed import TOLERANCE
from dpviz.questions.noise.settings import TARGET

MOST_STEPS = 100_000
BATCHES, EPOCHS, DECAY, BAND = (PARAMETERS[name] for name in ("batches", "epochs", "decay", "band"))
DECAYS = np.concatenate([np.linspace(0.0, 0.9, 46), 1.0 - np.geomspace(0.1, 1e-3, 60)[1:]])
SETTLED = 32  # w steps after which running sums are taken for their last value


class DecayError(NamedTuple):
    """The error with a share κ of the noise taken back."""

    decay: float
    error: float


class BandError(NamedTuple):
    """The error of banded noise, w bands wide."""

    width: int
    error: float


@dataclass(frozen=True)
class CorrelatedFacts:
    """Errors of the noise in sums of gradients over the first 1, …, T steps, each ÷ that of independent noise.

    Attributes:
        mine, best: at the chosen κ, and at the best one of the curve.
        banded, best_band: at the chosen band, no wider than an epoch, and at the best one that was tried.
        noise: σ that the chosen κ needs for the target ε.
        sampled: of independent noise on Poisson batches at the same ε; None while it is not there.
    """

    mine: DecayError
    best: DecayError
    banded: BandError
    best_band: BandError
    noise: float
    batches: int
    epochs: int
    band: int
    target_epsilon: float
    delta: float
    sampled: float | None = None

    @property
    def steps(self) -> int:
        """Of all epochs."""
        return self.batches * self.epochs

    @property
    def nothing(self) -> bool:
        """Whether independent noise on Poisson batches has less error than any correlated noise that was tried."""
        return self.sampled is not None and self.sampled < min(self.best.error, self.best_band.error)

    @property
    def sampled_text(self) -> str:
        """The error on Poisson batches; "…" while it is not there."""
        return "…" if self.sampled is None else numbers.percent(self.sampled)


def error(run: Correlated, steps: int) -> float:
    """√(mean over t ≤ T of the variance of the first t steps' noise together), times the sensitivity, at σ = 1.

    The noise of the first t steps is a row of A C⁻¹ Z, A the sums: Toeplitz with the running sums of C⁻¹'s column.
    Of w bands these come geometrically close to their last value, for c_k > (1 + 1/(2w)) c_{k+1} keeps zeros of
    Σ c_k x^k away from |x| = 1 (Eneström, Kakeya): after 20w of them, to 12 digits.
    """
    first = min(steps, SETTLED * run.band) if isinstance(run, BandedNoise) else steps
    squares = np.cumsum(inverse(run.column(first))) ** 2
    later = float(steps - first)
    total = float(squares @ np.arange(steps, later, -1.0)) + float(squares[-1]) * 0.5 * later * (later + 1.0)
    return run.sensitivity * math.sqrt(total / steps)


def inverse(column: Array) -> Array:
    """The first column of C⁻¹, (T,): the power series 1/c(x), by Newton's iteration with FFTs."""
    result, size = np.array([1.0 / column[0]]), 1
    while size < column.size:
        size = min(2 * size, column.size)
        wide = 1 << (3 * size).bit_length()
        part, there = (np.fft.rfft(each, wide) for each in (column[:size], result))
        result = np.fft.irfft(there * (2.0 - part * there), wide)[:size]
    return result


def decayed_error(decay: float, batches: int, epochs: int) -> float:
    """`error` of z_t − κ z_{t−1}, whose running sums are 1, 1 − κ, 1 − κ, …"""
    steps = batches * epochs
    return CorrelatedNoise(1.0, decay, batches, epochs).sensitivity * math.sqrt(
        1.0 + (1.0 - decay) ** 2 * (steps - 1) / 2.0
    )


def independent_error(batches: int, epochs: int) -> float:
    """`error` of independent noise."""
    return math.sqrt(epochs * (batches * epochs + 1) / 2.0)


@remembered
def errors(batches: int, epochs: int) -> tuple[Array, BandError]:
    """Along DECAYS, and the best of some bands; ÷ that of independent noise."""
    alone = independent_error(batches, epochs)
    curve = [decayed_error(decay, batches, epochs) for decay in DECAYS.tolist()]
    bands = sorted({int(w) for w in np.geomspace(1, batches, 16).round()})
    each = [error(BandedNoise(1.0, w, batches, epochs), batches * epochs) for w in bands]
    at = int(np.argmin(each))
    return np.array(curve) / alone, BandError(bands[at], each[at] / alone)


def correlated(
    *,
    batches: Annotated[int, BATCHES],
    epochs: Annotated[int, EPOCHS],
    decay: Annotated[float, DECAY],
    band: Annotated[int, BAND],
    target_epsilon: Annotated[float, TARGET],
    delta: Annotated[float, DELTA],
) -> Answer[CorrelatedFacts]:
    """The error at the same ε against κ."""
    steps = batches * epochs
    if steps > MOST_STEPS:
        raise ValueError(
            f"A run of {numbers.steps(batches)} batches × {numbers.steps(epochs)} epochs has {numbers.steps(steps)} "
            f"steps: choose fewer, {numbers.steps(MOST_STEPS)} at most."
        )
    alone = independent_error(batches, epochs)
    curve, best_band = errors(batches, epochs)
    at, width = int(np.argmin(curve)), min(band, batches)
    facts = CorrelatedFacts(
        mine=DecayError(decay, decayed_error(decay, batches, epochs) / alone),
        best=DecayError(float(DECAYS[at]), float(curve[at])),
        banded=BandError(width, error(BandedNoise(1.0, width, batches, epochs), steps) / alone),
        best_band=best_band,
        noise=noise_for(target_epsilon, delta, mechanism=CorrelatedNoise(1.0, decay, batches, epochs), steps=1),
        batches=batches,
        epochs=epochs,
        band=band,
        target_epsilon=target_epsilon,
        delta=delta,
    )
    plot = LinePlot(
        Axis("share of the noise taken back κ", name="κ", column="decay"),
        Axis(
            "error ÷ that of independent noise",
            name="error",
            column="error",
            log=True,
            lowest="best",
            shown=(min(0.05, 0.8 * facts.best.error, 0.8 * best_band.error), 1.5),
        ),
        (Line("decay", "noise with κ", DECAYS, curve, look.SOLID, color=look.BLUE),),
        rings=rings(facts),
        end_values=False,
    )
    return Answer(plot, facts)


def rings(f: CorrelatedFacts) -> tuple[Ring, ...]:
    best, mine = (f"κ = {numbers.plain(one.decay)}" for one in (f.best, f.mine))
    return (
        Ring(*f.best, f"the best, {best}", look.ORANGE, name=f"best κ: {numbers.percent(f.best.error)}"),
        Ring(*f.mine, mine, look.GREY, name=f"my κ: {numbers.percent(f.mine.error)}", sets=(DECAY, None)),
    )


def noise_for(target_epsilon: float, delta: float, **mechanism: Any) -> float:
    """The least noise with which the mechanism keeps the target."""
    asked: dict[str, Any] = {"target_epsilon": target_epsilon, "delta": delta, "tolerance": TOLERANCE} | mechanism
    return float(dpviz.solve("noise_multiplier", method=Tight.name, **asked))


def sampled_key(answer: Answer[CorrelatedFacts]) -> Hashable:
    f = answer.facts
    return f.batches, f.epochs, f.target_epsilon, f.delta


def sampled(answer: Answer[CorrelatedFacts]) -> dict[str, float]:
    """Independent noise on Poisson batches of the same size."""
    f = answer.facts
    poisson = noise_for(f.target_epsilon, f.delta, sample_rate=1.0 / f.batches, steps=f.steps)
    fixed = CorrelatedNoise(1.0, 0.0, f.batches, f.epochs)
    alone = noise_for(f.target_epsilon, f.delta, mechanism=fixed, steps=1)
    return {"sampled": poisson / alone if alone else 1.0}


def with_levels(answer: Answer[CorrelatedFacts]) -> LinePlot:
    """The plot with what does not depend on κ, as far as it is there."""
    assert isinstance(answer.plot, LinePlot)
    f = answer.facts
    guides = [
        Guide("y", 1.0, "independent noise"),
        Guide("y", f.banded.error, f"banded, w = {f.banded.width}"),
    ]
    if f.best_band.width != f.banded.width:
        guides.append(Guide("y", f.best_band.error, f"banded, best: w = {f.best_band.width}"))
    if f.sampled is not None:
        guides.append(Guide("y", f.sampled, "independent noise, Poisson batches"))
    return replace(answer.plot, guides=tuple(guides))


def headline(f: CorrelatedFacts) -> str:
    decayed = f"noise with <b>κ = {numbers.plain(f.best.decay)}</b> has <b>{numbers.percent(f.best.error)}</b>"
    banded = f"banded noise <b>{numbers.percent(f.best_band.error)}</b>"
    nothing = ", less than both: correlated noise buys <b>nothing here</b>" if f.nothing else ""
    return (
        f"With fixed batches and at the same ε, {decayed} of the error of independent noise, and {banded}. Independent "
        f"noise on Poisson batches has <b>{f.sampled_text}</b>{nothing}."
    )


def metrics(f: CorrelatedFacts) -> Iterator[Metric]:
    gain = "of that of independent noise; 100 % means no gain"
    yield Metric("My κ: error", numbers.percent(f.mine.error), gain)
    yield Metric("My κ: σ", numbers.up(f.noise), f"noise ÷ C of each step; {numbers.steps(f.steps)} steps")
    yield Metric(
        f"Banded, w = {f.banded.width}: error",
        numbers.percent(f.banded.error),
        f"best band tried: w = {f.best_band.width}, {numbers.percent(f.best_band.error)}",
    )
    yield Metric("Poisson batches: error", f.sampled_text, "independent noise, q = 1/t")


def notes(f: CorrelatedFacts) -> Iterator[Note]:
    if f.nothing:
        yield Note("A larger ε favours correlated noise.")
    if f.band > f.batches:
        yield Note(f"The band is wider than an epoch: w = t = {f.batches} is shown.", "caution")


def formulas(f: CorrelatedFacts) -> Iterator[Formula]:
    yield Formula(
        "Sensitivity (Kalinin, Lampert 2024, Theorem 2)",
        rf"\Bigl\| \sum_{{j < {f.epochs}}} \lambda^{{i - {f.batches} j}} \Bigr\|_{{i \ge {f.batches} j}}",
    )
    yield Formula("Error", rf"\tfrac{{1}}{{\sqrt T}} \| A C^{{-1}} \|_F \cdot \mathrm{{sens}}(C),\quad T = {f.steps}")


ASSUMPTIONS = """
- **Error:** the root mean square of the noise in the sum of the first 1, 2, …, T steps. It measures how far noise moves
  the weights of SGD with one learning rate. It does not measure the gradients or the accuracy.
- **Same ε:** each kind of noise gets the σ with which the whole run costs the target ε at δ. A step with correlated
  noise needs a larger σ than one with independent noise.
- **Batches:** with correlated noise, the same t batches come in the same order in all E epochs, and the attacker knows
  them. Nothing is gained from sampling. Neighbours: one example contributes, or contributes nothing (zero-out).
- **Poisson batches:** each example joins each step with probability 1/t. Neighbours: one example is added or removed.
- **κ:** each step takes back a share κ of the last step's noise (DP-λCGD, which calls it λ). **Banded** noise takes
  back parts of the noise of the last w − 1 steps, by the banded square root (Kalinin, Lampert 2024). It needs memory
  for w − 1 more gradients.
"""

CORRELATED = Question(
    "correlated",
    "What does correlated noise buy?",
    correlated,
    Words(headline, metrics, notes, formulas, ASSUMPTIONS),
    asks="best",
    layout={"Question": (TARGET, DELTA), "Run": (BATCHES, EPOCHS), "Noise": (DECAY, BAND)},
    slow=(slow_facts(sampled_key, sampled, None, with_levels),),
    more={"Accountants": lambda _: cards((Tight.name,))},
)
