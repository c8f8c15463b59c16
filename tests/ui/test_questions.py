"""Every page of the catalogue: each question opens, with each preset and each of its details."""

from typing import Any
from urllib.parse import urlencode

import pytest

from dpviz.questions.asked import ask
from dpviz.questions.catalogue import PAGES, QUESTIONS
from dpviz.questions.page import Page
from dpviz.questions.question import Question
from dpviz.questions.units import UNITS
from dpviz.training.covered import PUBLIC_SIZE
from tests.ui.driver import charts, enter, group, html_of, open_app, open_part, put, said

# A network of a moment, where one is looked at, and a paper whose printed values are computed at once.
QUICK = {"lkrun": "small", "model": "logistic", "lksteps": "1", "lkexamples": "40", "ppaper": "abadi"}
EVERY = [(page, question.asked_as) for page in PAGES for question in page.questions]


@pytest.mark.parametrize(("page", "view"), EVERY, ids=lambda v: v if isinstance(v, str) else v.key)
@pytest.mark.one_of(8)
def test_a_question_and_its_details_open(page: Page, view: str) -> None:
    at = open_app(page.key, urlencode(QUICK | {"expert": "1"} | ({page.view: view} if page.view else {})))
    question = next(q for q in page.questions if q.asked_as == view)
    assert len(charts(at)) >= 1
    assert said(at, "headline")
    groups = list(question.groups(lambda field: field.default))
    parts = ["Table", "Formula", "Assumptions", "Glossary", *question.more, "Python", "Share"]
    opened = groups if len(groups) > 1 else []
    for part, name in zip(parts, opened + [None] * (len(parts) - len(opened)), strict=True):
        if name is not None:
            at.session_state[f"{page.key}.group.{'.'.join(groups)}"] = name  # in the same run of the page
        put(at, f"{page.key}.details", part)
        assert not said(at, "problem"), part
        downloads = [button.label for button in at.get("download_button")]
        assert ("Download the curves (CSV)" in downloads) == (part == "Table")
        assert ("Download as a page (HTML)" in downloads) == (part == "Share")


DOORS = {
    "Use it": ["Use it"],
    "Why": ["Formula", "Assumptions", "Glossary", "Gaussian DP", "Distances", "Accountants"],
}


@pytest.mark.parametrize(
    ("page", "behind"),
    [
        ("compose", {**DOORS, "Files": ["Table", "Python"], "Share": ["Share"]}),
        (
            "attack",
            {
                "Use it": ["Python"],
                "Why": ["Formula", "Assumptions", "Glossary"],
                "Files": ["Table"],
                "Share": ["Share"],
            },
        ),
    ],
)
def test_behind_four_doors_every_detail_stands_once(page: str, behind: dict[str, list[str]]) -> None:
    at = open_app(page)
    assert list(group(at, "Details").options) == list(behind)
    for door, parts in behind.items():
        put(at, f"{page}.details", parts[-1])
        assert at.session_state[f"{page}.details.door"] == door
        assert [list(one.options) for one in at.button_group if one.label == door] == [parts] * (len(parts) > 1)


GROUPS = {"orders": ["Mechanism", "Show"], "langevin": ["Steps", "Data", "Options"]}


@pytest.mark.parametrize(
    ("page", "query", "group", "field", "text", "words"),
    [
        ("attack", "aview=success", "", "aprior", "1", "must be at least 1e-9 and below 1, not 1; try 0.5."),
        ("orders", "expert=1", "Show", "omax", "0.5", "must be between 2 and 1e6, not 0.5; try 512."),
        ("leakage", urlencode(QUICK), "", "lkexamples", "3", "must be between 8 and 20\u202f000, not 3"),
        ("langevin", "lview=cost", "", "leta", "0", ", not 0; try"),
        ("langevin", "", "Data", "lclip", "0", ", not 0; try"),
    ],
)
@pytest.mark.one_of(2)
def test_a_bad_text_is_named_and_the_rest_stays(
    page: str, query: str, group: str, field: str, text: str, words: str
) -> None:
    at = open_app(page, f"sigma=2&{query}")
    if group:
        open_part(at, f"{page}.group", GROUPS[page], group)
    headline = said(at, "headline")
    enter(at, field, text)
    assert words in html_of(at)
    assert said(at, "headline") == headline
    assert at.session_state["value.sigma"] == 2.0


@pytest.mark.parametrize(
    ("page", "query", "names"),
    [
        ("attack", "aview=town&pin=aview%3Dsuccess%26target%3D3", []),  # it has other axes
        ("orders", "oview=epsilon&pin=oview%3Dconcentrated%26sigma%3D3", ["σ 3: improved"]),
        ("orders", "oview=divergence&pin=oview%3Dconcentrated%26sigma%3D3", ["σ 3: exact"]),
        (
            "budget",
            "pin=sigma%3D3%26bview%3Dstop",
            ["σ 3: Lécuyer odometer", "σ 3: Whitehouse odometer", "σ 3: T fixed in advance"],
        ),
        ("budget", "bview=spend&pin=sigma%3D3%26bview%3Dstop", []),
    ],
)
@pytest.mark.one_of(2)
def test_a_pin_answers_the_question_on_screen_or_is_not_drawn(page: str, query: str, names: list[str]) -> None:
    notes = [note["text"] for note in charts(open_app(page, query))[0]["layout"]["annotations"]]
    pinned = [text for text in notes if "σ 3" in text or "pinned" in text]
    assert len(pinned) == len(names), "and nothing else of it"
    assert all(any(name in text for text in pinned) for name in names)


def asks_for_batches(question: Question[Any]) -> bool:
    groups = question.groups(lambda field: field.default).values()
    return any(item.drawn_as == UNITS.key for group in groups for item in group)


@pytest.mark.parametrize("question", [*filter(asks_for_batches, QUESTIONS.values())], ids=lambda q: q.key)
@pytest.mark.one_of(3)
def test_wherever_q_may_be_given_as_batch_over_n_the_size_is_said_to_be_public(question: Question[Any]) -> None:
    assert f"- {PUBLIC_SIZE}" in question.assumed(ask(question.key).answer).splitlines()
