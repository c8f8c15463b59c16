"""Checkpoints of a run under way, from which another process goes on with it.

A checkpoint holds parameters, buffers, the method's state, the policy, what the accounts were charged, and generators
of a seed that is kept. A secret generator is in no checkpoint: with it, whoever reads the file could take the noise of
later steps away again. A run that goes on draws from a new one.

Steps that were taken after its last checkpoint are lost, but what they were charged is not: a run that takes them again
pays for both (`Origin` in its settings, which every account and claim begins with). A file with a checkpoint is a
release of its parameters, so that everything charged is recorded before `save` returns. The file holds what is not
covered by ε, too: the distances of a Bayesian account.
"""

from __future__ import annotations

import hashlib
import io
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from dpviz.accounting.adaptive.filter import BudgetExceeded
from dpviz.mechanisms import Event as Charge
from dpviz.mechanisms import SampledGaussian, merge_events
from dpviz.training.accounts.counting import Counted
from dpviz.training.accounts.live import Spent
from dpviz.training.accounts.origins import as_planned, lost, with_lost
from dpviz.training.accounts.stepwise import encoded_events
from dpviz.training.attempts import Charged
from dpviz.training.methods.base import State
from dpviz.training.plan import mechanism_at
from dpviz.training.randomness import States
from dpviz.training.samplers import read, steps_of
from dpviz.training.session import Session
from dpviz.training.settings import RunSettings
from dpviz.training.words import refusal

if TYPE_CHECKING:
    from dpviz.training.data.catalogue import TrainingData
    from dpviz.training.events import Event

HEAD, VERSION = b"dpviz checkpoint", 1
# Settings of the machine, which may be another one.
_OF_MACHINE = ("data_folder", "threads", "chunk_size")
_TENSORS = ("momentum", "second")  # of a method's state, beside the network's own parameters


def can_be_saved(settings: RunSettings) -> bool:
    """Whether there are checkpoints of such a run: later steps must not take back parts of secret noise."""
    return not settings.secure_noise or (settings.noise_decay == 0.0 and settings.noise_band == 1)


def save(session: Session, *, run: str = "") -> bytes:
    """A checkpoint of the session between two steps, once everything that was charged is recorded.

    Args:
        session: Under way.
        run: Whose it is, as the store calls it.

    Raises:
        ValueError: where noise is correlated and secret: later steps take back parts of noise that no file may hold.
        Ended: where a loss shows only now that the run is over.
    """
    if not can_be_saved(session.settings):
        raise refusal("checkpoint_of_correlated", decay=session.settings.noise_decay, band=session.settings.noise_band)
    session.charge()
    settings, state, random = session.settings, session.state, session.random
    states, sampler = random.states(), session.batches.sampler
    content: dict[str, Any] = {
        "run": run,
        "settings": settings.to_json(),
        **_data_of(session),
        "step": session.step,
        "network": session.network.state_dict(),
        "state": {name: getattr(state, name) for name in _TENSORS},
        "noise_multiplier": state.noise_multiplier,
        "earlier": list(state.earlier),
        "samples": session.posterior.samples,
        "total": session.posterior.total,
        "counted": None if session.counting is None else list(session.counting.counted),
        "spent": None if session.accounts is None else _spent_to_json(session.accounts.spent),
        "states": None if states is None else list(states),
        # Who joins which batch of an epoch is as secret as its generator.
        "dealt": [torch.from_numpy(one) for one in sampler.dealt] if random.replayable or sampler.public else None,
    }
    return packed(content)


def restore(
    saved: bytes,
    settings: RunSettings,
    data: TrainingData,
    emit: Callable[[Event], None],
    *,
    run: str = "",
    weights_to: str | Path | None = None,
    charged: Charged | None = None,
) -> Session:
    """The session of a run that goes on from its checkpoint; `Session.start` is still to be called.

    Args:
        saved: From `save`.
        settings, data, emit, weights_to: As of `Session`: the run's own settings, the data as its model reads them.
        run: As of `save`.
        charged: What the run's attempts are known to have been charged in all; None where that is no more than the
            checkpoint holds. What lies beyond the checkpoint is charged, and its steps are taken again.

    Raises:
        ValueError: for a damaged checkpoint, one of another version, run or data, and where the budget has no room.
    """
    content = unpacked(saved)
    try:
        return _restored(content, settings, data, emit, run=run, weights_to=weights_to, charged=charged)
    except (KeyError, TypeError, IndexError, AttributeError, RuntimeError, AssertionError) as error:
        raise refusal("checkpoint_damaged", why=f"{type(error).__name__}: {error}") from None


def _restored(
    content: dict[str, Any],
    settings: RunSettings,
    data: TrainingData,
    emit: Callable[[Event], None],
    *,
    run: str,
    weights_to: str | Path | None,
    charged: Charged | None,
) -> Session:
    if content["run"] != run:
        raise refusal("checkpoint_of_run", run=run, other=content["run"])
    then = RunSettings.from_json(content["settings"])
    same_settings(as_planned(then), as_planned(settings))
    examples, step = data.units(settings), int(content["step"])
    spent = None if content["spent"] is None else _spent_from_json(content["spent"])
    if settings.private != (spent is not None):
        raise refusal("checkpoint_damaged", why="no charges of a private run" if spent is None else "charges of none")
    again: tuple[Charge, ...] = ()
    if spent is not None:
        charged = None if charged is None else charged.with_plans(settings, examples)
        spent, again = charged_again(then, examples, step, spent, charged)
    now = with_lost(settings.with_(origins=then.origins), again)
    try:
        session = Session(now, data, emit, weights_to=weights_to)
        _same_data(content, _data_of(session))
        if session.accounts is not None and spent is not None:
            session.accounts.go_on(spent)
    except BudgetExceeded as exceeded:
        raise refusal("checkpoint_over_budget", budget=exceeded.target_epsilon, step=step) from None
    session.network.load_state_dict(content["network"])
    for name in _TENSORS:
        getattr(session.state, name).copy_(content["state"][name])
    session.state = State(
        session.parameters,
        session.state.momentum,
        session.state.second,
        step,
        content["noise_multiplier"],
        tuple(part.to(session.device) for part in content["earlier"]),
    )
    session.step = step
    session.posterior.samples = content["samples"]
    session.posterior.total = None if content["total"] is None else content["total"].to(session.device)
    if session.counting is not None and spent is not None:
        session.counting.go_on(Counted(*content["counted"]), spent.events)
    if content["states"] is not None:
        session.random.go_on(States(*content["states"]))
    session.batches.sampler.dealt = [one.numpy() for one in content["dealt"] or ()]
    session.continued = _in_words(step, sum(count for _, count in again), replayable=session.random.replayable)
    return session


def charged_again(
    settings: RunSettings, examples: int, step: int, spent: Spent, charged: Charged | None, *, dealt: bool = False
) -> tuple[Spent, tuple[Charge, ...]]:
    """What the run has spent on the steps that it keeps, and what on those that it will take again.

    Together with what `settings` call lost these are no less than everything in `charged`, each mechanism by itself:
    so they stay, however often the run is interrupted and whichever attempt left the checkpoint.

    Where noise and batches are replayed, the same steps come again, and release nothing that the first did not. Of an
    epoch that is charged as one the rest is charged as another one, so that no attempt lives on what a second one may
    have used up: unless it is `dealt` as it was and nobody took a step of it.
    """
    first = _first(settings, examples)
    each = steps_of(first)
    kept = step // each
    if spent.taken != step or sum(count for _, count in spent.events) < kept:
        raise refusal("checkpoint_damaged", why="it holds fewer charges than steps")
    if not settings.secure_noise:
        return spent, ()
    before = lost(settings)
    everything = (*spent.events, *before)
    through, known = (step, everything) if charged is None else (max(step, charged.through), charged.mechanisms)
    mine = dict(merge_events(everything))
    beyond = [(each, count - mine.get(each, 0)) for each, count in merge_events(known)]
    again = tuple((each, count) for each, count in beyond if count > 0)
    if each == 1:
        if sum(count for _, count in (*before, *again)) < through - step:
            raise ValueError(f"Expected the mechanisms of all {through - step:,} steps that are lost, found {again}.")
        return spent, again
    if dealt and not again and through == step:
        return spent, ()
    # The next batch begins an epoch of its own: dealt anew, or that window of the fixed order.
    lost_epochs = max(math.ceil(through / each), sum(n for _, n in known) - sum(n for _, n in before)) - kept
    spent = spent._replace(events=((first, kept),) if kept else (), covered=0)
    return spent, ((first, lost_epochs),) if lost_epochs > 0 else ()


def begin_again(
    settings: RunSettings,
    data: TrainingData,
    emit: Callable[[Event], None],
    charged: Charged,
    *,
    why: str,
    weights_to: str | Path | None = None,
) -> Session:
    """The session of a run that takes all its steps again, because it has no checkpoint that can be used.

    Args:
        settings, data, emit, weights_to: As of `Session`.
        charged: What its earlier attempts were charged, all of which is lost.
        why: Why there is none, as a sentence.

    Raises:
        ValueError: where the budget has no room.
    """
    again: Sequence[Charge] = ()
    if settings.private and settings.secure_noise:
        again = charged.with_plans(settings, data.units(settings)).mechanisms
    session = Session(with_lost(settings, tuple(again)), data, emit, weights_to=weights_to)
    session.continued = f"{why} {_in_words(0, sum(count for _, count in again), replayable=session.random.replayable)}"
    return session


def _first(settings: RunSettings, examples: int) -> Any:
    return mechanism_at(settings, 1, examples)


def _in_words(step: int, again: int, *, replayable: bool) -> str:
    text = f"It goes on after step {step:,} from its last checkpoint" if step else "It begins at step 1 again"
    if again:
        text += f"; {again:,} lost step{'s' * (again != 1)} count as well and are taken again"
    seed = "go on as the seed has them" if replayable else "come from a new secret seed"
    return f"{text}. Batches and noise {seed}."


def same_settings(then: RunSettings, now: RunSettings) -> None:
    """Refuses the checkpoint of a run with other settings.

    Raises:
        ValueError: naming the first that differs.
    """
    before, after = then.to_json(), now.to_json()
    for name in before:
        if name not in _OF_MACHINE and before[name] != after[name]:
            raise refusal("checkpoint_of_settings", name=name, value=after[name], other=before[name])


def _data_of(session: Session) -> dict[str, Any]:
    data = session.data
    return {
        "data": data.name,
        "mark": data.mark,
        "examples": session.examples,
        "shape": list(data.shape),
        "device": session.device.type,
    }


def _same_data(then: dict[str, Any], now: dict[str, Any]) -> None:
    for name, value in now.items():
        if then[name] != value:
            raise refusal("checkpoint_of_data", what=name, value=value, other=then[name])


def _spent_to_json(spent: Spent) -> dict[str, Any]:
    return {
        "events": encoded_events(spent.events),
        "taken": spent.taken,
        "covered": spent.covered,
        "total_steps": spent.total_steps,
        "bayesian": [[each.noise_multiplier, each.sample_rate] for each, _ in spent.bayesian],
        "distances": [None if part is None else torch.from_numpy(part) for _, part in spent.bayesian],
    }


def _spent_from_json(stored: dict[str, Any]) -> Spent:
    mechanisms = [SampledGaussian(*one) for one in stored["bayesian"]]
    distances = [None if part is None else part.numpy() for part in stored["distances"]]
    return Spent(
        tuple(read(one) for one in stored["events"]),
        stored["taken"],
        stored["covered"],
        tuple(zip(mechanisms, distances, strict=True)),
        stored["total_steps"],
    )


def packed(content: dict[str, Any]) -> bytes:
    """A file of tensors, numbers, texts and containers of them, with its version and a checksum."""
    buffer = io.BytesIO()
    torch.save(content, buffer)
    body = buffer.getvalue()
    return b"%s %d %s\n" % (HEAD, VERSION, hashlib.sha256(body).hexdigest().encode()) + body


def unpacked(saved: bytes) -> dict[str, Any]:
    """The content of a file that is whole and of this version; nothing in it is run."""
    head, _, body = saved.partition(b"\n")
    name, _, rest = head.rpartition(b" ")[0].rpartition(b" ")
    if name != HEAD:
        raise refusal("checkpoint_damaged", why="it does not begin as a checkpoint does")
    if rest != b"%d" % VERSION:
        raise refusal("checkpoint_version", version=rest.decode(errors="replace"), wanted=VERSION)
    if hashlib.sha256(body).hexdigest().encode() != head.rpartition(b" ")[2]:
        raise refusal("checkpoint_damaged", why="its checksum is another one")
    try:
        content = torch.load(io.BytesIO(body), map_location="cpu", weights_only=True)
    except Exception as error:
        raise refusal("checkpoint_damaged", why=str(error).split("\n")[0]) from None
    return dict(content)
