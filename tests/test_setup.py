"""The set-up: what ``make run`` says when it cannot, what is pinned, and what the library needs."""

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from dpviz.__main__ import main

ROOT = Path(__file__).resolve().parents[1]


def run(*command: str | Path, cwd: Path = ROOT, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, timeout=240, env={**os.environ, **environment}
    )


def python_that_says(folder: Path, name: str, version: str) -> Path:
    """A stand-in interpreter: answers every question with ``version`` and fails every condition."""
    stand_in = folder / name
    stand_in.write_text(f"#!/bin/sh\necho '{version}'\nexit 1\n")
    stand_in.chmod(0o755)
    return stand_in


class TestFindPython:
    def test_the_one_asked_for_is_taken(self) -> None:
        answer = run("sh", "tools/find_python.sh", sys.executable)
        assert (answer.returncode, answer.stdout.strip()) == (0, sys.executable)

    @pytest.mark.parametrize("asked", ["old", "/nowhere/python3", ""])
    def test_what_is_wrong_is_said_in_one_line(self, tmp_path: Path, asked: str) -> None:
        old = tmp_path / "python3.9"
        # Runs what it is given as Python does, but as an older version.
        pretend = "import sys; sys.version_info = (3, 9, 1); exec(sys.argv[1])"
        old.write_text(f'#!/bin/sh\nexec \'{sys.executable}\' -c "{pretend}" "$2"\n')
        old.chmod(0o755)
        path = {} if asked else {"PATH": str(tmp_path / "nothing")}
        answer = run("/bin/sh", ROOT / "tools/find_python.sh", old if asked == "old" else asked, cwd=tmp_path, **path)
        assert (answer.returncode, answer.stdout) == (1, "")
        [line] = answer.stderr.splitlines()
        words = {"old": ["needs Python 3.11", "is Python 3.9"], "": ["none was found"]}
        assert all(part in line for part in words.get(asked, [f"{asked} does not run"]))

    def test_names_that_do_not_start_are_passed_over(self, tmp_path: Path) -> None:
        python_that_says(tmp_path, "python3", "pyenv: python3: command not found")
        (tmp_path / "python3.12").symlink_to(sys.executable)
        answer = run("/bin/sh", ROOT / "tools/find_python.sh", "", cwd=tmp_path, PATH=str(tmp_path))
        assert (answer.returncode, answer.stdout.strip()) == (0, "python3.12")

    def test_the_environment_that_is_there_stays(self, tmp_path: Path) -> None:
        (tmp_path / ".venv/bin").mkdir(parents=True)
        (tmp_path / ".venv/bin/python").symlink_to(sys.executable)
        answer = run("/bin/sh", ROOT / "tools/find_python.sh", "", cwd=tmp_path, PATH=str(tmp_path))
        assert (answer.returncode, answer.stdout.strip()) == (0, ".venv/bin/python")


class TestLaunch:
    def test_a_port_in_use_is_said_in_one_line(self, capsys: pytest.CaptureFixture[str]) -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            assert main(["app", "--port", str(port)]) == 2
        [line] = capsys.readouterr().err.splitlines()
        assert f"Port {port} is in use" in line
        assert "make run PORT=" in line
        assert "dpviz app --port " in line

    @pytest.mark.parametrize("port", ["0", "65536", "-1", "http", "", "8501.5"])
    def test_what_is_no_port_is_said_in_one_line(self, port: str, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["app", f"--port={port}"]) == 2
        [line] = capsys.readouterr().err.splitlines()
        assert f"PORT={port}" in line


def test_no_network_is_said_in_one_line(tmp_path: Path) -> None:
    """A copy of the set-up in a new place, with a package index that refuses connections."""
    (tmp_path / "tools").mkdir()
    for name in ("requirements.txt", "tools/constraints.txt", "tools/install.py", "tools/torch_build.py"):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    with socket.socket() as unanswered:
        unanswered.bind(("127.0.0.1", 0))  # bound, not listening: every connection is refused
        index = f"http://127.0.0.1:{unanswered.getsockname()[1]}/simple"
        installed = run(
            sys.executable, tmp_path / "tools/install.py", "app", PIP_INDEX_URL=index, PIP_CONFIG_FILE=os.devnull,
            PIP_FIND_LINKS="", PIP_NO_CACHE_DIR="1", PIP_EXTRA_INDEX_URL="",
        )  # fmt: skip
    assert installed.returncode == 1
    [line] = installed.stderr.splitlines()
    assert "no network" in line
    assert "install.log" in line
    assert not (tmp_path / ".venv" / "installed-app").exists()


@pytest.mark.parametrize(
    "file",
    [
        "requirements.txt",
        "tools/requirements-dev.txt",
        "tools/requirements-bench.txt",
        "tools/constraints.txt",
    ],
)
def test_every_package_is_pinned_to_a_public_version(file: str) -> None:
    lines = [line for line in (ROOT / file).read_text().splitlines() if line and not line.startswith(("#", "-c "))]
    assert lines
    for line in lines:
        assert re.fullmatch(r"[A-Za-z0-9._-]+==[0-9.]+(\.?(post|rc)\d+)?", line), line


def test_every_peer_that_a_benchmark_needs_is_installed_by_bench() -> None:
    """Not skipped where it is missing."""
    files = ("requirements.txt", "tools/requirements-dev.txt", "tools/requirements-bench.txt")
    pinned = "\n".join((ROOT / file).read_text() for file in files)
    for peer in ("dash", "dp-accounting", "opacus", "prv-accountant"):
        assert re.search(rf"^{peer}==", pinned, flags=re.MULTILINE)
    bench = (ROOT / "Makefile").read_text().split("\nbench:")[1].split("\n\n")[0]
    assert "$(INSTALL) bench" in bench


def test_help_names_every_target() -> None:
    listed = run("make", "--no-print-directory", "help").stdout
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    assert {"run", "test", "bench", "help", "clean", "format"} <= set(targets)
    for target in targets:
        assert re.search(rf"make {target}\s+\S", listed), target


@pytest.mark.parametrize("checks", ["", "true"])
def test_without_its_browser_a_test_is_skipped_and_fails_where_all_must_run(checks: str, tmp_path: Path) -> None:
    tests = ("tests/browser/test_pages.py", "tests/engines", "-k", "first_page_opens or handed_out")
    only_python = {"PATH": str(tmp_path), "DPVIZ_CHROMIUM": "/nowhere"}
    done = run(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests, CI=checks, **only_python)
    assert done.returncode == bool(checks), done.stdout + done.stderr
    for why in ("no Chromium found", "no WebKitWebDriver, Xvfb: webkit cannot", "no firefox-esr: firefox cannot"):
        said = f"was skipped, but CI is set: .*{why}" if checks else f"SKIPPED.*{why}"
        assert re.search(said, done.stdout), done.stdout
    assert re.search("3 errors" if checks else "3 skipped", done.stdout)


def test_what_only_root_can_try_is_skipped_where_all_browsers_are(tmp_path: Path) -> None:
    (tmp_path / "not_root.py").write_text("import os\nos.geteuid = lambda: 1000\n")
    tests = ("tests/browser/test_strangers.py", "-k", "another_account")
    options = ("-q", "-p", "no:cacheprovider", "-p", "not_root")
    done = run(sys.executable, "-m", "pytest", *options, *tests, CI="1", PYTHONPATH=str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"SKIPPED.*only root can act as another account", done.stdout)
