"""At both ends of every slider the words of a question stay true and readable."""

import re

import pytest

from dpviz.fields import numbers
from dpviz.questions.acting import sliders
from dpviz.questions.catalogue import PAGES
from dpviz.questions.guessing import limit
from dpviz.questions.layout import of_texts
from dpviz.questions.plain_text import plain_text
from dpviz.questions.words import VOID

QUESTIONS = [pytest.param(page, question, id=question.key) for page in PAGES for question in page.questions]


def at_ends(page, question):
    """The answers at the first and the last stop of each slider, by the slider and the stop."""
    asked = {page.view: question.asked_as} if page.view else {}
    for field in sliders(question, of_texts(asked)):
        for end in (0, -1):
            stop = field.write(field.ticks[end])
            get = of_texts(asked | {field.key: stop})
            try:
                yield f"{field.key}={stop}", question.asked(question.read(get))
            except ValueError:  # which says why there is none
                continue


@pytest.mark.one_of(4)
@pytest.mark.parametrize(("page", "question"), QUESTIONS)
def test_the_ends_of_sliders_are_said_in_words(page, question) -> None:
    if page.key == "leakage":
        pytest.skip("it measures networks")
    for place, answer in at_ends(page, question):
        headline = plain_text(question.headline(answer))
        notes = [note.text for note in question.notes(answer)]
        assert not re.search(r"[<>] 99|\b1 (planned )?steps|\b1 times|\bnan\b|\binf\b", headline), (place, headline)
        said = re.findall(rf"ε [≤=] ([\d.{numbers.THIN}]+(?:e\d+)?)", headline)
        largest = max((float(one.replace(numbers.THIN, "").rstrip(".")) for one in said), default=0.0)
        void = any("promises nothing in practice" in note for note in notes)
        assert void == (largest >= VOID), (place, headline, notes)


def test_a_bound_that_comes_to_certainty_is_no_bound() -> None:
    assert limit("attack", 1.0 - 1e-13) == "an attack may be right <b>every time</b> (chance: 50 %)"
    assert limit("guess", 1.0) == "a guess may be right <b>every time</b> (chance: 50 %)"
    assert (
        limit("guess", 0.75, so_far=True)
        == "so far no guess is right more than <b>75.0 %</b> of the time (chance: 50 %)"
    )
    assert "99.9999" in limit("guess", 1.0 - 1e-7)
