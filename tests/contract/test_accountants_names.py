"""An accountant's name stands in quotes in its own file alone: all others read it from the accountant."""

import ast
import inspect
import re
from pathlib import Path

import dpviz
from dpviz.accounting.adaptive import filter
from dpviz.accounting.bayesian import accountant as bayesian
from dpviz.accounting.methods import ACCOUNTANTS, ALIASES, METHODS, accountant, every_choice

ROOT = Path(dpviz.__file__).parent
FAMILIES = {accountant(name, **options).family for name, options in every_choice()}
NAMES = {*METHODS, *ALIASES, *FAMILIES, bayesian.NAME, filter.NAME}
# Files of the accountants; the list of them, which names them for type checkers too (`test_types` compares).
OWN = {Path(inspect.getfile(kind)).relative_to(ROOT).as_posix() for kind in (*ACCOUNTANTS, filter.Filter)} | {
    "accounting/methods.py",
    "accounting/bayesian/accountant.py",
}
# The same words for other things: a setting of runs, a column, attributes of facts, by which they are read; and types.
OTHER_THINGS = {
    "bayesian": {
        "questions/train/settings.py", "training/checkpoint.py", "training/together.py", "training/values.py",
    },
    "filter": {"questions/budget/ledger.py"},
    "odometer": {"questions/budget/policy.py", "questions/budget/trained.py"},
    "pld": {"accounting/solve.py", "accounting/tuning.py"},
    "rdp": {"accounting/tuning.py"},
    "renyi": {"accounting/tuning.py"},
    "tight": {
        "accounting/solve.py", "accounting/tuning.py", "questions/check/translation.py", "questions/langevin/cost.py",
        "questions/orders/known.py", "questions/tight_band.py",
    },
}  # fmt: skip
# How often data name an accountant, whose value a paper prints or whose line it is; this may only become smaller.
MOST_IN_DATA = 71


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
