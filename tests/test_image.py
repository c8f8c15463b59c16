"""The images of tools/Dockerfile, whose steps run here without an engine."""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.browser.driver import free_port
from tests.other_account import CAN_BE_OTHERS, other_account
from tools import image

STEPS = list(image.steps(image.DOCKERFILE.read_text()))


def test_there_is_an_image_for_everybody_and_one_with_everything() -> None:
    targets = [rest.partition(" AS ")[2] for name, rest in STEPS if name == "FROM"]
    assert targets[-2:] == ["full", "public"]  # the last one is what is built where none is named
    copied = [rest for name, rest in STEPS if name == "COPY" and rest.startswith("--from=")]
    assert copied == ["--from=build-full /opt/dpviz /opt/dpviz", "--from=build /opt/dpviz /opt/dpviz"]
    assert [rest for name, rest in STEPS if name == "USER"] == ["dpviz"]
    assert sum(name == "HEALTHCHECK" for name, _ in STEPS) == 1


def test_an_image_is_built_from_what_the_package_needs_and_from_nothing_else(tmp_path: Path) -> None:
    image.copy_source(tmp_path)
    names = {str(file.relative_to(tmp_path)) for file in tmp_path.rglob("*") if file.is_file()}
    needed = {"pyproject.toml", "README.md", "LICENSE", "requirements.txt", "tools/constraints.txt", "app.py"}
    assert needed | {"dpviz/py.typed", "pages/home.py", ".streamlit/config.toml"} <= names
    assert {name.partition("/")[0] for name in names} == {
        "dpviz", "pages", ".streamlit", "tools", *(name for name in needed if "/" not in name),
    }  # fmt: skip
    hooks = set(re.findall(r'path = "(tools/[^"]*)"', (image.ROOT / "pyproject.toml").read_text()))
    assert {name for name in names if name.startswith("tools/")} == {"tools/constraints.txt", *hooks}


def test_a_step_that_would_not_be_tried_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="found ADD"):
        image.take(image.Stage(tmp_path), {}, "ADD", "https://example.com/a /a")
    with pytest.raises(ValueError, match="found 'private'"):
        image.build("private", tmp_path)
    with pytest.raises(RuntimeError, match="ended with 3"):
        image.Stage(tmp_path, environment={"PATH": "/usr/bin:/bin"}).run(["sh", "-c", "exit 3"])


@pytest.mark.sweep  # it installs all packages anew
@pytest.mark.timeout(900)
def test_the_public_image_serves_as_another_account() -> None:
    """Not below pytest's own folder, which every start of pytest closes to other accounts."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        command = [sys.executable, image.__file__, "public", f"{name}/image", str(free_port())]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=850)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    account = re.search(r"^healthy, as account (\d+)$", ran.stdout, re.MULTILINE)
    assert account is not None
    assert not CAN_BE_OTHERS or int(account[1]) == other_account()
