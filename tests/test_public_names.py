"""The names and keywords of the library: what `dpviz` offers, what it says of them, and which other words it takes."""

import math
import pydoc
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest

import dpviz
from dpviz import library
from dpviz.__main__ import main
from dpviz.accounting.methods import ACCOUNTANTS, ALIASES, METHODS
from dpviz.mechanisms import Mechanism
from dpviz.questions.catalogue import QUESTIONS

ROOT = Path(__file__).resolve().parents[1]
STEP = {"noise_multiplier": 4.0, "sample_rate": 0.01}
RUN = STEP | {"steps": 100, "delta": 1e-5}
SPACES = ("bayesian", "langevin", "papers", "pate")


def listed() -> list[str]:
    """The names of the groups in the docstring."""
    assert dpviz.__doc__ is not None
    groups = re.findall(r"^- [^:]+: ([\w, \n]+)$", dpviz.__doc__, re.M)
    return [name for group in groups for name in re.findall(r"\w+", group)]


def test_dir_has_the_public_names_and_the_docstring_lists_each_once() -> None:
    assert sorted(dir(dpviz)) == sorted(listed())
    assert all(getattr(dpviz, name) is not None for name in dir(dpviz))


def test_dir_is_the_same_whatever_was_loaded() -> None:
    script = (
        "import dpviz; before = dir(dpviz); import dpviz.training, dpviz.questions.asked; print(before == dir(dpviz))"
    )
    ran = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert ran.stdout == "True\n", ran.stderr


def test_names_of_the_facade_stay_at_the_top() -> None:
    names = """epsilon delta renyi_divergence closed_form_divergence bayesian_epsilon bayesian_law_epsilon bayesian_cost
    langevin_epsilon langevin_step_size Filter Odometer Ledger attack_success solve translate ask mechanisms"""
    assert set(names.split()) <= set(dir(dpviz))
    assert {"WithReplacement", "PersonRows", "RandomAllocation", "Shuffled", "FixedSize"} <= set(vars(dpviz.mechanisms))


@pytest.mark.parametrize("space", SPACES)
def test_a_name_has_one_place(space: str) -> None:
    module = getattr(dpviz, space)
    names = {name for name in vars(module) if not name.startswith("_")}
    assert names
    assert not names & {*dir(dpviz), *vars(dpviz), *vars(library)}
    assert all(getattr(module, name).__doc__ for name in names)


def test_help_fits_two_screens() -> None:
    assert len(pydoc.render_doc(dpviz).splitlines()) <= 100


def test_a_name_that_does_not_exist_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'dpviz' has no attribute 'epsilonn'"):
        dpviz.epsilonn  # noqa: B018


# Methods.


@pytest.mark.parametrize(("alias", "name"), ALIASES.items())
def test_another_name_of_a_method_gives_the_same_number(alias: str, name: str) -> None:
    step = STEP | {"steps": 100}
    assert dpviz.epsilon(alias, **RUN) == dpviz.epsilon(name, **RUN)
    assert dpviz.delta(alias, epsilon=0.1, **step) == dpviz.delta(name, epsilon=0.1, **step)
    known = {"target_epsilon": 1.0, "steps": 100, "delta": 1e-5, "sample_rate": 0.01}
    assert dpviz.solve("noise_multiplier", method=alias, **known) == dpviz.solve(
        "noise_multiplier", method=name, **known
    )
    assert dpviz.tuned_epsilon(method=alias, **RUN) == dpviz.tuned_epsilon(method=name, **RUN)
    votes = {"delta": 1e-5, "noise_std": 40.0}
    assert dpviz.pate.pate_epsilon(10, method=alias, **votes) == dpviz.pate.pate_epsilon(10, method=name, **votes)
    chain = {"delta": 1e-5, "n": 1000, "batch_size": 10, "clip": 1.0}
    assert dpviz.langevin_epsilon([0.1], method=alias, **chain) == dpviz.langevin_epsilon([0.1], method=name, **chain)
    assert dpviz.accountant(alias).name == name


def test_field_names_of_the_two_usual_accountants_are_taken() -> None:
    assert ALIASES == {"pld": "tight", "rdp": "renyi"}
    assert not ALIASES.keys() & set(METHODS)


def test_questions_take_methods_by_any_name_and_write_one() -> None:
    asked = [dpviz.ask("compose", curves=names, **STEP) for names in (["rdp", "pld"], ["renyi", "tight"])]
    assert {each.answer.given["curves"] for each in asked} == {("renyi_improved", "tight")}
    assert "rdp" not in asked[0].link + asked[0].script()
    solver = QUESTIONS["train"].named()["solver"]
    assert [solver.accept(name) for name in ("pld", "rdp", "moments")] == ["tight", "renyi", "moments"]


def test_the_shell_takes_methods_by_any_name_and_writes_one(capsys: pytest.CaptureFixture[str]) -> None:
    words = "epsilon --noise-multiplier 4 --sample-rate 0.01 --steps 100 --delta 1e-5 --json --method rdp"
    assert main(words.split()) == 0
    assert capsys.readouterr().out == f'{{"epsilon": {dpviz.epsilon("renyi", **RUN)!r}, "method": "renyi"}}\n'


def test_the_numerical_accountant_answers_where_no_method_is_given(capsys: pytest.CaptureFixture[str]) -> None:
    assert dpviz.epsilon(**RUN) == dpviz.epsilon("tight", **RUN)
    assert dpviz.delta(epsilon=0.1, **STEP, steps=100) == dpviz.delta("tight", epsilon=0.1, **STEP, steps=100)
    known = {"target_epsilon": 1.0, "delta": 1e-5, **STEP}
    assert dpviz.solve("steps", **known) == dpviz.solve("steps", method="tight", **known)
    votes = {"delta": 1e-5, "noise_std": 40.0}
    assert dpviz.pate.pate_epsilon(10, **votes) == dpviz.pate.pate_epsilon(10, method="tight", **votes)
    words = "epsilon --noise-multiplier 4 --sample-rate 0.01 --steps 100 --delta 1e-5"
    assert main(words.split()) == 0
    assert float(capsys.readouterr().out) == dpviz.epsilon("tight", **RUN)
    lower = dpviz.epsilon("tight", bound="lower", **RUN)
    assert lower <= dpviz.epsilon(**RUN) <= min(dpviz.epsilon(name, **RUN) for name in ("renyi", "moments", "strong"))


@dataclass(frozen=True)
class OnlyRenyi(Mechanism):
    """A mechanism of which nothing but its Rényi divergence is known, or nothing at all."""

    adjacency: ClassVar = dpviz.Adjacency.ADD_REMOVE
    text_template: ClassVar = "some noise"
    known: bool

    def renyi(self) -> Any:
        return dpviz.SampledGaussian(4.0, 0.01).renyi() if self.known else None


def test_a_method_that_does_not_know_a_mechanism_names_those_that_do() -> None:
    mechanism = OnlyRenyi(known=True)
    knowing = [each.name for each in ACCOUNTANTS if not each().supports(mechanism)]
    assert "renyi" in knowing
    assert "tight" not in knowing
    words = rf"method='tight' knows, found some noise: .* Methods that know it: {', '.join(knowing)}\.$"
    calls: list[Callable[[], Any]] = [
        lambda: dpviz.epsilon(mechanism=mechanism, steps=9, delta=1e-5),
        lambda: dpviz.delta(mechanism=mechanism, steps=9, epsilon=1.0),
        lambda: dpviz.solve("steps", mechanism=mechanism, target_epsilon=1.0, delta=1e-5),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=words):
            call()
    with pytest.raises(ValueError, match=r"No method knows it\.$"):
        dpviz.epsilon(mechanism=OnlyRenyi(known=False), steps=9, delta=1e-5)


# Arguments.


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: dpviz.epsilon(sigma=4.0, sample_rate=0.01, steps=9, delta=1e-5), "sigma=4.0 .* noise_multiplier"),
        (lambda: dpviz.epsilon(noise_multiplier=4.0, q=0.01, steps=9, delta=1e-5), "q=0.01 .* sample_rate"),
        (lambda: dpviz.epsilon(**STEP, num_steps=9, delta=1e-5), "num_steps=9 .* steps"),
        (lambda: dpviz.epsilon(**STEP, steps=9, target_delta=1e-5), "target_delta=1e-05 .* delta"),
        (lambda: dpviz.epsilon(accountant="rdp", **RUN), "accountant='rdp' .* method"),
        (lambda: dpviz.delta(**STEP, steps=9, target_epsilon=1.0), "target_epsilon=1.0 .* epsilon"),
        (lambda: dpviz.solve("steps", **STEP, epsilon=1.0, delta=1e-5), "epsilon=1.0 .* target_epsilon"),
        (lambda: dpviz.solve("steps", **STEP, target_epsilon=1.0, target_delta=1e-5), "target_delta=1e-05 .* delta"),
        (lambda: dpviz.solve("delta", sigma=1.0, target_epsilon=1.0), "sigma=1.0 .* noise_multiplier"),
        (lambda: dpviz.tuned_epsilon(sigma=4.0, sample_rate=0.1, steps=9, delta=1e-5), "sigma=4.0 .* noise_multiplier"),
        (lambda: dpviz.best_accuracy(sigma=4.0, sample_rate=0.01, steps=9), "sigma=4.0 .* noise_multiplier"),
        (lambda: dpviz.odometer_epsilon(**STEP, steps=9, target_delta=1e-5), "target_delta=1e-05 .* delta"),
        (lambda: dpviz.guarantee(**STEP, steps=9, target_delta=1e-5), "target_delta=1e-05 .* delta"),
        (lambda: dpviz.training.PrivateTraining(None, None, None, sigma=4.0), "sigma=4.0 .* noise_multiplier"),
        (lambda: dpviz.training.PrivateTraining(None, None, None, target_delta=1.0), "target_delta=1.0 .* delta"),
    ],
)  # fmt: skip
def test_an_argument_under_another_name_is_told_the_right_one(call: Callable[[], Any], words: str) -> None:
    with pytest.raises(ValueError, match=rf"^Expected {words.replace('.*', 'to be called')}\.$"):
        call()


@pytest.mark.parametrize("method", ["moments", "renyi", "tight"])
def test_steps_are_a_whole_number_and_keep_the_target(method: str) -> None:
    known = {"noise_multiplier": 4.0, "sample_rate": 0.01, "delta": 1e-5}
    steps = dpviz.solve("steps", method=method, target_epsilon=1.0, **known)
    assert type(steps) is int
    assert dpviz.epsilon(method, steps=steps, **known) <= 1.0
    assert dpviz.solve("steps", method=method, target_epsilon=0.5, **known | {"noise_multiplier": 0.3}) == 0
    assert dpviz.solve("steps", method=method, target_epsilon=1.0, **known | {"sample_rate": 0.0}) == math.inf


def test_the_shell_alone_prints_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    assert capsys.readouterr().out.startswith("usage: dpviz ")


@pytest.mark.parametrize(("name", "first"), [("sucess", "success"), ("compos", "compose"), ("pte", "pate")])
def test_a_misspelt_question_names_the_nearest_three(name: str, first: str) -> None:
    with pytest.raises(
        ValueError, match=rf"^Question '{name}' does not exist; the nearest are {first}, (\w+), (\w+)\. "
    ):
        dpviz.ask(name)
