"""The tutorials run as they are written, and print the numbers that they state."""

import contextlib
import io
import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlsplit

import pytest

from dpviz.__main__ import main
from dpviz.questions import links
from dpviz.questions.acting import sliders
from dpviz.questions.answer import whole
from dpviz.questions.catalogue import PAGES
from dpviz.questions.layout import of_texts
from dpviz.questions.plain_text import plain_text

USE = Path(__file__).resolve().parents[1] / "docs" / "use"
NUMBER = re.compile(r"(?<![\w.])\d+\.\d+(?!\w|\.\d)")


def blocks(text: str) -> list[tuple[str, str]]:
    """Language and contents of each fenced block."""
    return re.findall(r"^```(\w+)\n(.*?)^```$", text, re.S | re.M)


def printed(code: str, names: dict[str, Any]) -> str:
    """What code prints that is run after what made `names`."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, "tutorial", "exec"), names)
    return out.getvalue()


def prose(text: str) -> str:
    """The text without its blocks."""
    return re.sub(r"^```.*?^```$", "", text, flags=re.S | re.M)


def test_the_engineer_s_program_prints_what_stands_below_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (USE / "engineer.md").read_text("utf-8")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "tutorial"}
    found = blocks(text)
    assert [kind for kind, _ in found] == ["py"] + ["python", "text"] * 5
    Path("train.py").write_text(found[0][1], encoding="utf-8")
    for (_, code), (_, output) in zip(found[1::2], found[2::2], strict=True):
        assert printed(code, names) == output
    assert Path("card.md").read_text("utf-8").startswith("# Guarantee card")
    outputs = {number for kind, output in found if kind == "text" for number in NUMBER.findall(output)}
    assert set(NUMBER.findall(prose(text))) <= outputs


# The lecturer's.

LECTURER = (USE / "lecturer.md").read_text("utf-8")
SECTIONS = re.findall(r"^## \d\. .*?(?=^## )", LECTURER, re.S | re.M)
ANSWERS = re.findall(r"\*\*([^*]+)\*\* \(`([^`]+)`\)", LECTURER)


def opened(link: str) -> tuple[Any, Any]:
    """The question of a link, and a reader of its settings."""
    place = urlsplit(link)
    page = next(page for page in PAGES if page.key == place.path)
    get = of_texts(links.read(dict(parse_qsl(place.query))))
    return page.question(get), get


def test_the_lecturer_has_five_links_of_three_sliders_and_two_questions() -> None:
    assert len(SECTIONS) == 5
    for section in SECTIONS:
        (link,) = re.findall(r"^`(\S+)`$", section, re.M)
        query = parse_qs(urlsplit(link).query)
        assert len(re.findall(r"^- .*\?", section, re.M)) == 2
        question, get = opened(link)
        (named,) = query["present"]
        names = named.split(".")
        assert len(names) == 3
        assert set(names) <= {field.key for field in sliders(question, get)}
        fields = {field.key for field in question.fields} | {"v", "present", "aview"}
        assert set(query) <= fields


@pytest.mark.parametrize("link", sorted({link for _, link in ANSWERS}))
def test_the_page_of_a_lecturer_s_answer_says_it(link: str) -> None:
    question, get = opened(link)
    assert set(parse_qs(urlsplit(link).query)) <= {field.key for field in question.fields} | {"v", "aview"}
    answer = whole(question.asked(question.read(get)), question.slow)
    metrics = [metric.value for metric in question.metrics(answer)]
    page = plain_text(" ".join([question.headline(answer), *metrics])).replace("\u202f", "")
    for stated in (stated for stated, of in ANSWERS if of == link):
        assert re.search(rf"(?<![\d.]){re.escape(stated)}(?![\d.]\d)", page.replace("\xa0", " ")), page


def test_every_number_of_the_lecturer_s_text_is_an_answer() -> None:
    without_links = re.sub(r"`[^`]*`", "", prose(LECTURER))
    assert set(NUMBER.findall(without_links)) == {n for stated, _ in ANSWERS for n in NUMBER.findall(stated)}


def test_the_lecturer_s_commands_write_a_page_and_a_figure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (_, shell), (_, code), (_, output) = blocks(LECTURER)
    assert shell.startswith("dpviz ")
    assert main(shell.split()[1:]) == 0
    capsys.readouterr()
    assert printed(code, {"__name__": "tutorial"}).replace("\u202f", " ") == output
    files = {"what-epsilon-means.html", "points.csv", "slide.html"}
    assert {file.name for file in tmp_path.iterdir() if file.stat().st_size > 100} == files


# The student's.

NOTEBOOK = json.loads((USE.parents[1] / "examples" / "student.ipynb").read_text("utf-8"))


def cells(kind: str) -> list[str]:
    return ["".join(cell["source"]) for cell in NOTEBOOK["cells"] if cell["cell_type"] == kind]


def test_the_student_s_notebook_runs_from_the_top_and_prints_what_its_text_says() -> None:
    names: dict[str, Any] = {"__name__": "__main__"}
    outputs = " ".join(printed(cell, names) for cell in cells("code"))
    stated, settings = NUMBER.findall(" ".join(cells("markdown"))), NUMBER.findall(" ".join(cells("code")))
    assert set(stated) <= {*NUMBER.findall(outputs), *settings}
    assert {"312.605", "0.949"} <= set(stated) - set(settings)


def test_each_exercise_has_a_guess_and_asks_the_app() -> None:
    exercises = re.findall(r"\*\*Exercise (\d)\.\*\*", " ".join(cells("markdown")))
    guesses = [cell for cell in cells("code") if re.match(r"guess = .*# .*change this\n", cell)]
    assert exercises == ["1", "2", "3", "4"]
    assert len(guesses) == 4
    assert all("dpviz.ask(" in cell for cell in guesses)
    assert all(cell.endswith("\nanswer") for cell in guesses), "its chart also shows where Plotly has no renderer"


def test_the_notebook_is_committed_without_outputs() -> None:
    assert (NOTEBOOK["nbformat"], len({cell["id"] for cell in NOTEBOOK["cells"]})) == (4, len(NOTEBOOK["cells"]))
    code = [cell for cell in NOTEBOOK["cells"] if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)


@pytest.mark.parametrize(
    ("exercise", "line", "guess"),
    [(1, "— enough\n", 7.05), (3, "right\n", 38_000), (4, "right\n", 2.1)],
)
def test_a_right_guess_is_told_so(exercise: int, line: str, guess: float) -> None:
    names: dict[str, Any] = {"__name__": "__main__"}
    printed(cells("code")[0], names)
    cell = [cell for cell in cells("code") if cell.startswith("guess = ")][exercise - 1]
    assert not printed(cell, dict(names)).endswith(line)
    assert printed(re.sub(r"^guess = [\d._]+", f"guess = {guess}", cell), dict(names)).endswith(line)
