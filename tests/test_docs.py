"""The site of docs/ builds without a warning, with the contracts' picture; the README is short and its examples run."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import dpviz
from dpviz.accounting.card import bibliography
from dpviz.mechanisms import FixedSize, RandomAllocation, SampledGaussian, TruncatedPoisson, WithReplacement
from dpviz.questions.pasted.form import filled
from dpviz.training.data.own.describe import described
from dpviz.training.data.own.read import read
from dpviz.ui.page import ENTRIES
from tools.docs_charts import charts, framed

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.sweep  # a workflow of its own builds it too, for every change
def test_the_site_builds(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-f", "tools/mkdocs.yml", "-d", tmp_path]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240)
    assert built.returncode == 0, built.stdout + built.stderr


def test_the_docs_frame_charts_of_the_gallery_where_they_explain_something() -> None:
    """In the repository the same paragraph is a link to the app, which says the chart's question."""
    pages, linked = charts(), 0
    for file in (ROOT / "docs" / "use").glob("*.md"):
        text = file.read_text("utf-8")
        for words, link in re.findall(r"^\[([^\]]+)\]\((http://localhost[^)]*)\)$", text, re.MULTILINE):
            assert words == f"Move it in your app: {pages[link].title}", f"{file.name}: {link}"
            assert f'<iframe src="../../../{pages[link].file}#framed"' in framed(text, "../../../")
            linked += 1
    assert linked >= 8
    workflow = (ROOT / ".github" / "workflows" / "docs.yml").read_text()
    assert re.search(r'mkdocs build .* -d "\$RUNNER_TEMP/site/docs"\n +env:\n +DPVIZ_GALLERY: \.\./\n', workflow)
    with pytest.raises(KeyError):
        framed("[Move it in your app: Gone](http://localhost:8501/gone?v=3)", "../")


def test_the_index_names_every_page_once() -> None:
    docs = ROOT / "docs"
    named = re.findall(r"\]\((\w+/[\w-]+\.md)\)", (docs / "index.md").read_text())
    assert sorted(named) == sorted(str(page.relative_to(docs)) for page in docs.glob("*/*.md"))


def test_links_between_pages_lead_to_files() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / ".github").glob("*.md")]
    links = {(page, link) for page in pages for link in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", page.read_text())}
    assert len(links) > 40
    assert {(page, link) for page, link in links if not (page.parent / link).exists()} == set()


def test_an_accountant_has_one_entry_and_no_lower_bound_is_one_to_cite() -> None:
    page = (ROOT / "docs" / "use" / "accountants.md").read_text()
    assert re.findall(r'^## .*`method="(.*)"`$', page, re.MULTILINE) == list(dpviz.METHODS)
    assert "Lower bound" not in page
    lists = re.findall(r"\(`(.*)`\)$", page, re.MULTILINE)
    assert {key for keys in lists for key in keys.split("`, `")} <= set(bibliography())
    assert len(lists) == len(re.findall(r"^## ", page, re.MULTILINE))


def test_the_accountants_and_terms_are_these(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "tools.cards", tmp_path], cwd=ROOT, check=True)
    for name in ("accountants.md", "glossary.md"):
        assert (tmp_path / name).read_text() == (ROOT / "docs" / "use" / name).read_text(), "run: python -m tools.cards"


def test_the_reference_is_of_these_names(tmp_path: Path) -> None:
    written = tmp_path / "reference.md"
    subprocess.run([sys.executable, "-m", "tools.reference", written], cwd=ROOT, check=True)
    text = written.read_text("utf-8")
    assert text == (ROOT / "docs" / "use" / "reference.md").read_text("utf-8"), "run: python -m tools.reference"
    names = re.findall(r"^- \*\*([\w.]+)\*\*", text, re.M)
    spaces = [f"{space}.{name}" for space in ("bayesian", "langevin", "papers", "pate") for name in public(space)]
    assert {*dir(dpviz), *spaces} <= set(names)
    assert len(names) == len(set(names))
    assert not re.search(r" at 0x|`_\w|: $|<\w", text, re.M), "an address, a private name, a line without words"


def public(space: str) -> list[str]:
    return [name for name in vars(getattr(dpviz, space)) if not name.startswith("_")]


def test_the_picture_is_of_these_contracts(tmp_path: Path) -> None:
    drawn = tmp_path / "drawn.svg"
    subprocess.run([sys.executable, "tools/picture.py", drawn], cwd=ROOT, check=True)
    assert drawn.read_text() == (ROOT / "docs" / "work" / "architecture.svg").read_text(), (
        "run: python tools/picture.py"
    )


# The README.

README = (ROOT / "README.md").read_text()


def test_the_example_gives_the_stated_numbers() -> None:
    code = re.search(r"```python\n(.*?)```", README, re.DOTALL)
    assert code is not None
    values: dict[str, object] = {}
    exec(code[1], values)
    stated = dict(re.findall(r"^(\w+) = .*# (0\.\d+|1\.\d+)", code[1], re.MULTILINE))
    assert set(stated) == {"tight", "moments", "best", "alone"}
    for name, number in stated.items():
        assert float(number) - 1e-4 < values[name] <= float(number), f"{name}: a bound is rounded up"


def test_the_readme_words_the_pages_as_the_app_does() -> None:
    rows = re.findall(r"^\| (\w+) \| (.+\?) \|$", README, re.MULTILINE)
    assert rows == [(entry.title, entry.asks) for entry in ENTRIES.values()]


def test_the_table_of_loaders_has_these_numbers() -> None:
    """Rounded so that both ends hold."""
    q, text = 256 / 60_000, (ROOT / "docs" / "use" / "using.md").read_text("utf-8")
    for title, mechanism, steps, digits in (
        ("Gaussian, add or remove one", SampledGaussian(1.1, q), 3516, 3),
        ("cut to a largest batch", TruncatedPoisson(1.1, q, 60_000, 320), 3516, 3),
        ("one random batch an epoch", RandomAllocation(1.1, 234), 15, 3),
        ("batches of a fixed size", FixedSize(1.1, 60_000, 256), 3516, 2),
        ("batches drawn with replacement", WithReplacement(1.1, 60_000, 256), 3516, 2),
    ):
        low, high = (
            dpviz.epsilon("tight", mechanism=mechanism, steps=steps, delta=1e-5, bound=bound)
            for bound in ("lower", "upper")
        )
        assert f"{title} | {low - 0.5 * 10**-digits:.{digits}f} to {high + 0.5 * 10**-digits:.{digits}f} |" in text


def test_the_engineers_lines_fill_the_form_of_a_claim() -> None:
    text = (ROOT / "docs" / "use" / "using.md").read_text("utf-8")
    (lines,) = [block for block in re.findall(r"^```\n(.*?)^```", text, re.S | re.M) if "runs_tried" in block]
    found = filled(lines).texts(set())
    expected = {"ksigma": "1.1", "n": "60000", "kbatch": "256", "kepochs": "60", "ksampler": "shuffled"}
    assert found.items() >= (expected | {"kpersons": "5", "tried": "40", "delta": "1e-5", "kclaim": "3"}).items()
    assert (found["kadj"], found["kopen"]) == ("unsaid", "clip"), "which the text calls open"


def test_the_readme_is_short() -> None:
    assert len(README.split()) <= 700


def test_the_pictures_are_those_of_make_picture_and_small() -> None:
    pages = (ROOT / "README.md", *(ROOT / "docs").rglob("*.md"))
    named = {
        (page.parent / link).resolve()
        for page in pages
        for link in re.findall(r"!\[.+\]\((.+\.png)\)", page.read_text())
    }
    assert named == set((ROOT / "docs").rglob("*.png"))
    assert {file.name for file in named} == set(re.findall(r'"(\w+\.png)"', (ROOT / "tools/screens.py").read_text()))
    for file in named:
        assert 5_000 < file.stat().st_size < 300_000, file


def test_the_worked_example_of_one_s_own_data_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    section = (ROOT / "docs/use/own-data.md").read_text()
    shell = re.search(r"```sh\n(.*?)```", section, re.DOTALL)
    assert shell is not None
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    subprocess.run(["sh", "-ec", shell[1]], check=True, timeout=60)
    found = read(described(tmp_path / "dpviz-data/tea.toml"))
    assert found.train_x.shape == (1600, 4)
    assert 0.2 < found.train_y.mean() < 0.8
    for at, kind in enumerate(("npz", "images")):
        (tmp_path / f"{kind}.toml").write_text(re.findall(r"```toml\n(.*?)```", section, re.DOTALL)[at])
        assert described(tmp_path / f"{kind}.toml").kind == kind
