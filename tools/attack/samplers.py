"""Membership attacks on what each sampler of a training releases: what they show of ε stays below its claim.

Many cheap runs with and without one example: each batch releases whether the example is in it, with noise. The attack
orders runs by their likelihood ratio, the best that there is (Neyman, Pearson 1933). Part of the runs chooses its
threshold, and the others are counted (`dpviz.accounting.audit`).
"""

import sys
from typing import Any, NamedTuple

import numpy as np

from dpviz._arrays import Array
from dpviz.accounting.audit.counts import interval_bound
from dpviz.accounting.audit.scores import log_likelihood, log_likelihood_of_known
from dpviz.accounting.audit.threshold import attacked
from dpviz.accounting.pld.bounds import tight_epsilon_of_events
from dpviz.mechanisms import Adjacency, Correlated
from dpviz.training.samplers import SAMPLERS, TrainingSampler, correlated, events, steps_of

# What the example's batch shows without and with it, in clipping norms; all others' gradients are its own reversed.
SIGNALS = {Adjacency.ADD_REMOVE: (0.0, 1.0), Adjacency.REPLACE_ONE: (0.0, 2.0), Adjacency.ZERO_OUT: (1.0, 2.0)}


class Audit(NamedTuple):
    """ε that the attack shows at 95 %, and what is claimed."""

    shown: float
    claim: float


def audit(
    sampler: type[TrainingSampler], *, noise: float, examples: int, batch: int, steps: int, runs: int,
    delta: float = 0.01, seed: int = 0, noise_added: float | None = None,
    decay: float = 0.0, band: int = 1,
) -> Audit:  # fmt: skip
    """Attacks 2 × `runs` runs of `steps` steps.

    Args:
        sampler: One of SAMPLERS.
        noise, examples, batch, steps: σ, N, the expected batch and T.
        runs: With the example, and as many without.
        delta: δ.
        seed: Of everything random.
        decay, band: λ or w of correlated noise.
        noise_added: What is really added, to see that the attack sees it; None for `noise`.
    """
    draw = np.random.default_rng(seed)
    mechanism = sampler.mechanism(noise, examples=examples, batch_size=batch)
    mechanism = correlated(mechanism, 1, decay=decay, band=band)
    together, rate, added = steps_of(mechanism), batch / examples, noise if noise_added is None else noise_added
    signals, scores = SIGNALS[mechanism.adjacency], []
    strategy: Array = np.eye(steps)
    if in_order := isinstance(mechanism, Correlated):
        column = mechanism.column(steps)
        strategy = np.array([[column[i - j] if i >= j else 0.0 for j in range(steps)] for i in range(steps)])
    back = np.linalg.inv(strategy)
    for signal in signals:
        drawn = np.array([_joined(sampler(draw, examples), batch, steps) for _ in range(runs)], dtype=np.float64)
        released = signal * drawn + added * draw.standard_normal(drawn.shape) @ back.T
        if in_order:  # whose batches are known: C times what is released has independent noise
            known = (released @ strategy.T, drawn @ strategy.T)
            low, high = (log_likelihood_of_known(known[0], each * known[1], noise) for each in signals)
        else:
            low, high = (
                log_likelihood(released, signal=each, noise=noise, rate=rate, together=together) for each in signals
            )
        scores.append(high - low)
    _, counts = attacked(*scores, delta)
    claim = tight_epsilon_of_events(events(mechanism, steps), delta).upper
    return Audit(interval_bound(counts, delta), float(claim))


def _joined(sampler: TrainingSampler, batch: int, steps: int) -> list[bool]:
    """Whether the first example is in each batch."""
    return [bool((sampler.draw(batch) == 0).any()) for _ in range(steps)]


def table(runs: int = 10_000) -> str:
    """What was shown of every sampler, as Markdown."""
    settings = [(0.6, 20, 4, 10), (1.0, 40, 2, 60), (0.5, 30, 10, 3), (2.0, 10, 5, 40)]
    rows = []
    ways: list[tuple[str, type[TrainingSampler], dict[str, Any]]] = [(key, each, {}) for key, each in SAMPLERS.items()]
    ways += [("order, λ = 0.8", SAMPLERS["order"], {"decay": 0.8}), ("order, w = 2", SAMPLERS["order"], {"band": 2})]
    for key, sampler, given in ways:
        for noise, examples, batch, steps in settings:
            one = audit(sampler, noise=noise, examples=examples, batch=batch, steps=steps, runs=runs, **given)
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
