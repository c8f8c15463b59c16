"""Runs for an audit: one-layer trainings by `PrivateTraining` with and without a worst-case canary, and what they show.

A canary is an example whose gradient is longer than C and lies along a line of its own, so that what it adds to all
steps is a count of them in normal noise. Many canaries in one layer are as many runs: their gradients are orthogonal,
each joins independently, and the noise along each line is its own, so what is seen of one does not depend on another.
Only where the divisor depends on the batch they share something, and each canary has a training of its own. A training
here is replayable, so it claims nothing: the claim that is audited is that of the same plan with secret noise.

>>> runs = canary_runs({"fault": "honest", "noise_multiplier": 1.117, "examples": 8, "batch_size": 8, "steps": 1}, 0)
>>> len(runs["without"]), len(runs["with"])
(100, 100)
"""

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from dpviz._arrays import Array, Bools
from dpviz._remember import remembered
from dpviz.accounting.audit.scores import log_likelihood, log_likelihood_of_known
from dpviz.training.measured import single_thread
from dpviz.training.methods.base import Info, State
from dpviz.training.private import PrivateTraining
from dpviz.training.progress import advance, task
from dpviz.training.samplers import InOrder
from dpviz.training.sampling import Batch

RUNS = 100  # a side, of one seed
BOUND, STEP_SIZE = 0.5, 1e-3  # C, and a learning rate by which parameters hardly move
LENGTH = 4.0  # of a canary's input: its gradient is √8 long, almost six times C
WIDTH = 128  # further inputs, whose noise tells how large the divisor was
DIGITS = 4  # behind the point, of what is kept of a score

FIRST_OF_TWO = np.array([1.0, -1.0]) / math.sqrt(2.0)  # the line of a gradient of label 0, against it


class ReleasedSums(NamedTuple):
    """What the steps of a run released, in units of C.

    Attributes:
        sums: Along each canary's gradient, (steps, canaries).
        noise: Root mean square along all other lines of the layer, (steps,).
    """

    sums: Array
    noise: Array


def halve_noise(training: PrivateTraining) -> None:
    """Half of the noise that is accounted for."""
    method = training._method
    usual = method.noise_like
    _set(method, "noise_like", lambda vector, std: usual(vector, 0.5 * std))


def forget_clip(training: PrivateTraining) -> None:
    """Gradients are added up as long as they are."""
    engine = training._method.engine
    usual = engine.clipped
    _set(engine, "clipped", lambda x, y, *, max_grad_norm, **more: usual(x, y, max_grad_norm=1e6, **more))


def divide_by_batch(training: PrivateTraining) -> None:
    """The sum is divided by the size of the batch that was drawn, not by the expected one."""
    method = training._method
    usual = method.step

    def step(state: State, batch: Batch) -> tuple[State, Info]:
        return usual(state, batch._replace(expected=float(max(batch.size, 1))))

    _set(method, "step", step)


def fix_batches(training: PrivateTraining) -> None:
    """The same batches in every epoch, in file order, where Poisson batches are accounted for."""
    training._sampler = InOrder(np.random.default_rng(0), training.examples)


FAULTS: Mapping[str, Callable[[PrivateTraining], None]] = {
    "honest": lambda training: None,
    "noise": halve_noise,
    "clip": forget_clip,
    "divisor": divide_by_batch,
    "order": fix_batches,
    "twice": lambda training: None,  # a fault of the data
}


def canary_runs(settings: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Scores of `RUNS` runs without the canary and as many with it.

    Args:
        settings: "fault": one of FAULTS; "noise_multiplier", "examples", "batch_size", "steps" of the plan. Where many
            canaries are in one layer, there are as many times more examples, with the same sampling rate.
        seed: Of these runs; others give others.

    Returns:
        "without", "with": scores (runs,) each, larger for runs that look as if the canary were in.
    """
    return more_runs(settings, [seed])


def more_runs(settings: Mapping[str, Any], seeds: Sequence[int]) -> dict[str, Any]:
    """The scores of `canary_runs` of several seeds, one after the other; those that were made here before are known."""
    scores: dict[str, list[float]] = {"without": [], "with": []}
    with single_thread(), task("training with and without the canary", "runs", 2 * RUNS * len(seeds)):
        for seed in seeds:
            for name, made in zip(scores, _of_seed(tuple(sorted(settings.items())), seed), strict=True):
                scores[name] += made
    return dict(scores)


@remembered
def _of_seed(settings: tuple[tuple[str, Any], ...], seed: int) -> tuple[list[float], list[float]]:
    """Without the canary and with it."""
    plan, there = dict(settings), np.arange(2 * RUNS) % 2 == 1
    if plan["fault"] == "divisor":  # all canaries of a step have the same divisor: each run has one
        scores = np.empty(2 * RUNS)
        for run in range(2 * RUNS):
            scores[run] = _scores(plan, _released(plan, there[run : run + 1], 2 * RUNS * seed + run))[0]
            advance()
    else:
        plan |= {name: plan[name] * 2 * RUNS for name in ("examples", "batch_size")}
        scores = _scores(plan, _released(plan, there, seed))
        advance(2 * RUNS)
    sides = np.round(scores[~there], DIGITS).tolist(), np.round(scores[there], DIGITS).tolist()
    return sides


def many_canaries(settings: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Scores of all canaries of one run, each in it by a fair coin.

    Args:
        settings: As for `canary_runs`, and "canaries": how many.
        seed: Of the coins and the run.

    Returns:
        "scores", "members": of each canary (canaries,).
    """
    members = np.random.default_rng([seed, 1]).random(settings["canaries"]) < 0.5
    with single_thread():
        released = _released(settings, members, seed)
    return {
        "scores": np.round(_scores(settings, released), DIGITS).tolist(),
        "members": members.astype(int).tolist(),
    }


def _released(settings: Mapping[str, Any], members: Bools, seed: int) -> ReleasedSums:
    """Of one training in which each canary has an input of its own."""
    fault, canaries, examples = settings["fault"], len(members), int(settings["examples"])
    crowd = fault == "divisor" and canaries == 1
    x, y = torch.zeros(examples, canaries + (WIDTH if crowd else 1)), torch.zeros(examples, dtype=torch.int64)
    places = np.flatnonzero(members)
    x[_row(settings, places), places] = LENGTH
    if fault == "twice":
        x[canaries + places, places] = LENGTH
    if crowd:  # the others' gradients are the canary's, reversed
        x[:, 0], y[1:] = LENGTH, 1
    network = nn.Linear(x.shape[1], 2, bias=False)
    nn.init.zeros_(network.weight)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of a δ that is not below 1/N, of examples without a gradient
        training = PrivateTraining(
            network, (x, y), torch.optim.SGD(network.parameters(), lr=STEP_SIZE), delta=1e-5,
            batch_size=int(settings["batch_size"]), steps=int(settings["steps"]),
            noise_multiplier=float(settings["noise_multiplier"]), max_grad_norm=BOUND, seed=seed, disjoint_data=True,
        )  # fmt: skip
        FAULTS[fault](training)
        if crowd and not members[0]:
            leave_out(training, 0)
        steps = _steps(training, network.weight)
    moved = -steps.transpose(0, 2, 1) * training.settings.batch_size / (STEP_SIZE * BOUND)
    sums = moved @ -FIRST_OF_TWO
    across = moved[:, :canaries].sum(axis=2) / math.sqrt(2.0)
    others = np.concatenate([moved[:, canaries:].reshape(len(moved), -1), across], axis=1)
    return ReleasedSums(sums[:, :canaries], np.sqrt((others**2).mean(axis=1)))


def _row(settings: Mapping[str, Any], canary: Any) -> Any:
    """Where the canaries stand: in fixed batches all in the first one."""
    batches = -(-settings["examples"] // settings["batch_size"])
    return canary * batches if settings["fault"] == "order" else canary


def _steps(training: PrivateTraining, weight: Tensor) -> Array:
    """By how much each step moved the weights, (steps, 2, inputs)."""
    places = [weight.detach().double().numpy().copy()]
    places += [weight.detach().double().numpy().copy() for _ in training]
    return np.diff(np.stack(places), axis=0)


def leave_out(training: PrivateTraining, row: int) -> None:
    """As if this row were not in the data, whose number is public: no batch has it."""
    sampler = training._sampler
    usual = sampler.draw

    def draw(batch_size: int) -> Any:
        chosen = usual(batch_size)
        return chosen[chosen != row]

    _set(sampler, "draw", draw)


def _scores(settings: Mapping[str, Any], released: ReleasedSums) -> Array:
    """The attack's score of each canary, (canaries,): the log likelihood ratio of in and out, by what it knows."""
    noise, examples = settings["noise_multiplier"], settings["examples"]
    sums, rate = released.sums.T, settings["batch_size"] / examples
    if settings["fault"] == "order":
        batches = -(-examples // settings["batch_size"])
        joins = np.broadcast_to(np.arange(sums.shape[1]) % batches == 0, sums.shape)
        return log_likelihood_of_known(sums, joins.astype(np.float64), noise)
    if settings["fault"] == "divisor" and len(sums) == 1:
        return _by_divisor(sums, released.noise, noise, rate, examples, settings["batch_size"])
    return log_likelihood(sums, signal=1.0, noise=noise, rate=rate)


def _by_divisor(sums: Array, length: Array, noise: float, rate: float, examples: int, batch_size: int) -> Array:
    """Where the noise is as long as σ ÷ the divisor, its length tells how many were drawn, k: the true sum is then
    known, and lies at −k without the canary and, with it, at −k or at 2 − k.
    """
    batch = np.clip(np.round(noise * batch_size / length), 1, examples)
    place = sums * batch / batch_size + batch
    odds = batch / np.maximum(examples - batch, 0.5)
    each = np.log1p(-rate) + np.log1p(odds * np.exp((4.0 * place - 4.0) / (2.0 * noise**2)))
    return np.asarray(each.sum(axis=1))


def _set(owner: Any, name: str, function: Callable[..., Any]) -> None:
    """Another function in the place of a method, of this object alone."""
    setattr(owner, name, function)
