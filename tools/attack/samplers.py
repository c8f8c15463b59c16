"""Membership attacks on what each sampler of a training releases: what they show of ε stays below its claim.

Many cheap runs with and without one example: each batch releases whether the example is in it, with noise. The attack
orders runs by their likelihood ratio, the best that there is (Neyman, Pearson 1933). Its threshold is chosen on half of
the runs; on the others false alarms and hits are bounded at 97.5 % each (Clopper, Pearson 1934), and hits ≤ e^ε · false
alarms + δ of any (ε, δ) (Kairouz, Oh, Viswanath 2015, Theorem 2.1).
"""

import math
import sys
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import stats

from dpviz.accounting.pld.bounds import tight_epsilon
from dpviz.mechanisms import Adjacency
from dpviz.training.samplers import SAMPLERS, TrainingSampler, charges, steps_of

# What the example's batch shows without and with it, in clipping norms; all others' gradients are its own reversed.
SIGNALS = {Adjacency.ADD_REMOVE: (0.0, 1.0), Adjacency.REPLACE_ONE: (0.0, 2.0), Adjacency.ZERO_OUT: (1.0, 2.0)}

Scores = npt.NDArray[np.float64]


class Audit(NamedTuple):
    """ε that the attack shows at 95 %, and what is claimed."""

    shown: float
    claim: float


def audit(
    sampler: type[TrainingSampler], *, noise: float, examples: int, batch: int, steps: int, runs: int,
    delta: float = 0.01, seed: int = 0, noise_added: float | None = None,
) -> Audit:  # fmt: skip
    """Attacks 2 × `runs` runs of `steps` steps.

    Args:
        sampler: One of SAMPLERS.
        noise, examples, batch, steps: σ, N, the expected batch and T.
        runs: With the example, and as many without.
        delta: δ.
        seed: Of everything random.
        noise_added: What is really added, to see that the attack sees it; None for `noise`.
    """
    draw = np.random.default_rng(seed)
    mechanism = sampler.mechanism(noise, examples=examples, batch_size=batch)
    together, rate, added = steps_of(mechanism), batch / examples, noise if noise_added is None else noise_added
    signals, scores = SIGNALS[mechanism.adjacency], []
    for signal in signals:
        drawn = np.array([_joined(sampler(draw, examples), batch, steps) for _ in range(runs)], dtype=np.float64)
        released = signal * drawn + added * draw.standard_normal(drawn.shape)
        low, high = (_likelihood(released, each, noise, together, rate) for each in signals)
        scores.append(high - low)
    without, with_it = (np.array_split(each, 2) for each in scores)
    at = max(
        np.quantile(without[0], np.linspace(0.5, 0.999, 60)), key=lambda t: _shown(without[0], with_it[0], t, delta)
    )
    claim = tight_epsilon(mechanism, charges(mechanism, steps), delta).upper
    return Audit(_shown(without[1], with_it[1], at, delta), float(claim))


def _joined(sampler: TrainingSampler, batch: int, steps: int) -> list[bool]:
    """Whether the first example is in each batch."""
    return [bool((sampler.draw(batch) == 0).any()) for _ in range(steps)]


def _likelihood(released: Scores, signal: float, noise: float, together: int, rate: float) -> Scores:
    """ln of the likelihood of each run (runs,), of what it released (runs, steps), up to what no signal changes."""
    loss = (2.0 * signal * released - signal**2) / (2.0 * noise**2)
    if together == 1:
        return np.asarray(np.log1p(rate * np.expm1(loss)).sum(axis=1))
    pad = -released.shape[1] % together
    epochs = np.pad(np.exp(loss), ((0, 0), (0, pad)), constant_values=1.0)
    return np.asarray(np.log(epochs.reshape(len(released), -1, together).mean(axis=2)).sum(axis=1))


def _shown(without: Scores, with_it: Scores, threshold: float, delta: float) -> float:
    runs, false, true = len(without), int((without > threshold).sum()), int((with_it > threshold).sum())
    alarms = stats.beta.ppf(0.975, false + 1, runs - false) if false < runs else 1.0
    hits = stats.beta.ppf(0.025, true, runs - true + 1) if true else 0.0
    return math.log((hits - delta) / alarms) if hits > delta else -math.inf


def table(runs: int = 10_000) -> str:
    """What was shown of every sampler, as Markdown."""
    settings = [(0.6, 20, 4, 10), (1.0, 40, 2, 60), (0.5, 30, 10, 3), (2.0, 10, 5, 40)]
    rows = []
    for key, sampler in SAMPLERS.items():
        for noise, examples, batch, steps in settings:
            one = audit(sampler, noise=noise, examples=examples, batch=batch, steps=steps, runs=runs)
            verdict = "below" if one.shown <= one.claim else "**above**"
            facts = f"{noise:g} | {examples} | {batch} | {steps} | {one.shown:.3f} | {one.claim:.3f}"
            rows.append(f"| {key} | {facts} | {verdict} |")
        print(f"{key} attacked", file=sys.stderr, flush=True)
    return (
        f"## Samplers\n\nThe best attack on {runs:,} runs with an example and as many without, at δ = 0.01: the ε that "
        "it shows, at 95 %, against the claim.\n\n| sampler | σ | N | batch | steps | shown | claim | |\n"
        "|---|---|---|---|---|---|---|---|\n" + "\n".join(rows)
    )


if __name__ == "__main__":
    print(table())
