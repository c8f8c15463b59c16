"""Each sentence is said in a state of the tables, and those of conditions.toml exactly where their condition holds."""

import ast
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import dpviz.questions
from dpviz.questions.answer import Answer, whole
from dpviz.questions.catalogue import QUESTIONS
from dpviz.questions.networks import Network
from dpviz.questions.plain_text import plain_text
from dpviz.questions.question import Question
from dpviz.questions.words import Formula, Metric, Note
from tests import own_sets
from tests.questions.asking import answer_to, table
from tests.questions.unlinked import UNLINKED, Unlinked
from tests.trained import invented

TABLE = table("conditions")
FOLDER = Path(dpviz.questions.__file__).parent
KINDS = (Note, Metric, Formula)
WORDS = {kind.__name__ for kind in KINDS}
Line = tuple[str, int]  # file, number


@pytest.fixture(autouse=True)
def surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A data set of one's own, and networks that nobody trains: a measurement takes seconds, and none must be true."""
    own_sets.table(tmp_path)
    monkeypatch.setenv("DPVIZ_DATA", str(tmp_path))
    monkeypatch.setattr(Network, "sample", lambda network: invented(network.arguments))


@dataclass(frozen=True)
class Said:
    """What is said of an answer.

    Attributes:
        text: metrics and notes, a line each, without line breaks.
        lines: where sentences were made to answer and to say everything, details included.
    """

    text: str
    lines: frozenset[Line]


@contextmanager
def lines_of_sentences() -> Iterator[set[Line]]:
    """The lines that make a sentence meanwhile; to trace all that is executed takes three times as long."""
    lines: set[Line] = set()

    def noted(make: Callable[..., Any]) -> Callable[..., Any]:
        def new(kind: type, *args: Any, **kwargs: Any) -> Any:
            caller = sys._getframe(1)
            lines.add((caller.f_code.co_filename, caller.f_lineno))
            return make(kind, *args, **kwargs)

        return new

    with pytest.MonkeyPatch.context() as patch:
        for kind in KINDS:
            patch.setattr(kind, "__new__", noted(kind.__new__))
        yield lines


def said(question: Question[Any], make: Callable[[], Answer[Any]]) -> Said:
    """Metrics and notes of the answer that `make` makes, and the lines that made a sentence for it."""
    with lines_of_sentences() as lines:
        answer = make()
        question.headline(answer)
        texts = [" | ".join(metric) for metric in question.metrics(answer)]
        texts += [note.text for note in question.notes(answer)]
        list(question.formulas(answer))
        question.assumed(answer)
        for detail in question.more.values():
            list(detail(answer))
    return Said("\n".join(" ".join(plain_text(text).split(" ")) for text in texts), frozenset(lines))


@cache
def said_at(link: str, *, parts: bool = False) -> Said:
    """What is said at a link, without slow parts or with all of them; kept, as two tests ask for most of them."""
    question = QUESTIONS[link.partition("?")[0]]
    return said(question, lambda: whole(answer_to(link), question.slow) if parts else answer_to(link))


def everything_said() -> Iterator[Said]:
    """What is said in all states: questions as they open, links of both tables, facts that no link leads to."""
    for key in QUESTIONS:
        yield said_at(key)
    for row in TABLE["sentence"]:
        for link in (*row["on"], *row["off"]):
            yield said_at(link, parts=row.get("parts", False))
    for row in table("said")["said"]:
        if "more" not in row:
            yield said_at(row["link"], parts="part" in row)
    for link in TABLE["states"]:
        yield said_at(link)
    for link in TABLE["whole_states"]:
        yield said_at(link, parts=True)
    for state in UNLINKED:
        yield said(state.question, state.on)


@dataclass(frozen=True)
class Sentence:
    """A note, metric or formula in the code of the questions.

    Attributes:
        line: where it is made.
        texts: what its code holds in quotes; a value in it is {}.
    """

    line: Line
    texts: tuple[str, ...]

    def __str__(self) -> str:
        return f"{Path(self.line[0]).relative_to(FOLDER)}:{self.line[1]}: {' | '.join(self.texts)[:100]}"


def texts_in(tree: ast.AST) -> Iterator[str]:
    """Every text in the code; a value in it is {}."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)


def trees() -> Iterator[tuple[Path, ast.AST]]:
    for path in sorted(FOLDER.rglob("*.py")):
        yield path, ast.parse(path.read_text("utf-8"))


def sentences_of_words() -> Iterator[Sentence]:
    """What functions make of a question's words, each by a call of its own; what modules hold is always there."""
    for path, tree in trees():
        for function in ast.walk(tree):
            if isinstance(function, ast.FunctionDef):
                for node in ast.walk(function):
                    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in WORDS:
                        yield Sentence((str(path), node.lineno), tuple(texts_in(node)))


def unsaid(states: Iterable[Said]) -> list[Sentence]:
    """The sentences that no state makes."""
    lines = frozenset().union(*(one.lines for one in states))
    return [sentence for sentence in sentences_of_words() if sentence.line not in lines]


@pytest.mark.one_of(5)
@pytest.mark.parametrize("row", TABLE["sentence"], ids=lambda row: row["text"][:60])
def test_a_sentence_appears_exactly_when_its_condition_holds(row: dict[str, Any]) -> None:
    text, parts = row.get("said", row["text"]), row.get("parts", False)
    assert [link for link in row["on"] if text not in said_at(link, parts=parts).text] == [], "it is missing"
    assert [link for link in row["off"] if text in said_at(link, parts=parts).text] == [], "it is not meant here"
    assert row["on"]


@pytest.mark.parametrize("state", UNLINKED, ids=lambda state: state.text[:60])
def test_a_sentence_appears_with_facts_that_no_link_leads_to(state: Unlinked) -> None:
    assert state.text in said(state.question, state.on).text
    assert state.text not in said(state.question, state.off).text


@pytest.mark.timeout(900)  # every state
def test_every_sentence_is_said_in_a_state() -> None:
    """A sentence that nothing says may be wrong, or its condition may never hold."""
    assert [str(sentence) for sentence in unsaid(everything_said())] == []


def test_a_sentence_that_no_state_says_is_seen() -> None:
    """All that residents say of Gaussian noise, where its link is missing."""
    with_laplace = {str(one) for one in unsaid([said_at("residents?anoise=laplace")])}
    both = {str(one) for one in unsaid([said_at("residents?anoise=laplace"), said_at("residents?anoise=gaussian")])}
    assert any("Own ε depends on secret incomes" in one for one in with_laplace - both)


def test_every_row_of_the_table_is_a_sentence() -> None:
    texts = [text for _, tree in trees() for text in texts_in(tree)]
    rows = [row["text"] for row in TABLE["sentence"]]
    assert [row for row in rows if not any(row in text for text in texts)] == []
