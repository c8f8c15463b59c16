"""A lecture as an HTML page that needs no server: its stops as slides whose charts follow their sliders, and on paper
all of them with the replies at the end."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple

from jinja2 import Environment, StrictUndefined

from dpviz._version import __version__
from dpviz.charts import browser
from dpviz.charts.browser.pack import compressed
from dpviz.questions import AnyAnswer, links
from dpviz.questions.answer import soon, whole
from dpviz.questions.handout import LOCAL, Gallery, Handout, scripts, style
from dpviz.questions.layout import Reader, of_texts
from dpviz.questions.lectures.lecture import Lecture, LectureStop
from dpviz.questions.methods import coarsely
from dpviz.questions.rendered import explained, paragraphs

STOPS = 11  # of each slider, at most
PAGE = Environment(autoescape=True, undefined=StrictUndefined).from_string((browser.HERE / "lecture.html").read_text())


class Slide(NamedTuple):
    """A stop as the page has it: words as HTML, its address in the app, and its chart with frames, compressed."""

    title: str
    headline: str
    sentence: str
    asks: str
    reply: str
    alt: str
    link: str
    frames: str


@dataclass(frozen=True)
class LecturePage:
    """The page of a lecture; `app` is the address of the app to which it links."""

    lecture: Lecture
    app: str

    def html(self, gallery: Gallery | None = None) -> str:
        """The file: alone, or one of a folder."""
        own = {"own": " 'self' file:"} if gallery else {"own": "", "style": style(), "scripts": scripts()}
        return PAGE.render(
            **own,
            gallery=gallery,
            paper=self.lecture.paper,
            slides=[self.slide(number, stop) for number, stop in enumerate(self.lecture.stops, start=1)],
            local=LOCAL.match(f"{self.app.rstrip('/')}/") is not None,
            version=__version__,
            date=date.today().isoformat(),
        )

    def link(self, number: int) -> str:
        """Where the app shows a stop."""
        return f"{self.app.rstrip('/')}/{links.address(f'{self.lecture.link}&stop={number}')}"

    def slide(self, number: int, stop: LectureStop) -> Slide:
        """One stop, with the answers of all stops of its sliders."""
        get, question = of_texts(stop.values), stop.question
        opening = question.asked(question.read(get))
        then = question.asked(question.read(stop.room.reader(get)))

        def at(get: Reader) -> AnyAnswer:
            with coarsely():
                return question.asked(question.read(get))

        handout = Handout(
            question,
            whole(opening, question.slow),
            get,
            at,
            self.link(number),
            stop.plot,
            moving=stop.moving,
            more=lambda answer: words(stop, answer),
        )
        content = handout.content(STOPS) | {"link": self.link(number)}
        base: Mapping[str, str] = content["base"]
        [title] = explained(stop.title)
        asks, reply = explained(paragraphs(stop.room.text(opening)), paragraphs(stop.room.replies(opening, then)))
        return Slide(
            title,
            base["headline"],
            base["sentence"],
            asks,
            reply,
            base["alt"],
            self.link(number),
            compressed(json.dumps(content, separators=(",", ":"), ensure_ascii=False).encode()),
        )


def words(stop: LectureStop, answer: AnyAnswer) -> dict[str, str]:
    """The headline and the sentence of an answer, as HTML."""
    headline, sentence = explained(stop.headline(answer), paragraphs(stop.sentence(soon(answer, stop.question.slow))))
    return {"headline": headline, "sentence": sentence}
