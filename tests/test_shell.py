"""``python -m dpviz``: the same numbers as the library, the same words as the pages, and exit codes."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

import dpviz
from dpviz.__main__ import main
from dpviz.mechanisms import FixedSize, RandomAllocation, SampledGaussian, SecretPartition, TruncatedPoisson

ROOT = Path(__file__).resolve().parents[1]
STEPS = ["--noise-multiplier", "4", "--sample-rate", "1 %", "--steps", "10k"]
KNOWN = {"noise_multiplier": 4.0, "sample_rate": 0.01, "steps": 10_000}


@pytest.fixture
def output(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """What a command writes, which works."""

    def run(*words: str) -> str:
        assert main([*words]) == 0
        return capsys.readouterr().out

    return run


def test_as_a_program() -> None:
    command = [sys.executable, "-m", "dpviz", "epsilon", *STEPS, "--delta", "1e-5", "--method", "moments"]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert (found.returncode, found.stderr) == (0, "")
    assert float(found.stdout) == dpviz.epsilon("moments", delta=1e-5, **KNOWN)


@pytest.mark.parametrize("words", [["ask"], ["ask", "compose", "--settings"], ["epsilon", "--help"]])
@pytest.mark.one_of(3)
def test_a_reader_that_has_enough_is_no_error(words: list[str]) -> None:
    """As `dpviz ask | head`: the pipe is closed before anything is written."""
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "dpviz", *words]
    found = subprocess.run(command, cwd=ROOT, stdout=writing, stderr=subprocess.PIPE, text=True, timeout=60)
    os.close(writing)
    assert (found.returncode, found.stderr) == (0, "")


DATA = ["--size", "60k", "--batch", "256"]


@pytest.mark.parametrize(
    ("arguments", "mechanism", "steps"),
    [
        ([*DATA, "--epochs", "60"], SampledGaussian(1.1, 256 / 60_000), 14_063),  # 14 062.5
        (["--sample-rate", "256/60000", "--epochs", "60"], SampledGaussian(1.1, 256 / 60_000), 14_063),
        ([*DATA, "--steps", "10k"], SampledGaussian(1.1, 256 / 60_000), 10_000),
        (["--mechanism", "fixed", *DATA, "--epochs", "60"], FixedSize(1.1, 60_000, 256), 14_063),
        (["--mechanism", "allocation", "--batches", "234", "--epochs", "60"], RandomAllocation(1.1, 234), 60),
        (
            ["--mechanism", "truncated", *DATA, "--largest-batch", "300", "--epochs", "1"],
            TruncatedPoisson(1.1, 256 / 60_000, 60_000, 300),
            235,
        ),
        (["--mechanism", "secret", "--batches", "9", "--epochs", "3", "--steps", "1"], SecretPartition(1.1, 9, 3), 1),
    ],
)
def test_epochs_batch_and_size_stand_for_steps_and_rate(
    arguments: list[str], mechanism: dpviz.Mechanism, steps: int, output: Callable[..., str]
) -> None:
    found = float(output("epsilon", "--noise-multiplier", "1.1", *arguments, "--delta", "1e-5"))
    assert found == dpviz.epsilon("tight", mechanism=mechanism, steps=steps, delta=1e-5)


def test_a_run_in_epochs_is_solved_for(output: Callable[..., str]) -> None:
    known = ["--epsilon", "3", "--delta", "1e-5", *DATA, "--epochs", "60", "--method", "renyi"]
    found = float(output("solve", "noise_multiplier", *known))
    one = {"sample_rate": 256 / 60_000, "steps": 14_063, "delta": 1e-5}
    assert found == dpviz.solve("noise_multiplier", target_epsilon=3.0, method="renyi", **one)


def test_delta_solve_and_options(output: Callable[..., str]) -> None:
    assert float(output("delta", *STEPS, "--epsilon", "1.5")) == dpviz.delta("tight", epsilon=1.5, **KNOWN)
    wanted = ["--delta", "1e-5", "--epsilon", "2", "--method", "renyi", "--option", "conversion=classic", "--json"]
    options = {"noise_multiplier": 4.0, "sample_rate": 0.01, "delta": 1e-5, "conversion": "classic"}
    steps = dpviz.solve("steps", target_epsilon=2.0, method="renyi", **options)
    assert json.loads(output("solve", "steps", *STEPS[:4], *wanted)) == {"steps": steps, "method": "renyi"}


def test_version_and_completion(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["--version"])
    assert capsys.readouterr().out == f"dpviz {dpviz.__version__}\n"
    line = "dpviz ask succ"
    environment = os.environ | {"_ARGCOMPLETE": "1", "_ARGCOMPLETE_STDOUT_FILENAME": "/dev/stdout", "COMP_TYPE": "9"}
    environment |= {"COMP_LINE": line, "COMP_POINT": str(len(line)), "_ARGCOMPLETE_SUPPRESS_SPACE": "1"}
    completed = subprocess.run(
        [sys.executable, "-m", "dpviz"], cwd=ROOT, capture_output=True, text=True, timeout=60, env=environment
    )
    assert "success" in completed.stdout.split("\v")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["epsilon", "--noise-multiplier", "4"], "--sample-rate is missing"),
        (["epsilon", *STEPS, "--delta", "tiny"], "--delta: “tiny” is not a number"),
        (["epsilon", *STEPS, "--delta", "2"], "delta"),
        (
            ["epsilon", *STEPS, "--delta", "1e-5", "--sigma", "3"],
            "'--sigma' is not an option of epsilon; it is called --noise-multiplier here.",
        ),
        (
            ["solve", "steps", *STEPS[:4], "--target-epsilon=1"],
            "'--target-epsilon' is not an option of solve; it is called --e",
        ),
        (
            ["solve", "steps", *STEPS[:4], "--target-delta", "1e-5"],
            "'--target-delta' is not an option of solve; it is called --d",
        ),
        (["epsilon", *STEPS, "--seed", "3"], "'--seed' is not an option of epsilon; 'dpviz epsilon --help' lists all."),
        (["epsilon", *STEPS, "--delta", "1e-5", "--option", "orders"], "--option orders has no value"),
        (["solve", "steps", *STEPS[:4], "--epsilon", "1"], "--delta is missing"),
        (["epsilon", *STEPS, "--delta", "1e-5", "--epochs", "60"], "--epochs gives the number of steps"),
        (["epsilon", *STEPS, "--delta", "1e-5", *DATA], "--size and --batch give the sampling rate"),
        (["epsilon", *STEPS, "--delta", "1e-5", *DATA[:2]], "--size does not belong to --mechanism gaussian"),
        (["epsilon", *STEPS[:2], "--batch", "256", "--epochs", "60"], "--size is missing"),
        (
            ["epsilon", *STEPS[:2], "--size", "9", "--batch", "10", "--epochs", "1"],
            "--batch 10 is outside 0 to --size 9",
        ),
        (["epsilon", *STEPS[:2], "--size", "0", "--batch", "0", "--epochs", "1"], "--batch 0 is outside 0 to --size 0"),
        (
            ["epsilon", *STEPS[:2], "--size", "9", "--batch", "0", "--epochs", "1"],
            "no number of steps at a sampling rate",
        ),
        (
            ["solve", "sample_rate", *STEPS[:2], "--epochs", "60", "--epsilon", "1"],
            "without a sampling rate: give --steps",
        ),
        (
            ["app", "--port", "８５０１"],
            "Expected PORT=８５０１ to be a whole number from 1 to 65535, in the digits 0 to 9",
        ),
        (["ask", "sucess"], "Question 'sucess' does not exist; the nearest are success, "),
        (["ask", "success", "--prior", "2"], "Prior must be at least 1e-9 and below 1, not 2"),
        (
            ["ask", "success", "--eps", "2"],
            "has no setting 'eps'; the nearest are epsilon, largest, prior. 'dpviz ask success --settings'",
        ),
        (["ask", "success", "--prior"], "--prior has no value"),
        (["ask", "success", "prior=2"], "Expected --NAME VALUE"),
        (["site", "never-written", "--app", "localhost:8501"], "--app 'localhost:8501' is no address"),
        (["site", "never-written", "--jobs", "-1"], "--jobs -1 is negative"),
        (["site", "never-written", "--only", "train"], "Question 'train' has no page in a folder"),
    ],
)
def test_what_is_wrong_is_said(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    found = capsys.readouterr()
    assert found.out == ""
    assert said in found.err
    assert "Traceback" not in found.err


def test_ask_lists_speaks_and_writes(tmp_path: Path, output: Callable[..., str]) -> None:
    assert "success       What does ε mean?" in output("ask")
    assert "--prior" in output("ask", "success", "--settings")
    asked = ("ask", "success", "--epsilon", "1", "--prior=1/4")
    files = {kind: tmp_path / f"curve.{kind}" for kind in ("csv", "html")}
    wanted = [f"--{kind}={path}" for kind, path in files.items()]
    answer, out = dpviz.ask("success", epsilon=1.0, prior=0.25), output(*asked, *wanted, "--table", "--script")
    assert out.startswith(answer.headline)
    assert "prior=0.25," in out
    answered = json.loads(output(*asked, "--json"))
    assert (answered["headline"], answered["link"]) == (answer.headline, answer.link)
    assert answered["settings"] == {"target": "1", "aprior": "0.25"}
    pd.testing.assert_frame_equal(pd.read_csv(files["csv"]), answer.data())
    assert "plotly" in files["html"].read_text()[:20_000].lower()


def test_site_writes_a_folder_of_pages(tmp_path: Path, output: Callable[..., str]) -> None:
    folder = tmp_path / "site"
    told = output("site", str(folder), "--only", "residents", "--app", "https://app.example", "--jobs", "1")
    assert {file.name for file in folder.iterdir()} == {"index.html", "residents.html", "shared.css", "shared.js"}
    assert told.startswith("1/1 residents.html: 0.")
    assert 'href="https://app.example/attack?aview=residents&amp;v=3"' in (folder / "residents.html").read_text("utf-8")
