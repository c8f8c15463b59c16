"""The folder of pages without a server: which pages, their size, their links, and what they share."""

import re
from html import unescape
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest

from dpviz.accounting.attack.trade_off import Advantage
from dpviz.charts import LinePlot
from dpviz.questions import STEPS, links
from dpviz.questions.catalogue import PAGES, QUESTIONS
from dpviz.questions.gallery import (
    LECTURE_FILES,
    NEEDS_THE_APP,
    chosen_files,
    entries,
    patient_answer,
    write,
    write_page,
)
from dpviz.questions.layout import moved, of_texts
from dpviz.questions.mechanism import SIGMA
from dpviz.questions.noise.risk import RISK
from dpviz.questions.presets import PRESETS

SMALL = ("success", "residents", "spend")
PAPERS = ("DP-SGD", "Bayesian DP", "Sampled Gaussian", "SG-MCMC", "Odometers")
LINK = re.compile(r'(?:href|src)="([^"]+)"')


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("gallery")
    write(place, app="https://app.example/", docs="docs/", only=SMALL)
    (place / "docs").mkdir()
    return place


def test_every_what_if_question_has_a_page_and_every_paper_one_of_its_settings() -> None:
    every = entries()
    questions = [question.key for page in PAGES if page.section != NEEDS_THE_APP for question in page.questions]
    assert [entry.question.key for entry in every if entry.preset is None] == questions
    assert {page.key for page in PAGES} - {entry.page.key for entry in every} == {"train", "leakage"}
    assert len({entry.file for entry in every}) == len(every)
    shown = {entry.preset.key for entry in every if entry.preset}
    assert shown == {preset.key for preset in PRESETS.values() if preset.gallery}
    names = [PRESETS[key].name for key in shown]
    assert all(any(name.startswith(paper) for name in names) for paper in PAPERS), names


def test_a_page_opens_what_its_link_opens() -> None:
    for entry in entries():
        texts = links.read(dict(parse_qsl(urlsplit(entry.link).query, keep_blank_values=True)))
        get = of_texts(texts)
        assert entry.page.question(get) is entry.question, entry.file
        for field in entry.question.fields:
            assert field.write(get(field)) == field.write(entry.get(field)), (entry.file, field.key)


def test_all_links_lead_to_files_of_the_folder_or_to_the_app(folder: Path) -> None:
    pages = sorted(folder.glob("*.html"))
    assert {page.stem for page in pages} == {"index", "residents", "spend", "success", "success-bdptable1"}
    for page in pages:
        for link in map(unescape, LINK.findall(page.read_text(encoding="utf-8"))):
            assert link.startswith("https://app.example/") or (folder / link).exists(), (page.name, link)
    index = (folder / "index.html").read_text(encoding="utf-8")
    assert [f"{page.stem}.html" in index for page in pages if page.stem != "index"] == [True] * 4
    assert index.count("<svg") == 4
    assert re.findall(r"<h2>(\w+)</h2>", index) == ["See", "Choose"]


def test_what_pages_share_is_in_no_page(folder: Path) -> None:
    shared = sum((folder / name).stat().st_size for name in ("shared.js", "shared.css", "index.html"))
    assert shared <= 3_000_000
    sizes = [page.stat().st_size for page in folder.glob("*.html")]
    assert max(sizes) <= 500_000
    success = (folder / "success.html").read_text(encoding="utf-8")
    assert 'id="plotly"' not in success
    assert "<style>" not in success
    assert success.index('src="shared.js"') < success.index('import "dpviz/page.js"')


def test_a_moved_chart_has_its_curve_though_its_answer_is_slow() -> None:
    """Noise for a risk has neither curve nor answer before its slow parts are there."""
    question, get = QUESTIONS["risk"], of_texts({})
    answer = patient_answer(question, moved(get, STEPS, 5000))
    assert not [text for text in (question.headline(answer), str(question.metrics(answer))) if "…" in text]
    assert isinstance(answer.plot, LinePlot)
    assert answer.plot.lines


def test_a_slider_that_leaves_a_curve_as_it_is_does_not_have_it_computed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The chosen noise is on the axis of the risk along the noise, which takes a second."""
    question, get, asked = QUESTIONS["risk"], moved(of_texts({}), STEPS, 4000), []
    of = Advantage.of
    monkeypatch.setattr(Advantage, "of", lambda self, *given: asked.append(given) or of(self, *given))
    patient_answer(question, moved(get, RISK, "advantage"))
    assert len(asked) > 10
    asked.clear()
    patient_answer(question, moved(moved(get, RISK, "advantage"), SIGMA, 3.21))
    assert len(asked) == 1  # at the chosen noise


def test_a_paper_s_setting_says_what_it_is(folder: Path) -> None:
    page = unescape((folder / "success-bdptable1.html").read_text(encoding="utf-8"))
    assert PRESETS["bdptable1"].note in page
    assert "preset=bdptable1" in page


def test_a_question_without_a_page_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="Question 'leakage' has no page in a folder; choose among compose, "):
        write(tmp_path, app="https://app.example", only=["leakage"])
    assert not any(tmp_path.iterdir())


def test_a_lecture_is_one_file_with_all_its_stops_and_their_replies(tmp_path: Path) -> None:
    assert chosen_files()[-5:] == tuple(LECTURE_FILES)
    assert not LECTURE_FILES.keys() & set(chosen_files(["success"]))
    chosen, file = ("success.html", "lecture-sgm.html"), "lecture-sgm.html"
    card = write_page(chosen, 1, tmp_path, "https://app.example/")
    text = (tmp_path / file).read_text(encoding="utf-8")
    stops = LECTURE_FILES[file].stops
    assert card.bytes <= 165_000 * len(stops)
    assert text.count("<section data-stop=") == text.count("<article>") == len(stops)
    assert text.count('class="reply"') == text.count("<summary>Answer") == len(stops)
    for number, stop in enumerate(stops, start=1):
        assert f'id="frames{number}"' in text
        assert stop.title.split("_")[0] in re.sub("</?dfn[^>]*>", "", text)
    links_to = [unescape(link) for link in LINK.findall(text)]
    assert "https://app.example/lecture?paper=sgm&stop=1&v=3" in links_to
    assert "success.html" in links_to
