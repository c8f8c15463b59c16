"""Methods, policies, models and data sets are values that say all about themselves; nothing else knows their names."""

import ast
import dataclasses
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.accounting.adaptive.policies import POLICIES
from dpviz.fields.declared import entries
from dpviz.training.data import DATA_SETS
from dpviz.training.methods import METHODS
from dpviz.training.models import MODELS
from dpviz.training.samplers import steps_per_epoch
from dpviz.training.settings import FIELDS, RunSettings

ROOT = Path(__file__).resolve().parents[2]
LISTS = {"methods": METHODS, "policies": POLICIES, "models": MODELS, "data sets": DATA_SETS}
SETTINGS = {field.name for field in dataclasses.fields(RunSettings)}
# Settings that act without a control on the form.
NO_CONTROL = {"sample_every"}


@pytest.mark.parametrize("values", LISTS.values(), ids=LISTS)
def test_each_has_its_name_and_settings_take_it(values):
    assert all(value.key == key for key, value in values.items())
    labels = [getattr(value, "label", None) or value.title for value in values.values()]
    assert len(set(labels)) == len(labels)


def test_what_a_value_reads_is_a_setting_with_a_control_and_what_it_suggests_too():
    for value in (*METHODS.values(), *MODELS.values()):
        assert value.reads <= SETTINGS
        assert value.reads - NO_CONTROL <= set(FIELDS), value.key
    for value in (*METHODS.values(), *MODELS.values(), *DATA_SETS.values()):
        assert set(value.usual) <= set(FIELDS), value.key
        RunSettings(**value.usual).check()


@given(st.integers(1, 10_000), st.integers(1, 10_000))
def test_an_epoch_is_as_many_batches_as_cover_the_data(examples, batch_size):
    steps = steps_per_epoch(examples, batch_size)
    assert steps * batch_size >= examples > (steps - 1) * batch_size


def test_nothing_compares_a_value_s_name():
    """`== "dp_sgd"` would be a second place that knows what a method is."""
    # "sgd" is an optimiser too, and "fixed" a step size: `Fixed` is the policy's name.
    names = set().union(*LISTS.values()) - {"sgd", "fixed"}
    found = []
    for room in ("accounting", "training", "runs", "charts", "questions/leakage", "ui"):
        for path in (ROOT / "dpviz" / room).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Compare):
                    told = {leaf.value for leaf in ast.walk(node) if isinstance(leaf, ast.Constant)}
                    found += [f"{path}:{node.lineno}: {ast.unparse(node)}"] if told & names else []
    assert found == []


def test_each_setting_of_a_run_is_declared_once():
    """A table starts a page at a value only where that is not the run's own; `help` shows what each setting is."""
    defaults = {field.name: field.default for field in dataclasses.fields(RunSettings)}
    for name in defaults.keys() & FIELDS.keys() - {"start_from"}:
        if "default" in entries()[f"t_{name}"]:
            assert FIELDS[name].default != defaults[name], name
    described = re.findall(r"^        (\w+): \S", RunSettings.__doc__ or "", re.MULTILINE)
    assert described == list(defaults)
    assert "own:visits" not in (RunSettings.__doc__ or "")
