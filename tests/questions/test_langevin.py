"""What Langevin steps cost and which are private: numbers and words of the eight questions."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import dpviz
from dpviz.accounting.formula import tex
from dpviz.accounting.langevin.cost import langevin_tight
from dpviz.accounting.langevin.numerical_step_size import NumericalStepSizes
from dpviz.accounting.schedules import PowerSchedule
from dpviz.fields import numbers
from dpviz.questions.answer import Answer, whole
from dpviz.questions.langevin import LANGEVIN
from dpviz.questions.langevin.chain import BATCH, CLAIM, SIZE
from dpviz.questions.langevin.cost import COST, TIGHT_MARKS
from dpviz.questions.langevin.errors import MSE_EPSILON
from dpviz.questions.langevin.region import REGION, ConditionsRegionFacts
from dpviz.questions.langevin.step_sizes import AGAINST_SIZE, COMPARED, within
from dpviz.questions.layout import FieldControl, of_texts
from dpviz.questions.tight_band import TightBand
from tests.questions.asking import asked, curves, headline, of_preset


def region(**texts: str) -> Answer[ConditionsRegionFacts]:
    return whole(asked(REGION, **texts), REGION.slow)


def written(chart: Any) -> str:
    return " ".join(note["text"] for note in chart.figure["layout"]["annotations"])


@pytest.mark.parametrize("preset", LANGEVIN.presets, ids=lambda preset: preset.key)
def test_what_is_printed_for_a_preset_shows_on_its_chart(preset: Any) -> None:
    question = next(question for question in LANGEVIN.questions if preset in question.presets)
    assert preset.values["lview"] == question.asked_as
    plot = of_preset(question, preset.key).plot
    assert not any("outside" in note for note in replace(plot, points=preset.points).chart().notes)


@pytest.mark.sweep
def test_the_mnist_claim_fails_and_the_svhn_claim_holds() -> None:
    mnist = of_preset(COST, "sgmnist")
    said = headline(COST, mnist).removesuffix("…")
    assert said.endswith("the claimed <b>ε = 0.1</b> "), "one sentence, before and after"
    mnist = whole(mnist, COST.slow)
    assert headline(COST, mnist).startswith(said)
    assert "<b>ε = 0.1</b>" in said
    assert 3.9 <= mnist.facts.times <= 4.1
    assert numbers.plain(mnist.facts.times) in headline(COST, mnist)
    assert mnist.facts.epsilon == pytest.approx(1.37, abs=0.01)
    assert mnist.facts.tight is not None
    low, high = np.asarray(mnist.facts.tight.lower), np.asarray(mnist.facts.tight.upper)
    assert low[-1] < 0.403 < 1.01 * high[-1]
    assert (low <= high).all()
    (drawn,) = mnist.plot.bands  # type: ignore[attr-defined]
    assert drawn.upper[-1] == high[-1]
    assert drawn.x.size == TIGHT_MARKS >= 12
    assert (drawn.lower <= drawn.upper).all()
    assert "the claimed <b>ε = 0.12</b> holds" in headline(COST, of_preset(COST, "sgsvhn"))


def test_a_batch_that_the_data_cannot_have_stands_first_with_a_way_out() -> None:
    first = COST.layout(of_texts({"n": "100"}))["Steps"][0]
    assert isinstance(first, FieldControl)
    assert first.choices == {"√N = 10": "10"}
    usual = COST.layout(of_texts({"n": "100", "ltau": "10"}))["Data"][1]
    assert usual == FieldControl(first.fields, within=(1.0, 100.0))


def test_a_claim_that_moves_asks_for_no_other_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    asked(COST, **{"leta": "0.0371", CLAIM.key: "2"})

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("What the steps cost was known.")

    monkeypatch.setattr("dpviz.questions.langevin.cost.langevin_bounds", refuse)
    assert "claimed" in headline(COST, asked(COST, **{"leta": "0.0371", CLAIM.key: "3"}))


def test_the_largest_step_size_is_the_librarys() -> None:
    a = asked(COMPARED)
    best = dpviz.langevin_step_size(
        "theorem3", epsilon=0.1, delta=1e-5, n=50_000, steps=10_000, clip=1, batch_size=224, refine=False
    )
    assert a.facts.largest == pytest.approx(best, rel=1e-12)
    assert "0.0309" in headline(COMPARED, a)
    tiles = {metric.name: metric for metric in COMPARED.metrics(a)}
    assert float(tiles["Theorem 3, decreasing"].value.removeprefix("η₁ ≤ ")) <= best
    assert tiles["PLD accountant"][1:] == ("…", "")


@pytest.mark.parametrize(("ends", "words"), [
    ((0.0101, 0.0102), "the claimed <b>ε = 0.01</b> is too low"), ((0.0199, 0.03), "a factor of at least 1.9"),
    ((0.0099, 0.015), "neither proven nor refuted"), ((0.005, 0.01), "holds"),
])  # fmt: skip
def test_a_claim_is_judged_by_the_end_of_the_interval_that_speaks_against_it(
    ends: tuple[float, float], words: str
) -> None:
    tight = TightBand(np.ones(1), *(np.array([end]) for end in ends))
    answer = asked(COST, target="0.01", ldecay="fixed", steps="37")
    assert words in headline(COST, replace(answer, facts=replace(answer.facts, tight=tight)))


def test_the_last_model_has_headline_metrics_and_verdict_of_its_own() -> None:
    """All models' lower end, above the claim, says nothing against the last one's."""
    answer = of_preset(COST, "sglast")
    facts = answer.facts
    last, everything = (numbers.epsilon(value, up=True) for value in (facts.last[-1], facts.epsilon))
    assert f"= <b>0.5</b>: releasing only the last model costs <b>ε ≤ {last}</b> at" in " ".join(
        headline(COST, answer).split()
    )
    first, *_ = COST.metrics(answer)
    assert (first.value, first.note) == (f"ε ≤ {last}", f"all models along the way: {everything}")
    assert facts.best == facts.last[-1]
    tight = TightBand(np.ones(1), np.array([5.0]), np.array([6.0]))
    loose = replace(answer, facts=replace(facts, tight=tight), given=answer.given)
    assert COST.metrics(loose)[1].note.endswith("of all models")
    assert "the claimed <b>ε = 1</b> holds." in headline(COST, loose)
    low = of_preset(COST, "sglast", target="0.5")
    assert headline(COST, low).endswith("…")
    low = replace(low, facts=replace(low.facts, tight=tight))
    assert "the claimed <b>ε = 0.5</b> is neither proven nor refuted." in headline(COST, low)
    known = replace(facts, tight=replace(tight, lower=np.array([0.1]), upper=np.array([0.2])))
    assert known.best == 0.2, "what bounds all models bounds the last one"


@pytest.mark.parametrize(("replaced", "sensitivity"), [("0", 1.0), ("1", 2.0)])
def test_the_bound_of_wang_et_al_has_its_own_numbers(replaced: str, sensitivity: float) -> None:
    a = asked(COMPARED, lreplace=replaced)
    logs = np.log(2.5 * 10_000 / 1e-5) * np.log(2 / 1e-5)
    step = a.facts.chain.claim**2 * 50_000 / (128 * sensitivity**2 * 10_000 * logs)
    formula = dict(COMPARED.formulas(a))["Wang, Fienberg, Smola 2015"]
    assert formula.split(r"\quad")[0].strip().endswith(f"= {tex(numbers.rounded_down(step, 4))}")


def test_sghmc_of_table_1_costs_what_its_notes_say() -> None:
    found = {key: of_preset(COST, key).facts for key in ("sgmnisthmc", "sgsvhnhmc")}
    assert found["sgmnisthmc"].chain.momentum
    assert found["sgmnisthmc"].epsilon > 5.0 > found["sgmnisthmc"].chain.claim
    assert found["sgsvhnhmc"].epsilon < found["sgsvhnhmc"].chain.claim == 0.43
    without = of_preset(COST, "sgmnisthmc", lbeta="1").facts
    low, high = langevin_tight(without.chain.setting, without.chain.schedule, 1e-5, 24)
    assert low < 0.27 < high < 0.3


def test_what_steps_cost_stands_beside_the_cost_with_the_other_noise() -> None:
    printed, sgld = (asked(COST, lnoise=noise) for noise in ("algorithm1", "sgld"))
    for one, other, noise in ((printed, sgld, "algorithm1"), (sgld, printed, "sgld")):
        assert one.facts.chain.setting.noise == noise
        assert one.facts.other == pytest.approx(other.facts.epsilon, rel=1e-12)
        (beside,) = (tile for tile in COST.metrics(one) if tile.name.startswith("With noise"))
        assert beside.value == f"ε ≤ {numbers.epsilon(one.facts.other, up=True)}"
    momentum = asked(COST, lalg="sghmc", lnoise="sgld")
    assert momentum.facts.epsilon == asked(COST, lalg="sghmc").facts.epsilon
    assert not any(tile.name.startswith("With noise") for tile in COST.metrics(momentum))


def test_the_page_opens_on_the_bounds_compared_with_both_noises() -> None:
    """Every theorem bounds η₁ ÷ variance, so the other noise's step size is twice or half as large."""
    assert LANGEVIN.questions[0] is COMPARED
    for texts, factor in (({}, 2.0), ({"lnoise": "sgld"}, 0.5)):
        answer = asked(COMPARED, ldecay="fixed", **texts)
        answer = whole(answer, COMPARED.slow)
        assert [line.key for line in answer.plot.lines] == [  # type: ignore[attr-defined]
            "theorem3", "theorem4", "wang", "numerical", "numerical_other",
        ]  # fmt: skip
        first, second, *_ = tiles = COMPARED.metrics(answer)
        assert (first.name, second.name) == ("Theorem 4, fixed", "PLD accountant"), "two are in sight until Why is open"
        for tile in tiles:
            size, other = (float(text.rpartition(" ")[2]) for text in (tile.value, tile.note))
            assert other == pytest.approx(factor * size, rel=0.01)
        theorem, wang = answer.facts.sizes["theorem4"], answer.facts.sizes["wang"]
        assert f"<b>{numbers.steps(numbers.rounded_down(theorem / wang, 3))}</b> times" in headline(COMPARED, answer)


def test_the_numerical_accountants_step_size_costs_what_is_wanted() -> None:
    """η₁ = .0745 at ε = .1 (independently: .0749); composed anew, it costs just below .1."""
    answer = whole(of_preset(COMPARED, "sgfig1"), COMPARED.slow)
    size = answer.facts.numerical_size(answer.facts.chain)
    assert size == pytest.approx(0.0749, rel=0.008)
    assert f"The PLD accountant allows <b>{numbers.at_least(size)}</b>" in headline(COMPARED, answer)
    names = {ring.name for ring in answer.plot.rings}  # type: ignore[attr-defined]
    assert names == {"η₁ 0.0309", ""}
    assert {ring.y for ring in answer.plot.rings} == {answer.facts.largest, size}  # type: ignore[attr-defined]
    low, high = langevin_tight(answer.facts.chain.setting, PowerSchedule(size, 1 / 3, 10_000), 1e-5, 132)
    assert 0.098 < low < high
    assert 0.0998 < high <= 0.1 * (1 + 1e-9)
    points = answer.facts.numerical
    assert (np.diff(points.epsilon) > 0).all()
    assert points.epsilon[0] < 0.021
    assert points.epsilon[-1] > 1.5


def test_what_a_slider_cannot_change_is_not_in_sight() -> None:
    def keys(question: Any, **texts: str) -> set[str]:
        groups = question.groups(of_texts(texts))
        return {field.key for items in groups.values() for one in items for field in one.fields}

    assert "leta" not in keys(COMPARED)
    assert "leta" in keys(COST)
    assert not {"ltau", "steps", "delta"} & keys(AGAINST_SIZE, lrule="1")
    assert {"ltau", "steps", "delta"} <= keys(AGAINST_SIZE, lrule="0")


def test_by_the_rule_of_figure_2_the_step_size_grows_five_times_with_n() -> None:
    answer = of_preset(AGAINST_SIZE, "sgfig2n")
    assert answer.facts.growth == pytest.approx(5.0, abs=0.06)
    assert "it grows <b>5</b> times" in headline(AGAINST_SIZE, answer)


def test_the_error_of_wang_et_al_is_that_of_fixed_steps() -> None:
    answer = asked(MSE_EPSILON)
    step = answer.facts.chain.wang_step_size
    least = answer.facts.least
    assert answer.facts.worse_by_wang * least == pytest.approx(1.0 / (10_000 * step) + step**2, rel=1e-9)


def test_the_noise_decides_both_verdicts_of_section_3_1() -> None:
    """0.103 costs more than 0.1 with Algorithm 1's noise, by the numerical interval, and less with SGLD's."""
    printed, sgld = (
        whole(of_preset(COST, "sgexample", lnoise=noise), COST.slow[:1]) for noise in ("algorithm1", "sgld")
    )
    assert printed.given["noise"] == "algorithm1" == of_preset(COST, "sgexample").given["noise"]
    assert "is too low by a factor of at least 1.1" in headline(COST, printed)
    assert headline(COST, sgld).endswith("the claimed <b>ε = 0.1</b> holds.")
    assert printed.facts.tight is not None
    assert sgld.facts.tight is not None
    assert printed.facts.tight.lower[-1] < 0.119 < printed.facts.tight.upper[-1]
    assert sgld.facts.tight.lower[-1] < 0.0813 < sgld.facts.tight.upper[-1]


# --- the conditions over batch and step size --------------------------------------------------------------------------


def test_boundaries_are_the_conditions_at_every_step() -> None:
    f = region().facts
    q = f.batches / 50_000
    np.testing.assert_allclose(f.first, q**2 * 50_000, rtol=1e-12)
    np.testing.assert_allclose(f.second, 256 * q**4 * 50_000 * 10_000 ** (1 / 3), rtol=1e-12)
    plan = {"epsilon": 0.1, "delta": 1e-5, "n": 50_000, "steps": 10_000, "clip": 1, "refine": False}
    for i in (0, q.size // 2, q.size - 1):
        best = dpviz.langevin_step_size("theorem3", batch_size=f.batches[i], **plan)
        assert f.third[i] == pytest.approx(best, rel=1e-9)
    f = region(lread="printed", ldecay="fixed", lclip="2").facts
    q = f.batches / 50_000
    np.testing.assert_allclose(f.first, 50_000 / 4, rtol=1e-12)
    np.testing.assert_allclose(f.second, q**2 * 50_000 / 1024, rtol=1e-12)


def test_inside_is_where_composed_steps_cost_no_more_than_the_claim() -> None:
    """Independent of how the boundary was found: the steps just below it, composed, keep ε; well above, not."""
    f = region().facts
    inside = np.flatnonzero(f.top > f.second)
    assert inside.size
    plan = {"n": 50_000, "clip": 1, "delta": 1e-5, "conversion": "classic", "orders": [float(a) for a in range(2, 400)]}
    for i in inside[:: max(inside.size // 3, 1)]:
        for factor, kept in ((0.999, True), (1.3, False)):
            steps = dpviz.PowerSchedule(float(f.third[i]) * factor, 1 / 3, 10_000)
            spent = dpviz.langevin_epsilon(steps, batch_size=float(f.batches[i]), **plan)
            assert (spent <= 0.1 * (1 + 1e-9)) is kept


@pytest.mark.parametrize("texts", [
    {}, {"steps": "100", "leta": "0.01"}, {"n": "60000", "ltau": "245", "lclip": "4"},
    {"lclip": "1", "target": "1e-6", "steps": "1000000"},
])  # fmt: skip
def test_the_headline_says_what_the_ring_lies_in(texts: dict[str, str]) -> None:
    a = region(**texts)
    f, chain = a.facts, a.facts.chain
    at = int(np.abs(f.batches - chain.batch_size).argmin())
    assert f.batches[at] == pytest.approx(chain.batch_size, rel=1e-12)
    first, second, third = f.state
    assert first == (chain.step_size <= f.first[at])
    assert second == (chain.step_size > f.second[at])
    assert bool(third) == (chain.step_size < f.third[at])
    assert ("all three" in headline(REGION, a)) == (first and second and bool(third))
    assert bool(f.open.size) == ("at no point" not in a.plot.alt)
    names = written(a.plot.chart())
    assert ("<b>all three hold</b>" in names) == bool(f.open.size)
    assert "<b>yours</b>" in names


def test_the_stand_in_is_dashed_and_told() -> None:
    before, after = asked(REGION), region()
    assert [line.key for line in before.plot.lines if line.approximate] == ["third_at_this_c"]  # type: ignore[attr-defined]
    assert "third_condition" in curves(after)
    assert "third_at_this_c" not in curves(after)
    at = int(np.abs(after.facts.batches - 224).argmin())
    assert after.facts.third[at] == pytest.approx(before.facts.third[at], rel=1e-9)
    for name in ("(1) holds below", "(2) holds above", "(3) holds below"):
        assert f"<b>{name}</b>" in written(after.plot.chart())
    assert "(2) fails" in after.plot.alt
    both = before.plot.with_pinned([("τ 100", asked(REGION, ltau="100").plot)])
    assert [(ring.x, ring.text.partition(":")[0]) for ring in both.rings if not ring.name] == [(100.0, "τ 100")]
    assert len(both.lines) == 3


def test_the_curve_by_the_numerical_accountant_has_no_step_size_that_is_not_proven() -> None:
    """From each point on it keeps that point's size; the target's own is never below one of a smaller ε."""
    proven = NumericalStepSizes(np.array([0.1, 0.4, 1.6]), np.array([1.0, 2.0, 64.0]), 3.0)
    for target, along, sizes in (
        (0.5, [0.2, 0.4, 0.5, 0.8], [1.0, 2.0, 3.0, 3.0]),
        (0.3, [0.2, 0.3, 0.4, 0.8], [1.0, 3.0, 3.0, 3.0]),
    ):
        assert [column.tolist() for column in within(proven, target, 0.2, 0.8)] == [along, sizes]
    none = within(proven._replace(epsilon=np.array([]), inverse=np.array([]), at_target=0.0), 0.5, 0.2, 0.8)
    assert [column.size for column in none] == [0, 0]
    answer = whole(of_preset(COMPARED, "sgfig1"), COMPARED.slow)
    drawn = [line for line in answer.plot.lines if line.key.startswith("numerical")]  # type: ignore[attr-defined]
    assert [line.stairs for line in drawn] == ["falling", "falling"]
    assert answer.facts.numerical_size(answer.facts.chain) in drawn[0].y


def test_sliders_of_a_sampler_stop_where_there_is_an_answer() -> None:
    """A batch of more than all examples has none: a hand that pulls N or the batch to an end keeps its chart."""
    for texts in ({}, {"n": "1000"}, {"ltau": "1000"}):
        get = of_texts(texts)
        controls = [one for group in COST.groups(get).values() for one in group]
        stops = {one.fields[0].key: one.stops(one.fields[0]) for one in controls if one.within}
        assert stops["ltau"][-1] == f"{get(SIZE):g}"
        assert stops["n"][0] == f"{get(BATCH):g}"
        assert stops["n"] != list(SIZE.stops)
        for ends in (
            {"ltau": stops["ltau"][-1]},
            {"ltau": stops["ltau"][0]},
            {"n": stops["n"][0]},
            {"n": stops["n"][-1]},
        ):
            COST.asked(COST.read(of_texts(texts | ends)))
    by_rule = [one for group in AGAINST_SIZE.groups(of_texts({})).values() for one in group if one.fields == (SIZE,)]
    assert by_rule[0].stops(SIZE) == list(SIZE.stops), "here the batch follows N"
