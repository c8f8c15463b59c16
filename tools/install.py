"""Make .venv and install into it, once: ``python tools/install.py app|dev|bench``. Uses the standard library only.

PyTorch goes first, on its own: its CPU build (200 MB instead of 2.7 GB) where there is no NVIDIA card, or the build
that UV_TORCH_BACKEND names ("cpu", "cu130"). uv does this where it is installed, else pip with PyTorch's own index, and
with its usual index where that cannot be reached. A stamp in .venv holds the hash of the requirement files.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VENV = ROOT / ".venv"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
REQUIREMENTS = {
    "app": ["requirements.txt"],
    "dev": ["requirements.txt", "tools/requirements-dev.txt"],
    "bench": ["requirements.txt", "tools/requirements-dev.txt", "tools/requirements-bench.txt"],
}
TORCH_INDEX = "https://download.pytorch.org/whl"


def main(target: str) -> None:
    """Install what `target` needs, unless that is done already."""
    if not runs(PYTHON):
        make_environment()
    stamp = VENV / f"installed-{target}"
    if stamp.exists() and stamp.read_text() == fingerprint(target):
        return
    install_torch()
    print(f"Installing the packages of {', '.join(REQUIREMENTS[target])} …", flush=True)
    install(*(argument for file in REQUIREMENTS[target] for argument in ("-r", str(ROOT / file))))
    for name, files in REQUIREMENTS.items():
        if set(files) <= set(REQUIREMENTS[target]):
            (VENV / f"installed-{name}").write_text(fingerprint(name))


def make_environment() -> None:
    if not (3, 11) <= sys.version_info[:2] <= (3, 14):
        here = "{}.{}".format(*sys.version_info[:2])
        sys.exit(f"dpviz needs Python 3.11 to 3.14; this is {here}. Name another: make run PYTHON=python3.12")
    if subprocess.run([sys.executable, "-m", "venv", "--clear", str(VENV)]).returncode:
        sys.exit("This Python cannot make .venv, for the reason above. Name another: make run PYTHON=python3.12")


def runs(python: Path) -> bool:
    """Whether the environment's Python still runs: the one that it links to may be gone."""
    return python.exists() and subprocess.run([str(python), "-c", "import pip"], capture_output=True).returncode == 0


def fingerprint(target: str) -> str:
    """Hash of the requirement files of a target and of the constraints."""
    files = [*REQUIREMENTS[target], "tools/constraints.txt"]
    return hashlib.sha256(b"".join((ROOT / file).read_bytes() for file in files)).hexdigest()


def install_torch() -> None:
    """PyTorch before all else, so that no other package's looser wish decides which build comes."""
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    wanted = next(line for line in lines if line.startswith("torch=="))
    backend = torch_backend()
    print(f"Installing PyTorch ({backend or 'the usual build'}) …", flush=True)
    if backend and try_install(wanted, backend):
        return
    if backend:
        print("PyTorch's own index did not give it: pip's usual index decides which build comes.", flush=True)
    install(wanted)


def torch_backend() -> str:
    """The build that was named, "cpu" without an NVIDIA card, or "": the usual one."""
    named = os.environ.get("UV_TORCH_BACKEND", "").strip()
    if named not in ("", "auto"):
        return named
    card = shutil.which("nvidia-smi") or Path("/proc/driver/nvidia/version").exists()
    return "" if card or sys.platform == "darwin" else "cpu"


def try_install(wanted: str, backend: str) -> bool:
    """Whether uv, or else pip, finds this build on PyTorch's own index. What PyTorch needs comes later, pinned."""
    if uv := shutil.which("uv"):
        command = [uv, "pip", "install", "--quiet", "--python", str(PYTHON), f"--torch-backend={backend}"]
    else:
        command = [*pip(), "--retries=0", "--timeout=5", f"--index-url={TORCH_INDEX}/{backend}"]
    return subprocess.run([*command, "--no-deps", wanted], capture_output=True).returncode == 0


def install(*arguments: str) -> None:
    """One call of pip; where it fails, its own words say why."""
    if subprocess.run([*pip(), *arguments], cwd=str(ROOT)).returncode:
        sys.exit("The set-up did not finish, for the reason above. Run the same command again to go on.")


def pip() -> list[str]:
    return [str(PYTHON), "-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check"]


if __name__ == "__main__":
    main(sys.argv[1])
