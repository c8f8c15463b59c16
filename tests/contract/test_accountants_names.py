"""An accountant's name stands in quotes in its own file alone: all others read it from the accountant."""

import ast
import re
from pathlib import Path

import dpviz
from dpviz.accounting.adaptive import filter
from dpviz.accounting.bayesian import accountant as bayesian
from dpviz.accounting.methods import METHODS, accountant, every_choice

ROOT = Path(dpviz.__file__).parent
FAMILIES = {accountant(name, **options).family for name, options in every_choice()}
NAMES = {*METHODS, *FAMILIES, bayesian.NAME, filter.NAME}
OWN = {
    "accounting/adaptive/filter.py", "accounting/adaptive/fully_adaptive.py", "accounting/adaptive/odometer.py",
    "accounting/bayesian/accountant.py",
    "accounting/composition.py", "accounting/pld/accountant.py", "accounting/renyi/accountant.py",
    "accounting/renyi/closed_form.py", "accounting/methods.py",
}  # fmt: skip  # the last for type checkers, which `test_types` compares
# The same words for other things: a setting of runs, and attributes of facts, by which they are read.
OTHER_THINGS = {
    "bayesian": {
        "questions/papers/bayesian.py", "questions/train/settings.py",
        "training/session.py", "training/settings.py", "training/values.py", "ui/train/words.py",
    },
    "odometer": {"questions/budget/policy.py", "questions/budget/trained.py"},
    "renyi": {"accounting/tuning.py"},
    "tight": {
        "accounting/solve.py", "accounting/tuning.py", "questions/langevin/chain.py",
        "questions/tight_band.py", "questions/use.py",
    },
}  # fmt: skip
# How often data name an accountant, whose value a paper prints or whose line it is; this may only become smaller.
MOST_IN_DATA = 118


def test_names_stand_in_their_own_files() -> None:
    elsewhere = {
        (node.value, name)
        for file in ROOT.rglob("*.py")
        if (name := file.relative_to(ROOT).as_posix()) not in OWN
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.Constant) and node.value in NAMES
    }
    assert elsewhere == {(name, file) for name, files in OTHER_THINGS.items() for file in files}


def test_data_name_few_accountants() -> None:
    values = [re.findall(r'"(\w+)"', file.read_text("utf-8")) for file in ROOT.rglob("*.toml")]
    assert sum(value in NAMES for several in values for value in several) <= MOST_IN_DATA
