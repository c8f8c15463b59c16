"""The guarantee card as a question: its own settings, what it decides itself, known deployments, its files."""

import json
from typing import Any

import numpy as np
import pytest

import dpviz
from dpviz.mechanisms import SampledGaussian
from dpviz.questions.answer import LATER, Folded, Onward, soon, whole
from dpviz.questions.budget.stop import STOP
from dpviz.questions.compose.question import GROWTH
from dpviz.questions.guarantee.deployments import deployments
from dpviz.questions.guarantee.fields import KEYS
from dpviz.questions.guarantee.question import GUARANTEE, pitfalls
from dpviz.questions.guarantee.words import ANSWERS, PITFALLS, UNKNOWN
from dpviz.questions.layout import fields_of
from dpviz.questions.noise import NOISE
from dpviz.questions.question import Question
from tests.questions.asking import asked, asked_whole, lines, of_preset

NEEDED = NOISE.questions[0]
SMALL = {"sigma": "2", "q": "0.01", "steps": "50"}


def test_the_card_is_the_librarys_at_these_settings() -> None:
    answer = asked_whole(GUARANTEE, **SMALL, gclip="yes", gstop="no", grun="shuffled", n="1000", delta="1e-5")
    card = dpviz.guarantee(
        mechanism=SampledGaussian(2.0, 0.01), steps=50, delta=1e-5, size=1000, sampler="shuffled",
        answers={"clipping": "yes", "stopping": "no"},
    )  # fmt: skip
    assert answer.facts.card == card
    markdown, source = (block.source for block in GUARANTEE.more["Use it"](answer)[1:] if isinstance(block, Folded))
    assert (markdown, json.loads(source)) == (card.markdown(), card.registry())
    assert "ε ≤" in GUARANTEE.headline(answer)
    (note, _) = GUARANTEE.notes(answer)
    assert note.text.startswith("The answer is no for: Sampler as run, Stopping.")


def test_every_pitfall_is_in_sight_with_its_answer() -> None:
    for answer in (asked_whole(GUARANTEE, **SMALL), whole(of_preset(GUARANTEE, "appleemoji"), GUARANTEE.slow)):
        (listing,) = pitfalls(answer)
        assert [row[0] for row in listing.rows] == [pitfall.question for pitfall in PITFALLS.values()]  # type: ignore[union-attr]
        assert {str(row[1]).strip("*") for row in listing.rows} <= set(ANSWERS)  # type: ignore[union-attr]


def test_what_the_settings_decide_nobody_is_asked() -> None:
    def keys(**texts: str) -> set[str]:
        groups = GUARANTEE.groups(lambda field: field.parse(texts[field.key]) if field.key in texts else field.default)
        return {field.key for field in fields_of([item for items in groups.values() for item in items])}

    assert set(KEYS.values()) <= keys()
    assert "gtune" not in keys(tried="40")
    assert "grows" not in keys(persons="2")
    assert not set(KEYS.values()) & keys(gof="census-persons")
    answer = asked_whole(GUARANTEE, **SMALL, tried="40", gtune="no")
    assert answer.facts.card.replies["tuning"].answer == "yes"


def test_what_its_author_types_is_on_the_card_and_never_markup() -> None:
    typed = {
        "gname": "Bus *stops*",
        "gwho": "The [city](http://x) | transport",
        "gwhat": "a table\n## ε = 0",
        "gwhy": "plans",
    }
    answer = asked_whole(GUARANTEE, **SMALL, **typed)
    card = answer.facts.card
    assert card.statements["release"]["description"] == "a table ## ε = 0"
    assert card.registry()["deployment"]["data_curators"] == typed["gwho"]
    assert card.markdown().startswith("# Guarantee card: Bus \\*stops\\*\n")
    assert "| The \\[city\\](http://x) \\| transport |" in card.markdown()
    assert "\n## ε" not in card.markdown()
    untyped = asked_whole(GUARANTEE, **SMALL).facts.card
    assert untyped.statements["deployment"]["intended_use"] == UNKNOWN
    assert "the outputs of all 50 steps" in untyped.statements["release"]["description"]
    assert (card.losses, card.replies) == (untyped.losses, untyped.replies), "words change no number and no answer"


@pytest.mark.parametrize("changed", [
    {"steps": "1"}, {"steps": "50"}, {"steps": "3000"}, {"mech": "replace"}, {"mech": "partition", "steps": "3"},
])  # fmt: skip
def test_what_follows_a_moving_hand_is_what_comes_to_rest(changed: dict[str, str]) -> None:
    answer = asked(GUARANTEE, **(SMALL | changed))
    moving, resting = soon(answer, GUARANTEE.slow), whole(answer, GUARANTEE.slow)
    quick, exact = moving.facts.losses, resting.facts.losses
    assert (quick.epsilon, quick.profile) == (exact.epsilon, exact.profile)
    assert [one.value for one in GUARANTEE.metrics(moving)][:3] == [GUARANTEE.metrics(resting)[0].value, "…", "…"]
    assert moving.plot.data().equals(resting.plot.data())
    assert GUARANTEE.more["Use it"](moving) == [], "a card with all its numbers, or none"
    best_of_several, laplace = asked(GUARANTEE, **SMALL, tried="40"), asked(GUARANTEE, mech="laplace", steps="30")
    assert soon(best_of_several, GUARANTEE.slow).facts.losses == whole(best_of_several, GUARANTEE.slow).facts.losses
    assert soon(laplace, GUARANTEE.slow).facts.waits


@pytest.mark.parametrize(
    ("question", "texts"),
    [
        (GROWTH, {"sigma": "2"}),
        (GROWTH, {"persons": "3", "steps": "20"}),
        (GROWTH, {"mech": "laplace", "steps": "30"}),
        (STOP, {"delta": "1e-7"}),
        (NEEDED, {}),
    ],
)
@pytest.mark.one_of(2)
def test_a_plan_has_a_way_to_its_card(question: Question[Any], texts: dict[str, str]) -> None:
    answer = asked_whole(question, **texts)
    (way,) = (block for block in question.more["Use it"](answer) if isinstance(block, Onward))
    card = asked_whole(GUARANTEE, **{key: text for key, text in way.texts.items() if key != "kview"})
    given = card.given
    assert (way.page, way.texts["kview"], given["of"]) == ("check", GUARANTEE.asked_as, "plan")
    if question is NEEDED:
        assert card.facts.card.losses.epsilon <= answer.facts.target
    else:
        assert {name: given[name] for name in ("mechanism", "steps", "delta")} == {
            name: answer.given[name] for name in ("mechanism", "steps", "delta")
        }


def test_numbers_wait_and_answers_do_not() -> None:
    answer = asked(GUARANTEE, **SMALL, gnoise="yes")
    assert LATER in GUARANTEE.headline(answer)
    assert (answer.facts.card.losses.epsilon, answer.facts.card.replies["noise"].answer) == (None, "yes")
    assert GUARANTEE.more["Use it"](answer) == []


def test_the_chart_never_shows_too_little() -> None:
    """Chords lie above the curve itself, which is computed finely here."""
    answer = asked_whole(GUARANTEE, **SMALL)
    (line,) = lines(answer).values()
    step = SampledGaussian(2.0, 0.01)
    for epsilon, delta in list(zip(np.asarray(line.x), np.asarray(line.y), strict=True))[4::9]:
        if epsilon > 0:
            assert delta >= dpviz.delta("tight", mechanism=step, steps=50, epsilon=float(epsilon), bound="lower")


@pytest.mark.parametrize(("preset", "key"), [("censuspersons", "census-persons"), ("gboardspanish", "gboard-spanish")])
def test_known_deployments_are_presets(preset: str, key: str) -> None:
    answer = of_preset(GUARANTEE, preset)
    assert answer.facts.card is deployments()[key]
    assert UNKNOWN in {reply.answer for reply in answer.facts.card.replies.values()}


def test_too_many_steps_are_refused() -> None:
    with pytest.raises(ValueError, match="too slow beyond"):
        asked(GUARANTEE, steps="20000000")
