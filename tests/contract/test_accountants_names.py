"""An accountant's name stands in quotes in its own file alone: all others read it from the accountant."""

import ast
from pathlib import Path

import dpviz
from dpviz.accounting.adaptive import filter
from dpviz.accounting.bayesian import accountant as bayesian
from dpviz.accounting.methods import FAMILIES, METHODS

ROOT = Path(dpviz.__file__).parent
OWN = {
    "accounting/adaptive/filter.py", "accounting/adaptive/odometer.py", "accounting/bayesian/accountant.py",
    "accounting/composition.py", "accounting/pld/accountant.py", "accounting/renyi/accountant.py",
    "accounting/renyi/closed_form.py", "charts/look.py",
}  # fmt: skip
# Files where names still stand in quotes; this list may only become shorter.
LEFT = {
    "charts": "training",
    "experiments": "inference inferred",
    "questions/attack": "residents roc seen success town",
    "questions/budget": "individual ledger policy spend stop trained trajectories words",
    "questions": "story tight_band",
    "questions/compose": "curves fields law question sample",
    "questions/langevin": "chain conditions curves family",
    "questions/leakage": "stored",
    "questions/noise": "needs question",
    "questions/orders": "bounds curves deciding step thresholds",
    "questions/papers": "abadi adaptive adult bayesian bob check clipping described inference pate reached sampled",
    "questions/printed": "abadi bayesian filters inferred",
    "questions/use": "paragraph plan",
    "training": "settings",
    "ui/runs": "listing overlay report",
    "ui/train": "live words",
}


def test_names_stand_in_their_own_files() -> None:
    names = {*METHODS, *FAMILIES.values(), bayesian.NAME, filter.NAME}
    left = {f"{folder}/{name}.py".removeprefix("/") for folder, files in LEFT.items() for name in files.split()}
    quoted = {
        file.relative_to(ROOT).as_posix()
        for file in ROOT.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.Constant) and node.value in names
    }
    assert quoted - OWN == left
