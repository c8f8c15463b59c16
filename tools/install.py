"""Make .venv and install the pinned packages into it, once: ``python tools/install.py app|dev|bench``.

A stamp in .venv holds the hash of the requirement files it was installed from, so that a second call costs
milliseconds and an edited requirement file installs again. Uses the standard library only.
"""

import hashlib
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import NoReturn

from torch_build import choose, installed

ROOT = Path(__file__).resolve().parents[1]
VENV = ROOT / ".venv"
LOG = VENV / "install.log"
VENV_PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
APP = [ROOT / "requirements.txt"]
PIP = [
    str(VENV_PYTHON),
    "-m",
    "pip",
    "install",
    "--quiet",
    "--no-input",
    "--disable-pip-version-check",
    "--retries",
    "2",
]
DEV = [*APP, ROOT / "tools" / "requirements-dev.txt"]
TARGETS = {"app": APP, "dev": DEV, "bench": [*DEV, ROOT / "tools" / "requirements-bench.txt"]}
NAMES = {
    "app": "the app's packages",
    "dev": "the app's packages and the test tools",
    "bench": "the app's packages, the test tools and the peers of the benchmarks",
}

# pip's words for "I could not reach the index", over its versions and the ways a network can be missing.
NETWORK_SIGNS = (
    "NewConnectionError",
    "NameResolutionError",
    "ConnectTimeout",
    "ReadTimeout",
    "ProxyError",
    "Connection refused",
    "Network is unreachable",
    "connection broken",
    "Failed to establish",
    "name resolution",
)


def fail(message: str) -> NoReturn:
    sys.exit(f"dpviz set-up: {message}")


def fingerprint(files: list[Path]) -> str:
    """Hash of the requirement files, the constraints, and the Python version they were installed for."""
    digest = hashlib.sha256(f"{sys.version_info[:2]}".encode())
    for file in [*files, ROOT / "tools" / "constraints.txt"]:
        digest.update(file.read_bytes())
    return digest.hexdigest()


def starts(python: Path) -> bool:
    """Whether the environment's Python runs and has our version: the Python it links to may be gone or replaced."""
    question = "import sys, pip; print(sys.version_info[:2])"
    try:
        answer = subprocess.run([python, "-c", question], capture_output=True, text=True)
    except OSError:
        return False
    return answer.stdout.strip() == f"{sys.version_info[:2]}"


def make_environment() -> None:
    print(f"Making .venv with Python {sys.version.split()[0]} …", flush=True)
    made = subprocess.run([sys.executable, "-m", "venv", "--clear", VENV], capture_output=True, text=True)
    if made.returncode:
        if "ensurepip" in made.stdout + made.stderr:
            fail("this Python lacks the venv module: install it ('apt install python3-venv' on Debian and Ubuntu).")
        reason = (made.stderr.strip() or made.stdout.strip() or "no reason given").splitlines()[-1]
        fail(f"cannot make .venv: {reason}. Name another Python, as in 'make run PYTHON=python3.12'.")


def explain(log: str) -> str:
    """One line that says why pip failed and what would help."""
    where = f"Details: {LOG.relative_to(ROOT)}"
    if "No space left on device" in log:
        return f"the disk is full; PyTorch needs 1 GB, with CUDA 6 GB: free some space, then run it again. {where}"
    if any(sign in log for sign in NETWORK_SIGNS):
        return f"no network: pip cannot reach its package index; connect (or set a proxy), then run it again. {where}"
    errors = [line.strip() for line in log.splitlines() if line.startswith("ERROR")]
    return f"pip failed: {errors[-1] if errors else 'no reason given'}; put that right, then run it again. {where}"


def pip_install(what: str, arguments: list[str]) -> None:
    """Run one quiet pip call, or say in one line why it failed."""
    if ran(f"Installing {what}", [*PIP, *arguments]):
        fail(explain(LOG.read_text(errors="replace")))


def ran(what: str, command: list[str]) -> int:
    """The command's exit status, what it said kept in the log; on a terminal a clock shows that it is alive."""
    begun, on_terminal = time.monotonic(), sys.stdout.isatty()
    print(f"{what} …", end="", flush=True)
    with LOG.open("w") as log:
        try:
            process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, cwd=ROOT)
        except OSError as error:
            print(f" {error}", flush=True)
            return 127
        try:
            while process.poll() is None:
                time.sleep(0.5)
                if on_terminal:
                    print(f"\r{what} … {time.monotonic() - begun:.0f} s", end="", flush=True)
        except KeyboardInterrupt:
            process.terminate()
            process.wait()
            print()
            fail("stopped; run it again to go on.")
    print("" if on_terminal else f" {time.monotonic() - begun:.0f} s", flush=True)
    return process.returncode


def install_torch() -> None:
    """PyTorch on its own and first, so that no other package's looser wish decides which build comes."""
    wanted = next(line for line in APP[0].read_text().splitlines() if line.startswith("torch=="))
    choice = choose(wanted, python=VENV_PYTHON, pip=PIP, environment=os.environ)
    print(choice.why, flush=True)
    log = ""
    for way in choice.ways:
        if not ran(f"Installing PyTorch ({way.name})", way.command):
            print(f"Installed {installed(VENV_PYTHON)}.", flush=True)
            return
        log = LOG.read_text(errors="replace")
        if way is not choice.ways[-1]:
            last = (log.strip() or "no reason given").splitlines()[-1]
            print(f"That did not work ({last[:200]}): trying another way.", flush=True)
    fail(explain(log))


def main(target: str) -> None:
    files = TARGETS[target]
    stamp, wanted = VENV / f"installed-{target}", fingerprint(files)
    current = starts(VENV_PYTHON)
    if current and stamp.exists() and stamp.read_text() == wanted:
        return
    if not current:
        make_environment()
    install_torch()
    requirements = [argument for file in files for argument in ("-r", str(file))]
    pip_install(NAMES[target], requirements)
    for name, contained in TARGETS.items():
        if set(contained) <= set(files):
            (VENV / f"installed-{name}").write_text(fingerprint(contained))


if __name__ == "__main__":
    main(sys.argv[1])
