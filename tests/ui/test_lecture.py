"""The page of lectures."""

import re

import pytest

from dpviz.questions.lectures import LECTURES
from dpviz.ui import lecture
from tests.ui.driver import charts, components, enter, go_to, html_of, open_app, plain, said

STOPS = [(key, number) for key, one in LECTURES.items() for number in range(1, len(one.stops) + 1)]


def text_of(at):
    """The column of words beside the chart."""
    [body] = [
        element.proto.body
        for element in at.get("html")
        if " of " in element.proto.body and "<b>For the room" in element.proto.body
    ]
    return plain(re.sub("</?(sub|span)>", "", body))


def link_of(at):
    return re.findall(r"const q = '([^']*)'", html_of(at))[-1]


@pytest.mark.parametrize(("key", "number"), STOPS)
@pytest.mark.one_of(8)
def test_every_stop_is_a_slide_with_its_own_link(key, number):
    stop = LECTURES[key].stops[number - 1]
    at = open_app("lecture", f"paper={key}&stop={number}")
    assert len(charts(at)) == 1
    assert {one["field"] for one in components(at, "dpviz.number")} == set(stop.sliders)
    assert text_of(at).startswith(f"{number} of {len(LECTURES[key].stops)} · {stop.title.replace('_', '')}")
    assert link_of(at) == f"paper={key}&stop={number}&v=3"
    assert not said(at, "problem")
    at.button(key="present-answer").click().run()
    assert at.button(key="present-answer").label == "Hide the answer"
    for name in stop.room.moved:
        assert f"{name}=" in link_of(at)
    at.button(key="present-answer").click().run()
    assert link_of(at) == f"paper={key}&stop={number}&v=3"


def test_keys_and_buttons_go_through_a_lecture_to_its_end():
    at = open_app("lecture", "paper=sgm")
    stops = LECTURES["sgm"].stops
    seen = []
    for number in range(1, len(stops) + 1):
        seen.append(text_of(at))
        assert at.button(key="present-back").disabled == (number == 1)
        if number < len(stops):
            at.button(key="present-on").click().run()
    assert [text.split(" · ")[1].startswith(stop.title) for text, stop in zip(seen, stops, strict=True)] == [
        True
    ] * len(stops)
    assert at.button(key="present-on").disabled
    assert 'a: "answer"' in lecture.present.KEYS_SCRIPT


def test_the_sentence_follows_a_slider_and_the_link_says_what_was_moved():
    at = open_app("lecture", "paper=abadi&stop=4")
    before = text_of(at)
    enter(at, "steps", "1000")
    assert text_of(at) != before
    assert "After 1000 steps" in text_of(at)
    assert link_of(at) == "paper=abadi&stop=4&steps=1000&v=3"
    again = open_app("lecture", "paper=abadi&stop=4&steps=1000")
    assert text_of(again) == text_of(at)


def test_the_next_stop_opens_at_its_own_values():
    at = open_app("lecture", "paper=abadi&stop=3")
    enter(at, "sigma", "1")
    at.button(key="present-on").click().run()
    assert link_of(at) == "paper=abadi&stop=4&v=3"


def test_the_reply_shows_its_values_on_the_chart_and_hides_the_sentence():
    at = open_app("lecture", "paper=bdp&stop=4")
    drawn, sentence = charts(at), text_of(at)
    at.button(key="present-answer").click().run()
    assert charts(at) != drawn
    assert "0.994" in text_of(at)
    assert "It is no better accountant" not in text_of(at)
    at.button(key="present-answer").click().run()
    assert text_of(at) == sentence


def test_a_link_with_a_wrong_paper_stop_or_value_opens_a_stop_and_says_so():
    at = open_app("lecture", "paper=nobody&stop=99&target=-4")
    assert text_of(at).startswith("1 of 6")
    assert at.warning
    assert text_of(open_app("lecture", "paper=sgm&stop=7")).startswith("6 of 6")  # it has six


def test_the_way_out_is_no_slide_and_keeps_the_settings():
    at = open_app("lecture", "paper=abadi&stop=4")
    enter(at, "sigma", "3")
    at.button(key="lecture.open").click().run()
    assert at.session_state["value.sigma"] == 3.0
    assert at.session_state["value.curves"] == ("strong", "moments", "renyi_improved")
    assert at.session_state["page"] != lecture.KEY
    go_to(at, "papers")
    at.run()
    assert {link.proto.label for link in at.get("page_link")} == {one.paper.name for one in LECTURES.values()}


def test_a_lecture_that_is_opened_again_begins_at_its_own_values():
    """Settings of other pages are the session's; a lecture is prepared."""
    at = open_app("compose", "sigma=1&curves=basic")
    go_to(at, "lecture")
    at.query_params.update({"paper": "abadi", "stop": "4", "v": "3"})  # curves are no setting of its sliders
    at.run()
    assert link_of(at) == "paper=abadi&stop=4&sigma=1&v=3"
    assert at.session_state["value.curves"] == ("strong", "moments", "renyi_improved")
