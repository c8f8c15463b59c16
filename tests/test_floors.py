"""The lowest numpy and scipy that the library promises: tests of its accounts and mechanisms pass with them."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ["tests/contract/test_accountants.py", "tests/mechanisms", "tests/gradients"]
# All accounts but those whose tests take long and ask numpy and scipy for nothing that the others do not.
NUMERICAL = ("adaptive", "bayesian", "claims", "renyi", "solve", "tight")
ACCOUNTS = [f"tests/accounting/test_{name}.py" for name in NUMERICAL]
PEERS = "tests/mechanisms/test_log_moments.py"  # needs Opacus, which needs a newer scipy
NEEDED = re.compile(r"(pytest|pytest-timeout|hypothesis|mpmath|dp-accounting|prv-accountant)==.*")


@pytest.mark.sweep
@pytest.mark.timeout(1200)
@pytest.mark.skipif(sys.version_info >= (3, 13), reason="the lowest numpy has no wheel for this Python")
def test_accounts_pass_with_the_lowest_versions(tmp_path: Path) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lowest = [f"{dependency.replace('>=', '==')}.*" for dependency in project["dependencies"]]
    tools = [line for line in (ROOT / "tools/requirements-dev.txt").read_text().splitlines() if NEEDED.fullmatch(line)]
    python = tmp_path / "venv/bin/python"

    def run(*command: str | Path) -> None:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": ""})
        assert done.returncode == 0, f"{done.stdout[-4000:]}\n{done.stderr[-2000:]}"

    run(sys.executable, "-m", "venv", tmp_path / "venv")
    run(python, "-m", "pip", "install", "--quiet", "--no-compile", "--disable-pip-version-check", *lowest, *tools)
    chosen = ["-m", "not sweep and not long", "-k", "not opacus", f"--ignore={PEERS}", *ROOMS, *ACCOUNTS]
    run(python, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *chosen)
