"""The guarantee card of a run: its claim, and answers that its record shows."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest

from dpviz.accounting.claims import Claim
from dpviz.questions.guarantee.run import guarantee_of_run, others_on_the_same_data
from dpviz.questions.guarantee.words import NO, UNKNOWN, YES
from dpviz.runs.claims import claim_of_view
from dpviz.runs.engine import Engine
from dpviz.runs.exchange.files import export_run
from dpviz.runs.exchange.import_run import import_run
from dpviz.training.settings import RunSettings
from dpviz.ui.runs.report import html_report
from tests.ui.runs_made import TINY, events_of, finished, fresh_engine

ANSWERS = dict.fromkeys(("adjacency", "sampler", "clipping", "scale", "delta", "preprocessing", "stopping"), YES) | {
    "tuning": UNKNOWN, "metrics": UNKNOWN, "models": UNKNOWN, "pretraining": YES, "rows": UNKNOWN, "noise": NO,
}  # fmt: skip


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    yield from fresh_engine(tmp_path, monkeypatch)


def made(engine: Engine, settings: RunSettings = TINY, times: int = 1) -> str:
    events = events_of(settings)
    return finished(engine, settings, Path(__file__), *[events[:-1]] * (times - 1), events).id


def test_a_run_tells_what_it_shows_and_no_more(engine: Engine) -> None:
    view = engine.look(made(engine))
    claim = claim_of_view(view, engine.store)
    card = guarantee_of_run(view, claim)
    assert {name: reply.answer for name, reply in card.replies.items()} == ANSWERS
    assert all(reply.why for reply in card.replies.values() if reply.answer != UNKNOWN)
    assert "not cryptographic" in card.replies["noise"].why
    losses = card.losses
    assert (losses.epsilon, losses.delta, losses.epsilon_lower) == (claim.epsilon, claim.delta, claim.lower)
    assert (claim.epsilon, claim.delta) in losses.profile
    assert losses.mu is not None
    assert losses.attack_accuracy == claim.guess
    assert f"ε ≤ {losses.epsilon:.3g}"[:6] in card.markdown()


def test_other_runs_on_the_data_are_said(engine: Engine) -> None:
    first = made(engine)
    made(engine, TINY.with_(noise_multiplier=3.0))
    made(engine, TINY.with_(data="visits", noise_multiplier=3.0))
    view = engine.look(first)
    others = others_on_the_same_data(view.record, engine.runs())
    assert others == 1
    card = guarantee_of_run(view, claim_of_view(view, engine.store), others=others)
    assert (card.replies["models"].answer, card.replies["tuning"].answer) == (NO, UNKNOWN)
    assert "1 other runs" in card.replies["tuning"].why
    alone = guarantee_of_run(view, claim_of_view(view, engine.store), others=0)
    assert (alone.replies["models"].answer, alone.replies["tuning"].answer) == (UNKNOWN, UNKNOWN)


def test_a_run_that_began_again_shows_no_curve_of_one_attempt(engine: Engine) -> None:
    """Its claim covers all attempts; the curve and μ of the plan would say too little."""
    view = engine.look(made(engine, times=2))
    claim = claim_of_view(view, engine.store)
    card = guarantee_of_run(view, claim)
    assert card.losses.epsilon == claim.epsilon > claim_of_view(engine.look(made(engine)), engine.store).epsilon
    assert (card.losses.profile, card.losses.mu) == ((), None)


def test_a_demonstration_and_plain_training_promise_nothing(engine: Engine) -> None:
    view = engine.look(made(engine, TINY.with_(secure_noise=False)))
    card = guarantee_of_run(view, claim_of_view(view, engine.store))
    assert math.isinf(card.losses.epsilon or 0.0)
    assert "can be replayed" in card.headline
    assert (card.replies["noise"].answer, card.losses.profile) == (NO, ())
    assert "seed of the noise is kept" in card.replies["noise"].why
    plain = engine.look(made(engine, TINY.with_(method="sgd")))
    card = guarantee_of_run(plain, claim_of_view(plain, engine.store))
    assert {reply.answer for reply in card.replies.values()} == {UNKNOWN}
    assert "No ε" in card.headline


def test_a_run_without_a_claim_shows_nothing_of_its_end(engine: Engine) -> None:
    view = engine.look(made(engine))
    card = guarantee_of_run(view, Claim.nothing("it left its plan"))
    assert card.replies["stopping"].answer == UNKNOWN
    assert card.replies["stopping"].why == "no ε is claimed"
    assert guarantee_of_run(view, claim_of_view(view, engine.store)).replies["stopping"].answer == YES


def test_a_file_is_no_evidence(engine: Engine) -> None:
    copy = engine.look(import_run(engine.store, export_run(engine.store, made(engine))).id)
    card = guarantee_of_run(copy, claim_of_view(copy, engine.store))
    answers = {name: reply.answer for name, reply in card.replies.items() if reply.answer != UNKNOWN}
    assert answers == {"adjacency": YES, "delta": YES}
    assert "came from a file" in card.replies["noise"].why


def test_own_programs_and_settings_of_another_version(engine: Engine) -> None:
    view = engine.look(made(engine))
    claim = claim_of_view(view, engine.store)
    settings = view.record.settings | {"model": "elsewhere", "start_from": "the network as it was"}
    card = guarantee_of_run(replace(view, record=replace(view.record, settings=settings)), claim)
    assert (card.replies["preprocessing"].answer, card.replies["pretraining"].answer) == (UNKNOWN, UNKNOWN)
    assert card.replies["clipping"].answer == YES
    strange = guarantee_of_run(replace(view, record=replace(view.record, settings={"a": 1})), claim)
    assert {reply.answer for reply in strange.replies.values()} == {UNKNOWN}


def test_the_report_is_the_card_and_says_whether_it_holds_measurements(engine: Engine) -> None:
    view = engine.look(made(engine))
    claim = claim_of_view(view, engine.store)
    for measured in (False, True):
        card, page = guarantee_of_run(view, claim, measured=measured), html_report(view, claim, measured=measured)
        page = unescape(page)
        assert card.replies["metrics"].answer == (NO if measured else YES)
        for question, answer, why in card.asked():
            assert f"<th scope='row'>{question}</th><td>{answer}</td><td>{why}</td>" in page
        assert f"<b>{card.headline}.</b>" in page
    assert json.loads(card.json())["deployment"]["name"] == view.record.title
