"""Links: those that were recorded show the numbers that they showed; each says whose defaults it leaves out."""

from typing import Any
from urllib.parse import parse_qsl, urlsplit

import numpy as np
import pytest

from dpviz.mechanisms import Mechanism, PersonOf, PersonRows, RandomAllocation, SampledGaussian
from dpviz.questions import kinds, links
from dpviz.questions.answer import Answer, whole
from dpviz.questions.asked import ask
from dpviz.questions.catalogue import PAGES, QUESTIONS
from dpviz.questions.layout import of_texts
from dpviz.questions.question import Question
from tests.questions.asking import asked, run_script, table

LINKS = table("links")


def opened(link: str) -> tuple[Question[Any], Answer[Any]]:
    """The question and the whole answer that a link opens."""
    place = urlsplit(link)
    page = next(page for page in PAGES if page.key == place.path.strip("/"))
    get = of_texts(links.read(dict(parse_qsl(place.query, keep_blank_values=True))))
    question = page.question(get)
    return question, whole(question.asked(question.read(get)), question.slow)


@pytest.mark.parametrize("link", LINKS["shown"])
@pytest.mark.one_of(4)
def test_a_recorded_link_shows_the_numbers_that_it_showed(link: str) -> None:
    last = opened(link)[1].plot.data().iloc[-1].to_numpy(float)
    for number in LINKS["shown"][link]:
        assert np.any(np.isclose(last, number, rtol=2e-6, atol=1e-6)), number


@pytest.mark.parametrize("key", [page.key for page in PAGES])
def test_a_link_of_today_shows_what_is_asked_today(key: str) -> None:
    page = next(page for page in PAGES if page.key == key)
    texts = {field.key: field.write(field.default) for field in page.fields}
    assert links.read({}) == {}
    said = links.read({"logy": "1", links.VERSION: links.TODAY})
    assert said == {"logy": "1"}
    assert not {field.key for field in page.fields} & {links.VERSION}
    assert {k: field.write(of_texts(said)(field)) for k, field in ((f.key, f) for f in page.fields)} == (
        texts | ({"logy": "1"} if "logy" in texts else {})
    )


def test_a_link_that_is_asked_for_opens_the_same_answer() -> None:
    for key, settings in (
        ("compose", {"noise_multiplier": 2.0, "steps": 500}),
        ("success", {"epsilon": 3.0}),
        ("stop", {"noise_multiplier": 3.0}),
    ):
        called = ask(key, **settings)
        assert called.link.endswith("&v=3")
        question, answer = opened(called.link)
        assert question.key == key
        assert question.headline(answer) == called.question.headline(called.answer)


OPENING = [question for question in QUESTIONS.values() if question.opens]


@pytest.mark.parametrize("question", OPENING, ids=lambda question: question.key)
def test_a_question_that_is_named_alone_has_one_meaning(question: Question[Any]) -> None:
    """By link and by call it is its published setting; its script, its link and another setting mean what they say."""
    page = next(page for page in PAGES if question in page.questions)
    bare = f"{page.key}?{page.view}={question.asked_as}"
    published = question.opens.values  # type: ignore[union-attr]
    texts = {key: text for key, text in published.items() if key in {field.key for field in question.fields}}
    expected = question.headline(asked(question, **texts))
    for link in (bare, f"{bare}&v=3", f"{bare}&present=1&expert=1"):
        assert question.headline(opened(link)[1]) == expected
    called = ask(question.key)
    assert question.headline(called.answer) == expected
    assert question.headline(opened(called.link)[1]) == expected
    shared = question.headline(asked(question))
    assert shared != expected
    usual = question.fields[0]
    at_defaults = ask(question.key, **{next(iter(question.named())): usual.default})
    assert question.headline(at_defaults.answer) == shared
    assert question.headline(opened(at_defaults.link)[1]) == shared, "its link says that it is not published"
    run_script(at_defaults.script(), at_defaults)
    assert question.headline(opened(f"{bare}&logy=1")[1]) == shared


def test_a_link_of_another_version_is_refused_in_words() -> None:
    for version in ("1", "2", "", "7", "x"):
        link = {"sigma": "2", "preset": "abadi2", "v": version}
        assert links.read(link) == {}
        assert f"“{version}”: it was made by an unreleased version of dpviz" in links.refusal(link)
    for link in ({}, {"sigma": "2"}, {"sigma": "2", "v": "3"}, {"expert": "1"}):
        assert links.refusal(link) == ""
        assert links.read(link) == {key: text for key, text in link.items() if key != "v"}


def test_a_link_says_more_than_its_preset() -> None:
    texts = links.read({"preset": "bdpfig1", "sigma": "7"})
    assert (texts["sigma"], texts["quantile"]) == ("7", links.PRESETS["bdpfig1"].values["quantile"])


@pytest.mark.parametrize(
    ("link", "step"),
    [
        ({"persons": "5", "q": "0.25", "v": "3"}, PersonRows(4.0, 0.25, 5)),
        ({"v": "3"}, SampledGaussian(4.0, 0.01)),
        ({"mech": "allocation", "persons": "2", "v": "3"}, PersonOf(RandomAllocation(4.0, 100), 2)),
    ],
)
def test_a_persons_rows_are_those_of_the_link(link: dict[str, str], step: Mechanism) -> None:
    assert kinds.read(of_texts(links.read(link))) == step
    assert kinds.read(of_texts(kinds.texts(step))) == step
