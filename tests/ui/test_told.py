"""A run of somebody else's program on every page: as told by the program, beside what its own library reports."""

from collections.abc import Callable
from typing import Any

import pytest

import dpviz
from dpviz.accounting.claims import TOLD
from dpviz.fields import numbers
from dpviz.questions.guarantee.run import guarantee_of_run
from dpviz.questions.guarantee.words import UNKNOWN
from dpviz.runs.claims import claim_of_record, claim_of_view
from dpviz.runs.engine import Engine
from dpviz.runs.store.records import RunRecord
from dpviz.ui.runs import listing
from dpviz.ui.runs.charts import draw, overlay
from dpviz.ui.runs.report import html_report
from dpviz.ui.runs.unbeaten import RunResult, unbeaten
from dpviz.ui.train.live import take
from dpviz.ui.train.words import figures, headline, notes, setting_line
from tests.runs.conftest import until

TOLD_OF: dict[str, Any] = {"examples": 60_000, "delta": 1e-5, "sampler": "poisson", "adjacency": "add_remove"}
STEP = {"noise_multiplier": 1.1, "sample_rate": 256 / 60_000}
Told = Callable[..., RunRecord]


@pytest.fixture
def told(engine: Engine) -> Told:
    """Makes an ended run of ten steps in the store of `engine`."""

    def make(name: str = "Theirs", *, untold: int = 0, **changed: Any) -> RunRecord:
        with dpviz.watch(name, **{**TOLD_OF, "folder": engine.store.file.path.parent, **changed}) as run:
            for number in range(1, 11):
                run.step(**STEP)
                theirs = dpviz.epsilon("rdp", steps=number + untold, delta=1e-5, **STEP)
                run.tell(reported_epsilon=1.01 * theirs, test_accuracy=0.9)
        return max(engine.store.runs(), key=lambda record: record.number)

    return make


def test_every_place_shows_the_claim_as_told(engine: Engine, told: Told) -> None:
    record = told(steps=10)
    view, store = engine.look(record.id), engine.store
    claim = claim_of_record(record, store)
    assert claim == claim_of_view(view, store)
    look = take(engine, record.id)
    (row,) = listing.table([record], {}, store).to_dict("records")
    chart, _ = overlay([view], [claim], "epsilon", "claim")
    card = guarantee_of_run(view, claim)
    places = {
        "headline": headline(look),
        "figures": " ".join(metric.note for metric in figures(look)),
        "note": " ".join(note.text for note in notes(look)),
        "list": row["by"],
        "card": card.markdown(),
        "report": html_report(view, claim),
        "compare": " ".join(chart.notes),
    }
    assert {place for place, text in places.items() if TOLD not in text} == set()
    assert (row["method"], row["data"], row["δ"], row["accuracy"]) == ("told by a program", "–", 1e-5, 0.9)
    assert "certified" not in " ".join(places.values()).lower()


def test_what_only_the_program_knows_is_not_known_on_the_card(engine: Engine, told: Told) -> None:
    record = told()
    card = guarantee_of_run(engine.look(record.id), claim_of_record(record, engine.store))
    answers = {name: reply.answer for name, reply in card.replies.items()}
    assert {name for name, answer in answers.items() if answer != UNKNOWN} == {"delta"}
    assert "not known" in card.statements["implementation"]["sampler_as_run"]


def test_the_librarys_own_epsilon_stands_beside(engine: Engine, told: Told) -> None:
    record = told()
    look = take(engine, record.id)
    drawing = draw(look, "epsilon", 400)
    names = [trace.get("name", "") for trace in drawing.figure["data"]]
    assert any("reported by its library" in name for name in names)
    (note,) = [note.text for note in notes(look) if "library" in note.text]
    assert note.endswith(".")
    assert "perhaps not all steps" not in note
    assert "reported by the program" in html_report(look.view, look.claim)


def test_a_program_that_tells_too_few_steps_is_noticed(engine: Engine, told: Told) -> None:
    """Its library counts two hundred steps more than it tells."""
    notice = [note.text for note in notes(take(engine, told(untold=200).id)) if "library" in note.text]
    assert "The library counts more: perhaps not all steps were told." in notice[0]


def test_its_settings_are_said_in_a_line(engine: Engine, told: Told) -> None:
    line = setting_line(take(engine, told().id))
    assert "told by a program" in line
    assert f"N = {numbers.steps(60_000)}" in line
    assert "Poisson batches" in line


def test_the_number_of_steps_is_said_where_it_is_known(engine: Engine) -> None:
    folder = engine.store.file.path.parent
    for more, words in (({}, "Step <b>1</b>."), ({"steps": 40}, "Step <b>1 of 40</b>.")):
        with dpviz.watch("Theirs", **TOLD_OF, folder=folder, **more) as run:
            run.step(**STEP)
            run.tell(test_accuracy=0.1)
            (record,) = engine.store.runs(states=("running",))
            until(lambda run=record.id, words=words: words in headline(take(engine, run)), 20.0)


def test_no_watched_run_beats_another(engine: Engine, told: Told) -> None:
    """On which data it was trained is not told."""
    worse, better = told("A"), told("B", steps=10)
    runs = [RunResult(record, 0.9, claim_of_record(record, engine.store)) for record in (worse, better)]
    assert runs[0].goods != runs[1].goods
    assert len(unbeaten(runs)) == 2


def test_a_plan_is_drawn_ahead_while_it_is_kept(engine: Engine) -> None:
    folder = engine.store.file.path.parent
    with dpviz.watch("Planned", **TOLD_OF, folder=folder, steps=40) as run:
        for _ in range(2):
            run.step(**STEP)
        run.tell(test_accuracy=0.9)  # what was told so far is recorded
        look = take(engine, max(engine.store.runs(), key=lambda record: record.number).id)
        assert look.plan is not None
        assert look.planned
        for name in ("moments", "renyi", "mixture"):
            assert look.plan.epsilon[name][-1] == dpviz.epsilon(name, steps=40, delta=1e-5, **STEP)
        assert look.plan.claim.epsilon == dpviz.epsilon(steps=40, delta=1e-5, **STEP)
        run.step(noise_multiplier=0.9, sample_rate=256 / 60_000)
        run.tell(test_accuracy=0.9)
        until(lambda: take(engine, look.record.id).plan is None)


def test_a_run_that_goes_on_shows_what_was_charged_before(engine: Engine, told: Told) -> None:
    told()
    with dpviz.watch("Theirs", **TOLD_OF, folder=engine.store.file.path.parent, go_on=True) as run:
        assert run.taken == 10
        run.step(**STEP)
    record = max(engine.store.runs(), key=lambda record: record.number)
    look = until(lambda: shown if (shown := take(engine, record.id)).tight is not None else None)
    assert look.tight is not None
    assert look.tight.upper[-1] >= dpviz.epsilon(steps=11, delta=1e-5, bound="lower", **STEP)
    assert "10 steps before its first one count in every ε" in setting_line(look)
    assert look.claim.epsilon == dpviz.epsilon("mixture", steps=11, delta=1e-5, **STEP)
    assert float(look.view.steps["epsilon.renyi"][0]) >= dpviz.epsilon("renyi", steps=11, delta=1e-5, **STEP) * (
        1 - 1e-9
    )
