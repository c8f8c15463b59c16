"""What a page shows of a plan: what to set, the paragraph, and code."""

from __future__ import annotations

from collections.abc import Callable

from dpviz.questions.answer import Folded, Note
from dpviz.questions.question import Block
from dpviz.questions.use.paragraph import bibliography, paragraph
from dpviz.questions.use.plan import Plan, spared, used
from dpviz.questions.use.snippets import RELEASES, snippets


def use_it(make: Callable[[], Plan]) -> list[Block]:
    """Blocks of a page's details; why there are none where `make` has no plan to give."""
    try:
        plan = make()
    except ValueError as none:
        return [Note(str(none))]
    code = snippets(plan)
    lead = f"{used(plan)} {spared(plan)}".strip()
    return [
        Note(lead),
        Folded("Paragraph for the paper", source=paragraph(plan), open=True),
        Folded("BibTeX", source=bibliography(plan), language="bibtex"),
        *(Folded(name, source=code[key], language="python") for key, name in RELEASES.items()),
    ]
