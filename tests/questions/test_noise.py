"""How much noise a target needs: the numbers are the library's and on the safe side, and what is no bound says so."""

import numpy as np
import pytest

import dpviz
from dpviz.accounting.tuning import LAWS
from dpviz.charts.look import estimate
from dpviz.fields import numbers
from dpviz.mechanisms import RandomAllocation
from dpviz.questions.asked import ask
from dpviz.questions.gradients import Vectors, clipped
from dpviz.questions.methods import coarsely
from dpviz.questions.needed import TOLERANCE
from dpviz.questions.noise.along_noise import ALONG_NOISE
from dpviz.questions.noise.curves import BayesianAsk
from dpviz.questions.noise.needs import written
from dpviz.questions.noise.solve import SOLVE, UNKNOWN, bayesian_need
from dpviz.questions.shared import LAW
from dpviz.questions.tight_band import noise_grid
from tests.questions import asking
from tests.questions.asking import library_epsilon, of_preset, with_part
from tests.questions.asking import linked as of

ALL = "basic.strong.moments.renyi_classic.renyi_improved.closed_form.bayesian"
UNKNOWNS = tuple(UNKNOWN.options)
SAMPLE = "source=vectors&dmu=1e-5"
BOTH = (ALONG_NOISE, SOLVE)
ATTACK, BAND, TIGHT = *ALONG_NOISE.slow[:2], SOLVE.slow[1]
headline, metrics, notes = ALONG_NOISE.headline, ALONG_NOISE.metrics, ALONG_NOISE.notes
KNOWN = {"noise_multiplier": 4.0, "sample_rate": 0.01, "steps": 10_000, "delta": 1e-5}


def values(answer):
    return {key: need.value for key, need in answer.facts.needs.items()}


def texts(answer):
    return asking.notes(ALONG_NOISE, answer)


# --- the best attack on the mechanism that DP's best answer makes, which comes later ----------------------------------


@pytest.mark.parametrize(("question", "unknown"), [(ALONG_NOISE, "noise_multiplier"), *((SOLVE, u) for u in UNKNOWNS)])
def test_the_best_attack_is_on_the_best_answer(question, unknown):
    answer = of(question, f"solvefor={unknown}&noisetight=0&noiseq=q50" if question is SOLVE else "")
    value = values(answer)[answer.facts.best(bayesian=False)]
    given = {key: known for key, known in (KNOWN | {unknown: value}).items() if key != "delta"}
    step, steps = answer.facts.attacked
    assert (step.noise_multiplier, step.sample_rate, steps) == pytest.approx(tuple(given.values()))
    assert "attack" not in metrics(answer)[0].note
    answer = with_part(answer, ATTACK)
    exact = numbers.probability(dpviz.best_accuracy(**(given | {"steps": int(given["steps"])})).upper, up=True)
    assert metrics(answer)[0].note.endswith(f"; best attack accuracy ≤ {exact}")
    if question is SOLVE:
        assert metrics(answer)[-1].value == f"≤ {exact}"


def test_the_pair_has_the_delta_that_was_reached():
    answer = of(SOLVE, "solvefor=delta&noisecurves=renyi_improved&sigma=2&target=0.2")
    delta = values(answer)["renyi_improved"]
    assert delta > 0.1
    pair = numbers.probability(dpviz.attack_success(0.2, delta=delta), up=True)
    assert answer.facts.chance.alone == pair != numbers.probability(dpviz.attack_success(0.2), up=True)


# --- the best of several runs -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "unknown", "law"), [*(("noise", "noise_multiplier", law) for law in LAWS), ("solve", "steps", "geometric")]
)
@pytest.mark.one_of(2)
def test_the_answer_for_the_best_of_several_runs_keeps_the_target(key, unknown, law):
    given = {"noise_multiplier": 1.1, "sample_rate": 256 / 60_000, "steps": 3510, "delta": 1e-5}
    asked = {"unknown": unknown, "tight": False} if key == "solve" else {}
    answer = ask(key, **given, **asked, target_epsilon=2.5, tried=10, law=law, methods=("renyi_improved",)).answer
    value = answer.facts.tuned.value
    tuned = [
        dpviz.tuned_epsilon(**given | {unknown: type(given[unknown])(value * by)}, runs=10, law=law)
        for by in ((1.0, 0.97) if unknown == "noise_multiplier" else (1.0, 1.1))
    ]
    assert tuned[0] <= 2.5 < tuned[1]
    facts = answer.facts
    headline = (ALONG_NOISE if key == "noise" else SOLVE).headline(answer)
    assert f"<b>{facts.symbol} = {facts.tuned_text}</b>" in headline
    assert ("on average" in headline) == (law != "fixed")
    condition = "is fixed in advance" if law == "fixed" else f"drawn at random ({LAW.options[law]}, mean 10)"
    assert condition in " ".join(texts(answer).split())


def test_a_search_without_a_bound_says_so():
    asked = {"mechanism": RandomAllocation(1.1, 10), "steps": 15, "tried": 10, "law": "poisson", "tight": False}
    assert "has no answer here: The Poisson law of a search needs" in texts(ask("solve", **asked).answer)
    assert "has no answer here: all numbers" in texts(of(SOLVE, "tried=10&solvefor=delta"))


# --- numbers ----------------------------------------------------------------------------------------------------------


def test_crossings_are_the_solvers_answers_to_three_digits():
    drawn, solved = values(of(ALONG_NOISE, f"noisecurves={ALL}")), values(of(SOLVE, f"noisecurves={ALL}"))
    assert drawn.pop("basic") is None, "beyond the axis"
    assert drawn.pop("tight") is None, "a slow part brings it"
    for key, value in drawn.items():
        assert solved[key] * (1 - 4e-4) <= value <= solved[key] * 1.002, f"{key}: never on the unsafe side"


@pytest.mark.parametrize(
    "query", ["target=1.7", "q=1e-4&target=0.02", "q=0.2&sigma=9&target=30", "noiseq=q95&steps=70&dmu=1e-7"]
)
def test_half_the_points_say_the_same_noise(query):
    query = f"noisecurves={ALL}&{query}"
    whole = of(ALONG_NOISE, query)
    with coarsely():
        half = of(ALONG_NOISE, query)
    needs = [{key: value or 0.0 for key, value in values(answer).items()} for answer in (half, whole)]
    assert needs[0] == pytest.approx(needs[1], rel=1e-12)
    assert half.facts.here[1] == pytest.approx(whole.facts.here[1], rel=1e-12)
    for key, curve in whole.facts.curves.items():
        np.testing.assert_allclose(half.facts.curves[key].epsilon, curve.epsilon[::2], rtol=1e-12)


@pytest.mark.parametrize("unknown", UNKNOWNS)
@pytest.mark.parametrize("query", ["", "target=12&q=0.05&sigma=1.3&steps=300", "q=0.5&steps=7&clip=dp&delta=1e-9"])
@pytest.mark.one_of(3)
def test_answers_are_the_librarys_and_hold(unknown, query):
    answer = with_part(of(SOLVE, f"solvefor={unknown}&noisecurves={ALL}&noiseq=q50&{SAMPLE}&{query}"), TIGHT)
    known, target = dict(answer.facts.ask.composed.known(unknown)), answer.facts.target
    for key, value in values(answer).items():
        name = "renyi" if key.startswith("renyi") else key
        options = {"conversion": key.removeprefix("renyi_")} if name == "renyi" else {}
        exact = 5e-4 if unknown in ("noise_multiplier", "sample_rate") or key == "tight" else 1e-6
        if key.startswith("bayesian"):
            seen = clipped(answer.given["gradients"], 0.5, answer.given["clip"])
            assert (seen.largest is not None) is answer.facts.certified
            unit = seen.sensitivity if unknown == "noise_multiplier" else 1.0
            names, units = (
                {"noise_multiplier": "noise_std", "delta": "delta_mu"},
                {"noise_multiplier": seen.sensitivity},
            )
            plan = {names.get(n, n): value * units.get(n, 1.0) for n, value in known.items() if n != "delta"}
            plan |= {"delta_mu": answer.given["delta_mu"]} if unknown != "delta" else {}
            plan["largest_distance"], missing = seen.largest, names.get(unknown, unknown)
            again = dpviz.bayesian.solve_bayesian(missing, seen.distances, target_epsilon=target, **plan)
            assert value == pytest.approx(again / unit, rel=exact)
            epsilon = dpviz.bayesian_epsilon(seen.distances, **plan, **{missing: value * unit})
        elif value is None:
            with pytest.raises(ValueError, match="Expected target_epsilon"):
                dpviz.solve(unknown, target_epsilon=target, method=name, **options, **known)
            continue
        else:
            again = dpviz.solve(unknown, target_epsilon=target, method=name, **options, **known)
            assert value == pytest.approx(again, rel=exact), key
            epsilon = dpviz.epsilon(name, **(known | {unknown: value}), **options)
        assert epsilon <= target, key


@pytest.mark.parametrize("quantile", ["q05", "q50", "q99"])
def test_noise_in_units_of_the_sensitivity_is_not_rounded_down(quantile):
    gradients, weak = Vectors(40, 50, 0.5, "disjoint", 0), BayesianAsk(quantile, "both", 1e-15, 0.5)
    seen, known = clipped(gradients, weak.share, "both"), {"steps": 100.0, "sample_rate": 0.1, "delta_mu": 1e-5}
    known |= {"target_epsilon": 2.0, "tolerance": TOLERANCE, "largest_distance": seen.largest}
    noise = dpviz.bayesian.solve_bayesian("noise_std", seen.distances, **known)
    given = (("steps", 100.0), ("sample_rate", 0.1), ("delta", 1e-5))
    need = bayesian_need(gradients, weak, "noise_multiplier", 2.0, given)
    assert noise <= need.value * seen.sensitivity <= noise * (1 + 1e-12)


def test_the_figures_of_the_paper():
    """Clipped, Bayesian DP needs less noise than DP with its orders, and nears it as C shrinks (Fig. 3); else not."""
    needs = values(of_preset(ALONG_NOISE, "bdpfig3"))
    ordered = [needs[key] for key in ("moments", "bayesian.q01", "bayesian.q50", "bayesian.q99")]
    assert ordered == sorted(ordered, reverse=True)
    needs = values(of_preset(ALONG_NOISE, "bdpfig4"))
    assert needs["bayesian.q05"] > needs["moments"]


def test_curves_are_the_librarys_and_the_tight_band_lies_on_their_points():
    sample = Vectors(400, 1000, 0.5, "disjoint", 0)
    answer = ask("noise", methods=tuple(ALL.split(".")), quantiles=("q50",), gradients=sample)
    data = answer.data()[answer.data()["epsilon_moments"].notna()]
    sigma = data["noise_multiplier"].to_numpy()
    assert len(data) == 33
    known = KNOWN | {"noise_multiplier": sigma}
    for key in ("strong", "moments", "renyi_classic", "closed_form"):
        np.testing.assert_allclose(data[f"epsilon_{key}"], library_epsilon(key, **known), rtol=1e-9)
    seen, plan = clipped(sample, 0.5, "both"), {"sample_rate": 0.01, "steps": 10_000, "delta_mu": 1e-5}
    for key, largest in (("bayesian.q50", seen.largest), ("printed.q50", None)):
        for i in (0, 16, 32):
            plan |= {"noise_std": sigma[i] * seen.sensitivity, "largest_distance": largest}
            again = dpviz.bayesian_epsilon(seen.distances, **plan)
            assert data[f"epsilon_{key}"].iloc[i] == pytest.approx(again, rel=1e-9)
    assert {"order_moments", "largest_share_bayesian.q50"} <= set(data.columns)
    assert (data["epsilon_tight_lower"] <= data["epsilon_renyi_improved"])[::2].all()
    assert answer.table()["ε PLD"].iloc[[0, -1]].str.contains(" – ").all()


# --- words ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("question", BOTH)
def test_what_is_no_bound_answers_nothing_and_says_why(question):
    answer = of(question, "amp=linear&noisecurves=basic.strong.renyi_improved")
    assert [key for key, value in values(answer).items() if value is None and key != "tight"] == ["basic", "strong"]
    assert answer.facts.best(bayesian=False) == answer.facts.reference == "renyi_improved"
    assert values(of(question, "amp=exact&noisecurves=strong"))["strong"] is not None


def test_the_tight_answer_comes_later_and_no_row_jumps():
    before = of(SOLVE)
    assert written("noise_multiplier", before.facts.needs["tight"]) == "…"
    assert "tight" not in texts(before)
    after = with_part(before, TIGHT)
    assert before.plot.table()["method"].tolist() == after.plot.table()["method"].tolist()
    known = {name: value for name, value in KNOWN.items() if name != "noise_multiplier"}
    exact = dpviz.solve("noise_multiplier", target_epsilon=2.0, method="tight", **known)
    assert values(after)["tight"] == pytest.approx(exact, rel=5e-4)


# --- plots ------------------------------------------------------------------------------------------------------------


def test_a_pin_keeps_the_best_of_each_kind_and_answers_only_of_the_same_question():
    both = of(ALONG_NOISE).plot.with_pinned([("T 20 000", of(ALONG_NOISE, "steps=20000").plot)])
    kept = [line.name for line in both.lines if line.faded]
    assert kept == ["T 20 000: Rényi improved", "T 20 000: Bayesian (weaker) 0.95"]
    now, before, other = of(SOLVE), of(SOLVE, "steps=20000"), of(SOLVE, "solvefor=steps")
    both = now.plot.with_pinned([("T 20 000", before.plot), ("steps", other.plot)])
    faded = [t for t in both.chart().figure["data"] if t.get("marker", {}).get("opacity") == 0.5]
    assert len(faded) == len(now.facts.needs) - 1, "all but the tight one, which is on its way"
    assert "strong 18.3" in both.alt
    assert both.table().equals(now.plot.table())


def test_a_ring_stands_at_every_crossing_on_the_axis():
    answer = of(ALONG_NOISE, f"noisecurves={ALL}&noiseq=q50")
    assert [ring.x for ring in answer.plot.rings] == [v for v in values(answer).values() if v is not None]
    assert "basic –" in answer.plot.alt
    exact = with_part(of(ALONG_NOISE, "noisecurves=strong.moments"), TIGHT)
    assert [ring.name for ring in exact.plot.rings] == ["σ 18.3", "σ 2.62", "σ 2.13"], "a circle says its answer"
    [table] = ALONG_NOISE.more["Needed"](exact)
    needed = dict(zip(table["method"], table["σ for ε ≤ 2"], strict=True))
    assert needed == {"strong": "18.3", "moments": "2.62", "PLD": "2.13"}


# --- which is a bound -------------------------------------------------------------------------------------------------


def test_clipped_the_certified_curve_is_solid_and_claimed():
    answer = of(ALONG_NOISE, f"noisecurves=moments.bayesian&noiseq=q50&{SAMPLE}")
    bound, printed = answer.facts.curves["bayesian.q50"], answer.facts.curves["printed.q50"]
    assert answer.facts.certified
    assert bound.bayesian.certified
    assert (bound.epsilon >= printed.epsilon * (1 - 1e-12)).all()
    assert bound.epsilon[0] < answer.facts.curves["moments"].epsilon[0]
    lines = {line.key: line for line in answer.plot.lines}
    assert (lines["bayesian.q50"].dash, lines["bayesian.q50"].dotted_until) == ("solid", None)
    assert (lines["printed.q50"].dash, lines["printed.q50"].end) == ("dash", "")
    assert lines["printed.q50"].hue == estimate(lines["bayesian.q50"].hue)
    assert "printed.q50" not in answer.facts.needs


@pytest.mark.parametrize("question", BOTH)
@pytest.mark.parametrize("query", ["clip=dp", "vectors=20&dims=50&pairs=all"])
def test_else_the_estimate_is_called_one(question, query):
    axis = "&noiseto=500" if question is ALONG_NOISE else ""
    answer = of(question, f"noisecurves=moments.bayesian&noiseq=q99&{SAMPLE}&{query}{axis}")
    assert not answer.facts.certified
    table = answer.plot.table()
    if question is ALONG_NOISE:
        assert {line.key: line.dash for line in answer.plot.lines} == {"moments": "solid", "bayesian.q99": "dash"}
        assert "ε Bayesian (weaker) 0.99 (no bound)" in table.columns
    else:
        assert "Bayesian (weaker) 0.99 (no bound)" in table["method"].tolist()


# --- a known distribution, the default: no sample and no γ, compared with what converts moments alike ----------------


def test_the_curve_of_a_known_distribution_is_the_librarys_and_below_dp():
    answer = of(ALONG_NOISE, "noisecurves=moments.renyi_improved.bayesian&noiseq=q50.q95")
    assert [line.dash for line in answer.plot.lines] == ["solid"] * 4
    curves, grid = answer.facts.curves, noise_grid(0.5, 50.0)
    law = {"shape": 0.5, "sample_rate": 0.01, "steps": 10_000, "delta_mu": 1e-5}
    for key, share in (("bayesian.q50", 0.5), ("bayesian.q95", 0.95)):
        assert (curves[key].epsilon <= curves["renyi_improved"].epsilon * (1 + 1e-9)).all()
        for i in (3, 20):
            exact = dpviz.bayesian_law_epsilon("weibull", quantile=share, noise_multiplier=grid[i], **law)
            assert curves[key].epsilon[i] == pytest.approx(exact, rel=1e-14)


@pytest.mark.parametrize("unknown", UNKNOWNS)
@pytest.mark.parametrize("query", ["", "target=12&q=0.05&sigma=1.3&steps=300&dmu=1e-4", "family=halfnormal"])
def test_its_answers_hold_and_are_as_good_as_they_can_be(unknown, query):
    answer = of(SOLVE, f"solvefor={unknown}&noisecurves=bayesian.renyi_improved&{query}")
    value, dp = (values(answer)[key] for key in ("bayesian.q95", "renyi_improved"))
    known = dict(answer.facts.ask.composed.known("")) | {"delta": answer.given["delta_mu"] or 1e-5}

    def epsilon(changed):
        asked = known | {unknown: changed}
        asked["delta_mu"] = asked.pop("delta")
        law = answer.facts.known
        return dpviz.bayesian_law_epsilon(law.family, shape=law.shape, quantile=0.95, **asked)

    assert epsilon(value) <= answer.facts.target
    more = unknown in ("steps", "sample_rate")
    assert value > dp if more else value < dp
    step = {"steps": 1.0, "delta": -2e-2 * value}.get(unknown, (1 if more else -1) * 1e-3 * value)
    assert epsilon(value + step) > answer.facts.target
