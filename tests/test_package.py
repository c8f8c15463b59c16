"""The wheel: what it holds and asks for, and what each of its parts says where another is not installed."""

import configparser
import email
import json
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

import dpviz
from dpviz._extras import MissingExtra, extra
from tools.metadata import REPOSITORY, Metadata

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CORE = {"numpy", "scipy", "dpviz"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built by the tool that pip would fetch, without a network, and unpacked as pip does."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder], cwd=ROOT, check=True)
    with zipfile.ZipFile(*folder.glob("*.whl")) as made:
        made.extractall(folder / "unpacked")
    return folder / "unpacked"


def tracked(*places: str) -> set[str]:
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", *places], cwd=ROOT, capture_output=True)
    return {name for name in listed.stdout.decode().split("\n") if name and (ROOT / name).exists()}


def test_the_wheel_holds_the_package_the_app_and_nothing_else(wheel: Path) -> None:
    names = {str(file.relative_to(wheel)) for file in wheel.rglob("*") if file.is_file()}
    points = configparser.ConfigParser()
    points.read(wheel / f"dpviz-{dpviz.__version__}.dist-info" / "entry_points.txt")
    app = {f"dpviz/app/{name}" for name in tracked("app.py", "pages", ".streamlit")}
    assert {name for name in names if ".dist-info/" not in name} == tracked("dpviz") | app
    assert {"dpviz/py.typed", "dpviz/ui/look.css", "dpviz/app/app.py", "dpviz/app/.streamlit/config.toml"} <= names
    assert dict(points["console_scripts"]) == {"dpviz": "dpviz.__main__:main"}


def test_the_wheel_s_description_is_the_readme_and_names_no_address_that_nobody_gave(wheel: Path) -> None:
    metadata = email.message_from_string((wheel / f"dpviz-{dpviz.__version__}.dist-info" / "METADATA").read_text())
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert metadata.get_payload() == (ROOT / "README.md").read_text()
    assert metadata.get_all("Project-URL") is None


def test_a_released_description_links_to_the_repository_that_the_workflow_names(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An index shows the description without the files beside it."""
    monkeypatch.setenv(REPOSITORY, "https://git.example/o/dpviz/blob/v0.1.0/")
    released: dict[str, Any] = {}
    Metadata(str(ROOT), {}).update(released)
    links = re.findall(r"\]\(([^)]*)\)", released["readme"]["text"])
    assert len(links) > 5
    assert [link for link in links if not link.startswith(("https://", "#"))] == []
    (picture,) = [link for link in links if "raw=true" in link]
    tag = "https://git.example/o/dpviz/blob/v0.1.0/"
    assert picture.startswith(f"{tag}docs/use/")
    assert released["urls"]["Source"] == "https://git.example/o/dpviz"
    for address in (*links, *released["urls"].values()):
        if address.startswith(tag):
            assert (ROOT / re.sub(r"[?#].*", "", address.removeprefix(tag))).exists(), address


def test_the_release_workflow_asks_the_index_for_no_password() -> None:
    workflow = (ROOT / ".github" / "workflows" / "release.yml").read_text()
    assert "id-token: write" in workflow
    assert REPOSITORY in workflow
    assert re.search(r"password|secrets\.", workflow.replace("# no password", "")) is None


def test_the_wheel_works_elsewhere(wheel: Path, tmp_path: Path) -> None:
    """With numpy and scipy only: numbers come, and what needs more names its extra in a line."""
    script = f"""
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {set(packages_distributions()) - CORE}:
            raise ModuleNotFoundError(name=name)
sys.meta_path.insert(0, Missing())
import dpviz, dpviz.__main__
print(dpviz.__file__)
mechanism = dict(noise_multiplier=4, sample_rate=.01, steps=10_000)
dpviz.best_accuracy(**mechanism)
words = "epsilon --noise-multiplier 4 --sample-rate 0.01 --steps 10k --delta 1e-5 --method moments"
assert dpviz.__main__.main(words.split()) == 0
for words in ("ask success", "ask", "app"):
    assert dpviz.__main__.main(words.split()) == 2
"""
    elsewhere = {"PYTHONPATH": str(wheel), "PYTHONSAFEPATH": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", script]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, env=elsewhere)
    assert ran.returncode == 0, ran.stderr
    where, epsilon = ran.stdout.splitlines()
    assert Path(where) == wheel / "dpviz/__init__.py"
    moments = dpviz.epsilon("moments", noise_multiplier=4, sample_rate=0.01, steps=10_000, delta=1e-5)
    assert float(epsilon) == moments
    told = ran.stderr.splitlines()
    assert [re.findall(r"dpviz\[\w+\]", line) for line in told] == [["dpviz[ask]"], ["dpviz[ask]"], ["dpviz[app]"]]


@pytest.mark.parametrize(
    ("kind", "missing", "words"),
    [
        (MissingExtra, "torch.nn", r"^This needs torch, .* comes with dpviz\[train\]\.$"),
        (ModuleNotFoundError, "dpviz.gone", r"dpviz\.gone"),  # a fault of ours is no missing extra
    ],
)
def test_a_missing_extra_is_named(kind: type[Exception], missing: str, words: str) -> None:
    with pytest.raises(kind, match=words), extra("train"):
        raise ModuleNotFoundError(f"No module named {missing!r}", name=missing)


ALONE = """
import sys

class Missing:
    def find_spec(self, name, *_):
        if name.partition(".")[0] in {missing!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Missing())
import dpviz
from dpviz._extras import MissingExtra

from dpviz.questions.catalogue import QUESTIONS
from dpviz.questions.frames import made_of_values, movable
from dpviz.questions.layout import SettingsSnapshot, of_texts

for key in ("expected", "leakage", "membership"):
    asked = dpviz.ask(key)
    print(asked.headline)
    get = SettingsSnapshot(of_texts(QUESTIONS[key].texts(asked.answer.given)))
    for field, _, values in movable(QUESTIONS[key], get):
        if field.key == "lksteps":
            print(made_of_values(key, field.key, values, False, "100").content.decode())
try:
    dpviz.ask("leakage", lksteps=100)
except MissingExtra as missing:
    print(missing)
"""


def test_questions_need_no_more_than_the_extra_for_asking(tmp_path: Path) -> None:
    """A question about recorded runs has none, a measured network has a record; what trains says what is missing."""
    missing = {"psutil", "distributed", "dask", "streamlit", "cryptography", "torch", "PIL", "starlette", "tornado"}
    command = [sys.executable, "-c", ALONE.format(missing=missing)]
    environment = {**os.environ, "DPVIZ_HOME": str(tmp_path)}
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, env=environment)
    assert ran.returncode == 0, ran.stderr
    expected, leakage, leakage_frame, membership, membership_frame, refused = ran.stdout.splitlines()
    assert expected.startswith("At ε ≤ 2 and δ = 1e-5, a run measured here")
    assert "differ" in leakage
    assert "A guess by loss is right" in membership
    assert refused == "This needs torch, which is not installed; it comes with dpviz[train]."
    assert json.loads(leakage_frame) == json.loads(membership_frame) == {"why": refused}


def test_extras_and_requirements_name_the_same_packages() -> None:
    """requirements.txt has one version of each that the app needs, which the extras take."""
    extras = PROJECT["optional-dependencies"]
    wanted = [*PROJECT["dependencies"], *(line for name in extras if name != "shell" for line in extras[name])]
    asked = [Requirement(line) for line in wanted if not line.startswith("dpviz")]
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    pinned = dict(line.split("==") for line in lines if "==" in line)
    assert {one.name for one in asked} == set(pinned)
    for one in asked:
        assert pinned[one.name] in one.specifier, one


def test_what_the_app_needs_is_asked_before_it_starts() -> None:
    from dpviz.ui.launch import NEEDED

    extras = PROJECT["optional-dependencies"]
    assert set(NEEDED) == {Requirement(line).name for line in (*extras["app"], *extras["ask"])} - {"dpviz"}


def test_the_pythons_that_are_promised_are_tested() -> None:
    """One job tests everything on the lowest of them, another the tests without sweeps on each of the others; hooks of
    other libraries are tried on the lowest."""
    named = [line.rpartition(" ")[2] for line in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", line)]
    promised = SpecifierSet(PROJECT["requires-python"])
    assert named == [f"3.{minor}" for minor in range(40) if f"3.{minor}" in promised]
    workflow = (ROOT / ".github" / "workflows" / "test.yml").read_text()
    assert re.findall(r'"(3\.\d+)"', workflow) == [*named, named[0]]
