"""A run that goes on from its checkpoint: the same numbers where noise is replayed, and never a charge too few."""

import hashlib
import io
import json
import math
from collections import Counter
from typing import Any

import pytest
import torch

from dpviz.mechanisms import merge_events
from dpviz.training.accounts.claims import planned_claim
from dpviz.training.accounts.live import LiveAccounts
from dpviz.training.accounts.origins import lost
from dpviz.training.attempts import Charged, Checkpoints
from dpviz.training.checkpoint import HEAD, VERSION, restore, save
from dpviz.training.data.catalogue import load
from dpviz.training.loop import FreeRun, run
from dpviz.training.samplers import Allocation, Shuffles, charges, read, steps_of
from dpviz.training.session import Ended, Session
from dpviz.training.settings import RunSettings
from tests.training.small import ABALONE, told
from tests.training.test_loop import CASES

ENDS_EARLY = {"filter": 3, "private target": 11}
SECRET = ABALONE.with_(secure_noise=True)
MORE: dict[str, dict[str, Any]] = {
    "allocation": {"sampler": "allocation"},
    "shuffled": {"sampler": "shuffled", "batch_size": 241},
    "fixed": {"sampler": "fixed"},
    "order": {"sampler": "order"},
    "correlated": {"sampler": "order", "noise_decay": 0.9},
    "banded": {"sampler": "order", "noise_band": 4},
    "dpvi": {"method": "dpvi", "prior_std": 1.0},
    "dp_adam": {"method": "dp_adam", "learning_rate": 0.05},
    "dp_sgnht": {"method": "dp_sgnht", "learning_rate": 0.1, "max_grad_norm": 1.0, "prior_std": 1.0},
    "plain": {"method": "sgd"},
    "mlp, last layer": {"model": "mlp", "learning_rate": 0.05},
}


class Told:
    """The events of a session."""

    def __init__(self):
        self.events = []

    def __call__(self, event):
        self.events.append(json.loads(json.dumps(event, allow_nan=False)))

    def of(self, kind):
        return [event for event in self.events if event["kind"] == kind]


def begun(settings, steps=0):
    tell = Told()
    session = Session(settings, load(settings.data), tell)
    session.start()
    advance(session, steps)
    return session, tell


def advance(session, steps):
    for _ in range(steps):
        session.advance()


def to_the_end(session):
    try:
        while True:
            session.advance()
    except Ended as ended:
        return session.finish(ended)


def again(saved, settings, **known):
    tell = Told()
    session = restore(saved, settings, load(settings.data), tell, **known)
    session.start()
    return session, tell


def timeless(summary):
    return {name: value for name, value in summary.items() if name not in ("seconds", "bayesian_text", "tail_share")}


@pytest.mark.parametrize("case", [*CASES, *MORE])
@pytest.mark.one_of(3)
def test_a_run_that_goes_on_from_a_seed_is_the_one_that_was_never_interrupted(case):
    """Bit for bit: parameters, readings of every accountant, and the summary."""
    settings = ABALONE.with_(**(CASES | MORE)[case])
    whole, every = begun(settings)
    expected = to_the_end(whole)
    at = ENDS_EARLY.get(case, 13)
    first, _ = begun(settings, at)
    saved = save(first)
    session, tell = again(saved, settings)
    assert session.step == at
    found = to_the_end(session)
    assert torch.equal(session.parameters, whole.parameters)
    assert timeless(found) == timeless(expected)
    assert told(tell.events) == told(every.events)[at:]
    (text,) = [event["text"] for event in tell.of("continued")]
    assert f"after step {at} " in text
    assert "as the seed has them" in text


def spent(session):
    """What a run was charged, lost steps among it."""
    return merge_events((*lost(session.settings), *session.accounts.events))


def total(events):
    return sum(count for _, count in events)


POISSON = [case for case in CASES if case not in ("fine_tuning", "private target")]


@pytest.mark.parametrize("case", POISSON)
@pytest.mark.one_of(3)
def test_lost_steps_are_charged_and_so_are_those_that_are_taken_again(case):
    settings = SECRET.with_(**CASES[case])
    first, tell = begun(settings, 3)
    saved = save(first)
    kept = first.accounts.events
    advance(first, 2 if case == "filter" else 12)
    first.flush()
    known = Charged(first.step, merge_events(first.accounts.events))
    session, tell = again(saved, settings, charged=known)
    assert dict(spent(session)) == dict(merge_events((*kept, *lost(session.settings))))
    assert dict(spent(session)) == dict(known.mechanisms)
    before = session.accounts.epsilons()
    plain = LiveAccounts(settings, examples=session.examples)
    plain.go_on(first.accounts.spent)
    for name, epsilon in plain.epsilons().items():
        assert before[name] >= epsilon * (1 - 1e-9), name
    summary = to_the_end(session)
    assert summary["state"] == "done"
    mine = total(read(one) for one in summary["mechanisms"])
    assert total(spent(session)) == mine + total(known.mechanisms) - total(kept)
    (text,) = [event["text"] for event in tell.of("continued")]
    assert "new secret seed" in text
    assert "taken again" in text
    (started,) = tell.of("started")
    assert RunSettings.from_json(started["settings"]) == session.settings
    if not settings.adaptive and settings.filter_epsilon is None:
        assert summary["claim"]["epsilon"] > planned_claim(settings, session.examples).epsilon
    else:
        assert summary["claim"]["epsilon"] <= planned_claim(settings, session.examples).epsilon


@pytest.mark.parametrize(("sampler", "size"), [("allocation", 256), ("shuffled", 241), ("fixed", 256), ("order", 256)])
@pytest.mark.parametrize(("saved_at", "through"), [(13, 13), (13, 14), (7, 25), (20, 20)])
def test_no_epoch_is_charged_less_often_than_its_batches_were_drawn(sampler, size, saved_at, through):
    """Each epoch that was begun, before the interruption and after it, costs a whole one."""
    settings = SECRET.with_(sampler=sampler, batch_size=size, steps=39)
    first, _ = begun(settings, saved_at)
    saved = save(first)
    advance(first, through - saved_at)
    known = Charged(through, first.accounts.events)
    session, _ = again(saved, settings, charged=known)
    summary = to_the_end(session)
    (mechanism, count) = spent(session)[0]
    each = steps_of(mechanism)
    dealt_anew = sampler != "fixed"
    # Epochs that each process went through, in part or as a whole.
    before = charges(mechanism, through)
    after = charges(mechanism, 39 - saved_at) if dealt_anew else charges(mechanism, 39) - saved_at // each
    nothing_lost = through == saved_at and not (dealt_anew and saved_at % each)
    assert count == (charges(mechanism, 39) if nothing_lost else before + after)
    assert math.isfinite(summary["claim"]["epsilon"])
    planned = planned_claim(settings, session.examples).epsilon
    assert (summary["claim"]["epsilon"] == planned) == nothing_lost


def test_a_run_may_be_interrupted_again_and_again():
    first, _ = begun(SECRET, 4)
    saved = save(first, run="a")
    for _ in range(3):
        advance(first, 3)
        known = Charged(first.step, spent(first))
        first, _ = again(saved, SECRET, run="a", charged=known)
        advance(first, 1)
        saved = save(first, run="a")
    assert total(lost(first.settings)) == 9
    assert first.step == 7
    assert total(spent(first)) == 16


@pytest.mark.parametrize(("sampler", "size"), [("allocation", 256), ("shuffled", 241)])
@pytest.mark.parametrize("ends", [(14, 26, 33), (19, 25, 33), (9, 13, 20, 30, 33)])
def test_an_epoch_that_is_dealt_anew_is_charged_at_once(sampler, size, ends, monkeypatch):
    """At every step of every attempt at least as many epochs are charged as were dealt; 13 batches each."""
    dealt = []
    for kind in (Allocation, Shuffles):
        deal = kind._deal
        monkeypatch.setattr(kind, "_deal", lambda self, batches, deal=deal: dealt.append(1) or deal(self, batches))
    settings = SECRET.with_(sampler=sampler, batch_size=size, steps=39)
    session, _ = begun(settings)
    for end in ends:
        while session.step < end:
            session.advance()
            assert total(spent(session)) >= len(dealt)
        session, _ = again(save(session), settings, charged=Charged(session.step, spent(session)))
    to_the_end(session)
    assert total(spent(session)) >= len(dealt)


def test_what_was_lost_stays_charged_whichever_attempt_left_the_checkpoint():
    first, _ = begun(SECRET, 4)
    saved, everything = save(first), Counter()
    advance(first, 3)
    everything.update(dict(first.accounts.events))
    for steps in (2, 5, 1):
        session, _ = again(saved, SECRET, charged=Charged(4 + steps, tuple(everything.items())))
        assert dict(spent(session)) == everything
        advance(session, steps)
        session.flush()
        everything.update({mechanism: steps for mechanism, _ in session.accounts.events})


def test_a_secret_generator_is_in_no_checkpoint():
    for changed in ({}, {"sampler": "allocation"}, {"sampler": "shuffled", "batch_size": 241}):
        settings = SECRET.with_(**changed)
        session, _ = begun(settings, 5)
        content = inside(save(session))
        assert content["states"] is None
        assert content["dealt"] is None
        one, other = (again(save(session), settings)[0] for _ in range(2))
        advance(one, 1)
        advance(other, 1)
        assert not torch.equal(one.parameters, other.parameters)


def inside(saved):
    return torch.load(io.BytesIO(saved.partition(b"\n")[2]), weights_only=True)


def sealed(content):
    """As somebody who knows the format would write it."""
    body = io.BytesIO()
    torch.save(content, body)
    digest = hashlib.sha256(body.getvalue()).hexdigest().encode()
    return b"%s %d %s\n" % (HEAD, VERSION, digest) + body.getvalue()


def test_secret_noise_that_later_steps_take_back_is_in_no_checkpoint():
    for changed in ({"noise_decay": 0.5}, {"noise_band": 3}):
        session, tell = begun(SECRET.with_(sampler="order", **changed), 3)
        with pytest.raises(ValueError, match="parts of earlier noise, which no file may hold"):
            save(session)
        kept = []
        run(session.settings, tell, FreeRun(), checkpoints=Checkpoints(kept.append, every=0.0))
        assert not kept


def test_everything_charged_is_recorded_before_a_checkpoint_is_given_away():
    session, tell = begun(SECRET, 5)
    save(session)
    last = tell.events[-1]
    assert (last["kind"], last["through"]) == ("charged", 5)
    assert total(map(read, last["mechanisms"])) == 5


def test_a_checkpoint_of_another_run_or_of_other_data_is_refused():
    session, _ = begun(SECRET, 2)
    saved = save(session, run="a")
    for settings, words in [
        (SECRET.with_(noise_multiplier=1.0), "noise_multiplier=1.0, found 2.0"),
        (SECRET.with_(steps=21), "steps=21, found 20"),
        (SECRET.with_(data="adult"), "data='adult', found 'abalone'"),
    ]:
        with pytest.raises(ValueError, match=words):
            again(saved, settings, run="a")
    with pytest.raises(ValueError, match="the run 'b', found one of 'a'"):
        again(saved, SECRET, run="b")
    for name, value in [("mark", "another file"), ("examples", 3132)]:
        with pytest.raises(ValueError, match="other data"):
            again(sealed(inside(saved) | {name: value}), SECRET, run="a")
    again(saved, SECRET.with_(threads=1, chunk_size=32), run="a")


def test_a_damaged_checkpoint_is_refused():
    session, _ = begun(SECRET, 2)
    saved = save(session)
    middle = len(saved) // 2
    for damaged in (
        b"",
        b"\n",
        saved[:-1],
        saved[:middle] + bytes([saved[middle] ^ 1]) + saved[middle + 1 :],
        b"x" + saved,
    ):
        with pytest.raises(ValueError, match="Expected a checkpoint as it was saved"):
            again(damaged, SECRET)
    with pytest.raises(ValueError, match="version 1, found version 2"):
        again(saved.replace(b" 1 ", b" 2 ", 1), SECRET)


class Evil:
    def __reduce__(self):
        return print, ("run",)


@pytest.mark.parametrize(
    "change",
    [
        {"step": 1},
        {"step": 3},
        {"spent": None},
        {"counted": [1.0]},
        {"network": {}},
        {"state": {}},
        {"evil": Evil()},
    ],
)
def test_what_a_run_cannot_have_left_is_refused(change, capsys):
    session, _ = begun(SECRET, 2)
    with pytest.raises(ValueError, match="Expected a checkpoint as it was saved"):
        again(sealed(inside(save(session)) | change), SECRET)
    assert not capsys.readouterr().out


def test_a_ledger_with_fewer_charges_than_steps_is_refused():
    session, _ = begun(SECRET, 3)
    content = inside(save(session))
    content["spent"]["events"][0][-1] = 2
    with pytest.raises(ValueError, match="fewer charges than steps"):
        again(sealed(content), SECRET)


def test_a_budget_without_room_for_what_was_lost_ends_the_run():
    settings = SECRET.with_(filter_epsilon=0.75)
    session, _ = begun(settings)
    advance(session, 3)
    saved = save(session)
    ((mechanism, _),) = session.accounts.events
    most = session.accounts.budget.remaining_steps(mechanism) + 3
    for number, words in [(most + 1, "lost after step 3"), (500, "more than what 497 lost steps may have spent")]:
        with pytest.raises(ValueError, match=words):
            again(saved, settings, charged=Charged(number, [(mechanism, number)]))


class Holds:
    """A control that pauses after step 2 and stops after step 5."""

    def __init__(self, tell):
        self.tell, self.paused = tell, 0

    def poll(self):
        step = self.tell.events[-1]["step"]
        if step == 2 and self.paused < 2:
            self.paused += 1
            return "pause"
        return "stop" if step == 5 else "step"


def test_a_checkpoint_is_left_at_a_pause_and_where_the_run_is_stopped():
    kept, tell = [], Told()
    run(ABALONE, tell, Holds(tell), checkpoints=Checkpoints(kept.append))
    assert [inside(one)["step"] for one in kept] == [2, 5]


def test_a_full_disk_costs_the_checkpoint_and_not_the_run():
    def full(_):
        raise OSError("no space left")

    tell = Told()
    assert run(ABALONE, tell, FreeRun(), checkpoints=Checkpoints(full, every=0.0))["state"] == "done"
    assert [event["text"] for event in tell.of("note")] == ["No checkpoint could be kept: no space left."]


def test_the_loop_leaves_checkpoints_and_goes_on_from_one():
    kept, tell = [], Told()

    class StopAfter:
        def poll(self):
            return "stop" if len(kept) >= 3 else "step"

    run(ABALONE, tell, StopAfter(), checkpoints=Checkpoints(kept.append, every=0.0, run="a"))
    assert len(kept) == 3
    later = Told()
    summary = run(ABALONE, later, FreeRun(), checkpoints=Checkpoints(kept.append, run="a", latest=kept[2]))
    whole = Told()
    assert timeless(summary) == timeless(run(ABALONE, whole, FreeRun()))
    assert told(later.events) == told(whole.events)[3:]
