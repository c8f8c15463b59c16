"""Which build of PyTorch the set-up takes, and by which way; nothing is downloaded."""

import importlib
import re
import sys
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[1]
WANTED, PIP = "torch==9.9.9", ["python", "-m", "pip", "install"]
torch_build = importlib.import_module("tools.torch_build")


@pytest.fixture
def install(tmp_path, monkeypatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    found = importlib.import_module("install")
    monkeypatch.setattr(found, "LOG", tmp_path / "install.log")
    monkeypatch.setattr(found, "ROOT", tmp_path)
    monkeypatch.setattr(found, "installed", lambda python: "PyTorch 9.9.9, CPU build")
    return found


BUILDS = "https://download.pytorch.org/whl"


def by_uv(backend: str) -> list[str]:
    options = ["--quiet", "--python", str(Path("env/python")), f"--torch-backend={backend}", "--no-deps"]
    return ["/bin/uv", "pip", "install", *options, WANTED]


def by_pip(backend: str) -> list[str]:
    return [*PIP, "--no-deps", "--index-url", f"{BUILDS}/{backend}", WANTED]


PLAIN = [*PIP, WANTED]
CARD, UV, SILENT = {"card": lambda: True}, {"find_uv": lambda: "/bin/uv"}, {"silent": "name not known"}
NAMED = {"environment": {"UV_TORCH_BACKEND": "cu130"}}


@pytest.mark.parametrize(
    ("machine", "ways", "asked", "why"),
    [
        # What is there → the commands in turn, the index that is asked whether it can be reached, and the reason.
        ({}, [by_pip("cpu"), PLAIN], "cpu", "No NVIDIA card.*CPU build"),
        (UV, [by_uv("cpu"), by_pip("cpu"), PLAIN], "cpu", "No NVIDIA card.*CPU build"),
        (SILENT, [PLAIN], "cpu", r"cannot be reached \(name not known\)"),
        (SILENT | UV, [PLAIN], "cpu", r"cannot be reached \(name not known\)"),
        (CARD | UV, [by_uv("auto"), PLAIN], "cpu", "An NVIDIA card was found"),
        (CARD, [PLAIN], "", "An NVIDIA card was found"),
        (NAMED | UV, [by_uv("cu130"), by_pip("cu130"), PLAIN], "cu130", "^UV_TORCH_BACKEND=cu130((?!CPU).)*$"),
        (NAMED | UV | CARD, [by_uv("cu130"), by_pip("cu130"), PLAIN], "cu130", "^UV_TORCH_BACKEND=cu130((?!CPU).)*$"),
        ({"system": "Darwin"} | UV, [PLAIN], "", ""),
    ],
)
def test_which_ways_are_tried(machine, ways, asked, why) -> None:
    indices = []
    usual = {"environment": {}, "system": "Linux", "card": lambda: False, "find_uv": lambda: None, "silent": ""}
    found = usual | machine
    silent = found.pop("silent")
    choice = torch_build.choose(
        WANTED, python=Path("env/python"), pip=PIP, out_of_reach=lambda index: indices.append(index) or silent, **found
    )
    assert [way.command for way in choice.ways] == ways
    assert indices == ([f"{BUILDS}/{asked}/torch/"] if asked else [])
    assert re.search(why, choice.why)


def test_tools_of_a_driver_without_a_card_are_no_card(tmp_path, monkeypatch) -> None:
    if Path("/proc/driver/nvidia/version").exists() or Path("/dev/nvidia0").exists():
        pytest.skip("this machine has a card")
    smi = tmp_path / "nvidia-smi"
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    smi.write_text("#!/bin/sh\necho 'No devices were found'\nexit 6\n")
    smi.chmod(0o755)
    assert not torch_build.nvidia_card()
    smi.write_text("#!/bin/sh\necho 'GPU 0: something (UUID: GPU-1)'\n")
    assert torch_build.nvidia_card()


def test_nothing_there_is_out_of_reach_with_a_reason() -> None:
    assert torch_build.unreachable("http://127.0.0.1:9/whl/cpu/torch/")


@pytest.mark.parametrize(
    ("statuses", "told"),
    [
        ([2, 0], "Because.*way 0.*words 0.*way 1.*Installed PyTorch 9.9.9, CPU build[.]\\s*$"),
        ([0, 2], "Because.*way 0((?!way 1).)*$"),
        ([2, 2], "way 1"),
    ],
)
def test_ways_are_tried_until_one_works(install, monkeypatch, capsys, statuses, told) -> None:
    ways = [
        torch_build.Way(f"way {at}", [sys.executable, "-c", f"print('words {at}'); raise SystemExit({status})"])
        for at, status in enumerate(statuses)
    ]
    monkeypatch.setattr(install, "choose", lambda *_, **__: torch_build.Choice("Because.", ways))
    fails = pytest.raises(SystemExit, match="dpviz set-up: pip failed") if all(statuses) else nullcontext()
    with fails:
        install.install_torch()
    assert re.search(told, capsys.readouterr().out, re.DOTALL)


def test_the_build_of_an_environment_is_told_without_importing_it() -> None:
    assert torch_build.installed(Path(sys.executable)).startswith("PyTorch 2.")
