"""The Compose page as it is shown."""

import re

import numpy as np
import pytest

from dpviz.questions import kinds
from dpviz.questions.compose.later import beside_part
from dpviz.questions.compose.question import GROWTH
from dpviz.questions.layout import fields_of
from dpviz.questions.mechanism import STEPS
from dpviz.ui import render
from dpviz.ui.state import reader
from tests.ui.driver import group, measured, open_app, open_part, put, said


@pytest.mark.parametrize("page", ["home", "compose"])
@pytest.mark.parametrize("query", ["sigma=1e-200&q=1&steps=3", "sigma=1e-150&q=0.5&steps=1e12", "q=0"])
def test_the_best_attack_has_a_number_whatever_is_typed(page, query):
    words = " ".join(said(open_app(page, query), "headline")[0].split())
    assert "still being computed" not in words
    limit = "(at most|more than) 50 %" if query == "q=0" else "may be right every time"
    assert re.search(limit, words) or "None of the selected accountants" in words


def test_a_file_that_is_not_there_leaves_the_other_curves_and_its_chooser():
    at = open_app("compose", "source=upload")
    assert any("upload a CSV" in text for text in said(at, "problem"))
    assert "Rényi improved" in said(at, "strip")[0]
    open_part(at, "compose.group", ["Mechanism", "Gradients", "Show"], "Gradients")
    assert len(at.get("file_uploader")) == 1


def test_equal_settings_are_computed_once_and_what_is_measured_has_no_true_cost():
    get = reader("curves=bayesian&source=measured&model=logistic&trained=10&examples=200")
    early = render.compute(GROWTH, get)
    answer = measured(lambda: render.compute(GROWTH, get))
    assert early.facts.bayesian is not None or early.facts.problem[0].kind == "caution"
    assert render.compute(GROWTH, get).facts is answer.facts
    found = beside_part(answer)["beside"]
    assert found.truth is None
    assert not found.infinite
    assert not np.isfinite(found.samples) or found.samples > 100
    assert "Measured(model='logistic', training_step=10, examples=200, seed=0)" in repr(answer.given["gradients"].of)


@pytest.mark.parametrize(
    ("link", "kind", "steps", "passes"),
    [
        ("", "allocation", 100.0, None),
        ("", "shuffled", 100.0, None),
        ("", "secret", 1.0, 100.0),
        ("", "correlated", 1.0, 100.0),
        ("steps=500", "allocation", 5.0, None),
        ("steps=510", "allocation", 6.0, None),
        ("steps=3", "partition", 1.0, None),
        ("n=60000&q=256/60000&steps=14063", "banded", 1.0, 60.0),
        ("mech=allocation&steps=15", "secret", 1.0, 15.0),
        ("mech=allocation&steps=15", "replace", 1500.0, None),
        ("mech=secret&passes=40&steps=2", "gaussian", 8000.0, None),
        ("mech=secret&passes=40&steps=2", "partition", 80.0, None),
        ("mech=secret&passes=40&steps=2", "correlated", None, None),
        ("mech=partition&steps=3", "fixed", 300.0, None),
        ("mech=allocation&steps=7", "shuffled", None, None),
        ("steps=1e12&q=1", "secret", 1e6, 1e6),
        ("mech=allocation&q=0&steps=7", "gaussian", None, None),
    ],
)
def test_another_kind_trains_for_the_same_epochs(link, kind, steps, passes):
    """An epoch was fifteen, and ten thousand batches stayed ten thousand runs."""
    get = reader(link)
    found = kinds.follows(get(kinds.KIND), kind, get)
    assert (found.get(STEPS), found.get(kinds.PASSES)) == (steps, passes)


def test_choosing_another_kind_changes_the_steps():
    at = open_app("compose", "curves=tight&expert=1")
    at.selectbox(key="slider.mech").select("partition").run()
    assert (at.session_state["value.mech"], at.session_state["value.steps"]) == ("partition", 100.0)
    assert "100 epochs" in " ".join(said(at, "headline")[0].split())


def test_only_curves_of_the_chosen_mechanism_are_offered_and_the_others_stay_chosen():
    groups = ["Mechanism", "Show"]
    at = open_app("compose", "mech=laplace&b=2&curves=strong.moments.tight&expert=1")
    assert "Laplace" in at.selectbox(key="slider.mech").format_func("laplace")
    shown = fields_of(GROWTH.groups(reader("mech=laplace"))["Mechanism"])
    assert [field.key for field in shown] == ["mech", "persons", "b", "n", "q", "steps", "lam", "delta", "tried"]
    [excluded] = [text for text in said(at, "note") if "Not offered" in text]
    assert all(name in excluded.partition(". Only")[0] for name in ("strong", "closed form", "Bayesian DP"))
    open_part(at, "compose.group", groups, "Show")
    pills = group(at, "Curves")
    assert pills.options == ["moments", "Rényi classic", "Rényi improved", "PLD"]
    assert pills.value == ["moments", "tight"]
    pills.set_value(["renyi_classic"]).run()
    assert at.session_state["value.curves"] == ("strong", "renyi_classic")
    put(at, "value.mech", "gaussian")
    assert group(at, "Curves").value == ["strong", "renyi_classic"]
    assert not any("Not offered" in text for text in said(at, "note"))
