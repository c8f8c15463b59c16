"""How ε grows: the numbers are the library's, nothing that is no bound is called one, and nothing breaks it."""

import io
import re
from urllib.parse import parse_qsl

import numpy as np
import pandas as pd
import pytest

import dpviz
from dpviz.accounting.pld.bounds import tight_epsilon
from dpviz.fields import numbers
from dpviz.gradients.law_sample import law_sample
from dpviz.mechanisms import (
    Adjacency,
    Laplace,
    Mechanism,
    PersonRows,
    ReplaceOneGaussian,
    SampledGaussian,
    SecretPartition,
)
from dpviz.questions.asked import ask
from dpviz.questions.compose.question import GROWTH
from dpviz.questions.gradients import Measured, Norms, clipped
from dpviz.questions.presets import PRESETS
from dpviz.questions.script import script
from dpviz.questions.source import Missing
from dpviz.questions.tight_band import along_steps, interval
from tests.questions import asking
from tests.questions.asking import asked, library_epsilon, lines, linked, of_preset, with_part

ALL = "basic.strong.moments.renyi_classic.renyi_improved.closed_form.bayesian"
TIGHT, RANK, SAMPLE, BESIDE, _, LONGER = GROWTH.slow
headline, metrics, notes = GROWTH.headline, GROWTH.metrics, GROWTH.notes
PLAN = {"noise_multiplier": 4.0, "sample_rate": 0.01, "delta": 1e-5}


def of(query):
    return linked(GROWTH, query)


def sampled(query):
    """Where a sample is what Bayesian DP learns from."""
    given = {"source": "vectors", "quantile": "0.5", **dict(parse_qsl(query, keep_blank_values=True))}
    return asked(GROWTH, **given)


def texts(answer):
    return asking.notes(GROWTH, answer)


def dashes(answer):
    return {line.name: line.dash for line in answer.plot.lines}


def test_what_is_no_bound_is_never_the_tightest():
    """At these settings linear amplification reads far below every bound."""
    answer = of("curves=basic.strong.moments&amp=linear&sigma=0.3&q=0.001&steps=10&delta=0.00001")
    ends = {line.key: float(line.y[-1]) for line in answer.plot.lines}
    assert min(ends, key=lambda key: ends[key]) in ("basic", "strong")
    assert answer.facts.tightest == "moments"
    assert [line.key for line in answer.plot.lines if line.approximate] == ["basic", "strong"]
    assert [line.key for line in answer.plot.lines if line.kept] == ["moments"]
    assert "ε strong (no bound)" in answer.plot.table().columns


@pytest.mark.parametrize(("query", "mechanism"), [
    (f"source=vectors&quantile=0.5&curves={ALL}&steps=300", SampledGaussian(4.0, 0.01)),
    (f"mech=replace&sigma=1&q=0.2&steps=10&curves={ALL}.tight", ReplaceOneGaussian(1.0, 0.2)),
    (f"mech=laplace&b=1&q=0.02&steps=50&curves={ALL}.tight", Laplace(1.0, 0.02)),
])  # fmt: skip
def test_every_curve_is_the_librarys_and_the_file_reads_back_equal(query, mechanism):
    """Other mechanisms have the curves that know them."""
    answer = with_part(of(query), TIGHT) if "tight" in query else of(query)
    assert answer.given["mechanism"] == mechanism
    again = pd.read_csv(io.StringIO(answer.plot.data().to_csv(index=False)))
    again = again[again["epsilon_moments"].notna()]  # the tight interval has steps of its own
    sampled_gaussian = mechanism.kind == "gaussian"
    keys = ALL.split(".")[:-1] if sampled_gaussian else ["moments", "renyi_classic", "renyi_improved"]
    known = {"mechanism": mechanism, "steps": again["steps"].to_numpy(), "delta": 1e-5}
    for key in keys:
        np.testing.assert_allclose(again[f"epsilon_{key}"], library_epsilon(key, **known), rtol=1e-12)
    if sampled_gaussian:
        seen = clipped(answer.given["gradients"], 0.5, "both")
        plan = {"noise_std": 4.0 * seen.sensitivity, "sample_rate": 0.01, "steps": known["steps"], "delta_mu": 1e-5}
        for key, largest in (("bayesian", seen.largest), ("bayesian_printed", None)):
            expected = dpviz.bayesian_epsilon(seen.distances, largest_distance=largest, **plan)
            np.testing.assert_allclose(again[f"epsilon_{key}"], expected, rtol=1e-12)
        columns = {"order_moments", "largest_share_bayesian_printed", "effective_size_bayesian_printed"}
        assert columns <= set(again.columns)
        return
    assert [line.key for line in answer.plot.lines] == keys
    assert BESIDE.key(answer) is None
    assert (answer.facts.bounds["renyi_improved"].epsilon[-1] >= answer.facts.tight.lower[-1]).all()
    tv = dpviz.delta("tight", mechanism=mechanism, steps=answer.given["steps"], epsilon=0.0)
    assert answer.facts.accuracy.upper == pytest.approx(0.5 + 0.5 * tv, abs=1e-3)
    assert "Bayesian ε" not in [figure.name for figure in metrics(answer)]


@pytest.mark.parametrize(
    ("query", "why", "curves"),
    [
        ("mech=allocation&curves=moments", "No curve that is switched on exists for this mechanism", "<b>PLD</b>"),
        ("mech=laplace&curves=bayesian", "exists for this mechanism", "<b>Rényi improved</b> or <b>PLD</b>"),
        ("curves=", "No curve is switched on", "<b>Bayesian DP (weaker)</b> or <b>PLD</b>"),
    ],
)
def test_an_empty_chart_says_which_curves_there_are(query, why, curves):
    """As after another mechanism than that for which the curves were chosen."""
    answer = with_part(of(f"steps=20&{query}"), TIGHT)
    assert not answer.plot.lines
    assert f"{why}: switch on " in headline(answer)
    assert f"{curves} under Show. No guess at " in headline(answer)
    assert "no ε is proven" not in headline(answer)


def test_printed_numbers_lie_on_the_curves():
    """Abadi et al. 2016, Fig. 2, as rounded there; strong composition to 0.15 %."""
    answer = of_preset(GROWTH, "abadi2")
    for point in PRESETS["abadi2"].points:
        at = np.interp(point.x, answer.facts.grid, answer.facts.bounds[point.family].epsilon)
        assert at == pytest.approx(point.y, rel=0.02)


def test_a_sample_that_is_on_its_way_is_no_problem_and_without_bayesian_dp_none_is_asked_for():
    coming = Missing(Measured("mlp", 100, 2000, 0), "it comes.", coming=True)
    answer = GROWTH.asked(of("curves=moments.bayesian").given | {"gradients": coming})
    assert notes(answer)[0] == ("Bayesian DP: it comes.", "caution")
    assert "    source='measured',\n)" in script(GROWTH, answer)
    assert of("curves=moments&source=measured").given["gradients"] is None


def test_clipped_the_bound_is_solid_and_claimed_the_estimate_dashed():
    answer = sampled("curves=bayesian")
    promise = answer.facts.bayesian
    assert (promise.main.certified, promise.printed.certified) == (True, False)
    assert (promise.main.epsilon >= promise.printed.epsilon).all()
    bound = numbers.epsilon(float(promise.main.epsilon[-1]), up=True)
    assert f"≤ {bound}" in [figure.value for figure in metrics(answer)]
    assert dashes(answer) == {"Bayesian DP (weaker)": "solid", "asymptotic, as printed": "dash"}
    assert [line.kept for line in answer.plot.lines] == [True, False]
    assert {"epsilon_bayesian", "epsilon_bayesian_printed"} <= set(answer.plot.data().columns)


@pytest.mark.parametrize("query", ["clip=dp&source=halfnormal&count=500", "vectors=20&dims=50&pairs=all"])
def test_where_there_is_no_bound_the_estimate_is_called_one(query):
    answer = sampled(f"curves=bayesian&{query}")
    assert not answer.facts.bayesian.main.certified
    assert dashes(answer) == {"asymptotic, as printed": "dash"}
    assert "epsilon_bayesian" not in answer.plot.data().columns
    assert "not a bound at this sample size" in str(GROWTH.more["Distances"](answer))


@pytest.mark.parametrize("query", ["gamma=0.001&dmu=1e-5", "source=upload"])
def test_where_bayesian_dp_has_no_number_the_rest_stands(query):
    answer = sampled(query)
    assert "bayesian" not in {line.key for line in answer.plot.lines}
    assert BESIDE.key(answer) is None
    assert [SAMPLE.key(of(f"m=1000&{more}")) for more in ("gamma=1e-5", "reading=running")] == [None, None]


FEW = "curves=bayesian&sigma=1&q=0.05&steps=200&source=weibull&shape=0.5&count=50&quantile=1&seed=3"


@pytest.mark.parametrize("query", [FEW, FEW + "&gamma=0.01&dmu=0.1", "curves=bayesian&vectors=40&dims=20&steps=300"])
def test_the_bound_lies_above_the_truth(query):
    answer = with_part(sampled(query), BESIDE)
    beside = answer.facts.beside
    at = np.searchsorted(answer.facts.grid, beside.steps)
    assert (answer.facts.bayesian.main.epsilon[at] >= beside.truth.lower * (1 - 1e-9)).all()
    assert answer.plot.data()["epsilon_true_upper"].notna().sum() == beside.steps.size


def test_an_estimate_below_the_truth_is_named():
    """Fifty clipped heavy-tailed norms of which few were large."""
    early = of(FEW.replace("quantile=1", "quantile=0.98").replace("seed=3", "seed=29&gamma=0.01&dmu=0.5"))
    answer = with_part(early, BESIDE)
    promise = answer.facts.bayesian
    assert promise.printed.epsilon[-1] < answer.facts.beside.truth.lower[-1] <= promise.main.epsilon[-1]
    assert early.facts.too_low is None  # before the truth is there
    first, estimate, truth, _ = answer.facts.too_low
    assert estimate < truth
    assert f"t = {numbers.steps(first)}" in texts(answer)


def test_the_band_is_the_tight_interval_and_the_table_tells_it_only_at_its_own_steps():
    table = with_part(of("curves=moments.tight"), TIGHT).plot.table()
    assert table["ε PLD"].iloc[[0, -1]].str.contains(" – ").all()
    assert dict(zip(table["steps"], table["ε PLD"], strict=True))["200"] == "–"
    step = SampledGaussian(4.0, 0.01)
    band = along_steps(step, 12, 1e-5, log=False)
    tight = tight_epsilon(step, band.x[:-1], 1e-5)
    assert np.array_equal(band.lower[:-1], tight.lower)
    assert np.array_equal(band.upper[:-1], tight.upper)
    assert band.upper[-1] > band.lower[-1]


@pytest.mark.parametrize("steps", [12, 10_000])
def test_the_curve_ends_at_the_very_interval_that_pages_without_a_curve_show(steps: int) -> None:
    step = SampledGaussian(4.0, 0.01)
    curve, alone = along_steps(step, steps, 1e-5, log=False), interval([(step, steps)], 1e-5)
    assert (curve.lower[-1], curve.upper[-1]) == (alone.lower[-1], alone.upper[-1])


@pytest.mark.parametrize(("whole", "fields", "link"), [
    ({"mechanism": Laplace(3.0, 0.1)}, {"mechanism": "laplace", "scale": 3, "sample_rate": 0.1}, "mech=laplace&b=3"),
    ({"mechanism": SampledGaussian(2.0, 0.1)}, {"noise_multiplier": 2, "sample_rate": 0.1}, "sigma=2&q=0.1"),
    ({"mechanism": PersonRows(1.1, 0.25, 5)},
     {"mechanism": "gaussian", "rows": 5, "noise_multiplier": 1.1, "sample_rate": 0.25}, "persons=5&q=0.25"),
    ({"gradients": Norms("lognormal", 80, 0.7, 0), "curves": ("bayesian",)},
     {"source": "lognormal", "count": 80, "shape": 0.7, "curves": ("bayesian",)},
     "curves=bayesian&source=lognormal&count=80&shape=0.7"),
])  # fmt: skip
def test_what_is_made_of_fields_is_asked_for_by_them_or_whole(whole, fields, link):
    one, other = (ask("compose", steps=20, **({"curves": ("moments",)} | settings)) for settings in (whole, fields))
    pd.testing.assert_frame_equal(one.data(), other.data())
    assert one.script() == other.script()
    assert one.link == other.link
    for part in link.split("&"):
        assert part in one.link


def test_a_mechanism_of_ones_own_is_answered_by_what_knows_it():
    """Without a pair there is no tight interval and nothing to wait for; no link shows it."""

    class Own(Mechanism):
        adjacency = Adjacency(
            "add or remove one user",
            unit="one user, with every example of theirs",
            neighbours="Data sets that differ by all examples of one user",
            secret="whether any of your examples took part",
        )
        text, latex, releases = "my own", r"\theta", True

        def renyi(self):
            return lambda orders: 0.001 * orders

    answer = ask("compose", mechanism=Own(), steps=20, curves=("moments", "tight", "strong"))
    assert [line.key for line in answer.answer.plot.lines] == ["moments"]
    assert TIGHT.key(answer.answer) is None
    assert "PLD. A dominating pair of a step is needed" in texts(answer.answer)
    assert Own.adjacency.secret in answer.headline
    assumed = GROWTH.assumed(answer.answer)
    for own in (Own.adjacency.unit, Own.adjacency.neighbours, Own.text):
        assert own in assumed
    for others in ("one example", "whether you took part", "Poisson", "N, the number of training examples"):
        assert others not in answer.headline + assumed
    with pytest.raises(ValueError, match="found my own: "):
        answer.link  # noqa: B018
    with pytest.raises(ValueError, match="No script can write mechanism="):
        answer.script()


def test_one_order_for_all_curves_that_have_one():
    known = PLAN | {"steps": 10_000}
    query = "curves=moments.renyi_improved.renyi_classic.strong.bayesian&source=weibull"
    best, fixed = of(query), of(f"{query}&lam=16")
    bounds = fixed.facts.bounds
    assert bounds["moments"].epsilon[-1] == dpviz.epsilon("moments", min_order=16, max_order=16, **known)
    for conversion in ("improved", "classic"):
        expected = dpviz.epsilon("renyi", orders=(17.0,), conversion=conversion, **known)
        assert bounds[f"renyi_{conversion}"].epsilon[-1] == expected
        assert expected > best.facts.bounds[f"renyi_{conversion}"].epsilon[-1]
    assert {int(bound.order[-1]) for key, bound in bounds.items() if key != "strong"} == {17}
    assert bounds["strong"].epsilon[-1] == best.facts.bounds["strong"].epsilon[-1]


def test_the_printed_cost_is_a_switch_and_loses_what_sampling_gains():
    """Where the largest distance decides: ψ_R as printed turns 1.2586 into 7.7143."""
    left, printed = (sampled(f"curves=bayesian&psi={key}") for key in ("left", "printed"))
    promises = [answer.facts.bayesian for answer in (left, printed)]
    assert promises[1].worst == pytest.approx(7.7143, rel=1e-4)
    assert promises[0].worst == pytest.approx(1.258574741, rel=1e-6)
    assert float(promises[1].main.epsilon[-1]) > 5 * float(promises[0].main.epsilon[-1])
    assert BESIDE.key(left) != BESIDE.key(printed)
    assert np.isnan(BESIDE.work(printed)["beside"].samples)


def test_delta_mu_is_delta_unless_it_is_set():
    default, own = of("delta=1e-7&curves=bayesian"), of("delta=1e-7&dmu=1e-5&curves=bayesian")
    assert (default.given["delta_mu"], own.given["delta_mu"]) == (None, 1e-5)
    assert of("delta=1e-7&dmu=1e-7&curves=bayesian").facts.law.last == default.facts.law.last > own.facts.law.last


def test_the_distribution_s_cost_is_the_librarys_with_its_tight_value_below():
    known = {"shape": 0.5, "quantile": 0.9, "noise_multiplier": 4.0, "sample_rate": 0.01, "delta_mu": 1e-5}
    for definition in (1, 2):
        law = of(f"curves=bayesian&quantile=0.9&bdef={definition}").facts.law
        exact = dpviz.bayesian_law_epsilon("weibull", steps=law.steps, definition=definition, **known)
        np.testing.assert_allclose(law.bound.upper, exact, rtol=1e-12)
    for quantile in ("0.05", "0.95"):
        answer = of(f"curves=renyi_improved.bayesian&quantile={quantile}")
        assert answer.facts.law.last <= float(answer.facts.bounds["renyi_improved"].epsilon[-1])
    fixed = of("curves=bayesian&quantile=0.9&lam=16").facts.law
    assert fixed.last == dpviz.bayesian_law_epsilon("weibull", steps=10_000, orders=(17.0,), **known)
    answer = with_part(of("curves=bayesian.tight&quantile=0.9"), RANK)
    assert 0.794 < answer.facts.rank.lower[-1] <= answer.facts.rank.upper[-1] < 0.799 < answer.facts.law.last
    assert "epsilon_bayesian_tight_upper" in answer.plot.data().columns
    assert RANK.key(of("curves=bayesian.tight&bdef=1")) is None


def test_a_sample_of_the_known_distribution_certifies_more_the_larger_it_is():
    def last(query):
        cost = with_part(of(f"curves=bayesian&{query}"), SAMPLE).facts.sampled.cost
        return float(cost.certified[-1]), float(cost.estimate[-1])

    exact = of("curves=bayesian").facts.law.last
    certified = [last(f"m={m}")[0] for m in (100, 10_000, 1_000_000)]
    assert certified[0] > certified[1] > certified[2] > exact
    assert certified[2] < 1.02 * exact
    assert last("m=10000&gamma=1e-9")[0] < certified[1]
    known = {"noise_multiplier": 4.0, "sample_rate": 0.01, "steps": [10_000], "delta_mu": 1e-5}
    alone = law_sample("weibull", shape=0.5, quantile=0.95, samples=100, failure=1e-15, **known)
    assert last("m=100") == pytest.approx((alone.certified[0], alone.estimate[0]), rel=1e-12)
    lines = with_part(of("m=1000"), SAMPLE).plot.lines
    assert [line.approximate for line in lines[-2:]] == [False, True]


@pytest.mark.parametrize(
    ("law", "mean", "source"),
    [("geometric", " (on average)", "Papernot"), ("fixed", "", "adds up what all of them cost")],
)
def test_the_best_of_several_runs_costs_more(law, mean, source):
    given = {"noise_multiplier": 1.1, "sample_rate": 256 / 60_000, "steps": 3510, "delta": 1e-5}
    one, best = (ask("compose", **given, tried=runs, law=law, curves=("renyi_improved", "tight")) for runs in (1, 40))
    assert "best of" not in GROWTH.headline(one.answer)
    assert one.answer.facts.tuned is None
    tuned = dpviz.tuned_epsilon(**given, runs=40, law=law)
    assert best.answer.facts.tuned == tuned
    cost = f"<b>ε ≤ {numbers.epsilon(tuned, up=True)}</b>"
    assert re.search(rf"\b40\b.*{re.escape(mean)}.*{re.escape(cost)}", GROWTH.headline(best.answer))
    assert any(source in note.text for note in GROWTH.notes(best.answer))
    waits = GROWTH.asked(dict(best.answer.given))
    assert "ε ≤ …" in GROWTH.headline(waits)


def test_several_runs_over_batches_cut_once_say_that_each_cuts_anew() -> None:
    known = {"mechanism": SecretPartition(4.0, 100, 15), "curves": ("tight",)}
    assert "runs, each with batches cut anew, ε ≤" in dpviz.ask("compose", **known, steps=3).headline
    assert "After 1 run, ε ≤" in dpviz.ask("compose", **known, steps=1).headline
    with pytest.raises(ValueError, match="steps=15 to be 1 .* one step is a whole run"):
        dpviz.ask("compose", mechanism=SecretPartition(4.0, 100), curves=("tight",), steps=15)


def test_four_times_the_steps_have_the_accountant_of_the_headline():
    answer = with_part(with_part(of("curves=moments.renyi_improved.tight"), TIGHT), LONGER)
    facts, exact = answer.facts, tight_epsilon(SampledGaussian(4.0, 0.01), 40_000, 1e-5)
    assert facts.numerical
    assert exact.lower <= facts.later_epsilon <= 1.01 * exact.upper
    assert f"ε ≤ {numbers.up(facts.epsilon)}" in headline(answer)
    assert f"after {numbers.steps(40_000)}, ε ≤ {numbers.up(facts.later_epsilon)}" in headline(answer)
    formula = of("curves=moments").facts
    assert formula.later_epsilon == dpviz.epsilon("moments", **PLAN, steps=40_000)
    assert of("curves=closed_form&sigma=1").facts.later_epsilon is None


def test_another_person_in_each_step_stands_beside_the_same_one_in_every() -> None:
    """Hölder's inequality costs the same person .845 where another in each step has .306."""
    answer = asked(GROWTH, curves="renyi_improved.bayesian", reading="another")
    ends = {key: float(line.y[-1]) for key, line in lines(answer).items()}
    assert ends["bayesian_same"] == pytest.approx(0.845, abs=0.001)
    assert ends["bayesian"] == pytest.approx(0.306, abs=0.001)
    alone = lines(asked(GROWTH, curves="renyi_improved.bayesian"))
    assert float(alone["bayesian"].y[-1]) == ends["bayesian_same"]
    assert "bayesian_same" not in alone


def test_a_faint_curve_grows_as_the_root_of_the_steps_through_the_end_of_the_best_one():
    """Slope ½ on log axes; what four times the steps cost is rounded up."""
    first = of("curves=moments.renyi_improved")
    [root] = first.plot.references
    assert root.y[-1] == first.facts.epsilon
    assert np.allclose(np.diff(np.log(root.y)) / np.diff(np.log(root.x)), 0.5)
    four = dpviz.epsilon("renyi", **{**PLAN, "steps": 40_000}) / first.facts.epsilon
    assert root.name == f"ε ∝ √T; 4 × the steps → {numbers.at_most(four, 2)} × ε"
    assert float(root.name.split()[-3]) >= four
    with_interval = with_part(of("curves=moments.tight"), TIGHT)
    [root] = with_interval.plot.references
    assert root.name == "ε ∝ √T"  # until that of the same accountant is known
    assert root.y[-1] == with_interval.facts.tight.upper[-1]
    [root] = with_part(with_interval, LONGER).plot.references
    assert root.name == "ε ∝ √T; 4 × the steps → 2.2 × ε"


@pytest.mark.parametrize("query", ["curves=", "q=0", "steps=1", "curves=closed_form&sigma=1"])
def test_there_is_no_such_curve_without_a_bound_that_grows(query):
    assert of(query).plot.references == ()


def test_the_quantile_has_a_picture_of_the_norms_where_their_distribution_is_known():
    def picture(**values):
        groups = GROWTH.groups(asking.reading(values))
        return {one.fields[0].key: one.picture for group in groups.values() for one in group if one.fields}

    assert picture()["quantile"] == picture()["shape"]  # each where the other is out of sight
    assert "5 % clipped" in picture()["quantile"]
    assert "40 % clipped" in picture(quantile=0.6)["quantile"]
    assert picture(sigma=8.0)["quantile"] != picture()["quantile"] != picture(shape=1.0)["quantile"]
    assert picture(steps=5)["quantile"] == picture()["quantile"]
    for without in ({"source": "vectors"}, {"quantile": 1.0}, {"quantile": 0.0}):
        assert picture(**without)["quantile"] == ""
    assert "5 % clipped" in picture(source="weibull")["quantile"]
    assert "dpviz-picture" not in str(picture(curves=("moments",)))
