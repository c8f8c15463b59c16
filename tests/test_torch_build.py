"""Which build of PyTorch the set-up takes, and by which way; nothing is downloaded."""

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[1]
WANTED, PIP = "torch==9.9.9", ["python", "-m", "pip", "install"]


@pytest.fixture(scope="module")
def torch_build() -> ModuleType:
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        return importlib.import_module("torch_build")
    finally:
        sys.path.remove(str(ROOT / "tools"))


@pytest.fixture
def install(torch_build, tmp_path, monkeypatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    found = importlib.import_module("install")
    monkeypatch.setattr(found, "LOG", tmp_path / "install.log")
    monkeypatch.setattr(found, "ROOT", tmp_path)
    monkeypatch.setattr(found, "installed", lambda python: "PyTorch 9.9.9, CPU build")
    return found


def chosen(torch_build, *, card=False, uv=None, silent="", named="", system="Linux"):
    asked = []

    def out_of_reach(address: str) -> str:
        asked.append(address)
        return silent

    found = torch_build.choose(
        WANTED, python=Path("env/python"), pip=PIP, environment={"UV_TORCH_BACKEND": named} if named else {},
        system=system, card=lambda: card, find_uv=lambda: uv, out_of_reach=out_of_reach,
    )  # fmt: skip
    return found, asked


def test_without_a_card_the_cpu_build_comes_by_uv_then_by_pip_then_by_the_plain_index(torch_build) -> None:
    found, asked = chosen(torch_build, uv="/bin/uv")
    uv, pip, plain = (way.command for way in found.ways)
    assert uv[:3] == ["/bin/uv", "pip", "install"]
    assert {"--torch-backend=cpu", "--no-deps", WANTED} <= set(uv)
    assert uv[uv.index("--python") + 1] == str(Path("env/python"))
    assert pip == [*PIP, "--no-deps", "--index-url", "https://download.pytorch.org/whl/cpu", WANTED]
    assert plain == [*PIP, WANTED]
    assert "No NVIDIA card" in found.why
    assert "CPU build" in found.why
    assert asked == ["https://download.pytorch.org/whl/cpu/torch/"]


CPU, CARD = "https://download.pytorch.org/whl/cpu", "https://download.pytorch.org/whl/cu130"


@pytest.mark.parametrize(
    ("machine", "backends", "words"),
    [
        # What is there → of each way in turn: a backend for uv, an index for pip, "" for the plain index; the reason.
        ({}, [CPU, ""], "No NVIDIA card"),
        ({"silent": "name not known"}, [""], "cannot be reached (name not known)"),
        ({"silent": "name not known", "uv": "/bin/uv"}, [""], "cannot be reached (name not known)"),
        ({"card": True, "uv": "/bin/uv"}, ["auto", ""], "An NVIDIA card was found"),
        ({"card": True}, [""], "An NVIDIA card was found"),
        ({"named": "cu130", "uv": "/bin/uv"}, ["cu130", CARD], "UV_TORCH_BACKEND=cu130"),
        ({"named": "cu130", "uv": "/bin/uv", "card": True}, ["cu130", CARD], "UV_TORCH_BACKEND=cu130"),
        ({"system": "Darwin", "uv": "/bin/uv"}, [""], ""),
    ],
)
def test_which_ways_are_tried(torch_build, machine, backends, words) -> None:
    choice, asked = chosen(torch_build, **machine)
    for way, backend in zip(choice.ways, backends, strict=False):
        assert not any("+" in part for part in way.command), "no local version"
        if not backend:
            assert way.command == [*PIP, WANTED]
        elif backend.startswith("https"):
            assert way.command[way.command.index("--index-url") + 1] == backend
        else:
            assert f"--torch-backend={backend}" in way.command
    assert len(choice.ways) >= len(backends)
    assert words in choice.why
    assert "CPU" not in choice.why or "named" not in machine
    assert not asked or not (machine == {"card": True} or "system" in machine)


def test_tools_of_a_driver_without_a_card_are_no_card(torch_build, tmp_path, monkeypatch) -> None:
    if Path("/proc/driver/nvidia/version").exists() or Path("/dev/nvidia0").exists():
        pytest.skip("this machine has a card")
    smi = tmp_path / "nvidia-smi"
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    smi.write_text("#!/bin/sh\necho 'No devices were found'\nexit 6\n")
    smi.chmod(0o755)
    assert not torch_build.nvidia_card()
    smi.write_text("#!/bin/sh\necho 'GPU 0: something (UUID: GPU-1)'\n")
    assert torch_build.nvidia_card()


def test_nothing_there_is_out_of_reach_with_a_reason(torch_build) -> None:
    assert torch_build.unreachable("http://127.0.0.1:9/whl/cpu/torch/")


class TestTrying:
    def run(self, install, monkeypatch, torch_build, *statuses: int) -> None:
        ways = [
            torch_build.Way(f"way {at}", [sys.executable, "-c", f"print('words {at}'); raise SystemExit({status})"])
            for at, status in enumerate(statuses)
        ]
        monkeypatch.setattr(install, "choose", lambda *_, **__: torch_build.Choice("Because.", ways))
        install.install_torch()

    def test_a_way_that_fails_is_said_and_the_next_one_tried(self, install, monkeypatch, torch_build, capsys) -> None:
        self.run(install, monkeypatch, torch_build, 2, 0)
        said = capsys.readouterr().out
        assert said.index("Because.") < said.index("way 0") < said.index("words 0") < said.index("way 1")
        assert said.rstrip().endswith("Installed PyTorch 9.9.9, CPU build.")

    def test_the_first_that_works_is_the_last_tried(self, install, monkeypatch, torch_build, capsys) -> None:
        self.run(install, monkeypatch, torch_build, 0, 2)
        assert "way 1" not in capsys.readouterr().out

    def test_where_none_works_it_ends_in_one_line(self, install, monkeypatch, torch_build) -> None:
        with pytest.raises(SystemExit, match="dpviz set-up: pip failed"):
            self.run(install, monkeypatch, torch_build, 2, 2)


def test_the_build_of_an_environment_is_told_without_importing_it(torch_build) -> None:
    assert torch_build.installed(Path(sys.executable)).startswith("PyTorch 2.")
