"""Links: what they say is taken, clamped and noted; pins travel with them."""

import re

import pytest

from dpviz.questions import links
from dpviz.questions.compose.curves import CURVES
from dpviz.questions.mechanism import SIZE
from dpviz.ui import registry, render
from dpviz.ui.plain import plain
from tests.ui.driver import enter, go_to, group, open_app, press, said, set_to

pytestmark = pytest.mark.usefixtures("without_slow_parts")


def warnings(at):
    return [warning.value for warning in at.warning]


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("sigma=0", "not 0; try"),
        ("sigma=nan", "NaN"),
        ("steps=2.5", "2.5 is not a whole number"),
        ("curves=magic", "“magic”"),
        ("preset=nope", "“nope”"),
        ("pin=sigma%3Dabc", "“abc”"),
        ("pin=rubbish", "“rubbish”"),
        ("sigma=%3Cscript%3E", plain("“<script>”")),
    ],
)
@pytest.mark.one_of(2)
def test_a_bad_value_in_a_link_is_named_and_the_rest_is_kept(query, named):
    at = open_app("compose", f"{query}&logy=1&unknown=1")
    assert len(warnings(at)) == 1
    assert named in warnings(at)[0]
    assert at.session_state["value.logy"] is True
    assert link(at).endswith("v=3")
    assert said(at, "headline")


def test_the_note_goes_when_the_visitor_changes_something():
    at = open_app("compose", "sigma=0&q=2")
    assert len(warnings(at)) == 2
    enter(at, "sigma", "10")
    assert warnings(at) == []


def test_pins_are_made_legal_counted_and_named():
    at = open_app("compose", "&".join(["pin=", "pin=sigma%3D2%26q%3D9", *(f"pin=sigma%3D{i}" for i in range(5, 12))]))
    pins = at.session_state["pins"]
    assert pins[:3] == ["", "sigma=2&q=1", "sigma=5"]
    assert len(pins) == 6
    assert any("9 pinned states" in warning for warning in warnings(at))


def test_pin_go_on_go_back_unpin():
    at = open_app()
    first = said(at, "headline")
    press(at, "Pin this state")
    enter(at, "sigma", "10")
    assert said(at, "headline") != first
    press(at, "Pin this state")
    assert at.session_state["pins"] == ["", "sigma=10"]
    at.button(key="pin.show.0").click().run()
    assert said(at, "headline") == first
    at.button(key="pin.drop.0").click().run()
    assert at.session_state["pins"] == ["sigma=10"]
    press(at, "Reset everything")
    assert at.session_state["pins"] == []


def pin_names(at):
    return [button.label for button in at.button if (button.key or "").startswith("pin.show")]


def test_a_pin_is_named_by_what_differs_and_else_by_its_mechanism() -> None:
    at = open_app("compose", "pin=shape%3D1&pin=shape%3D2&pin=shape%3D4")
    assert pin_names(at) == ["shape 1", "shape 2", "shape 4"]
    enter(at, "sigma", "10")
    assert pin_names(at) == ["shape 1 · σ 4", "shape 2 · σ 4", "shape 4 · σ 4"]
    at = open_app("compose", "sigma=3&pin=sigma%3D3")
    assert len(pin_names(at)) == 1
    assert pin_names(at)[0].startswith("σ 3 · q 0.01"), "it is the present state"


def link(at):
    """What the address bar will say."""
    scripts = [element.proto.body for element in at.get("html") if "history.replaceState" in element.proto.body]
    return re.search(r"const q = '(.*?)'", scripts[-1])[1]


def test_a_link_of_another_version_opens_the_defaults_and_says_so():
    at = open_app("compose", "sigma=3&v=1&expert=1&pin=q%3D0.5")
    assert link(at) == "expert=1"
    assert at.session_state["pins"] == []
    assert any("made by an unreleased version of dpviz" in str(warning.value) for warning in at.warning)
    enter(at, "sigma", "5")
    assert not at.warning


@pytest.mark.parametrize("preset", links.PRESETS.values(), ids=lambda preset: preset.key)
@pytest.mark.one_of(7)
def test_a_preset_alone_in_a_link_is_that_preset(preset):
    page = next(page for page, offered in registry.PRESETS.items() if preset in offered)
    at = open_app(page, f"preset={preset.key}")
    assert not said(at, "problem")
    for field in registry.FIELDS:
        wanted = field.parse(preset.values[field.key]) if field.key in preset.values else field.default
        assert set_to(at, field) == wanted, field.key


def test_a_preset_with_a_setting_taken_back_to_its_default_comes_back_from_its_link():
    at = open_app("attack", "preset=bdptown")
    group(at, "Question").set_value("success").run()
    assert at.session_state["value.aview"] == "success"
    assert "aview=success" in link(at)
    again = open_app("attack", link(at))
    assert again.session_state["value.aview"] == "success"
    assert link(again) == link(at)


def test_a_pin_without_any_curve_comes_back_without():
    at = open_app("compose", "pin=curves%3D")
    at.button(key="pin.show.0").click().run()
    assert set_to(at, CURVES) == ()


def test_a_page_starts_a_shared_setting_at_its_own_value_and_links_say_what_it_is():
    own = {"langevin": 50_000, "compose": 60_000}
    for page, usual in own.items():
        for size in own.values():
            at = open_app(page, f"n={size}")
            assert ("n=" in link(at)) is (size != usual)
            for other in own:
                go_to(at, other).run()
                assert set_to(at, SIZE) == size
                assert (f"n={size}" in link(at)) is (size != own[other])
            press(at, "Reset everything")
            assert "n=" not in link(at)
            assert "value.n" not in at.session_state


def test_a_run_of_a_page_computes_its_answer_once(monkeypatch):
    at, compute, asked = open_app("compose"), render.compute, []

    def counted(question, now):
        asked.append(now)
        return compute(question, now)

    monkeypatch.setattr(render, "compute", counted)
    enter(at, "sigma", "2.5151")
    assert asked
    assert len({id(now) for now in asked}) == len(asked), "a snapshot is a run"
