"""Sliders and texts for one number agree, and a wrong text loses nothing."""

import pytest

from tests.ui.driver import open_app, said


def text(at, label):
    return next(field for field in at.text_input if field.label == label)


def slider(at, label):
    return next(one for one in at.select_slider if one.label == label)


SIGMA, SIGMA_TEXT = "Noise multiplier σ", "Noise multiplier σ, exactly"


def test_slider_and_text_are_in_step():
    at = open_app("compose", "curves=moments")
    slider(at, SIGMA).set_value(10.0).run()
    assert text(at, SIGMA_TEXT).value == "10"
    text(at, SIGMA_TEXT).set_value("3").run()
    assert slider(at, SIGMA).value == 3.0


def test_an_exact_value_stands_in_the_text_and_leaves_the_stops_alone():
    at = open_app("compose", "curves=moments")
    stops = slider(at, SIGMA).options
    text(at, SIGMA_TEXT).set_value("3.14159").run()
    assert slider(at, SIGMA).value == 3.2
    assert text(at, SIGMA_TEXT).value == "3.14159"
    slider(at, "Steps T").set_value(1000.0).run()
    assert text(at, SIGMA_TEXT).value == "3.14159"
    slider(at, SIGMA).set_value(10.0).run()
    assert slider(at, SIGMA).options == stops
    assert text(at, SIGMA_TEXT).value == "10"


@pytest.mark.parametrize("exact", ["0.0099999", "0.010001", "0.01"])
def test_an_exact_value_beside_a_stop_is_kept(exact):
    at = open_app("compose", "curves=moments")
    text(at, "Sampling rate q, exactly").set_value(exact).run()
    slider(at, SIGMA).set_value(10.0).run()
    assert text(at, "Sampling rate q, exactly").value == exact
    assert len(set(slider(at, "Sampling rate q").options)) == len(slider(at, "Sampling rate q").options)


@pytest.mark.parametrize("wrong", ["0", "-1", "nan", "inf", "text", "1e999", "1/0", "<b>x</b>"])
def test_a_wrong_text_stays_with_its_message_until_mended(wrong):
    at = open_app("compose", "curves=moments")
    sentence = said(at, "sentence")
    text(at, SIGMA_TEXT).set_value(wrong).run()
    assert not at.exception
    assert any(SIGMA in message for message in said(at, "problem"))
    assert text(at, SIGMA_TEXT).value == wrong
    assert said(at, "sentence") == sentence
    slider(at, "Steps T").set_value(1000.0).run()
    assert any(SIGMA in message for message in said(at, "problem"))
    text(at, SIGMA_TEXT).set_value("5").run()
    assert said(at, "problem") == []


def test_a_wrong_text_and_its_message_go_together_when_groups_are_switched():
    at = open_app("compose", "curves=moments")
    text(at, SIGMA_TEXT).set_value("text").run()
    at.button_group[0].set_value(["Show"]).run()
    at.button_group[0].set_value(["Mechanism"]).run()
    assert (text(at, SIGMA_TEXT).value, len(said(at, "problem"))) in (("4", 0), ("text", 1))


def test_batch_and_rate_are_one():
    at = open_app("compose", "curves=moments")
    text(at, "= batch").set_value("256").run()
    assert text(at, "Sampling rate q, exactly").value == repr(256 / 60000)
    text(at, "Sampling rate q, exactly").set_value("512/60000").run()
    assert text(at, "= batch").value == "512"
    text(at, "÷ data set N").set_value("50000").run()
    assert text(at, "= batch").value == "512"
    assert text(at, "Sampling rate q, exactly").value == repr(512 / 50000)


@pytest.mark.parametrize(
    ("label", "wrong"),
    [("= batch", "70000"), ("= batch", "-1"), ("= batch", "nan"), ("÷ data set N", "5"), ("÷ data set N", "0.5")],
)
def test_a_wrong_batch_or_size_stays_until_q_is_set_otherwise(label, wrong):
    at = open_app("compose", "curves=moments")
    text(at, label).set_value(wrong).run()
    assert len(said(at, "problem")) == 1
    assert text(at, label).value == wrong
    assert text(at, "Sampling rate q, exactly").value == "0.01"
    next(one for one in at.button if one.label == "Reset everything").click().run()
    slider(at, "Sampling rate q").set_value(0.1).run()
    assert said(at, "problem") == []
    assert text(at, "= batch").value == "6000"


def test_switching_groups_keeps_values():
    at = open_app("compose", "curves=moments")
    slider(at, SIGMA).set_value(10.0).run()
    for group in ("Data", "Bayes", "Show", "Mechanism"):
        at.button_group[0].set_value([group]).run()
        assert not at.exception
    assert slider(at, SIGMA).value == 10.0
