"""Old links show the numbers that they showed; what is written now says whose defaults it leaves out."""

from typing import Any
from urllib.parse import parse_qsl, urlsplit

import numpy as np
import pytest

from dpviz.fields import declared
from dpviz.mechanisms import Mechanism, PersonOf, PersonRows, RandomAllocation, SampledGaussian
from dpviz.questions import kinds, links
from dpviz.questions.answer import Answer, whole
from dpviz.questions.asked import ask
from dpviz.questions.catalogue import PAGES
from dpviz.questions.layout import of_texts
from dpviz.questions.question import Question
from tests.questions.asking import table

LINKS = table("links")


def opened(link: str) -> tuple[Question[Any], Answer[Any]]:
    """The question and the whole answer that a link opens."""
    place = urlsplit(link)
    page = next(page for page in PAGES if page.key == place.path.strip("/"))
    get = of_texts(links.read(dict(parse_qsl(place.query, keep_blank_values=True)), page.key))
    question = page.question(get)
    return question, whole(question.asked(question.read(get)), question.slow)


@pytest.mark.parametrize("link", LINKS["shown"])
@pytest.mark.one_of(4)
def test_a_link_without_a_version_shows_the_numbers_that_it_showed(link: str) -> None:
    last = opened(link)[1].plot.data().iloc[-1].to_numpy(float)
    for number in LINKS["shown"][link]:
        assert np.any(np.isclose(last, number, rtol=2e-6, atol=1e-6)), number


@pytest.mark.parametrize(("query", "today"), LINKS["train"].items())
def test_what_links_of_another_time_mean(query: str, today: dict[str, str]) -> None:
    assert links.read(dict(parse_qsl(query)), "train") == {f"t_{name}": text for name, text in today.items()}


@pytest.mark.parametrize(("link", "shared"), LINKS["shared"].items())
def test_what_pages_called_by_names_of_their_own_is_one_setting(link: str, shared: dict[str, str]) -> None:
    place = urlsplit(link)
    texts = links.read(dict(parse_qsl(place.query)), place.path)
    keys = {declared.entries()[key]["key"] for key in declared.entries() if "key" in declared.entries()[key]}
    assert {key: text for key, text in texts.items() if key in keys} == shared


@pytest.mark.parametrize("key", [page.key for page in PAGES])
def test_a_link_of_today_shows_what_is_asked_today(key: str) -> None:
    page = next(page for page in PAGES if page.key == key)
    texts = {field.key: field.write(field.default) for field in page.fields}
    assert links.read({}, key) == {}
    said = links.read({"logy": "1", links.VERSION: links.TODAY}, key)
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
        asked = ask(key, **settings)
        assert asked.link.endswith("&v=3")
        question, answer = opened(asked.link)
        assert question.key == key
        assert question.headline(answer) == asked.question.headline(asked.answer)


def test_a_version_decides_alone_whose_defaults_are_meant(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links, "BEFORE", {"quantile": "0.25", "logy": "1", "bview": "spend"})
    old = {"quantile": "0.25", "logy": "1"}
    assert links.read({"sigma": "2"}, "compose") == {**old, "sigma": "2"}
    assert links.read({"sigma": "2", "v": "1"}, "compose") == {**old, "sigma": "2"}
    assert links.read({"v": "1"}, "compose") == old
    assert links.read({"sigma": "2", "quantile": "0.75"}, "compose") == {**old, "sigma": "2", "quantile": "0.75"}
    assert links.read({"preset": "bdpfig1"}, "compose")["quantile"] == "0.05", "a preset's own values come before"
    for odd in ("2", "3", "", "7", "x"):
        assert links.read({"sigma": "2", "v": odd}, "compose") == {"sigma": "2"}
        assert bool(links.odd({"sigma": "2", "v": odd})) is (odd not in ("2", "3"))
    (note,) = links.odd({"n": "100"}, "langevin")
    assert "“n=100” was left out" in note
    assert "v=3" in note
    for link in ({"n": "100", "v": "3"}, {"ln": "100"}, {"n": "100", "ln": "7"}):
        assert links.odd(link, "langevin") == []
    assert links.odd({"n": "100"}, "noise") == []
    for bare in ({}, {"expert": "1"}, {"present": "sigma", "embed": "true"}):
        assert links.read(bare, "compose") == bare
    assert "quantile" not in links.read({"target": "2"}, "attack"), "its question has no quantile"
    monkeypatch.setattr(links, "BEFORE", {"ppaper": "sgm"})
    assert "ppaper" in links.read({"pview": "claims"}, "papers")
    assert "ppaper" not in links.read({"preset": "sgpate"}, "papers"), "its preset asks another question"


def test_a_preset_that_is_gone_still_sets_what_it_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links, "GONE", {"gone": {"sigma": "7", "q": "1"}})
    found = links.read({"preset": "gone", "q": "0.5"}, "compose")
    assert (found["sigma"], found["q"]) == ("7", "0.5")
    assert "preset" not in found


@pytest.mark.parametrize(
    ("link", "step"),
    [
        ({"mech": "person", "rows": "5", "q": "0.25", "v": "3"}, PersonRows(4.0, 0.25, 5)),
        ({"mech": "person", "v": "3"}, PersonRows(4.0, 0.01, 2)),
        ({"rows": "5", "v": "3"}, SampledGaussian(4.0, 0.01)),  # left over from another choice
        ({"mech": "allocation", "persons": "2", "v": "3"}, PersonOf(RandomAllocation(4.0, 100), 2)),
    ],
)
def test_a_persons_rows_are_those_of_the_link(link: dict[str, str], step: Mechanism) -> None:
    assert kinds.read(of_texts(links.read(link, "compose"))) == step
    assert kinds.read(of_texts(kinds.texts(step))) == step
