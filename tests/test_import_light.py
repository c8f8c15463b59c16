"""The library loads without torch, Streamlit, Plotly or pandas, shows its names, and its examples run."""

import doctest
import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import grimp
import networkx as nx
import pytest

import dpviz
import dpviz.accounting

ROOT = Path(__file__).resolve().parents[1]
MODULES = ["dpviz", "dpviz._validate", "dpviz.training.progress"] + [
    module.name for module in pkgutil.walk_packages(dpviz.accounting.__path__, "dpviz.accounting.")
]


def test_import_loads_nothing_heavy() -> None:
    script = (
        "import sys, dpviz; dpviz.epsilon('renyi', noise_multiplier=4, sample_rate=.01, steps=10, delta=1e-5);"
        "names = {m.split('.')[0] for m in sys.modules} | {*sys.modules};"
        "heavy = {'torch', 'streamlit', 'plotly', 'pandas', 'distributed', 'scipy.stats', 'scipy.signal'};"
        "print(sorted(names & heavy))"
    )
    found = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert (found.returncode, found.stdout.strip()) == (0, "[]"), found.stderr


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert result.failed == 0


def test_there_are_examples() -> None:
    finder = doctest.DocTestFinder(exclude_empty=True)
    examples = [t for name in MODULES for t in finder.find(importlib.import_module(name)) if t.examples]
    assert len(examples) >= 5


# Modules that need one another are one module in several files: imports within functions and for types count too.
def test_no_modules_import_one_another() -> None:
    graph = grimp.build_graph("dpviz")
    modules = nx.DiGraph(
        [(name, used) for name in graph.modules for used in graph.find_modules_directly_imported_by(name)]
    )
    assert not [sorted(part) for part in nx.strongly_connected_components(modules) if len(part) > 1]
