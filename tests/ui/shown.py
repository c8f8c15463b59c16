"""Pages without a browser: what each shows of some settings, as plain calls."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dpviz.fields.field import Field
from dpviz.questions.answer import Answer, whole
from dpviz.questions.catalogue import PAGES
from dpviz.questions.layout import fields_of
from dpviz.questions.page import Page
from dpviz.questions.question import Question
from dpviz.questions.script import script
from dpviz.ui import render


@dataclass(frozen=True)
class Shown:
    """What a page shows of one state."""

    question: Question[Any]
    answer: Answer[Any]

    def finished(self) -> Shown:
        """The same with all slow parts."""
        return Shown(self.question, whole(self.answer, self.question.slow))

    def words(self) -> list[str]:
        q, a = self.question, self.answer
        return [q.headline(a), a.plot.alt, *map(str, q.metrics(a)), *map(str, q.notes(a))]

    def all(self) -> str:
        """Everything but the script, which repeats every setting; slow parts by what decides them."""
        q, a = self.question, self.answer
        blocks = [repr(block) for more in (q.below, *q.more.values()) for block in more(a)]
        tables = (a.plot.table().to_csv(), a.plot.data().to_csv())
        figure = json.dumps(a.plot.chart().figure)
        return repr((self.words(), q.formulas(a), figure, tables, blocks, [slow.key(a) for slow in q.slow]))

    def tried(self) -> list[str]:
        """Make everything there is; the words."""
        q, a = self.question, self.answer
        self.all()
        assert all(latex for _, latex in q.formulas(a))
        compile(script(q, a), "script", "exec")
        return self.words()


class Asking:
    """A page of the catalogue."""

    def __init__(self, page: Page) -> None:
        self.key, self.page = page.key, page

    def compute(self, get: Any) -> Shown:
        question = self.page.question(get)
        return Shown(question, render.compute(question, get))

    def controls(self, get: Any) -> list[Field[Any]]:
        """The fields that have a control."""
        groups = self.page.question(get).groups(get).values()
        chosen = [self.page.choice] if self.page.choice else []
        return [*chosen, *(field for items in groups for field in fields_of(items))]


SHOWN: Mapping[str, Asking] = {page.key: Asking(page) for page in PAGES}
