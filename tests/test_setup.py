"""The set-up: what ``make run`` says when it cannot, and what is pinned."""

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from dpviz.__main__ import main
from tools import install

ROOT = Path(__file__).resolve().parents[1]


def run(*command: str | Path, cwd: Path = ROOT, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, timeout=240, env={**os.environ, **environment}
    )


def test_an_older_python_is_told_which_one_to_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(install.sys, "version_info", (3, 9, 1))
    monkeypatch.setattr(install, "PYTHON", Path("/nowhere/python"))
    with pytest.raises(SystemExit, match=r"3\.11 to 3\.14; this is 3\.9\. Name another: make run PYTHON=python3\.12"):
        install.main("app")


@pytest.mark.parametrize(
    ("named", "card", "system", "backend"),
    [
        ("", False, "linux", "cpu"),
        ("auto", False, "linux", "cpu"),
        ("", True, "linux", ""),  # the usual build has CUDA
        ("cu130", False, "linux", "cu130"),
        ("cpu", True, "linux", "cpu"),
        ("", False, "darwin", ""),  # one build for this system
    ],
)
def test_pytorch_has_no_cuda_without_a_card(
    named: str, card: bool, system: str, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UV_TORCH_BACKEND", named)
    monkeypatch.setattr(install.shutil, "which", lambda name: "/bin/nvidia-smi" if card else None)
    monkeypatch.setattr(install.sys, "platform", system)
    assert install.torch_backend() == backend


@pytest.mark.parametrize("uv", [True, False])
def test_pytorch_comes_from_its_own_index_and_else_from_the_usual_one(
    uv: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands: list[list[str]] = []

    def fails_first(command: list[str], **options: object) -> subprocess.CompletedProcess[bytes]:
        commands.append(command)
        return subprocess.CompletedProcess(command, int(len(commands) == 1))

    monkeypatch.setattr(install, "torch_backend", lambda: "cpu")
    monkeypatch.setattr(install.shutil, "which", lambda name: "/bin/uv" if uv and name == "uv" else None)
    monkeypatch.setattr(install.subprocess, "run", fails_first)
    install.install_torch()
    own, usual = commands
    assert ("--torch-backend=cpu" if uv else f"--index-url={install.TORCH_INDEX}/cpu") in own
    assert "--no-deps" in own
    assert usual == [*install.pip(), own[-1]]
    assert own[-1] in (ROOT / "requirements.txt").read_text().splitlines()


def test_a_port_in_use_is_said_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert main(["app", "--port", str(port)]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert re.search(f"Port {port} is in use.*make run PORT=.*dpviz app --port ", line)


@pytest.mark.parametrize("port", ["0", "65536", "-1", "http", "", "8501.5"])
def test_what_is_no_port_is_said_in_one_line(port: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["app", f"--port={port}"]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert f"PORT={port}" in line


def test_a_set_up_that_could_not_finish_says_so_and_begins_again(tmp_path: Path) -> None:
    """A copy of the set-up in a new place, with a package index that refuses connections."""
    (tmp_path / "tools").mkdir()
    for name in ("requirements.txt", "tools/constraints.txt", "tools/install.py"):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    with socket.socket() as unanswered:
        unanswered.bind(("127.0.0.1", 0))  # bound, not listening: every connection is refused
        index = f"http://127.0.0.1:{unanswered.getsockname()[1]}/simple"
        installed = run(
            sys.executable, tmp_path / "tools/install.py", "app", PIP_INDEX_URL=index, PIP_CONFIG_FILE=os.devnull,
            PIP_FIND_LINKS="", PIP_NO_CACHE_DIR="1", PIP_EXTRA_INDEX_URL="", PIP_RETRIES="1",
        )  # fmt: skip
    assert installed.returncode == 1
    assert "Connection refused" in installed.stderr
    assert installed.stderr.endswith("Run the same command again to go on.\n")
    assert not (tmp_path / ".venv" / "installed-app").exists()


@pytest.mark.parametrize(
    "file", ["requirements.txt", "tools/requirements-dev.txt", "tools/requirements-bench.txt", "tools/constraints.txt"]
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
    assert {"dash", "dp-accounting", "opacus", "prv-accountant"} <= set(re.findall("^(.*)==", pinned, re.MULTILINE))
    assert "$(INSTALL) bench" in (ROOT / "Makefile").read_text().split("\nbench:")[1].split("\n\n")[0]


def test_help_names_every_target() -> None:
    listed = run("make", "--no-print-directory", "help").stdout
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    assert {"run", "test", "bench", "help", "clean", "format"} <= set(targets)
    for target in targets:
        assert re.search(rf"make {target}\s+\S", listed), target


@pytest.mark.parametrize("failing", ["", "ruff", "importlinter", "mypy", "pytest"])
def test_make_test_fails_with_any_of_its_checks_and_prints_types_last(failing: str, tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text((ROOT / "Makefile").read_text())
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\necho "checked $*"\ncase "$*" in *{failing or "nothing"}*) exit 1;; esac\n')
    python.chmod(0o755)
    done = run("make", "--no-print-directory", "test", "INSTALL=true", f"PY={python}", cwd=tmp_path)
    assert bool(done.returncode) == bool(failing), done.stderr
    if failing not in ("ruff", "importlinter"):
        *_, tests, types = done.stdout.splitlines()
        assert "-m pytest" in tests
        assert "-m mypy" in types


@pytest.mark.parametrize("checks", ["", "true"])
@pytest.mark.sweep
def test_without_its_browser_a_test_is_skipped_and_fails_where_all_must_run(checks: str, tmp_path: Path) -> None:
    tests = ("tests/browser/test_pages.py", "tests/engines", "-k", "first_page_opens or handed_out")
    only_python = {"PATH": str(tmp_path), "DPVIZ_CHROMIUM": "/nowhere"}
    done = run(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests, CI=checks, **only_python)
    assert done.returncode == bool(checks), done.stdout + done.stderr
    for why in ("no Chromium found", "no WebKitWebDriver, Xvfb: webkit cannot", "no firefox-esr: firefox cannot"):
        said = f"was skipped, but CI is set: .*{why}" if checks else f"SKIPPED.*{why}"
        assert re.search(said, done.stdout), done.stdout
    assert re.search("3 errors" if checks else "3 skipped", done.stdout)


@pytest.mark.sweep
def test_what_only_root_can_try_is_skipped_where_all_browsers_are(tmp_path: Path) -> None:
    (tmp_path / "not_root.py").write_text("import os\nos.geteuid = lambda: 1000\n")
    tests = ("tests/browser/test_strangers.py", "-k", "another_account")
    options = ("-q", "-p", "no:cacheprovider", "-p", "not_root")
    done = run(sys.executable, "-m", "pytest", *options, *tests, CI="1", PYTHONPATH=str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"SKIPPED.*only root can act as another account", done.stdout)
