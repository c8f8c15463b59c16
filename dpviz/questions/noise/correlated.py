"""What correlated noise buys: the error of all steps together at the same ε, against κ, beside bands and sampling."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np

from dpviz import library as dpviz
from dpviz._arrays import Array
from dpviz._remember import remembered
from dpviz.accounting.methods import Tight
from dpviz.charts import Guide, LinePlot, Ring, look
from dpviz.fields import numbers
from dpviz.fields.parameters import PARAMETERS
from dpviz.mechanisms import BandedNoise, Correlated, CorrelatedNoise
from dpviz.questions import DELTA, Answer, cards, chart, make_question, slow_facts
from dpviz.questions.needed import TOLERANCE
from dpviz.questions.noise.needs import TARGET

ROOM = "noise/correlated"
MOST_STEPS = 100_000
BATCHES, EPOCHS, DECAY, BAND = (PARAMETERS[name] for name in ("batches", "epochs", "decay", "band"))
DECAYS = np.concatenate([np.linspace(0.0, 0.9, 46), 1.0 - np.geomspace(0.1, 1e-3, 60)[1:]])


@dataclass(frozen=True, eq=False)
class Bought:
    """Errors of the noise in sums of gradients over the first 1, …, T steps, each ÷ that of independent noise.

    Attributes:
        mine, best: at the chosen κ, and at the best one of the curve, (κ, error).
        banded: at the chosen band, and at the best one that was tried, (w, error).
        noise: σ that the chosen κ needs for the target ε.
        sampled: of independent noise on Poisson batches at the same ε; None while it is not there.
    """

    mine: float
    best: tuple[float, float]
    banded: tuple[tuple[int, float], tuple[int, float]]
    noise: float
    steps: int
    sampled: float | None = None


SETTLED = 32  # w steps after which running sums are taken for their last value


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


@remembered
def _errors(batches: int, epochs: int) -> tuple[Array, tuple[int, float]]:
    """Along DECAYS, and the best of some bands; ÷ that of independent noise."""
    steps = batches * epochs
    alone = math.sqrt(epochs * (steps + 1) / 2.0)
    curve = [_decayed(decay, batches, epochs) for decay in DECAYS.tolist()]
    bands = sorted({int(w) for w in np.geomspace(1, batches, 16).round()})
    each = [error(BandedNoise(1.0, w, batches, epochs), steps) for w in bands]
    at = int(np.argmin(each))
    return np.array(curve) / alone, (bands[at], each[at] / alone)


def _decayed(decay: float, batches: int, epochs: int) -> float:
    """`error` of z_t − κ z_{t−1}, whose running sums are 1, 1 − κ, 1 − κ, …"""
    steps = batches * epochs
    return CorrelatedNoise(1.0, decay, batches, epochs).sensitivity * math.sqrt(
        1.0 + (1.0 - decay) ** 2 * (steps - 1) / 2.0
    )


def bought(
    *,
    batches: Annotated[int, BATCHES],
    epochs: Annotated[int, EPOCHS],
    decay: Annotated[float, DECAY],
    band: Annotated[int, BAND],
    target_epsilon: Annotated[float, TARGET],
    delta: Annotated[float, DELTA],
) -> Answer[Bought]:
    """The error at the same ε against κ."""
    steps = batches * epochs
    if steps > MOST_STEPS:
        raise ValueError(
            f"A run of {numbers.steps(batches)} batches × {numbers.steps(epochs)} epochs has {numbers.steps(steps)} "
            f"steps: choose fewer, {numbers.steps(MOST_STEPS)} at most."
        )
    alone = math.sqrt(epochs * (steps + 1) / 2.0)
    run = CorrelatedNoise(1.0, decay, batches, epochs)
    curve, best_band = _errors(batches, epochs)
    at, width = int(np.argmin(curve)), min(band, batches)
    mine = _decayed(decay, batches, epochs) / alone
    facts = Bought(
        mine,
        (float(DECAYS[at]), float(curve[at])),
        ((width, error(BandedNoise(1.0, width, batches, epochs), steps) / alone), best_band),
        _noise(target_epsilon, delta, mechanism=run, steps=1),
        steps,
    )
    shown = {"shown": (min(0.05, 0.8 * curve[at], 0.8 * best_band[1]), 1.5)}
    return Answer(chart(ROOM, "correlated", DECAYS, {"decay": curve}, {}, shown, rings=_rings(facts, decay)), facts)


def _noise(target: float, delta: float, **given: Any) -> float:
    return float(
        dpviz.solve(
            "noise_multiplier", method=Tight.name, target_epsilon=target, delta=delta, tolerance=TOLERANCE, **given
        )
    )


def _rings(facts: Bought, decay: float) -> tuple[Ring, ...]:
    best, least = facts.best
    return (
        Ring(best, least, f"best: κ = {numbers.plain(best, digits=3)}, error {least:.3f}", look.ORANGE, name="best κ"),
        Ring(decay, facts.mine, f"κ = {numbers.plain(decay)}, error {facts.mine:.3f}", look.GREY),
    )


def sampled_key(answer: Answer[Bought]) -> Hashable:
    return tuple(answer.given[name] for name in ("batches", "epochs", "target_epsilon", "delta"))


def sampled(answer: Answer[Bought]) -> dict[str, float]:
    """Independent noise on Poisson batches of the same size."""
    batches, epochs, target, delta = (answer.given[name] for name in ("batches", "epochs", "target_epsilon", "delta"))
    poisson = _noise(target, delta, sample_rate=1.0 / batches, steps=batches * epochs)
    alone = _noise(target, delta, mechanism=CorrelatedNoise(1.0, 0.0, batches, epochs), steps=1)
    return {"sampled": poisson / alone if alone else 1.0}


def with_levels(answer: Answer[Bought]) -> LinePlot:
    """The plot with what does not depend on κ, as far as it is there."""
    assert isinstance(answer.plot, LinePlot)
    (width, here), (best, least) = answer.facts.banded
    guides = [
        Guide("y", 1.0, "independent noise"),
        Guide("y", here, f"banded, w = {width}"),
    ]
    if best != width:
        guides.append(Guide("y", least, f"banded, best: w = {best}"))
    if answer.facts.sampled is not None:
        guides.append(Guide("y", answer.facts.sampled, "independent noise, Poisson batches"))
    return replace(answer.plot, guides=tuple(guides))


CORRELATED = make_question(
    f"{ROOM}/correlated",
    bought,
    {"Question": (TARGET, DELTA), "Run": (BATCHES, EPOCHS), "Noise": (DECAY, BAND)},
    slow=(slow_facts(sampled_key, sampled, None, with_levels),),
    more={"Accountants": lambda _: cards((Tight.name,))},
)
