"""The contract for mechanisms: every accountant, with every mechanism that it says it supports."""

import math
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pytest

import dpviz
from dpviz.__main__ import main
from dpviz.accounting.adaptive.filter import Filter
from dpviz.accounting.attack.trade_off import upper_deltas
from dpviz.accounting.bound import Kind
from dpviz.accounting.ledger import Ledger
from dpviz.accounting.pld.bounds import tight_delta, tight_epsilon, tight_epsilon_of_events
from dpviz.accounting.pld.grid import delta_bounds
from dpviz.accounting.pld.quick import quick_delta, quick_epsilon
from dpviz.fields.parameters import PARAMETERS
from dpviz.mechanisms import (
    MECHANISMS,
    Adjacency,
    FixedSize,
    Mechanism,
    PersonRows,
    RandomAllocation,
    ReplaceOneGaussian,
    SampledGaussian,
    of_person,
)
from dpviz.mechanisms.pair import DominatingPair
from dpviz.questions.layout import fields_of
from tests.contract import checks
from tests.contract.cases import CASES, Case, promised
from tests.questions.asking import run_script

ACCOUNTANTS = {name: case.method for name, case in CASES.items() if case.solving}


def made(kind: type[Mechanism], noise: float, rate: float) -> Any:
    """One of this kind: its noise and rate."""
    batches = round(1.0 / rate) if rate else 1
    given = {
        kind.noise: noise,
        "sample_rate": rate,
        "size": 1000,
        "batch": min(max(round(1000 * rate), 1), 10),
    }
    given |= {"largest_batch": round(1000 * rate + 30), "batches": batches, "epochs": 2, "decay": 0.8, "band": 1}
    return kind(**{field.name: given[field.name] for field in fields(kind)})  # type: ignore[arg-type]


def of_three(kind: type[Mechanism], noise: float, rate: float) -> Any:
    """The same, three rows of one person."""
    return of_person(made(kind, noise, rate), 3)


KINDS: dict[str, Any] = {kind.kind: partial(made, kind) for kind in MECHANISMS}
KINDS |= {f"{kind.kind} of 3": partial(of_three, kind) for kind in (SampledGaussian, FixedSize, RandomAllocation)}
SUPPORTED = [
    pytest.param(replace(case, kind=kind), id=f"{name}-{title}")
    for name, case in CASES.items()
    for title, kind in KINDS.items()
    if case.solving and not case.method.supports(kind(1.0, 0.5))
]
# Noise, q, T, δ.
SETTINGS = [(5.0, 0.02, 300, 1e-5), (2.0, 1.0, 6, 1e-4), (1.0, 0.3, 20, 1e-3), (0.6, 0.001, 50, 1e-7)]


@pytest.mark.parametrize("case", SUPPORTED)
@pytest.mark.one_of(3)
class TestSupported:
    def test_more_costs_no_less(self, case: Case) -> None:
        for setting in SETTINGS[:2]:
            checks.monotone(case, *setting, 1.3)

    def test_delta_inverts_epsilon(self, case: Case) -> None:
        checks.delta_inverts_epsilon(case, *SETTINGS[0])
        assert case.delta(*SETTINGS[0][:3], 1.0) > 0.0

    def test_curve_ledger_and_runs_are_one_number(self, case: Case) -> None:
        step, other = case.kind(4.0, 0.05), case.kind(6.0, 0.1)  # type: ignore[misc]
        checks.curve_is_step_by_step(case, step, 3, 1e-5)
        checks.equal_runs_merge(case, step, 2, 1, 1e-5)
        checks.order_does_not_matter(case, [(step, 3), (other, 2)], [(other, 2), (step, 3)], 1e-5)
        checks.one_more_never_lowers(case, [(step, 3)], other, 1e-5)

    def test_nothing_released_costs_nothing(self, case: Case) -> None:
        if not case.kind(2.0, 0.0).releases:  # type: ignore[misc]
            checks.nothing_released_costs_nothing(case, 2.0)
            assert case.delta(2.0, 0.0, 7, 0.0) == 0.0

    def test_on_its_side_of_the_tight_interval(self, case: Case) -> None:
        for setting in SETTINGS:
            found = case.epsilon(*setting)
            tight = (replace(CASES[name], kind=case.kind) for name in ("tight, lower", "tight, upper"))
            lower, upper = (each.epsilon(*setting) for each in tight)
            assert 0.0 < lower <= upper
            step = case.kind(*setting[:2])  # type: ignore[misc]
            assert upper - lower <= promised(lower) or step.least != step
            if case.method.kind is Kind.UPPER:
                assert math.isnan(found) or found >= lower
            if case.method.kind is Kind.LOWER:
                assert found <= upper

    def test_formula_carries_the_number(self, case: Case) -> None:
        noise, rate, steps, delta = SETTINGS[0]
        found = case.epsilon(*SETTINGS[0])
        assert f"{found:.4g}" in case.method.latex(case.kind(noise, rate), steps, delta)  # type: ignore[misc]


@pytest.mark.parametrize("name", ACCOUNTANTS)
class TestAccountant:
    def test_says_who_it_is(self, name: str) -> None:
        method = ACCOUNTANTS[name]
        assert all((method.label, method.short_label, method.family, method.formula, method.reference))

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


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
@pytest.mark.one_of(2)
def test_the_gaussian_mechanism_above_shows_no_less(kind: Any) -> None:
    for noise, rate in ((0.6, 0.3), (2.0, 0.3), (2.0, 0.02)):
        step = kind(noise, rate)
        if (above := step.gaussian_above) is not None:
            for epsilon in (0.0, 0.5, 5.0):
                most = math.exp(SampledGaussian(above).pair().log_delta(epsilon))
                shown = tight_delta(step, 1, epsilon) if step.pair() is None else None
                here = math.exp(step.pair().log_delta(epsilon)) if shown is None else float(shown.lower)
                assert here <= 1.001 * most + 1e-12


@dataclass(frozen=True, slots=True)
class Turned(PersonRows):
    """Adding rows shows of it what removing them shows of `PersonRows`."""

    kind: ClassVar[str] = ""

    def pair(self) -> Any:
        return PersonRows.pair(self).mirrored


@pytest.mark.sweep
def test_what_adding_shows_counts_as_what_removing_shows() -> None:
    one, turned, steps = PersonRows(2.0, 0.2, 2), Turned(2.0, 0.2, 2), 8
    both = [(turned, steps), (Turned(4.0, 0.3, 2), 3)]
    together = float(tight_epsilon_of_events([(one, steps), (PersonRows(4.0, 0.3, 2), 3)], 1e-4).lower)
    assert min(float(tight_epsilon_of_events(both, 1e-4).upper), quick_epsilon(both, 1e-4)) >= together
    epsilon = np.array([0.0, 0.5, 2.0])
    (least, _), (_, most) = (delta_bounds([each], np.array([8.0]), 0.5, epsilon) for each in (one, turned))
    assert (most >= least).all()
    assert quick_delta(turned, steps, 0.5) >= least[1]
    assert (upper_deltas(turned, steps, 0.5, 0.0, 2.0)[[0, 128, -1]] >= least).all()


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

    @property
    def has_pair(self) -> bool:
        return self.upper is not None

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
    assert "further apart" in interval.reason
    assert dpviz.epsilon("tight", mechanism=alone, bound="lower", **known) == lower
    with pytest.raises(ValueError, match="only a lower bound is known: ask for bound 'lower'"):
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
@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.one_of(11)
def test_every_kind_is_on_every_page(question: str, kind: str, rows: int, capsys: pytest.CaptureFixture[str]) -> None:
    """Page, `dpviz.ask`, link, script and shell say the same, in the mechanism's own words."""
    asked = dpviz.ask(question, mechanism=kind, steps=50, rows=rows)
    mechanism = asked.answer.given["mechanism"]
    assert mechanism.kind == kind
    assert mechanism.adjacency.unit == ("one example" if rows == 1 else "one person")
    assumed = asked.question.assumed(asked.answer)
    assert all((mechanism.title, mechanism.assumes, mechanism.text, mechanism.latex))
    assert mechanism.assumes in assumed
    assert mechanism.adjacency.neighbours in assumed
    run_script(asked.script(), asked)
    assert main(["ask", question, "--mechanism", kind, "--steps", "50", "--rows", str(rows)]) == 0
    assert asked.headline in capsys.readouterr().out
    shown = asked.question.groups(lambda field: kind if field.key == "mech" else field.default)
    names = {field.key for items in shown.values() for field in fields_of(items)}
    assert names >= {"mech", "persons"}
    looked_for = {mechanism.noise} if question == "solve" else set()
    assert names >= {PARAMETERS[name].key for name in mechanism.parameters() if name not in looked_for}


@pytest.mark.one_of(3)
@pytest.mark.parametrize("kind", [kind.kind for kind in MECHANISMS])
@pytest.mark.parametrize("unknown", ["noise_multiplier", "sample_rate", "steps", "delta"])
def test_every_kind_is_solved_for(unknown: str, kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    mechanism, rest = KINDS[kind](3.0, 0.1), {"steps": 30, "delta": 1e-5}
    known = {name: value for name, value in rest.items() if name != unknown}
    if unknown == "sample_rate" and unknown not in mechanism.parameters():
        with pytest.raises(ValueError, match="for_='sample_rate'"):
            dpviz.solve(unknown, target_epsilon=2.0, method="tight", mechanism=mechanism, **known)
        return
    answer = dpviz.solve(unknown, target_epsilon=2.0, method="tight", mechanism=mechanism, tolerance=1e-4, **known)
    name = mechanism.noise if unknown == "noise_multiplier" else unknown
    there = replace(mechanism, **{name: answer}) if name in mechanism.parameters() else mechanism
    found = dpviz.epsilon("tight", mechanism=there, **(rest | ({name: answer} if name in rest else {})))
    one_more = dpviz.epsilon("tight", mechanism=there, steps=answer + 1.0, delta=1e-5) if unknown == "steps" else 0.0
    assert 1.95 <= found <= 2.0 or (found <= 2.0 and (answer == 1.0 or answer < 1e-200 or one_more > 2.0))
    given = {each: getattr(mechanism, each) for each in mechanism.parameters()} | rest | {"epsilon": 2.0}
    flags = [f"--{each.replace('_', '-')}={value}" for each, value in given.items() if each != name]
    assert main(["solve", unknown, "--mechanism", kind, *flags]) == 0
    assert float(capsys.readouterr().out) == pytest.approx(answer, rel=2e-4)


@pytest.mark.parametrize("method", ["renyi", "moments", "strong"])
def test_the_facade_takes_a_mechanism_in_place_of_noise_and_rate(method: str) -> None:
    one, plain = {"mechanism": SampledGaussian(4.0, 0.01)}, {"noise_multiplier": 4.0, "sample_rate": 0.01}
    for ask, rest in ((dpviz.epsilon, {"delta": 1e-5}), (dpviz.delta, {"epsilon": 0.5})):
        assert ask(method, steps=100, **one, **rest) == ask(method, steps=100, **plain, **rest)
