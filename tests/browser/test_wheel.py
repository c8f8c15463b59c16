"""The built wheel with the extra `app` alone, installed by another account outside of the checkout, in a browser."""

import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from dpviz.questions.catalogue import PAGES
from tests.browser.driver import (
    ROOT,
    end_group,
    free_port,
    headline,
    main_area,
    open_page,
    wait_until_healthy,
    watched_tab,
)  # fmt: skip
from tests.other_account import needs_root

OTHER: dict[str, Any] = {"user": "nobody", "group": pwd.getpwnam("nobody").pw_gid, "extra_groups": []}
TOKEN = "0123456789abcdef0123456789abcdef"


def shared_python() -> str | None:
    """A Python of this version's kind that the other account may run: the one that runs the tests, or the system's."""
    for python in filter(None, (sys.executable, shutil.which("python3", path="/usr/local/bin:/usr/bin"))):
        question = "import ensurepip, sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))"
        try:
            if subprocess.run([os.path.realpath(python), "-c", question], cwd="/", env={}, **OTHER).returncode == 0:
                return os.path.realpath(python)
        except PermissionError:
            continue
    return None


@pytest.fixture(scope="module")
def installed() -> Iterator[Path]:
    """The home of the other account with an environment `env`, in which nothing but the wheel was asked for."""
    python = shared_python()
    if python is None:
        pytest.skip("the other account can run no Python from 3.11 to 3.14 that makes environments")
    with tempfile.TemporaryDirectory(prefix="dpviz-wheel-") as folder:
        os.chmod(folder, 0o755)
        build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder]
        subprocess.run(build, cwd=ROOT, check=True)
        (wheel,) = Path(folder).glob("*.whl")
        home = Path(folder) / "home"
        home.mkdir()
        os.chown(home, pwd.getpwnam("nobody").pw_uid, -1)
        kept = {name: text for name, text in os.environ.items() if name.startswith(("PIP_", "SSL_"))}
        options = {"cwd": home, "env": kept | {"HOME": str(home), "PATH": os.defpath}, "check": True, **OTHER}
        subprocess.run([python, "-m", "venv", home / "env"], **options)
        subprocess.run([home / "env/bin/pip", "install", "--quiet", f"{wheel}[app]"], **options)
        yield home


@contextmanager
def served(home: Path) -> Iterator[str]:
    """The address of `dpviz app`, started by the other account in its home."""
    port, log = free_port(), home.parent / "log"
    environment = {"HOME": str(home), "PATH": os.defpath, "DPVIZ_TOKEN": TOKEN}
    with log.open("w") as output:
        command = [home / "env/bin/dpviz", "app", "--port", str(port)]
        server = subprocess.Popen(
            command, cwd=home, env=environment, stdout=output, stderr=output, start_new_session=True, **OTHER
        )
    try:
        wait_until_healthy(f"http://127.0.0.1:{port}/_stcore/health", server, log)
        yield f"http://127.0.0.1:{port}"
    finally:
        end_group(server)


@needs_root
@pytest.mark.sweep
@pytest.mark.timeout(1500)  # installs some hundred megabytes, and opens every page
def test_every_page_of_the_wheel_answers_without_pytorch(browser: Browser, installed: Path) -> None:
    listed = subprocess.run([installed / "env/bin/pip", "list"], capture_output=True, text=True, check=True, **OTHER)
    packages = {line.split()[0].lower() for line in listed.stdout.splitlines()}
    assert "streamlit" in packages
    assert packages.isdisjoint({"torch", "distributed", "dask", "cryptography"})
    with served(installed) as url, watched_tab(browser, url, base_url=url) as tab:
        tab.goto(f"/?token={TOKEN}")
        for key in ("", *(page.key for page in PAGES), "runs"):
            # All printed values at once take a minute.
            open_page(tab, key, **({"pview": "clipping_runs"} if key == "papers" else {}))
            assert headline(tab).inner_text(), key
            notes = main_area(tab).get_by_text("pip install 'dpviz[train]'")
            assert bool(notes.count()) == (key in ("train", "runs")), key
            if notes.count():  # Streamlit brings Pillow
                assert "need torch, distributed and cryptography, which" in notes.first.inner_text()
            if key == "train":
                assert tab.get_by_role("button", name="Start training").is_disabled()
    assert "Traceback" not in (installed.parent / "log").read_text()


@needs_root
@pytest.mark.sweep
@pytest.mark.timeout(900)
def test_the_shell_of_the_wheel_answers_and_its_description_can_be_shown(installed: Path) -> None:
    run = {"cwd": installed, "capture_output": True, "text": True, "timeout": 300, **OTHER}
    words = "epsilon --noise-multiplier 4 --sample-rate 0.01 --steps 10k --delta 1e-5 --method moments"
    asked = subprocess.run([installed / "env/bin/dpviz", *words.split()], env={"HOME": str(installed)}, **run)
    assert asked.stdout.startswith("1.2585"), asked.stderr
    kept = {name: text for name, text in os.environ.items() if name.startswith(("PIP_", "SSL_"))}
    environment = kept | {"HOME": str(installed), "PATH": os.defpath}
    subprocess.run([installed / "env/bin/pip", "install", "--quiet", "twine"], check=True, env=environment, **run)
    (wheel,) = installed.parent.glob("*.whl")
    checked = subprocess.run([installed / "env/bin/twine", "check", "--strict", wheel], env=environment, **run)
    assert checked.returncode == 0, checked.stdout
