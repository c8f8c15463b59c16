"""What docs/work/extending.md shows works as it stands there."""

import hashlib
import importlib
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpviz
from dpviz.experiments.catalogue import read
from dpviz.experiments.make import make
from dpviz.experiments.record import ExperimentRecord
from dpviz.fields import numbers
from dpviz.questions.catalogue import QUESTIONS
from dpviz.questions.question import Question
from dpviz.training.accounts.claims import planned_claim
from dpviz.training.data import DATA_SETS, read_sets
from dpviz.training.loop import FreeRun, run
from dpviz.training.methods import METHODS
from dpviz.training.models import MODELS, RECORDED, Model
from dpviz.training.settings import FIELDS, RunSettings
from tests.contract import checks
from tests.contract.cases import Case
from tests.experiments.same import same_settings
from tests.questions.asking import run_script

DOC = Path(__file__).resolve().parents[1] / "docs" / "work" / "extending.md"


def source(title: str, language: str = "python") -> str:
    """What the docs show under `title`."""
    section = DOC.read_text(encoding="utf-8").split(f"\n## {title}")[1].split("\n## ")[0]
    [shown] = re.findall(rf"```{language}\n(.*?)```", section, flags=re.S)
    assert len(shown.strip().splitlines()) < 40, "one file of fewer than 40 lines"
    return str(shown)


def load(name: str, title: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The file that the docs show under `title`, as a module."""
    (tmp_path / f"{name}.py").write_text(source(title), encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, name, raising=False)
    return importlib.import_module(name)


# What looks across all files, and so at those that were placed.
ACROSS = [
    "tests/test_names.py",
    "tests/test_import_light.py::test_no_modules_import_one_another",
    "tests/contract/test_accountants_names.py",
    "tests/contract/test_cards.py",
    "tests/contract/test_types.py::test_the_names_for_type_checkers_are_those_of_the_accountants",
    "tests/fields/test_declared.py",
    "tests/questions/test_every_question.py::test_keys_of_questions_and_fields_are_told_apart",
    "tests/questions/test_every_question.py::test_a_question_names_the_fact_that_it_asks_for",
]


def placed(file: Path, before: str, after: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert text.count(before) == 1, f"{before!r} stands once in {file.name}"
    file.write_text(text.replace(before, after), encoding="utf-8")


@pytest.mark.sweep
@pytest.mark.timeout(900)  # copies the project and tests it in a process of its own
def test_an_accountant_and_a_page_placed_as_the_docs_say_pass_what_looks_across_all_files(tmp_path: Path) -> None:
    """One file and one line each, in a copy of the project; the card is written by the command that the docs name."""
    root = DOC.parents[2]
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=root, capture_output=True, check=True)
    for name in filter(lambda name: (root / name).is_file(), listed.stdout.decode().splitlines()):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(root / name, tmp_path / name)
    package = tmp_path / "dpviz"
    (package / "accounting" / "concentrated.py").write_text(source("An accountant"), encoding="utf-8")
    placed(
        package / "accounting" / "methods.py",
        "from dpviz.accounting.composition import Basic, Strong\n",
        "from dpviz.accounting.composition import Basic, Strong\n"
        "from dpviz.accounting.concentrated import Concentrated\n",
    )
    placed(package / "accounting" / "methods.py", "MixtureOdometer),\n)", "MixtureOdometer),\n    Concentrated,\n)")
    placed(package / "accounting" / "methods.py", '"mixture", "rdp",', '"mixture", "zcdp", "rdp",')
    (package / "questions" / "sampling.py").write_text(source("A question"), encoding="utf-8")
    placed(
        package / "questions" / "catalogue.py",
        "from dpviz.questions.train import",
        "from dpviz.questions.sampling import PAGE as SAMPLING\nfrom dpviz.questions.train import",
    )
    placed(package / "questions" / "catalogue.py", ", PAPERS)", ", PAPERS, SAMPLING)")
    options = {"cwd": tmp_path, "env": {**os.environ, "PYTHONPATH": str(tmp_path)}, "capture_output": True}
    cards = subprocess.run([sys.executable, "-m", "tools.cards"], text=True, **options)
    assert cards.returncode == 0, cards.stderr
    subprocess.run([sys.executable, "-m", "ruff", "format", "--quiet", "dpviz/accounting/methods.py"], **options)
    style = subprocess.run([sys.executable, "-m", "ruff", "check", "--quiet", "dpviz"], text=True, **options)
    assert style.returncode == 0, style.stdout
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", *ACROSS]
    ran = subprocess.run(command, text=True, **options)
    assert ran.returncode == 0, ran.stdout[-4000:] + ran.stderr[-1000:]


def test_the_question_of_the_docs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = load("sampling_of_the_docs", "A question", tmp_path, monkeypatch)
    question: Question[Any] = module.SAMPLING
    answer = question.asked(question.read(lambda field: field.default))
    whole = dpviz.epsilon("renyi", noise_multiplier=4.0, sample_rate=1.0, steps=10_000, delta=1e-5)
    said = f"After {numbers.steps(10_000)} steps without sampling <b>ε ≤ {numbers.up(float(whole))}</b>."
    assert question.headline(answer) == said
    assert len(answer.plot.table()) > 5
    assert answer.plot.chart().figure["data"]
    monkeypatch.setitem(QUESTIONS, question.key, question)
    asked = dpviz.ask(question.key, steps=100)
    run_script(asked.script(), asked)
    assert module.PAGE.question(lambda field: field.default) is question


def test_the_accountant_of_the_docs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    accountant = load("concentrated_of_the_docs", "An accountant", tmp_path, monkeypatch).Concentrated()
    case = Case(accountant)
    step, other = dpviz.SampledGaussian(4.0, 0.01), dpviz.SampledGaussian(9.0, 1.0)
    checks.monotone(case, 4.0, 0.01, 900, 1e-5, 1.5)
    checks.delta_inverts_epsilon(case, 4.0, 0.01, 900, 1e-5)
    checks.curve_is_step_by_step(case, step, 50, 1e-5)
    checks.order_does_not_matter(case, [(step, 3), (other, 5)], [(other, 5), (step, 3)], 1e-5)
    checks.arrays_are_scalars_side_by_side(case, np.array([1.0, 4.0]), 0.1, np.array([[1], [50]]), 1e-5)
    checks.nothing_released_costs_nothing(case, 4.0)
    assert "rho" in accountant.latex(step, 100, 1e-5)
    assert accountant.card.kind.startswith("Upper bound")
    assert all(accountant.card.bibtex)
    for sigma, rate, steps in ((1.0, 1.0, 1), (4.0, 0.5, 100), (30.0, 1.0, 1000)):
        known = {"noise_multiplier": sigma, "sample_rate": rate, "steps": steps, "delta": 1e-5}
        assert case.epsilon(sigma, rate, steps, 1e-5) >= dpviz.epsilon("tight", bound="lower", **known)


def test_the_mechanism_of_the_docs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    step = load("known_of_the_docs", "A mechanism", tmp_path, monkeypatch).KnownBatches(1.1)
    spent = {"steps": 15, "delta": 1e-5}
    assert dpviz.epsilon("tight", mechanism=step, **spent) == pytest.approx(20.562, abs=1e-3)  # once with σ/√15
    asked = dpviz.ask("compose", mechanism=step, **spent)
    assert "After 15 epochs" in asked.headline  # and with μ = √15/1.1, Φ(μ/2) = .961 of all guesses are right
    assert "96.1 %" in asked.headline
    run_script(asked.script(), asked)
    sigma = dpviz.solve("noise_multiplier", method="tight", mechanism=step, target_epsilon=20.563, **spent)
    assert sigma == pytest.approx(1.1, rel=1e-3)


def test_the_method_of_the_docs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = load("sign_of_the_docs", "A training method", tmp_path, monkeypatch)
    monkeypatch.setitem(METHODS, module.DpSign.key, module.DpSign)
    monkeypatch.setitem(FIELDS["method"].options, module.DpSign.key, module.DpSign.label)
    sgd = RunSettings(data="abalone", model="logistic", batch_size=64, steps=4, threads=1)
    sign = sgd.with_(method="dp_sign", **module.DpSign.usual)
    assert planned_claim(sign, 3133) == planned_claim(sgd, 3133)
    summary = run(sign, lambda event: None, FreeRun())
    assert (summary["state"], summary["steps"]) == ("done", 4)
    assert summary["claim"]["epsilon"] == planned_claim(sgd, 3133).epsilon


def test_the_model_of_the_docs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    network = load("narrow_of_the_docs", "A model", tmp_path, monkeypatch).NETWORK
    [(key, row)] = tomllib.loads(source("A model", "toml")).items()
    for models in (MODELS, RECORDED):
        monkeypatch.setitem(models, key, Model(key=key, **row, **network))
    monkeypatch.setitem(FIELDS["model"].options, key, row["title"])
    trains(RunSettings(data="abalone", model=key, threads=1).with_(**row["usual"] | {"steps": 4}), parameters=482)


def test_the_data_set_of_the_docs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cups = [f"{at % 10},{60 + at % 40},{'black' if at % 3 else 'green'},{int(at % 10 > 5)}" for at in range(600)]
    (tmp_path / "cups.csv").write_text("\n".join(cups))
    digest = hashlib.sha256((tmp_path / "cups.csv").read_bytes()).hexdigest()
    [(key, data)] = read_sets(source("A data set", "toml").replace("…", digest)).items()
    monkeypatch.setitem(DATA_SETS, key, data)
    monkeypatch.setenv("DPVIZ_DATA", str(tmp_path))
    assert FIELDS["data"].options[key] == "Cups of tea"
    trains(RunSettings(data=key, model="logistic", batch_size=50, steps=4, threads=1), parameters=10)


def trains(settings: RunSettings, *, parameters: int) -> None:
    """It runs, is claimed as planned, and has as many parameters as pages say that it has."""
    events: list[dict[str, Any]] = []
    data = DATA_SETS[settings.data]
    summary = run(settings, events.append, FreeRun())
    assert (summary["state"], summary["steps"]) == ("done", 4)
    assert summary["claim"] == planned_claim(settings, data.examples).to_json()
    [started] = [event for event in events if event["kind"] == "started"]
    assert started["parameters"] == data.parameters[settings.model] == parameters
    assert (started["examples"], started["test_examples"]) == (data.examples, data.test_examples)


def test_the_experiment_of_the_docs(tmp_path: Path) -> None:
    [clips] = read(source("A recorded experiment", "toml"))
    assert make([clips], jobs=1, parts=tmp_path / "parts", into=tmp_path / "records", say=lambda _: None)
    record = ExperimentRecord.from_text((tmp_path / "records" / "clips.json").read_text(encoding="utf-8"))
    assert same_settings(clips, record)
    assert record.spread("short", "test_accuracy").mean != record.spread("long", "test_accuracy").mean
