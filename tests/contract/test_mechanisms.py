"""The contract for mechanisms: every accountant, with every mechanism that it says it supports."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

import numpy as np
import pytest

import dpviz
from dpviz.__main__ import main
from dpviz.accounting.accountant import Accountant
from dpviz.accounting.adaptive.filter import Filter
from dpviz.accounting.bound import Kind
from dpviz.accounting.ledger import Ledger
from dpviz.accounting.methods import accountant, every_choice
from dpviz.accounting.pld.bounds import tight_epsilon
from dpviz.fields.parameters import PARAMETERS
from dpviz.mechanisms import MECHANISMS, Adjacency, Mechanism, ReplaceOneGaussian, SampledGaussian
from dpviz.mechanisms.pair import DominatingPair
from dpviz.questions.layout import fields_of
from tests.contract.cases import DIGITS, no_room, promised
from tests.questions.asking import run_script

ACCOUNTANTS = {", ".join([name, *options.values()]): accountant(name, **options) for name, options in every_choice()}


def made(kind: type[Mechanism], noise: float, rate: float) -> Any:
    """One of this kind: its noise and rate, and three rows a person."""
    given = {kind.noise: noise, "sample_rate": rate, "rows": 3}
    return kind(**{field.name: given[field.name] for field in fields(kind)})  # type: ignore[arg-type]


KINDS: dict[str, Any] = {kind.kind: partial(made, kind) for kind in MECHANISMS}
PAIRS = [
    pytest.param(each, kind, id=f"{name}-{title}")
    for name, each in ACCOUNTANTS.items()
    for title, kind in KINDS.items()
    if not each.supports(kind(1.0, 0.5))
]
# Noise, q, T, δ.
SETTINGS = [(5.0, 0.02, 300, 1e-5), (2.0, 1.0, 6, 1e-4), (1.0, 0.3, 20, 1e-3), (0.6, 0.001, 50, 1e-7)]


def epsilon(method: Accountant, mechanism: Mechanism, steps: Any, delta: Any) -> Any:
    found = method.epsilon_of(mechanism, steps=steps, delta=delta).epsilon
    return found if found.ndim else float(found)


def room(method: Accountant, value: float) -> float:
    return (promised if method.name == "tight" else no_room)(value)


@pytest.mark.parametrize(("method", "kind"), PAIRS)
class TestSupported:
    def test_more_costs_no_less(self, method: Accountant, kind: Any) -> None:
        for noise, rate, steps, delta in SETTINGS[:2]:
            here = epsilon(method, kind(noise, rate), steps, delta)
            more = [
                epsilon(method, kind(noise, rate), 2 * steps, delta),
                epsilon(method, kind(noise / 1.3, rate), steps, delta),
                epsilon(method, kind(noise, min(1.0, 1.3 * rate)), steps, delta),
            ]
            if method.name != "odometer":  # a staircase, which a smaller δ may climb later
                more.append(epsilon(method, kind(noise, rate), steps, delta / 10))
            assert not any(each < here * (1 - DIGITS) - room(method, here) for each in more)  # NaN says nothing

    def test_delta_inverts_epsilon(self, method: Accountant, kind: Any) -> None:
        noise, rate, steps, delta = SETTINGS[0]
        mechanism = kind(noise, rate)
        found = epsilon(method, mechanism, steps, delta)
        back = float(method.delta_of(mechanism, steps=steps, epsilon=found * (1 + 1e-9) + 2 * room(method, found)))
        assert 0.0 < back <= delta * (1 + 1e-6)
        assert epsilon(method, mechanism, steps, back) <= found * (1 + 1e-6) + 4 * room(method, found)
        if method.name != "odometer":
            less = max(0.99 * found - 2 * room(method, found), 0.0)
            assert float(method.delta_of(mechanism, steps=steps, epsilon=less)) >= delta * (1 - 1e-9)

    def test_curve_ledger_and_runs_are_one_number(self, method: Accountant, kind: Any) -> None:
        step, other = kind(4.0, 0.05), kind(6.0, 0.1)
        ledger = Ledger(method)
        ledger.spend(step, 2)
        ledger.spend(step)
        curve = epsilon(method, step, np.arange(4), 1e-5)
        assert curve[0] == 0.0
        assert float(ledger.bound(1e-5).epsilon) == pytest.approx(curve[3], rel=DIGITS, abs=room(method, curve[3]))
        both = [
            float(method.of_events(events, 1e-5).epsilon)
            for events in ([(step, 3), (other, 2)], [(other, 2), (step, 3)])
        ]
        ledger.spend(other, 2)
        both.append(float(ledger.bound(1e-5).epsilon))
        assert both == pytest.approx([both[0]] * 3, rel=DIGITS, abs=room(method, both[0]))
        assert both[0] >= curve[3] - room(method, curve[3])

    def test_nothing_released_costs_nothing(self, method: Accountant, kind: Any) -> None:
        assert epsilon(method, kind(2.0, 0.0), [1, 10**6], 1e-9).tolist() == [0.0, 0.0]
        assert epsilon(method, kind(2.0, 0.5), 0, 1e-9) == 0.0
        assert float(method.delta_of(kind(2.0, 0.0), steps=7, epsilon=0.0)) == 0.0

    def test_on_its_side_of_the_tight_interval(self, method: Accountant, kind: Any) -> None:
        for noise, rate, steps, delta in SETTINGS:
            mechanism = kind(noise, rate)
            found = epsilon(method, mechanism, steps, delta)
            lower, upper = (
                epsilon(accountant("tight", bound=bound), mechanism, steps, delta) for bound in ("lower", "upper")
            )
            assert 0.0 < lower <= upper
            assert upper - lower <= promised(lower)
            if method.kind is Kind.UPPER:
                assert math.isnan(found) or found >= lower
            if method.kind is Kind.LOWER:
                assert found <= upper

    def test_formula_carries_the_number(self, method: Accountant, kind: Any) -> None:
        noise, rate, steps, delta = SETTINGS[0]
        found = epsilon(method, kind(noise, rate), steps, delta)
        assert f"{found:.4g}" in method.latex(kind(noise, rate), steps, delta)


@pytest.mark.parametrize("name", ACCOUNTANTS)
class TestAccountant:
    def test_says_who_it_is(self, name: str) -> None:
        method = ACCOUNTANTS[name]
        assert method.label
        assert method.short_label
        assert method.family
        assert method.formula
        assert method.reference
        assert all(entry.startswith("@") for entry in method.card.bibtex)

    def test_what_it_does_not_support_it_refuses_with_the_reason(self, name: str) -> None:
        method = ACCOUNTANTS[name]
        for kind in KINDS.values():
            step = kind(4.0, 0.1)
            if not (reason := method.supports(step)):
                continue
            for asked in (
                lambda step=step: method.epsilon_of(step, steps=3, delta=1e-5),
                lambda step=step: method.delta_of(step, steps=3, epsilon=1.0),
                lambda step=step: method.of_events([(step, 3)], 1e-5),
                lambda step=step: Ledger(method).spend(step),
                lambda step=step: dpviz.epsilon(method.name, mechanism=step, steps=3, delta=1e-5),
            ):
                with pytest.raises(ValueError, match="Expected a mechanism that"):
                    asked()
            assert len(reason) > 20

    def test_adjacencies_do_not_mix(self, name: str) -> None:
        """A replaced example is not an added one: their sum would promise neither."""
        method = ACCOUNTANTS[name]
        events = [(SampledGaussian(4.0, 0.1), 1), (ReplaceOneGaussian(4.0, 0.1), 1)]
        with pytest.raises(ValueError, match="Expected"):
            method.of_events(events, 1e-5)
        ledger = Ledger(method)
        ledger.spend(*events[0])
        with pytest.raises(ValueError, match="Expected"):
            ledger.spend(*events[1])


def test_a_filter_does_not_mix_adjacencies_either() -> None:
    budget = Filter(target_epsilon=5.0, delta=1e-5, orders=[2.0, 4.0])
    budget.spend(ReplaceOneGaussian(9.0, 0.1))
    with pytest.raises(ValueError, match="one adjacency"):
        budget.spend(SampledGaussian(9.0, 0.1))


def test_a_mechanism_of_which_nothing_is_known() -> None:
    class Unknown(Mechanism):
        adjacency = Adjacency.ADD_REMOVE
        text = latex = "unknown"
        releases = True

    for method in ACCOUNTANTS.values():
        assert method.supports(Unknown())


@dataclass(frozen=True)
class Between(Mechanism):
    """A mechanism of which an upper and a lower bound are known, or the lower one alone."""

    adjacency = Adjacency.ADD_REMOVE
    text = latex = "between"
    step = "epoch"
    releases = True
    upper: SampledGaussian | None

    @property
    def least(self) -> Mechanism:
        return SampledGaussian(3.0, 0.1)

    def pair(self) -> DominatingPair | None:
        return None if self.upper is None else self.upper.pair()


def test_one_side_or_two_that_differ() -> None:
    known = {"steps": 20, "delta": 1e-5}
    lower = dpviz.epsilon("tight", mechanism=SampledGaussian(3.0, 0.1), bound="lower", **known)
    upper = dpviz.epsilon("tight", mechanism=SampledGaussian(2.0, 0.1), bound="upper", **known)
    both, alone = Between(SampledGaussian(2.0, 0.1)), Between(None)
    assert dpviz.epsilon("tight", mechanism=both, bound="lower", **known) == lower
    assert dpviz.epsilon("tight", mechanism=both, bound="upper", **known) == upper
    interval = tight_epsilon(both, 20, 1e-5)
    assert (float(interval.lower), float(interval.upper)) == (lower, upper)
    assert "Wider" in interval.reason
    assert dpviz.epsilon("tight", mechanism=alone, bound="lower", **known) == lower
    with pytest.raises(ValueError, match="only a lower bound is known of it: ask for bound 'lower'"):
        dpviz.epsilon("tight", mechanism=alone, bound="upper", **known)


@pytest.mark.parametrize("mechanism", [Between(SampledGaussian(2.0, 0.1)), Between(None)], ids=["both", "lower"])
@pytest.mark.parametrize("question", ["compose", "roc"])
def test_pages_answer_for_what_no_formula_bounds(question: str, mechanism: Mechanism) -> None:
    """They say in words what there is none of; steps are called what they are."""
    asked = dpviz.ask(question, mechanism=mechanism, steps=20)
    assert "Not offered for this mechanism" in " ".join(note.text for note in asked.question.notes(asked.answer))
    assert "epoch" in asked.headline or "No finite ε" in asked.headline
    assert asked.figure()
    assert asked.data() is not None


@pytest.mark.parametrize("kind", [kind.kind for kind in MECHANISMS])
@pytest.mark.parametrize("question", ["compose", "noise", "solve", "roc"])
@pytest.mark.one_of(3)
def test_every_kind_is_on_every_page(question: str, kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Page, `dpviz.ask`, link, script and shell say the same, in the mechanism's own words."""
    asked = dpviz.ask(question, mechanism=kind, steps=50)
    mechanism = asked.answer.given["mechanism"]
    assert mechanism.kind == kind
    assert type(mechanism) in MECHANISMS
    assumed = asked.question.assumed(asked.answer)
    assert mechanism.assumes in assumed
    assert mechanism.adjacency.neighbours in assumed
    run_script(asked.script(), asked)
    assert main(["ask", question, "--mechanism", kind, "--steps", "50"]) == 0
    assert asked.headline in capsys.readouterr().out
    shown = asked.question.groups(lambda field: kind if field.key == "mech" else field.default)
    names = {field.key for items in shown.values() for field in fields_of(items)}
    assert "mech" in names
    looked_for = {mechanism.noise} if question == "solve" else set()
    assert names >= {PARAMETERS[name].key for name in mechanism.parameters() if name not in looked_for}


@pytest.mark.parametrize("kind", [kind.kind for kind in MECHANISMS])
@pytest.mark.parametrize("unknown", ["noise_multiplier", "sample_rate", "steps", "delta"])
def test_every_kind_is_solved_for(unknown: str, kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    mechanism, rest = KINDS[kind](3.0, 0.1), {"steps": 30, "delta": 1e-5}
    known = {name: value for name, value in rest.items() if name != unknown}
    answer = dpviz.solve(unknown, target_epsilon=2.0, method="tight", mechanism=mechanism, tolerance=1e-4, **known)
    name = mechanism.noise if unknown == "noise_multiplier" else unknown
    there = replace(mechanism, **{name: answer}) if name in mechanism.parameters() else mechanism
    found = dpviz.epsilon("tight", mechanism=there, **(rest | ({name: answer} if name in rest else {})))
    assert 1.95 <= found <= 2.0 or (found <= 2.0 and (answer == 1.0 or answer < 1e-200))
    given = {each: getattr(mechanism, each) for each in mechanism.parameters()} | rest | {"epsilon": 2.0}
    flags = [f"--{each.replace('_', '-')}={value}" for each, value in given.items() if each != name]
    assert main(["solve", unknown, "--mechanism", kind, *flags]) == 0
    assert float(capsys.readouterr().out) == pytest.approx(answer, rel=2e-4)


class TestFacade:
    def test_takes_a_mechanism_in_place_of_noise_and_rate(self) -> None:
        step = SampledGaussian(4.0, 0.01)
        plain = {"noise_multiplier": 4.0, "sample_rate": 0.01, "steps": 100}
        for method in ("renyi", "moments", "strong"):
            assert dpviz.epsilon(method, mechanism=step, steps=100, delta=1e-5) == dpviz.epsilon(
                method, delta=1e-5, **plain
            )
            assert dpviz.delta(method, mechanism=step, steps=100, epsilon=0.5) == dpviz.delta(
                method, epsilon=0.5, **plain
            )
