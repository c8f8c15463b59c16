"""Every page of the catalogue: each question opens, with each preset and each of its details."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest

from dpviz.questions.catalogue import PAGES
from dpviz.questions.page import Page
from tests.ui.driver import charts, open_app, open_part, said

# A network of a moment, where one is looked at.
QUICK = {"lkrun": "small", "lkmodel": "logistic", "lksteps": "1", "lkexamples": "40"}
EVERY = [(page, question.asked_as) for page in PAGES for question in page.questions]


@pytest.mark.parametrize(("page", "view"), EVERY, ids=lambda v: v if isinstance(v, str) else v.key)
@pytest.mark.one_of(4)
def test_a_question_and_its_details_open(page: Page, view: str) -> None:
    at = open_app(page.key, urlencode(QUICK | {"expert": "1"} | ({page.view: view} if page.view else {})))
    question = next(q for q in page.questions if q.asked_as == view)
    assert len(charts(at)) >= 1
    assert said(at, "headline")
    groups = list(question.groups(lambda field: field.default))
    for group in groups if len(groups) > 1 else ():
        open_part(at, f"{page.key}.group", groups, group)
        assert not at.exception, group
    details = ["Table", "Formula", "Assumptions", *question.more, "Python", "Link and files"]
    for part in details:
        open_part(at, f"{page.key}.details", details, part)
        assert not at.exception, part
        assert not said(at, "problem"), part
    assert "Download the curves (CSV)" in [button.label for button in at.get("download_button")]


@pytest.mark.parametrize("preset", [(p, s) for p in PAGES for s in p.presets], ids=lambda v: v[1].key)
@pytest.mark.one_of(5)
def test_every_preset_opens(preset: tuple[Page, object]) -> None:
    page, chosen = preset
    at = open_app(page.key, urlencode(chosen.values | QUICK | {"preset": chosen.key}))  # type: ignore[attr-defined]
    assert not said(at, "problem")
