"""The Papers page: what was printed, with ways to the pages that compute it."""

import re

import pytest

from dpviz.questions import printed
from dpviz.questions.papers import PAPERS
from dpviz.questions.printed import CLAIMS, FIGURES
from tests.ui.driver import open_app, said


def listings(at) -> list[str]:  # type: ignore[no-untyped-def]
    return [block.proto.body for block in at.get("html") if 'class="dpviz-listing"' in block.proto.body]


@pytest.mark.sweep
def test_every_claim_has_a_row_with_its_link() -> None:
    (html,) = listings(open_app("papers"))
    assert html.count("<tr>") == len(CLAIMS) + 1
    links = re.findall(r'href="([^"]+)"', html)
    assert len(links) == sum(bool(claim.link) for claim in CLAIMS)
    assert "compose?preset=abadi2&amp;amp=exact&amp;v=3" in links
    assert not [link for link in links if link.startswith(("/", "http"))], "they hold below any address"


def test_every_figure_is_drawn_somewhere() -> None:
    (html,) = listings(open_app("papers", "prows=figures"))
    assert html.count("<tr>") == len(FIGURES) + 1
    assert html.count(">Open</a>") == len(FIGURES) == sum(bool(figure.link) for figure in FIGURES)


def test_slow_values_join() -> None:
    at = open_app("papers", "ppaper=sgmcmc")
    at.run()
    assert "still being computed" not in listings(at)[0]


def test_the_questions_are_a_list_by_paper_in_which_the_open_one_is_marked() -> None:
    at = open_app("papers", "pview=figure3")
    lists = [one for one in at.radio if one.key.startswith("slider.pview")]
    assert [option for one in lists for option in one.options] == [
        title for group in PAPERS.groups for title in group.options.values()
    ]
    assert [one.value for one in lists] == [None, "figure3", None, None, None, None]
    papers = {paper.name for key, paper in printed.PAPERS.items() if key != "slides"}
    assert {one.label.rpartition(" · ")[2] for one in at.expander} >= papers
    at.radio(key="slider.pview.DP-SGD").set_value("clipping").run()
    assert at.session_state["value.pview"] == "clipping"
    assert [one.value for one in at.radio if one.key.startswith("slider.pview")][1:3] == [None, "clipping"]
    assert "clips" in said(at, "headline")[0]
