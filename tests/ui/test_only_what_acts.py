"""Every control that a page shows changes something of what the page says, whatever question is asked."""

from typing import Any

import pytest

from dpviz.fields.field import Choice, Field, Flag, Number, Several
from dpviz.questions.budget.spend import Block, Blocks
from dpviz.questions.catalogue import PAGES
from dpviz.ui import measuring
from tests.trained import invented
from tests.ui.shown import SHOWN, Asking

# What only the camera's file shows, and what other settings stand for (a batch is q·N) or trains a network.
LEFT_ALONE = ("image", "source", "n", "lkrun")
# What questions are asked with beside their defaults; each question of a page is asked with these as well.
MORE: dict[str, list[dict[str, Any]]] = {
    "compose": [
        {"curves": ("moments",)},
        {"lam": 16.0},
        {"source": "lognormal"},
        *({"mech": key, "curves": ("strong", "moments", "bayesian")} for key in ("replace", "laplace")),
        {"mech": "person", "curves": ("tight",)},
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


class Visit:
    """A page under some settings, without a browser: which controls it shows, and all that it says."""

    def __init__(self, asking: Asking, values: dict[str, Any]) -> None:
        self.asking, self.values = asking, dict(values)

    def get(self, field: Field[Any]) -> Any:
        return self.values.get(field.key, field.default)

    def shown(self) -> list[Field[Any]]:
        return self.asking.controls(self.get)

    def said(self) -> str:
        try:
            return self.asking.compute(self.get).all()
        except ValueError as problem:
            return str(problem)

    def acts(self, field: Field[Any], before: str) -> bool:
        kept = dict(self.values)
        for value in others(field, self.get(field)):
            self.values = kept | {field.key: value}
            if self.said() != before:
                break
        else:
            self.values = kept
            return False
        self.values = kept
        return True


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
    assert isinstance(field, Number)
    typed = [field.nearest(f"{value:g}") for value in (now / 2, now + 1, 2 * now, 10 * now)]
    away = sorted(
        (tick for tick in field.ticks if tick != now), key=lambda tick: abs(field.ticks.index(tick) - at(field, now))
    )
    return [*away[:2], *away[2 :: max(len(away) // 6, 1)], *(value for value in typed if value != now)]


def at(field: Number, now: float) -> int:
    return min(range(len(field.ticks)), key=lambda index: abs(field.ticks[index] - now))


@pytest.mark.parametrize(
    ("name", "question"), [(name, question) for name, several in QUESTIONS.items() for question in several]
)
@pytest.mark.one_of(12)
def test_every_control_shown_acts(name: str, question: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "result", lambda asked: invented(dict(asked.arguments)))
    visit = Visit(SHOWN[name], question)
    before = visit.said()
    idle = [field.label for field in visit.shown() if field.key not in LEFT_ALONE and not visit.acts(field, before)]
    assert idle == []
