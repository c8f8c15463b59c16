"""The home page and its story."""

import re

import pytest

import dpviz
from dpviz.questions import LATER
from dpviz.questions.catalogue import PAGES
from dpviz.questions.story import STOPS
from dpviz.ui.page import ADDRESSES
from dpviz.ui.registry import FIELDS
from tests.ui.driver import charts, components, enter, go_to, html_of, open_app, put, said


def test_four_doors_lead_on_and_every_page_is_named():
    at = open_app("home")
    named = [link.proto.page for link in at.get("page_link")]
    assert named == ["compose", "noise", "train", "check", *ADDRESSES]
    assert {page.key for page in PAGES} < set(ADDRESSES)


def test_a_door_s_query_is_taken_where_it_leads():
    """Once, when the page is reached; what is set there later stays."""
    at = open_app("home", "sigma=3")
    [query] = [link.proto.query_string for link in at.get("page_link") if link.proto.query_string]
    assert query == "kview=check&v=3"
    at.session_state["value.kview"] = "guarantee"  # as it was left before
    go_to(at, "check")
    at.query_params.update(dict(pair.split("=") for pair in query.split("&")))
    at.run()
    assert (at.session_state["value.kview"], at.session_state["value.sigma"]) == ("check", 3.0)
    at.session_state["value.kview"] = "guarantee"
    at.run()
    assert at.session_state["value.kview"] == "guarantee"


def test_the_live_headline_follows_the_slider():
    at = open_app("home")
    enter(at, "sigma", "2")
    epsilon = dpviz.epsilon("renyi", noise_multiplier=2.0, sample_rate=0.01, steps=10_000, delta=1e-5)
    shown = float(said(at, "headline")[0].split("ε ≤ ")[1].split()[0].rstrip(")."))
    assert epsilon <= shown <= 1.01 * epsilon


def test_until_it_is_there_no_other_number_is():
    question = STOPS[0].question
    words = STOPS[0].headline(question.asked(question.read(lambda field: field.default)))
    assert "at most <b>…</b> of the time" in words
    assert "%" not in words


def rest_on(at, number, n):
    """The scroll rests on a stop, as the browser tells it."""
    put(at, "story", {"stop": {"number": number, "n": n}})


def told(at):
    """The texts of all stops, in their order."""
    return [one.value for one in at.markdown if " of 10 · " in one.value]


def told_after_the_truth(at, n):
    """The same once the fifth stop was drawn, whose true ε is asked for then."""
    rest_on(at, "5", n)
    rest_on(at, "3", n + 1.0)
    return told(at)


@pytest.mark.parametrize("number", [str(n) for n, _ in enumerate(STOPS, 1)])
@pytest.mark.one_of(3)
def test_each_stop_is_an_address_and_can_be_gone_into(number):
    stop = STOPS[int(number) - 1]
    at = open_app("home", f"stop={number}&sigma=3")
    assert [text.split("**")[1] for text in told(at)] == [f"{n} of 10 · {s.title}" for n, s in enumerate(STOPS, 1)]
    assert len(charts(at)) == 1
    assert at.session_state["value.stop"] == number
    leave = at.button(key=f"open.story.{number}")
    assert leave.label == f"Open in {stop.page.title}"
    sigma = "2" if any(field.key == "sigma" for field in stop.question.fields) else "3"
    if sigma == "2":
        enter(at, "sigma", sigma)
    else:
        [_] = [one for one in components(at, "dpviz.number") if one["field"] == "sigma"]  # the opening's
    leave.click().run()
    assert not at.exception
    fields = {field.key: field for field in FIELDS}
    for key, text in (dict(stop.values) | {"sigma": sigma}).items():
        assert at.session_state[f"value.{key}"] == fields[key].parse(text)


def test_the_chart_shows_the_stop_that_the_scroll_rests_on():
    at = open_app("home")
    drawn, texts = charts(at), told(at)
    rest_on(at, "4", 2.0)
    assert at.session_state["value.stop"] == "4"
    assert charts(at) != drawn
    assert [text for text in texts if "4 of 10" not in text] == [text for text in told(at) if "4 of 10" not in text]
    rest_on(at, "1", 3.0)
    assert charts(at) == drawn
    rest_on(at, "2", 2.5)  # one that comes late
    assert at.session_state["value.stop"] == "1"


def test_a_scroll_changes_no_number():
    """And no stop asks for a mechanism of its own: the texts of all tell of the present one."""
    assert not {"sigma", "q", "n", "steps", "delta"} & {key for stop in STOPS for key in stop.values}
    at = open_app("home", "sigma=2&curves=closed_form")
    before = told_after_the_truth(at, 1.0)
    assert at.session_state["value.sigma"] == 2.0
    assert at.session_state["value.curves"] == ("closed_form",)
    assert "10 times as large" in before[3]
    enter(at, "sigma", "4")
    after = told_after_the_truth(at, 3.0)
    assert LATER not in before[4] + after[4]
    assert [one != other for one, other in zip(before, after, strict=True)] == [stop.counts for stop in STOPS]


def test_a_bad_stop_is_told():
    at = open_app("home", "stop=11&sigma=-1")
    warnings = "; ".join(warning.value for warning in at.warning)
    assert "not -1; try" in warnings
    assert "not one of 1, 2, 3, 4, 5, 6, 7, 8, 9, 10" in warnings
    assert at.session_state["value.stop"] == "1"


def test_the_dial_says_what_the_best_attack_reaches_and_never_less() -> None:
    at = open_app("home")
    for sigma in ("4", "1"):
        enter(at, "sigma", sigma)
        [dial] = re.findall(r'<div class="dpviz-strip dpviz-dial".*?</div>', html_of(at))
        best = dpviz.best_accuracy(noise_multiplier=float(sigma), sample_rate=0.01, steps=10_000)
        shown = float(re.search(r"<b>([\d.]+)", dial).group(1)) / 100  # type: ignore[union-attr]
        arc = float(re.search(r"--right:([\d.]+)", dial).group(1)) / 100  # type: ignore[union-attr]
        assert best.upper - 1e-9 <= shown <= best.upper + 0.02
        assert abs(arc - (2 * shown - 1)) < 0.01
