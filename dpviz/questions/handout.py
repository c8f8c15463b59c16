"""A question's answer as an HTML page that needs no server: the chart follows every slider, from frames in the file.

One field moves at a time; the others stay where they were when the file was made. Plotly's script is held compressed,
and so are the frames: the browser unpacks them (DecompressionStream, in all current browsers since 2023).

A page is one file with all that it needs, or one of a folder, whose scripts and style are files that all its pages
share. A page from a disk can load no module and fetch nothing: what is shared is a style sheet and one classic script,
which puts the same elements into the page that a page of one file has.
"""

import base64
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from operator import attrgetter
from typing import Any, NamedTuple

from jinja2 import Environment, StrictUndefined

from dpviz._version import __version__
from dpviz.charts import Plot, browser
from dpviz.charts.browser.pack import Packer, compressed, compressed_plotly
from dpviz.charts.look import export_config
from dpviz.charts.still import still
from dpviz.fields import Number
from dpviz.questions import AnyQuestion, links
from dpviz.questions.acting import acting, below, settings, sliders
from dpviz.questions.answer import LATER, AnyAnswer, soon
from dpviz.questions.layout import Reader, SettingsSnapshot, moved
from dpviz.questions.rendered import paragraphs, rendered, two_levels

MOST_BYTES = 5_000_000
PAGE = Environment(autoescape=True, undefined=StrictUndefined).from_string((browser.HERE / "page.html").read_text())
STOPS = (25, 17, 11, 7)  # of each slider; fewer where the file would be too large
LOCAL = re.compile(r"https?://(localhost|127\.0\.0\.1|\[::1\])[:/]")
SHARED_SCRIPT, SHARED_STYLE, INDEX = "shared.js", "shared.css", "index.html"  # files of a folder of pages


class Neighbour(NamedTuple):
    """Another page of the folder."""

    file: str
    title: str


class Gallery(NamedTuple):
    """The folder that a page is in: the page before it and the next one, if there are any."""

    before: Neighbour | None = None
    after: Neighbour | None = None
    front: str = INDEX
    style: str = SHARED_STYLE
    script: str = SHARED_SCRIPT


@dataclass(frozen=True)
class Handout:
    """What the file is made of.

    Attributes:
        question, answer: what was asked, and the answer with its slow parts.
        get: the value of any field.
        at: the answer to other values, with or without its slow parts; ValueError where there is none.
        link: where the app shows it.
        plot_of: what is drawn of an answer.
        title: what the page is called; the question's title where empty.
        about: what to know about its values, a paragraph each.
        usual: whether sliders that only experts look for are left out, unless their fields are not at their defaults.
        moving: the sliders; all that act where None.
        more: what else is shown of an answer, by the names of its places, as HTML.
        most_bytes: of the file.
    """

    question: AnyQuestion
    answer: AnyAnswer
    get: Reader
    at: Callable[[Reader], AnyAnswer]
    link: str
    plot_of: Callable[[AnyAnswer], Plot] = attrgetter("plot")
    title: str = ""
    about: tuple[str, ...] = ()
    usual: bool = False
    moving: tuple[Number, ...] | None = None
    more: Callable[[AnyAnswer], Mapping[str, str]] = lambda _: {}
    most_bytes: int = MOST_BYTES

    def html(self, gallery: Gallery | None = None) -> str:
        """The file: alone, or one of a folder.

        Raises:
            ValueError: it would be larger than `most_bytes`.
        """
        made: dict[tuple[str, float], dict[str, Any] | None] = {}
        for most in STOPS:
            text = self._page(most, made, gallery)
            if len(text.encode()) <= self.most_bytes:
                return text
        most_megabytes = self.most_bytes / 1e6
        raise ValueError(f"The page would be larger than {most_megabytes:g} MB: show fewer curves, or remove pins.")

    def content(self, most: int, made: dict[tuple[str, float], dict[str, Any] | None] | None = None) -> dict[str, Any]:
        """What the page's script reads: the chart as it opens, its sliders of `most` stops each, and their frames.

        Frames that were made before are in `made`, by their field's key and value, and new ones are put there.
        """
        made = {} if made is None else made
        packer = Packer()
        moving: dict[Number, list[float]] = {}
        frames: dict[str, dict[str, Any]] = {}
        offered = sliders(self.question, self.get, usual=self.usual) if self.moving is None else self.moving
        for field in offered:
            here = self.get(field)
            reached = {}
            for value in stops(field, here, most):
                if value != here:
                    if (field.key, value) not in made:
                        made[field.key, value] = self._moved(field, value)
                    if (shown := made[field.key, value]) is None:
                        continue
                    reached[value] = {**shown, "figure": packer.figure(shown["figure"])}
            if reached:
                moving[field] = sorted([*reached, here])
                frames[field.key] = {field.write(value): shown for value, shown in reached.items()}
        base = self._frame(self.answer, self.get)
        return {
            "key": self.question.key,
            "config": export_config(filename=f"dpviz-{self.question.key}", image_format="svg"),
            "fields": [self._control(field, values, base) for field, values in moving.items()],
            "base": {**base, "figure": packer.figure(base["figure"])},
            "frames": frames,
            "columns": packer.columns,
            "version": [links.VERSION, links.TODAY],
        }

    def _page(
        self, most: int, made: dict[tuple[str, float], dict[str, Any] | None], gallery: Gallery | None = None
    ) -> str:
        return self._filled(self.content(most, made), gallery)

    def _moved(self, field: Number, value: float) -> dict[str, Any] | None:
        """What is shown where one field has another value; None where there is no answer."""
        try:
            get = SettingsSnapshot(moved(self.get, field, value))
            shown = self._frame(soon(self.at(get), self.question.slow), get)
        except ValueError:
            return None
        return _without_waiting(shown)

    def _frame(self, answer: AnyAnswer, get: Reader) -> dict[str, Any]:
        plot = self.plot_of(answer)
        words = {"caption": settings(self.question, get), **below(self.question, get)}
        return {**rendered(self.question, answer, plot), **words, **self.more(answer)}

    def _control(self, field: Number, values: list[float], base: Mapping[str, Any]) -> dict[str, Any]:
        why = base["captions"].get(field.key, "")
        return {
            "field": field.key,
            "label": field.label,
            "help": field.help,
            "value": field.write(self.get(field)),
            "stops": [field.write(value) for value in values],
            "whole": field.whole,
            "ends": ("", "") if why else field.ends,
            "why": why,
            "picture": base["pictures"].get(field.key),
        }

    def _filled(
        self,
        payload: Mapping[str, Any],
        gallery: Gallery | None,
    ) -> str:
        shown, base = acting(self.question, self.get), payload["base"]
        own = {"own": " 'self' file:"} if gallery else {"own": "", "style": style(), "scripts": scripts()}
        return PAGE.render(
            **own,
            gallery=gallery,
            title=self.title or self.question.title,
            about=self.about,
            base=base,
            still=still(self._frame(self.answer, self.get)["figure"], base["alt"]),
            stops=max((len(field["stops"]) for field in payload["fields"]), default=0),
            waits=any(slow.key(self.answer) is not None for slow in self.question.slow),
            settings={field.label: field.show(self.get(field)) for field in shown},
            assumptions=tuple(map(paragraphs, two_levels(self.question.assumed(self.answer)))),
            formulas=self.question.formulas(self.answer),
            link=self.link,
            local=LOCAL.match(self.link) is not None,
            version=__version__,
            date=date.today().isoformat(),
            frames=compressed(json.dumps(payload, separators=(",", ":"), ensure_ascii=False).encode()),
        )


def stops(field: Number, here: float, most: int) -> list[float]:
    """At most so many of the slider's stops, `here` among them: those next to it, and further away fewer."""
    below = [tick for tick in field.ticks if tick < here][::-1]
    above = [tick for tick in field.ticks if tick > here]
    room = most - 1
    left = min(len(below), max(room // 2, room - len(above)))
    return sorted([here, *_thinned(below, left), *_thinned(above, min(len(above), room - left))])


def _thinned(ticks: list[float], count: int) -> list[float]:
    """So many of them: the first half are the first, the last is the last, the rest lie evenly between."""
    near = min(len(ticks), (count + 1) // 2)
    far, places = ticks[near:], count - near
    return ticks[:near] + [far[(k + 1) * len(far) // places - 1] for k in range(places)]


def _without_waiting(shown: dict[str, Any]) -> dict[str, Any]:
    """What is on its way in the app never comes in a file."""
    figure = json.loads(json.dumps(shown["figure"]).replace(LATER, "not in this page"))
    words = {name: text.replace(LATER, "not in this page") for name, text in shown.items() if isinstance(text, str)}
    return {**shown, **words, "figure": figure}


def style() -> str:
    """The style sheet of every page."""
    return browser.LOOK.read_text() + (browser.HERE / "page.css").read_text()


def scripts() -> list[tuple[str, str, str]]:
    """What every page needs beside its frames: type, name and text of script elements."""
    return [("application/gzip", "plotly", compressed_plotly()), ("importmap", "modules", _modules())]


def shared_script() -> str:
    """The same as one classic script, which puts these elements into its page."""
    elements = json.dumps([{"type": kind, "id": name, "textContent": text} for kind, name, text in scripts()])
    return (
        f'for (const one of {elements}) document.head.append(Object.assign(document.createElement("script"), one));\n'
    )


def _modules() -> str:
    """The modules as an import map: each under its own name, as a data address."""
    sources = {}
    for name, file in browser.SCRIPTS.items():
        source = re.sub(r'from "\./', 'from "dpviz/', file.read_text())
        sources[f"dpviz/{name}"] = "data:text/javascript;base64," + base64.b64encode(source.encode()).decode("ascii")
    return json.dumps({"imports": sources})
