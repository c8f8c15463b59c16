"""A folder of pages that need no server: what-if questions, settings of papers and lectures, with an index.

Each page is a page as `handout` makes it. What all of them need is in two files beside them.
"""

import os
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from itertools import groupby
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

from jinja2 import Environment, StrictUndefined

from dpviz._processes import end_with_parent
from dpviz._version import __version__
from dpviz.charts import LinePlot, Plot, browser
from dpviz.charts.thumbnail import thumbnail
from dpviz.questions import AnyAnswer, AnyQuestion, links
from dpviz.questions.answer import whole
from dpviz.questions.catalogue import PAGES
from dpviz.questions.handout import (
    INDEX,
    LOCAL,
    SHARED_SCRIPT,
    SHARED_STYLE,
    Gallery,
    Handout,
    Neighbour,
    shared_script,
    style,
)
from dpviz.questions.layout import Reader, of_texts
from dpviz.questions.lectures import LECTURES
from dpviz.questions.lectures.page import LecturePage
from dpviz.questions.methods import coarsely
from dpviz.questions.page import Page
from dpviz.questions.plain_text import first_sentences, plain_text
from dpviz.questions.presets import Preset

NEEDS_THE_APP = "Train"  # the section whose pages train and measure
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
INDEX_PAGE = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True).from_string(
    (browser.HERE / "gallery.html").read_text()
)


@dataclass(frozen=True)
class GalleryPage:
    """A page of the folder: a question as the app opens it, or at a paper's setting.

    Attributes:
        page, question: of the app.
        preset: the paper's setting, None for the question alone.
    """

    page: Page
    question: AnyQuestion
    preset: Preset | None = None

    @property
    def file(self) -> str:
        return f"{self.question.key}{f'-{self.preset.key}' if self.preset else ''}.html"

    @property
    def title(self) -> str:
        return self.preset.name if self.preset else self.question.title

    @property
    def get(self) -> Reader:
        """The values of its fields."""
        preset = self.preset or self.question.opens
        return of_texts(preset.values if preset else {})

    @property
    def link(self) -> str:
        """The page of the app and what its link says."""
        texts = {self.page.choice.key: self.question.asked_as} if self.page.choice else {}
        if self.preset:
            return f"/{self.page.key}?{urlencode({**texts, links.PRESET: self.preset.key, links.VERSION: links.TODAY})}"
        query = urlencode({**texts, links.VERSION: links.TODAY}) if texts else ""
        return f"/{self.page.key}?{query}" if query else f"/{self.page.key}"

    def plot_of(self, answer: AnyAnswer) -> Plot:
        """What is drawn: the answer, with the values that the paper prints."""
        plot = answer.plot
        if self.preset and self.question.printed(answer) and isinstance(plot, LinePlot):
            return replace(plot, points=(*plot.points, *self.preset.points))
        return plot

    def about(self, answer: AnyAnswer) -> tuple[str, ...]:
        """What to know about a paper's setting: the printed values beside those here, and its note."""
        if self.preset is None:
            return ()
        plot = answer.plot
        if not (isinstance(plot, LinePlot) and self.question.printed(answer)):
            return (self.preset.note,)
        return tuple(filter(None, (plot.compared(self.preset.points), self.preset.note)))


class Chapter(NamedTuple):
    """Pages that stand together in the index: its section, title, and what it answers."""

    section: str
    title: str
    asks: str


LECTURE_FILES = {f"lecture-{key}.html": lecture for key, lecture in LECTURES.items()}
LECTURE_CHAPTER = Chapter("Lectures", "Five papers", "a lecture each, in a few stops")


class IndexCard(NamedTuple):
    """A page in the index.

    Attributes:
        file, title: its address and what it is called.
        picture: its chart, small, as SVG.
        sentence: its result.
        bytes, seconds: its size, and the time of one core that it took.
    """

    file: str
    title: str
    picture: str
    sentence: str
    bytes: int
    seconds: float


def entries() -> tuple[GalleryPage, ...]:
    """All pages, in the order of the app's navigation: of each page its questions, then the papers' settings."""
    return tuple(entry for page in PAGES if page.section != NEEDS_THE_APP for entry in _entries(page))


def _entries(page: Page) -> Iterator[GalleryPage]:
    yield from (GalleryPage(page, question) for question in page.questions)
    for preset in page.presets:
        if preset.gallery:
            yield GalleryPage(page, page.question(of_texts(preset.values)), preset)


def write(
    folder: Path,
    *,
    app: str,
    docs: str = "",
    only: Collection[str] = (),
    jobs: int = 1,
    say: Callable[[str], object] = lambda _: None,
) -> None:
    """Write the pages, their index and what they share.

    Args:
        folder: made where it is not there; files of these names in it are written anew.
        app: the app's address, to which pages link.
        docs: the address of the documentation, to which the index links; empty for none.
        only: keys of the questions that have pages; all that can where it is empty.
        jobs: processes that make pages.
        say: told of each page, as soon as it is there.

    Raises:
        ValueError: a question has no page in a folder.
        OSError: a file cannot be written.
    """
    chosen = chosen_files(only)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / SHARED_SCRIPT).write_text(shared_script(), encoding="utf-8")
    (folder / SHARED_STYLE).write_text(style(), encoding="utf-8")
    cards: dict[str, IndexCard] = {}
    os.environ |= dict.fromkeys(THREADS, "1")  # read where the processes load NumPy
    with ProcessPoolExecutor(jobs, get_context("spawn"), end_with_parent) as pool:
        made = [pool.submit(write_page, chosen, place, folder, app) for place in range(len(chosen))]
        for count, one in enumerate(as_completed(made), start=1):
            card = one.result()
            cards[card.file] = card
            say(f"{count}/{len(chosen)} {card.file}: {card.bytes / 1e6:.2f} MB, {card.seconds:.1f} s")
    (folder / INDEX).write_text(_index([cards[file] for file in chosen], app, docs), encoding="utf-8")


def chosen_files(only: Collection[str] = ()) -> tuple[str, ...]:
    """Names of the pages of these questions; of all, and of the lectures, where none is named.

    Raises:
        ValueError: a question has no page in a folder.
    """
    every = entries()
    offered = dict.fromkeys(entry.question.key for entry in every)
    if wrong := [key for key in only if key not in offered]:
        raise ValueError(f"Question {wrong[0]!r} has no page in a folder; choose among {', '.join(offered)}.")
    return (*(one.file for one in every if not only or one.question.key in only), *(() if only else LECTURE_FILES))


def write_page(chosen: Sequence[str], place: int, folder: Path, app: str) -> IndexCard:
    """Write one of the chosen pages into the folder.

    Raises:
        OSError: the file cannot be written.
    """
    begun = time.process_time()
    by_file = {entry.file: entry for entry in entries()}
    titles = {file: one.title for file, one in by_file.items()}
    titles |= {file: f"{lecture.paper.name}, a lecture" for file, lecture in LECTURE_FILES.items()}
    before, after = (
        Neighbour(chosen[k], titles[chosen[k]]) if 0 <= k < len(chosen) else None for k in (place - 1, place + 1)
    )
    gallery = Gallery(before, after)
    if chosen[place] in LECTURE_FILES:
        return _write_lecture(folder / chosen[place], app, gallery, begun)
    entry = by_file[chosen[place]]
    get, question = entry.get, entry.question
    answer = whole(question.asked(question.read(get)), question.slow)
    handout = Handout(
        question,
        answer,
        get,
        partial(patient_answer, question),
        app.rstrip("/") + entry.link,
        entry.plot_of,
        title=entry.title,
        about=entry.about(answer),
        usual=True,
    )
    text = handout.html(gallery)
    (folder / entry.file).write_text(text, encoding="utf-8")
    plot = entry.plot_of(answer)
    sentence = plain_text(first_sentences(question.headline(answer), 1))
    picture = thumbnail(plot.chart().figure, plot.alt)
    return IndexCard(entry.file, entry.title, picture, sentence, len(text.encode()), time.process_time() - begun)


def _write_lecture(file: Path, app: str, gallery: Gallery, begun: float) -> IndexCard:
    """Write the page of a lecture, which is pictured by its first stop."""
    lecture = LECTURE_FILES[file.name]
    text = LecturePage(lecture, app).html(gallery)
    file.write_text(text, encoding="utf-8")
    stop = lecture.stops[0]
    plot = stop.plot(stop.question.asked(stop.question.read(of_texts(stop.values))))
    picture = thumbnail(plot.chart().figure, plot.alt)
    sentence = f"{lecture.paper.title}. {'; '.join(plain_text(one.title) for one in lecture.stops)}."
    return IndexCard(file.name, lecture.paper.name, picture, sentence, len(text.encode()), time.process_time() - begun)


def patient_answer(question: AnyQuestion, get: Reader) -> AnyAnswer:
    """The answer to other values and of few points, without its slow parts; with them where the chart has no curve
    before: a page of the folder is made once, so it can wait.
    """
    with coarsely():
        answer = question.asked(question.read(get))
    empty = isinstance(answer.plot, LinePlot) and not answer.plot.lines
    return whole(answer, question.slow) if empty else answer


def _index(cards: list[IndexCard], app: str, docs: str) -> str:
    """The index: cards under their pages, pages under the sections of the app's navigation."""
    chapters = {entry.file: Chapter(entry.page.section, entry.page.title, entry.page.asks) for entry in entries()}
    chapters |= dict.fromkeys(LECTURE_FILES, LECTURE_CHAPTER)
    sections: dict[str, list[tuple[Chapter, list[IndexCard]]]] = {}
    for chapter, several in groupby(cards, lambda card: chapters[card.file]):
        sections.setdefault(chapter.section, []).append((chapter, list(several)))
    return INDEX_PAGE.render(
        style=SHARED_STYLE,
        sections=sections,
        count=len(cards),
        app=app,
        local=LOCAL.match(f"{app}/") is not None,
        docs=docs,
        version=__version__,
        date=date.today().isoformat(),
    )
