"""The facade's types: numbers in give a number, and a misspelt method, option or keyword fails in mypy."""

import re
import subprocess
import sys
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

from dpviz.accounting.methods import ACCOUNTANTS, ALIASES, METHODS, Method, Options

ROOT = Path(__file__).resolve().parents[2]
KNOWN = "noise_multiplier=4.0, sample_rate=0.01, steps=9"
LINES = {  # each with the code of what mypy says of it; "" for nothing
    f"one: float = dpviz.epsilon('renyi', {KNOWN}, delta=1e-5)": "",
    f"other: float = dpviz.delta('tight', {KNOWN}, epsilon=1.0, bound='lower')": "",
    "many = dpviz.epsilon('renyi', noise_multiplier=[4.0, 5.0], sample_rate=0.01, steps=9, delta=1e-5)": "",
    f"numerical: float = dpviz.epsilon({KNOWN}, delta=1e-5) + dpviz.epsilon('pld', {KNOWN}, delta=1e-5)": "",
    "noise: float = dpviz.solve('noise_multiplier', target_mu=1.0, delta=1e-5, sample_rate=0.1, steps=9)": "",
    f"dpviz.epsilonn({KNOWN}, delta=1e-5)": "attr-defined",
    "guess: float = dpviz.attack_success(1.0, delta=1e-5)": "",
    "belief: float = dpviz.posterior_belief(1.0, prior=0.1)": "",
    "sure: float = dpviz.papers.sure_success(1.0, hit_rate=0.1)": "",
    "divergence: float = dpviz.renyi_divergence(noise_multiplier=4, sample_rate=0.01, orders=2)": "",
    "moment: float = dpviz.papers.asymptotic_moment(noise_multiplier=4, sample_rate=0.01, orders=2)": "",
    "votes: float = dpviz.pate.pate_epsilon(100, delta=1e-5, noise_std=20.0, method='tight')": "",
    f"running: float = dpviz.odometer_epsilon({KNOWN}, delta=1e-5, variant='authors')": "",
    "other_noise: float = dpviz.langevin.langevin_noise_multiplier(0.1, n=60_000, batch_size=245, clip=4)": "",
    "dpviz.attack_success(1.0, detla=1e-5)": "call-overload",
    "dpviz.pate.pate_epsilon(100, delta=1e-5, noise_std=20.0, method='tigth')": "call-overload",
    f"dpviz.odometer_epsilon({KNOWN}, delta=1e-5, variant='author')": "call-overload",
    "dpviz.langevin.langevin_noise_multiplier(0.1, n=60_000, batch_size=245, clip=4, adjacency='add')": "call-overload",
    f"dpviz.epsilon('reny', {KNOWN}, delta=1e-5)": "call-overload",
    f"dpviz.epsilon('renyi', {KNOWN}, detla=1e-5)": "call-overload",
    f"dpviz.epsilon('renyi', {KNOWN}, delta=1e-5, conversion='clasic')": "call-overload",
    f"dpviz.delta('renyi', {KNOWN}, epsilon=1.0, order=[2.0])": "call-overload",
    f"dpviz.solve('delta', target_epsilon=1.0, method='renyi', {KNOWN}, convresion='classic')": "call-overload",
    "dpviz.solve('noise_multiplier', target_advantage=0.1, method='renyi', sample_rate=0.1, steps=9)": "call-overload",
    "dpviz.solve('noise_multiplier', target_tpr=0.1, method='tight', sample_rate=0.1, steps=9)": "call-overload",
    f"dpviz.tuned_epsilon({KNOWN}, delta=1e-5, law='possion')": "call-overload",
}


def test_the_names_for_type_checkers_are_those_of_the_accountants() -> None:
    assert get_args(Method) == (*METHODS, *ALIASES)
    hints = get_type_hints(Options)
    assert set(hints) == {option for one in ACCOUNTANTS for option in one.options}
    for one in ACCOUNTANTS:
        assert all(get_args(hints[option]) == choices for option, choices in one.choices.items())


@pytest.mark.sweep
def test_what_is_misspelt_fails_in_mypy(tmp_path: Path) -> None:
    source = tmp_path / "facade.py"
    source.write_text("\n".join(["import dpviz", *LINES]))
    command = [sys.executable, "-m", "mypy", "--no-error-summary", f"--cache-dir={tmp_path}", source]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    problems = [re.search(r"facade.py:(\d+): error: .*\[(.*)\]", line) for line in run.stdout.splitlines()]
    found = {int(match[1]) - 2: match[2] for match in problems if match}
    assert found == {i: code for i, code in enumerate(LINES.values()) if code}
