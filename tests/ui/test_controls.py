"""Sliders and texts for one number agree, and a wrong text loses nothing."""

from contextlib import suppress
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.charts import look
from dpviz.questions import units
from dpviz.questions.compose.curves import CURVES
from dpviz.questions.layout import of_values
from dpviz.questions.mechanism import DELTA, FIELDS, RATE, SIGMA, SIZE, STEPS
from dpviz.questions.readings import READINGS
from dpviz.questions.units import BATCH, EPOCHS, UNITS
from dpviz.ui import registry, state
from dpviz.ui.controls import _swatches
from tests.ui.driver import controls, enter, go_to, open_app, open_part, press, put, said, set_to

pytestmark = pytest.mark.usefixtures("without_slow_parts")


def shown(at, field):
    return controls(at)[field]["text"]


def value(at, field):
    return controls(at)[field]["value"]


def test_slider_and_text_are_in_step_and_an_exact_value_is_kept():
    at = open_app("compose", "curves=moments")
    stops = controls(at)["sigma"]["stops"]
    assert [float(stop) for stop in stops] == list(SIGMA.ticks)
    for text in ("10", "3", "3.14159"):
        enter(at, "sigma", text)
        assert (shown(at, "sigma"), value(at, "sigma")) == (text, float(text))
        assert controls(at)["sigma"]["stops"] == stops
    for exact in ("0.0099999", "0.010001", "0.01"):  # beside a stop
        enter(at, "q", exact)
        enter(at, "steps", "10")
        assert (shown(at, "q"), shown(at, "sigma")) == (exact, "3.14159")
    at.button_group[0].set_value(["Show"]).run()
    at.button_group[0].set_value(["Mechanism"]).run()
    assert value(at, "sigma") == 3.14159, "groups are switched"


def kept(at):
    """q and T, which are what is linked and computed with."""
    return tuple(set_to(at, field) for field in (RATE, STEPS))


def ways(at, way):
    put(at, "value.units", way)
    assert not at.exception


@pytest.mark.parametrize(
    ("field", "wrong", "right"),
    [
        *(("sigma", wrong, "5") for wrong in ("0", "-1", "nan", "text", "1/0", "<b>x</b>")),
        *(("batch", wrong, "6000") for wrong in ("70000", "-1", "nan")),
        *(("n", wrong, "50000") for wrong in ("5", "0.5")),
        *(("epochs", wrong, "30") for wrong in ("0", "1e12")),
    ],
)
@pytest.mark.one_of(2)
def test_a_wrong_text_stays_with_its_message_until_mended_and_loses_nothing(field, wrong, right):
    at = open_app("compose", "curves=moments&units=person")
    before = said(at, "headline"), kept(at), set_to(at, SIGMA)
    enter(at, field, wrong)
    (problem,) = said(at, "problem")
    assert field != "sigma" or SIGMA.label in problem
    assert shown(at, field) == wrong
    assert (said(at, "headline"), kept(at), set_to(at, SIGMA)) == before
    enter(at, "delta", "1e-6")
    assert said(at, "problem") == [problem]
    enter(at, field, right)
    assert said(at, "problem") == []


def test_a_persons_units_and_q_and_t_are_one():
    at = open_app("compose", "curves=moments&units=person")
    assert (shown(at, "n"), shown(at, "batch"), shown(at, "epochs")) == ("60000", "600", "100")
    enter(at, "batch", "256")
    assert kept(at) == (256 / 60000, 23438)
    assert shown(at, "epochs") == "100"
    enter(at, "epochs", "30")
    assert kept(at) == (256 / 60000, 7032)
    assert controls(at)["epochs"]["why"].endswith("T = 7032 steps = 30.0032 epochs, rounded up")
    ways(at, "mechanism")
    assert kept(at) == (256 / 60000, 7032), "another reading moves nothing"
    assert [controls(at)[field]["why"] for field in ("q", "steps")] == ["256 of 60\u202f000", "30 epochs"]
    enter(at, "q", "512 of 60000")
    assert (kept(at)[0], controls(at)["q"]["why"]) == (512 / 60000, "512 of 60\u202f000")
    enter(at, "q", "0.01")
    enter(at, "steps", "10k")
    ways(at, "person")
    assert (shown(at, "n"), shown(at, "batch"), shown(at, "epochs")) == ("60000", "600", "100")
    assert kept(at) == (0.01, 10_000)
    enter(at, "batch", "256")
    enter(at, "epochs", "30")
    enter(at, "n", "50000")
    assert (shown(at, "batch"), shown(at, "epochs")) == ("256", "30")
    assert kept(at) == (256 / 50000, 5860)
    ways(at, "mechanism")
    enter(at, "n", "1000")
    assert kept(at) == (256 / 50000, 5860), "beside q and T, N moves neither"


@pytest.mark.parametrize("rate", ["0.01", "0.0042666666666666667", "0.123456789012345", "1e-12", "1", "0"])
@pytest.mark.parametrize("steps", ["1", "7032", "9999", "999999999999"])
def test_a_link_keeps_q_and_t_to_the_digit_in_either_units(rate, steps):
    texts = {"q": rate, "steps": steps}
    read = of_values({f.key: f.parse(texts.get(f.key, f.write(f.default))) for f in (*FIELDS, EPOCHS)})
    assert read(RATE) == float(rate)
    assert read(STEPS) == float(steps)
    epochs = units.epochs(read)
    assert epochs == 0 if read(RATE) == 0 else units.steps_of(epochs, read(RATE)) == float(steps)


ENTRY = st.tuples(st.sampled_from((SIZE, RATE, STEPS, BATCH, EPOCHS, UNITS)), st.floats(1e-3, 1e5), st.integers(1, 6))


@given(st.lists(ENTRY, min_size=1, max_size=6))
def test_what_is_shown_after_a_reload_is_what_was_shown_before(entries):
    values = {field.key: field.default for field in registry.FIELDS}
    last = None
    for field, value, digits in entries:
        with suppress(ValueError):  # refused in words: nothing changes
            if field is UNITS:
                values[UNITS.key] = "mechanism" if values[UNITS.key] == "person" else "person"
                continue
            entered = field.parse(f"{round(value) if field.whole else value:.{digits}g}")
            changed = units.sets(field, entered, of_values(values))
            values |= {one.key: new for one, new in changed.items()}
            last = field, entered
    linked = {f.key: f.write(values[f.key]) for f in registry.FIELDS if values[f.key] != f.default}
    before, after = of_values(values), state.reader(urlencode(linked))
    for reading in (units.batch, units.epochs):
        assert reading(after) == reading(before)
    kept = [field for field in registry.FIELDS if field.key not in READINGS]
    assert [after(f) for f in kept] == [before(f) for f in kept]
    if last and last[0] is EPOCHS:
        assert units.epochs(after) == last[1]
    if last and last[0] is BATCH:
        assert units.batch(after) == last[1]


@pytest.mark.parametrize(
    ("field", "text", "shows", "problem"),
    [
        ("sigma", "0,5", "0.5", ""),
        ("n", "60.000", "60.000", "“60.000” may mean 60 or 60 000; type 60 or 60000."),
        ("batch", "1.024", "1.024", "“1.024” may mean 1.024 or 1024; type 1.0240 or 1024."),
    ],
)
def test_a_decimal_comma_is_read_and_what_may_mean_two_numbers_is_asked(field, text, shows, problem):
    at = open_app("compose", "curves=moments&units=person")
    enter(at, field, text)
    assert shown(at, field) == shows
    messages = [message.replace("\u202f", " ") for message in said(at, "problem")]
    assert [message.partition(problem)[1] for message in messages] == ([problem] if problem else [])
    if field == "batch":  # what the slider wrote is read as it stands
        put(at, "entry.batch", {"entry": {"text": text, "n": 1e9, "exact": True}})
        assert (shown(at, "batch"), said(at, "problem")) == (text, [])


def test_no_way_of_looking_at_a_link_moves_it():
    query = "q=0.123456789012345&steps=9999&n=777&curves=moments&units=person"
    at = open_app("compose", query)
    before = kept(at)
    assert before == (0.123456789012345, 9999)
    for way in ("mechanism", "person", "mechanism", "person"):
        ways(at, way)
        enter(at, "sigma", "3")
        assert kept(at) == before
    assert kept(open_app("noise", query)) == before
    for batch in ("777", "1", "256"):  # goes and comes back: no trace but of the last
        enter(at, "batch", batch)
        assert not said(at, "problem")
    assert shown(at, "epochs") == shown(open_app("compose", query), "epochs")


def test_the_units_are_remembered_whatever_is_set():
    at = open_app("attack", "units=person&aview=roc")
    go_to(at, "compose").run()
    assert "epochs" in controls(at)
    assert "q" not in controls(at)
    press(at, "Pin this state")
    at.button(key="pin.show.0").click().run()
    assert "epochs" in controls(at)
    press(at, "Reset everything")
    assert "q" in controls(at)


def test_expressions_are_read_where_what_they_say_is_known():
    at = open_app("compose", "curves=moments&q=256/60000")
    enter(at, "steps", "30 epochs")
    assert shown(at, "steps") == "7032"
    enter(at, "delta", "1/(10 N)")
    assert shown(at, "delta") == DELTA.write(1 / 600_000)
    enter(at, "q", "1/N")
    assert shown(at, "q") == RATE.write(1 / 60_000)
    enter(at, "q", "0")
    enter(at, "steps", "30 epochs")
    assert any("needs the sampling rate q" in text for text in said(at, "problem"))
    alone = open_app("attack", "aview=success")
    enter(alone, "delta", "1/N")
    assert any("needs the size N" in text for text in said(alone, "problem"))
    langevin = open_app("langevin", "n=1000")
    open_part(langevin, "langevin.group", ["Steps", "Data", "Options"], "Data")
    enter(langevin, "delta", "1/N")
    assert shown(langevin, "delta") == "0.001", "the page's own N"


def test_choices_of_delta_follow_n_and_one_above_is_amber():
    at = open_app("compose", "curves=moments")
    assert dict(controls(at)["delta"]["offers"]) == {
        "1/N": DELTA.write(1 / 60_000), "1/(10 N)": DELTA.write(1 / 600_000), "1/N^1.1": DELTA.write(60_000**-1.1)
    }  # fmt: skip
    assert "(0, 1/N)-DP" in controls(at)["delta"]["why"]
    assert not any("above 1/N" in text for text in said(at, "note"))
    enter(at, "delta", "2e-5")
    assert any("above 1/N" in text for text in said(at, "note"))
    enter(at, "n", "10000")
    assert not any("above 1/N" in text for text in said(at, "note"))
    assert dict(controls(at)["delta"]["offers"])["1/N"] == "0.0001"
    assert controls(open_app("compose", "n=1"))["delta"]["offers"] == [["1/(10 N)", "0.1"]], "δ < 1"
    assert controls(open_app("attack", "aview=success"))["delta"]["offers"] == [], "no N is known there"


def test_an_entry_counts_once_and_in_its_order():
    at = open_app("compose", "curves=moments")
    enter(at, "sigma", "10")
    old = at.session_state["entry.sigma"]
    press(at, "Reset everything")
    assert value(at, "sigma") == 4.0, "an entry that was taken is not taken again"
    put(at, "entry.sigma", {"entry": {"text": "7", "n": old["entry"]["n"]}})
    assert value(at, "sigma") == 4.0, "nor is another one of its number"


def test_what_was_entered_last_decides_between_batch_and_size():
    at = open_app("compose", "curves=moments&units=person")
    for first, last in (("batch", "n"), ("n", "batch")):
        texts = {"batch": "300", "n": "30000"}
        n = 1e6 if first == "batch" else 2e6
        at.session_state[f"entry.{last}"] = {"entry": {"text": texts[last], "n": n + 1}}
        put(at, f"entry.{first}", {"entry": {"text": texts[first], "n": n}})
        assert (shown(at, "batch"), shown(at, "n"), kept(at)[0]) == ("300", "30000", 0.01)
        press(at, "Reset everything")
        ways(at, "person")


NAN, INF = float("nan"), float("inf")
RUBBISH = {  # what controls, undo and the story's scroll tell the app
    "entry.sigma": [
        None, {}, {"entry": None}, {"entry": [1]}, {"entry": {"text": 3, "n": 1e12}}, {"entry": {"text": "3"}},
        *({"entry": {"text": "3", "n": n}} for n in ("x", NAN, 10**400, "1e9")),
    ],
    "history.steps": [
        None, {}, {"entry": None}, *({"entry": {"steps": steps}} for steps in (3, [3], [[1, 2, 3]], [["x", 1]])),
        {"entry": {"steps": [[NAN, -1], [INF, -1], [5, 7], [5, "x"]]}},
    ],
    "story": [
        "2", {"stop": None}, *({"stop": {"number": number, "n": n}} for number, n in (
            (["2"], 1), ("99", 1), ("2", "nan"), ("2", INF)
        )),
    ],
}  # fmt: skip


@pytest.mark.parametrize(("key", "rubbish"), [(key, one) for key, several in RUBBISH.items() for one in several])
@pytest.mark.one_of(3)
def test_rubbish_from_a_stranger_is_not_taken(key, rubbish):
    at = open_app("home" if key == "story" else "compose", "curves=moments&stop=3")
    enter(at, "sigma", "2")
    put(at, key, rubbish)
    assert value(at, "sigma") == 2.0
    assert key != "story" or at.session_state["value.stop"] == "3"


def test_a_button_comes_after_what_was_entered_before_it():
    at = open_app("compose", "curves=moments")
    at.session_state["entry.sigma"] = {"entry": {"text": "10", "n": 5.0}}
    press(at, "Pin this state")
    assert at.session_state["pins"] == ["sigma=10&curves=moments"]


def test_steps_entered_on_a_page_with_steps_of_its_own_end_the_entered_epochs():
    at = open_app("langevin", "epochs=3.3")
    assert set_to(at, EPOCHS) == 3.3
    enter(at, "steps", "777")
    assert set_to(at, EPOCHS) == EPOCHS.default


@pytest.mark.parametrize(("page", "field", "text"), [("compose", "n", "60000"), ("noise", "target", "3")])
def test_batches_larger_than_the_data_are_refused_beside_the_controls(page, field, text):
    at = open_app(page, "mech=fixed&n=300&v=3")
    assert any("batch=600 <= size=300" in problem for problem in said(at, "problem"))
    enter(at, field, text)
    assert any("size=" in problem for problem in said(at, "problem")) == (page == "noise")


def test_each_curve_s_pill_has_a_piece_of_its_line() -> None:
    """As the chart draws it; options that are no curves have none."""
    css = _swatches("slider.curves.a_b", list(CURVES.options))
    assert css.count("::before") == len(CURVES.options)
    for place, key in enumerate(CURVES.options, start=1):
        [rule] = [rule for rule in css.split("}") if f":nth-of-type({place})::" in rule]
        assert look.FAMILIES[key].color in rule
        assert ("solid" in rule) == (look.FAMILIES[key].dash == "solid")
        assert ".st-key-slider-curves-a_b " in rule
    assert _swatches("slider.layers", ["first", "last"]) == ""
