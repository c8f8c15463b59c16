"""A way out that a sentence names leads somewhere: group, setting, option, detail or curve are there and in sight."""

import re
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import parse_qsl

import pytest

from dpviz.fields.field import Choice, Several
from dpviz.questions.answer import Answer
from dpviz.questions.asked import ask
from dpviz.questions.catalogue import PAGES, QUESTIONS
from dpviz.questions.layout import FieldControl, fields_of, in_sight, moved_of, of_texts
from dpviz.questions.plain_text import plain_text
from dpviz.questions.question import Question
from dpviz.questions.rendered import explained
from tests.questions.asking import answer_to, linked, table

QUOTED = re.compile(r"“([^”]+)”")
GROUP = re.compile(
    r"(?:under|setting of|\() ?(Show|Gradients|Data|Mechanism|Ask|Budget|Network|Step size|Settings|Bayes)\b"
)
# Answers to an attacker's question, what a recorded run was made with, and the note of a figure: no controls.
WORDS = {"in", "make papers", "All charged"}
WHAT_IF = {page.key for page in PAGES if page.key not in ("papers", "train")}
STATES = sorted(
    {row["link"] for row in table("said")["said"] if "more" not in row}
    | set(table("conditions")["states"])
)  # fmt: skip


def names_of(items: Sequence[FieldControl]) -> Iterator[str]:
    """Labels of controls, and of their options."""
    for item in items:
        for field in fields_of([item]):
            yield field.label
            if isinstance(field, Choice | Several):
                keys = field.options if item.options is None else item.options
                yield from (field.options[key] for key in keys)


def hidden(items: Sequence[FieldControl], seen: Sequence[FieldControl]) -> list[FieldControl]:
    """What an expert would see as well."""
    return [item for item in in_sight(items, None)[0] if item not in seen]


def dead_ends(
    question: Question[Any], answer: Answer[Any], texts: dict[str, str], sentences: Sequence[str]
) -> list[str]:
    """The sentences that name what is not there, or what only experts see without saying so."""
    get = of_texts(texts)
    groups = question.groups(get)
    everything = [item for items in groups.values() for item in items]
    kept = moved_of(fields_of(everything), get)
    seen = {name: in_sight(items, kept)[0] for name, items in groups.items()}
    shown = set(names_of([item for items in seen.values() for item in items]))
    shown |= {*groups, *question.more, *(one.title for one in QUESTIONS.values())}
    shown |= {line.name for line in getattr(answer.plot, "lines", ())}
    experts = set(names_of([item for name, items in groups.items() for item in hidden(items, seen[name])]))
    wrong = []
    for sentence in sentences:
        said = "expert setting" in sentence
        for name in QUOTED.findall(sentence):
            known = name in shown | WORDS or (said and name in experts)
            if not known and {name[0].upper() + name[1:], name[0].lower() + name[1:]}.isdisjoint(shown):
                wrong.append(f"“{name}”: {sentence}")
        named = GROUP.findall(sentence)
        wrong += [f"{group}: {sentence}" for group in named if group not in groups or not (seen[group] or said)]
    return wrong


@pytest.mark.parametrize("link", STATES)
@pytest.mark.one_of(3)
def test_what_a_sentence_names_is_there_and_in_sight(link: str) -> None:
    key, _, query = link.partition("?")
    question, texts = QUESTIONS[key], dict(parse_qsl(query, keep_blank_values=True))
    answer = answer_to(link)
    sentences = [question.headline(answer), *(note.text for note in question.notes(answer))]
    sentences += [" ".join(metric) for metric in question.metrics(answer)]
    assert dead_ends(question, answer, texts, [plain_text(sentence) for sentence in sentences]) == []


@pytest.mark.parametrize(
    ("key", "preset"),
    [(q.key, preset.key) for page in PAGES if page.key in WHAT_IF for q in page.questions for preset in q.presets],
)
@pytest.mark.one_of(4)
def test_what_a_preset_names_is_there_and_in_sight(key: str, preset: str) -> None:
    question = QUESTIONS[key]
    chosen = next(one for one in question.presets if one.key == preset)
    known = {field.key for field in question.fields}
    texts = {name: text for name, text in chosen.values.items() if name in known}
    answer = linked(question, "&".join(f"{name}={text}" for name, text in texts.items()).replace("+", "%2B"))
    assert dead_ends(question, answer, texts, [chosen.note]) == []


def test_a_way_out_that_leads_nowhere_is_seen() -> None:
    """Names that are not there, and those of experts' settings that do not say so."""
    question, answer = QUESTIONS["compose"], answer_to("compose")

    def found(sentence: str, **texts: str) -> int:
        return len(dead_ends(question, answer, texts, [sentence]))

    assert found("The switch is under Bayes.") == 1
    assert found("Choose “Gaussian, a person with k rows”.") == 1
    assert found("Set “Cost ψ of a step” under Gradients.") == 1
    assert found("Set “Cost ψ of a step” under Gradients.", psi="printed", source="weibull") == 0
    assert found("Set “Rows of a person k”, an expert setting of Mechanism.") == 0
    assert found("Set “Rows of a person k” under Mechanism.") == 1


def test_plain_text_keeps_signs_and_exponents() -> None:
    """In a terminal or a notebook, where the tags are taken away."""
    assert plain_text("for orders α < <b>146</b>; t<sup>−1/3</sup>") == "for orders α < 146; t^(−1/3)"
    assert "for orders α up to 145" in ask("concentrated").headline
    step = ask("langevin_conditions").headline + ask("langevin_cost").headline
    assert "t−1/3" not in step
    [html] = explained("α < <b>σ</b> and σ")
    assert html.startswith("α < <b>σ</b> and <dfn"), "a sign is no tag, and a bold number no term"
