"""Every control that a page shows changes something of what the page says, whatever question is asked."""

import json
from typing import Any

import pytest

from dpviz.fields.field import Choice, Field, Flag, Number, Several, Text
from dpviz.gradients.leakage import Leakage
from dpviz.questions.budget.blocks import Block, Blocks
from dpviz.questions.catalogue import PAGES
from dpviz.questions.guarantee.question import GUARANTEE
from dpviz.questions.layout import control, fields_of
from dpviz.runs.measuring.measurement import Request
from dpviz.ui import measuring
from tests.trained import invented, invented_scores
from tests.ui.driver import compute

# What other settings stand for (a batch is q·N), or what trains a network.
LEFT_ALONE = ("units", "source", "n", "lkrun", "accown")  # no runs of one's own are recorded here
# What questions are asked with beside their defaults; each question of a page is asked with these as well.
MORE: dict[str, list[dict[str, Any]]] = {
    "compose": [
        {"curves": ("moments",)},
        {"lam": 16.0},
        {"source": "lognormal"},
        *({"mech": key, "curves": ("strong", "moments", "bayesian")} for key in ("replace", "laplace")),
        {"persons": 3.0, "curves": ("tight",)},
        {"tried": 40.0, "curves": ("tight",)},
    ],
    "noise": [
        {"noiseq": ("q99",)},
        {"noisecurves": ("moments",)},
        {"noiseq": ()},
        *(
            {"noiseview": "solve", "solvefor": key, "noiseq": ("q99",)}
            for key in ("noise_multiplier", "steps", "sample_rate", "delta")
        ),
    ],
    "check": [{"kview": "check", "tried": 40.0}],
    "attack": [{"aview": key, "anoise": "gaussian"} for key in ("town", "releases", "residents")],
    "budget": [
        {"bview": "spend", "bblocks": (Block(4.0, 0.01, 1000),)},
        *({"bview": "policy", "bshow": key} for key in ("noise", "batch", "accuracy")),
        {"bview": "trained", "brun": "early"},
        {"bview": "policy", "bread": "odometer", "bpol": ("tune",), "bepochs": 30.0, "btop": 0.9, "bpace": 0.1},
    ],
    "papers": [
        {"pview": "clipping", "con": "off"},
        {"pview": "loss", "pspan": "one"},
        {"pview": "theorem5", "pnoise": "laplace"},
        *({"pview": "pate", "panoise": key} for key in ("confident", "lnmax")),
        {"pview": "pate", "pavotes": "alike"},
    ],
}
SMALL = {"leakage": {"lkrun": "small"}}
QUESTIONS = {
    page.key: [
        *({page.view: question.asked_as} | SMALL.get(page.key, {}) if page.view else {} for question in page.questions),
        *MORE.get(page.key, ()),
    ]
    for page in PAGES
    if page.key != "train"
}


def said(page: str, values: dict[str, Any]) -> str:
    """All that a page says but the script, which repeats every setting; slow parts by what decides them."""
    try:
        q, a = compute(page, values)
        words = [q.headline(a), a.plot.alt, *map(str, q.metrics(a)), *map(str, q.notes(a))]
        blocks = [repr(block) for more in (q.below, *q.more.values()) for block in more(a)]
        blocks += [repr(a.facts.plan)] if q is GUARANTEE else []  # its words are in a file that waits for the numbers
        tables = (a.plot.table().to_csv(), a.plot.data().to_csv(), json.dumps(a.plot.chart().figure))
        return repr((words, q.formulas(a), tables, blocks, [slow.key(a) for slow in q.slow]))
    except ValueError as problem:
        return str(problem)


def others(field: Field[Any], now: Any) -> list[Any]:
    """Some other values of a field, the nearest first."""
    if isinstance(field, Choice):
        return [key for key in field.options if key != now]
    if isinstance(field, Flag):
        return [not now]
    if isinstance(field, Several):
        return [tuple(key for key in field.options if key not in now), tuple(field.options), ()]
    if isinstance(field, Blocks):
        return [(), (Block(2.0, 0.01, 10),)]
    if isinstance(field, Text):
        return ["something else"]
    assert isinstance(field, Number)
    typed = [field.nearest(f"{value:g}") for value in (now / 2, now + 1, 2 * now, 10 * now)]
    nearest = min(field.ticks, key=lambda tick: abs(tick - now), default=now)
    distance = {tick: abs(index - field.ticks.index(nearest)) for index, tick in enumerate(field.ticks) if tick != now}
    away = sorted(distance, key=distance.__getitem__)
    return [*away[:2], *away[2 :: max(len(away) // 6, 1)], *(value for value in typed if value != now)]


def result(asked: Request) -> Leakage | dict[str, list[float]]:
    """Of a measurement that nobody made: an audit's runs, or a network's gradients and losses."""
    arguments = dict(asked.arguments)
    return invented_scores(arguments) if "seeds" in arguments else invented(arguments)


@pytest.mark.parametrize(
    ("name", "question"), [(name, question) for name, several in QUESTIONS.items() for question in several]
)
@pytest.mark.one_of(12)
def test_every_control_shown_acts(name: str, question: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "result", result)
    before = said(name, question)
    page = next(page for page in PAGES if page.key == name)

    def now(field: Field[Any]) -> Any:
        return question.get(field.key, field.default)

    def acts(field: Field[Any]) -> bool:
        return any(said(name, question | {field.key: value}) != before for value in others(field, now(field)))

    items = [control(item) for group in page.question(now).groups(now).values() for item in group]
    drawn = [item for item in items if item.drawn_as != "snippet"]  # a pasted text fills fields that are not on screen
    shown = [*filter(None, [page.choice]), *fields_of(drawn)]
    idle = [field.label for field in shown if field.key not in LEFT_ALONE and not acts(field)]
    assert idle == []
