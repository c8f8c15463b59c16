"""A question's answer as one HTML file that needs no server: the chart follows every slider, from frames in the file.

One field moves at a time; the others stay where they were when the file was made. Plotly's script is held compressed,
and so are the frames: the browser unpacks them (DecompressionStream, in all current browsers since 2023).
"""

import base64
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from operator import attrgetter
from typing import Any

from jinja2 import Environment, StrictUndefined

from dpviz._version import __version__
from dpviz.charts import Plot, browser
from dpviz.charts.browser.pack import Packer, compressed, compressed_plotly
from dpviz.charts.look import export_config
from dpviz.fields import Number
from dpviz.questions import AnyQuestion
from dpviz.questions.acting import acting, below, settings
from dpviz.questions.answer import LATER, AnyAnswer, soon
from dpviz.questions.layout import Reader, moved
from dpviz.questions.rendered import paragraphs, rendered, two_levels

MOST_BYTES = 5_000_000
PAGE = Environment(autoescape=True, undefined=StrictUndefined).from_string((browser.HERE / "page.html").read_text())
STOPS = (25, 17, 11, 7)  # of each slider; fewer where the file would be too large


@dataclass(frozen=True)
class Handout:
    """What the file is made of.

    Attributes:
        question, answer: what was asked, and the answer with its slow parts.
        get: the value of any field.
        at: the answer to other values, without its slow parts; ValueError where there is none.
        link: where the app shows it.
        plot_of: what is drawn of an answer.
    """

    question: AnyQuestion
    answer: AnyAnswer
    get: Reader
    at: Callable[[Reader], AnyAnswer]
    link: str
    plot_of: Callable[[AnyAnswer], Plot] = attrgetter("plot")

    def html(self) -> str:
        """The file.

        Raises:
            ValueError: it would be larger than 5 MB.
        """
        made: dict[tuple[str, float], dict[str, Any] | None] = {}
        for most in STOPS:
            text = self._page(most, made)
            if len(text.encode()) <= MOST_BYTES:
                return text
        raise ValueError("The page would be larger than 5 MB: show fewer curves, or remove pins.")

    def _page(self, most: int, made: dict[tuple[str, float], dict[str, Any] | None]) -> str:
        packer = Packer()
        moving: dict[Number, list[float]] = {}
        frames: dict[str, dict[str, Any]] = {}
        for field in self._sliders():
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
        payload = {
            "key": self.question.key,
            "config": export_config(filename=f"dpviz-{self.question.key}", image_format="svg"),
            "fields": [self._control(field, values, base) for field, values in moving.items()],
            "base": {**base, "figure": packer.figure(base["figure"])},
            "frames": frames,
            "columns": packer.columns,
        }
        return self._filled(payload, base, moving)

    def _sliders(self) -> list[Number]:
        """The fields that have a slider where they act now."""
        return [field for field in acting(self.question, self.get) if isinstance(field, Number) and field.ticks]

    def _moved(self, field: Number, value: float) -> dict[str, Any] | None:
        """What is shown where one field has another value; None where there is no answer."""
        try:
            get = moved(self.get, field, value)
            shown = self._frame(soon(self.at(get), self.question.slow), get)
        except ValueError:
            return None
        return _without_waiting(shown)

    def _frame(self, answer: AnyAnswer, get: Reader) -> dict[str, Any]:
        plot = self.plot_of(answer)
        words = {"caption": settings(self.question, get), **below(self.question, get)}
        return rendered(self.question, answer, plot) | words

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

    def _filled(self, payload: Any, base: Mapping[str, Any], moving: Mapping[Number, list[float]]) -> str:
        shown = acting(self.question, self.get)
        return PAGE.render(
            title=self.question.title,
            style=browser.LOOK.read_text() + (browser.HERE / "page.css").read_text(),
            base=base,
            stops=max(map(len, moving.values()), default=0),
            waits=any(slow.key(self.answer) is not None for slow in self.question.slow),
            settings={field.label: field.show(self.get(field)) for field in shown},
            assumptions=tuple(map(paragraphs, two_levels(self.question.assumed(self.answer)))),
            formulas=self.question.formulas(self.answer),
            link=self.link,
            version=__version__,
            date=date.today().isoformat(),
            frames=compressed(json.dumps(payload, separators=(",", ":"), ensure_ascii=False).encode()),
            plotly=compressed_plotly(),
            modules=_modules(),
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


def _modules() -> str:
    """The scripts as an import map: each under its own name, in the page itself."""
    sources = {}
    for name, file in browser.SCRIPTS.items():
        source = re.sub(r'from "\./', 'from "dpviz/', file.read_text())
        sources[f"dpviz/{name}"] = "data:text/javascript;base64," + base64.b64encode(source.encode()).decode("ascii")
    return json.dumps({"imports": sources})
