"""How much noise a target needs: the numbers are the library's and on the safe side, and what is no bound says so."""

import math

import numpy as np
import pytest

import dpviz
from dpviz.charts.look import estimate
from dpviz.fields import numbers
from dpviz.questions import links
from dpviz.questions.asked import ask
from dpviz.questions.gradients import Vectors, clipped
from dpviz.questions.needed import TOLERANCE, Need
from dpviz.questions.noise.curves import BayesianAsk
from dpviz.questions.noise.fields import UNKNOWN
from dpviz.questions.noise.needs import written
from dpviz.questions.noise.question import ALONG_NOISE, SOLVE, bayesian_need
from dpviz.questions.tight_band import noise_grid
from tests.questions.asking import linked as of
from tests.questions.asking import of_preset

ALL = "basic.strong.moments.renyi_classic.renyi_improved.closed_form.bayesian"
UNKNOWNS = tuple(UNKNOWN.options)
SAMPLE = "source=vectors&dmu=1e-5"
BOTH = (ALONG_NOISE, SOLVE)
ATTACK, BAND, TIGHT = *ALONG_NOISE.slow, SOLVE.slow[1]
headline, metrics, notes = ALONG_NOISE.headline, ALONG_NOISE.metrics, ALONG_NOISE.notes
KNOWN = {"noise_multiplier": 4.0, "sample_rate": 0.01, "steps": 10_000, "delta": 1e-5}


def with_part(answer, slow):
    return slow.join(answer, slow.work(answer))


def values(answer):
    return {key: need.value for key, need in answer.facts.needs.items()}


def texts(answer):
    return [note.text for note in notes(answer)]


class TestBestAttack:
    """Right guesses on the mechanism that DP's best answer makes: by its whole curve, which comes later."""

    def test_of_the_noise_needed(self):
        found = of(ALONG_NOISE)
        step, steps = found.facts.attacked
        sigma, rate = step.noise_multiplier, step.sample_rate
        assert (rate, steps) == (0.01, 10_000)
        assert sigma == min(value for key, value in values(found).items() if "bayes" not in key)
        assert "attacker" not in headline(found)
        found = with_part(found, ATTACK)
        exact = dpviz.best_accuracy(noise_multiplier=sigma, sample_rate=rate, steps=steps).upper
        assert f"<b>{numbers.probability(exact, up=True)}</b>" in headline(found)
        assert "alone would allow 88.1 %" in headline(found)

    @pytest.mark.parametrize("unknown", UNKNOWNS)
    def test_of_every_answer(self, unknown):
        found = of(SOLVE, f"solvefor={unknown}&noisetight=0&noiseq=q50")
        value = values(found)[found.facts.best(bayesian=False)]
        given = {key: known for key, known in (KNOWN | {unknown: value}).items() if key != "delta"}
        step, steps = found.facts.attacked
        assert (step.noise_multiplier, step.sample_rate, steps) == pytest.approx(tuple(given.values()))
        found = with_part(found, ATTACK)
        exact = dpviz.best_accuracy(**(given | {"steps": int(given["steps"])})).upper
        assert metrics(found)[-1].value == f"≤ {numbers.probability(exact, up=True)}"
        pair = dpviz.attack_success(2.0, delta=value if unknown == "delta" else 1e-5)
        assert f"alone would allow {numbers.probability(pair, up=True)}" in headline(found)

    def test_the_pair_has_the_delta_that_was_reached(self):
        found = of(SOLVE, "solvefor=delta&noisecurves=renyi_improved&sigma=2&target=0.2")
        delta = values(found)["renyi_improved"]
        assert delta > 0.1
        pair = numbers.probability(dpviz.attack_success(0.2, delta=delta), up=True)
        assert found.facts.chance.alone == pair != numbers.probability(dpviz.attack_success(0.2), up=True)

    def test_none_without_an_answer(self):
        assert of(SOLVE, "q=0&solvefor=delta&noisecurves=bayesian").facts.attacked is None


class TestNumbers:
    def test_crossings_are_the_solvers_answers_to_three_digits(self):
        drawn, solved = of(ALONG_NOISE, f"noisecurves={ALL}"), of(SOLVE, f"noisecurves={ALL}")
        for key, value in values(drawn).items():
            exact = values(solved)[key]
            if value is None:
                assert key == "basic"  # beyond the axis
                continue
            assert value == pytest.approx(exact, rel=2e-3), key
            assert value >= exact * (1 - 4e-4), "never on the unsafe side"

    @pytest.mark.parametrize("unknown", UNKNOWNS)
    @pytest.mark.parametrize("query", ["", "target=12&q=0.05&sigma=1.3&steps=300", "q=0.5&steps=7&clip=dp&delta=1e-9"])
    def test_answers_are_the_librarys_and_hold(self, unknown, query):
        found = with_part(of(SOLVE, f"solvefor={unknown}&noisecurves={ALL}&noiseq=q50&{SAMPLE}&{query}"), TIGHT)
        known = dict(found.facts.ask.composed.known(unknown))
        for key, value in values(found).items():
            name = "renyi" if key.startswith("renyi") else key
            options = {"conversion": key.removeprefix("renyi_")} if name == "renyi" else {}
            exact = 5e-4 if unknown in ("noise_multiplier", "sample_rate") or key == "tight" else 1e-6
            if key.startswith("bayesian"):
                seen = clipped(found.given["gradients"], 0.5, found.given["clip"])
                assert (seen.largest is not None) is found.facts.certified
                unit = seen.sensitivity if unknown == "noise_multiplier" else 1.0
                names = {"noise_multiplier": "noise_std", "delta": "delta_mu"}
                units = {"noise_multiplier": seen.sensitivity}
                plan = {names.get(n, n): value * units.get(n, 1.0) for n, value in known.items() if n != "delta"}
                plan |= {"delta_mu": found.given["delta_mu"]} if unknown != "delta" else {}
                missing = names.get(unknown, unknown)
                again = dpviz.solve_bayesian(
                    missing, seen.distances, target_epsilon=found.facts.target, largest_distance=seen.largest, **plan
                )
                assert value == pytest.approx(again / unit, rel=exact)
                epsilon = dpviz.bayesian_epsilon(
                    seen.distances, largest_distance=seen.largest, **plan, **{missing: value * unit}
                )
            elif value is None:
                with pytest.raises(ValueError, match="Expected target_epsilon"):
                    dpviz.solve(unknown, target_epsilon=found.facts.target, method=name, **options, **known)
                continue
            else:
                again = dpviz.solve(unknown, target_epsilon=found.facts.target, method=name, **options, **known)
                assert value == pytest.approx(again, rel=exact), key
                epsilon = dpviz.epsilon(name, **(known | {unknown: value}), **options)
            assert epsilon <= found.facts.target, key

    @pytest.mark.parametrize("quantile", ["q05", "q50", "q99"])
    def test_noise_in_units_of_the_sensitivity_is_not_rounded_down(self, quantile):
        gradients, weak = Vectors(40, 50, 0.5, "disjoint", 0), BayesianAsk(quantile, "both", 1e-15, 0.5)
        seen, known = clipped(gradients, weak.share, "both"), {"steps": 100.0, "sample_rate": 0.1, "delta_mu": 1e-5}
        known |= {"target_epsilon": 2.0, "tolerance": TOLERANCE, "largest_distance": seen.largest}
        noise = dpviz.solve_bayesian("noise_std", seen.distances, **known)
        given = (("steps", 100.0), ("sample_rate", 0.1), ("delta", 1e-5))
        need = bayesian_need(gradients, weak, "noise_multiplier", 2.0, given)
        assert noise <= need.value * seen.sensitivity <= noise * (1 + 1e-12)

    def test_the_lead_of_bayesian_dp_grows_with_the_quantile(self):
        """Fig. 3: clipped, Bayesian DP needs less noise than DP with its orders, and nears it as C shrinks."""
        needs = values(of_preset(ALONG_NOISE, "bdpfig3"))
        ordered = [needs[key] for key in ("moments", "bayesian.q01", "bayesian.q50", "bayesian.q99")]
        assert ordered == sorted(ordered, reverse=True)

    def test_unclipped_with_a_low_threshold_needs_more_than_dp(self):
        """Fig. 4."""
        needs = values(of_preset(ALONG_NOISE, "bdpfig4"))
        assert needs["bayesian.q05"] > needs["moments"]

    def test_curves_are_the_librarys(self):
        sample = Vectors(400, 1000, 0.5, "disjoint", 0)
        data = ask("noise", methods=tuple(ALL.split(".")), quantiles=("q50",), gradients=sample).data()
        data = data[data["epsilon_moments"].notna()]
        sigma = data["noise_multiplier"].to_numpy()
        assert len(data) == 33
        known = {"noise_multiplier": sigma, "sample_rate": 0.01, "steps": 10_000, "delta": 1e-5}
        for key, method, options in (
            ("strong", "strong", {}),
            ("moments", "moments", {}),
            ("renyi_classic", "renyi", {"conversion": "classic"}),
            ("closed_form", "closed_form", {}),
        ):
            np.testing.assert_allclose(data[f"epsilon_{key}"], dpviz.epsilon(method, **known, **options), rtol=1e-9)
        seen = clipped(sample, 0.5, "both")
        plan = {"sample_rate": 0.01, "steps": 10_000, "delta_mu": 1e-5}
        for key, largest in (("bayesian.q50", seen.largest), ("printed.q50", None)):
            for i in (0, 16, 32):
                again = dpviz.bayesian_epsilon(
                    seen.distances, noise_std=sigma[i] * seen.sensitivity, largest_distance=largest, **plan
                )
                assert data[f"epsilon_{key}"].iloc[i] == pytest.approx(again, rel=1e-9)
        assert {"order_moments", "largest_share_bayesian.q50", "epsilon_tight_upper"} <= set(data.columns)

    def test_the_tight_band_lies_on_points_of_the_curves(self):
        found = with_part(of(ALONG_NOISE, "noisecurves=renyi_improved&steps=100"), BAND)
        table = found.plot.table()
        assert table["ε tight"].iloc[[0, -1]].str.contains(" – ").all()
        data = found.plot.data()
        assert len(data) == 33
        assert (data["epsilon_tight_lower"] <= data["epsilon_renyi_improved"])[::2].all()


class TestWords:
    def test_numbers_are_rounded_to_the_safe_side(self):
        assert written("noise_multiplier", Need(2.2771)) == "2.28"
        assert written("sample_rate", Need(0.018299)) == "0.0182"
        assert written("delta", Need(1.0001e-7)) == "1.01e-7"
        assert written("delta", Need(1e-7)) == "1e-7"
        assert written("steps", Need(24644.0)) == "24\u202f644"
        assert written("steps", Need(math.inf)) == "any"
        assert written("steps", Need(2.0**53)) == "9e15 or more"
        assert written("steps", Need(None)) == "–"

    def test_savings(self):
        facts = of(SOLVE, "noiseq=q50").facts
        assert facts.reference == "moments"
        assert facts.saving("renyi_improved", "moments") == "−13 % noise"
        assert facts.saving("strong", "moments").startswith("+")
        assert facts.saving("moments", "moments") == ""

    def test_why_there_is_no_answer(self):
        said = " ".join(texts(of(SOLVE, f"target=0.3&noisecurves={ALL}&noiseq=q01.q50.q99&{SAMPLE}")))
        assert "moments: no σ gives ε ≤ 0.3: orders up to α = 33 charge 0.36 at this δ for doing nothing." in said
        assert "Bayesian 0.01, 0.50, 0.99: no σ gives" in said
        said = " ".join(texts(of(ALONG_NOISE, f"target=0.3&noisecurves={ALL}&noiseq=q50")))
        assert "Its orders end at λ = 32, so no noise brings it below 0.360." in said
        assert "The closed form does not hold here: it needs σ >= 4" in said

    @pytest.mark.parametrize("question", BOTH)
    def test_what_is_no_bound_answers_nothing_and_says_why(self, question):
        found = of(question, "amp=linear&noisecurves=basic.strong.renyi_improved")
        assert [key for key, value in values(found).items() if value is None and key != "tight"] == ["basic", "strong"]
        assert found.facts.best(bayesian=False) == found.facts.reference == "renyi_improved"
        assert any(t.startswith("basic, strong: Linear amplification") and "exact" in t for t in texts(found))
        assert values(of(question, "amp=exact&noisecurves=strong"))["strong"] is not None

    def test_where_no_noise_is_needed_it_says_so(self):
        found = of(SOLVE, "q=1e-7&steps=10&delta=0.00001&noisecurves=renyi_improved.strong")
        assert values(found)["renyi_improved"] == 0.0
        assert "needs <b>no noise</b>" in headline(found)
        assert any("no noise is needed: nothing is released, or δ is" in text for text in texts(found))
        unlimited = of(SOLVE, "solvefor=steps&q=0&noisecurves=renyi_improved")
        assert "allows <b>any number of steps</b>" in headline(unlimited)

    @pytest.mark.parametrize("question", BOTH)
    @pytest.mark.parametrize(
        ("query", "problem"), [("dmu=1e-20", "Expected delta_mu=1e-20"), ("source=upload", "No file yet")]
    )
    def test_without_a_sample_that_can_be_used_the_others_stand(self, question, query, problem):
        found = of(question, f"source=vectors&{query}")
        assert values(found)["moments"] is not None
        assert problem in texts(found)[0]
        assert notes(found)[0].kind == "problem"

    def test_what_is_asked_has_a_control_and_nothing_else(self):
        def shown(question, **chosen):
            groups = question.groups(lambda field: chosen.get(field.key, field.default))
            return {
                name: [getattr(item, "key", type(item).__name__) for item in items] for name, items in groups.items()
            }

        for unknown, key in (("steps", "steps"), ("sample_rate", "q"), ("delta", "delta")):
            groups = shown(SOLVE, solvefor=unknown)
            assert key not in groups["Mechanism"]
            assert ("InUnits" in groups["Mechanism"]) == (key != "q"), "batch ÷ N goes with q"
            assert ("dmu" in groups["Show"]) == (key != "delta")
        assert "Data" not in shown(ALONG_NOISE, noisecurves=("moments",))
        assert shown(ALONG_NOISE, noiseq=())["Data"] == ["noiseq"]
        known, drawn = shown(ALONG_NOISE), shown(ALONG_NOISE, source="vectors")
        assert len(known["Show"]) == len(drawn["Show"]) - 1, "γ is a sample's"


class TestTight:
    def test_it_comes_later_and_no_row_jumps(self):
        before = of(SOLVE)
        assert written("noise_multiplier", before.facts.needs["tight"]) == "…"
        assert not any("tight" in text for text in texts(before))
        after = with_part(before, TIGHT)
        assert before.plot.table()["method"].tolist() == after.plot.table()["method"].tolist()
        known = {name: value for name, value in KNOWN.items() if name != "noise_multiplier"}
        exact = dpviz.solve("noise_multiplier", target_epsilon=2.0, method="tight", **known)
        assert values(after)["tight"] == pytest.approx(exact, rel=5e-4)

    @pytest.mark.parametrize("query", ["steps=100000000", "solvefor=steps&sigma=1000"])
    def test_beyond_so_many_steps_it_is_not_asked(self, query):
        found = with_part(of(SOLVE, f"noisecurves=moments&{query}"), TIGHT)
        assert values(found)["tight"] is None
        assert any("tight accountant takes too long" in text for text in texts(found))


class TestPlots:
    def test_a_pin_keeps_the_best_of_each_kind(self):
        now, pinned = of(ALONG_NOISE), of(ALONG_NOISE, "steps=20000")
        both = now.plot.beside([("T 20 000", pinned.plot)])
        kept = [line.name for line in both.lines if line.faded]
        assert kept == ["T 20 000: Rényi improved", "T 20 000: Bayesian 0.95"]

    def test_pinned_answers_are_faded_and_only_of_the_same_question(self):
        now, before, other = of(SOLVE), of(SOLVE, "steps=20000"), of(SOLVE, "solvefor=steps")
        both = now.plot.beside([("T 20 000", before.plot), ("steps", other.plot)])
        faded = [t for t in both.chart().figure["data"] if t.get("marker", {}).get("opacity") == 0.5]
        assert len(faded) == len(now.facts.needs) - 1, "all but the tight one, which is on its way"
        assert "strong 18.3" in both.alt
        assert both.table().equals(now.plot.table())

    def test_a_ring_stands_at_every_crossing_on_the_axis(self):
        found = of(ALONG_NOISE, f"noisecurves={ALL}&noiseq=q50")
        assert [ring.x for ring in found.plot.rings] == [v for v in values(found).values() if v is not None]
        assert "basic –" in found.plot.alt

    def test_what_each_needs_is_a_detail_of_the_curves(self):
        [table] = ALONG_NOISE.more["Needed"](of(ALONG_NOISE, "noisecurves=strong.moments"))
        assert table["method"].tolist() == ["strong", "moments"]
        assert table["σ for ε ≤ 2"].tolist() == ["18.3", "2.62"]


class TestWhichIsABound:
    def test_clipped_the_certified_curve_is_solid_and_claimed(self):
        found = of(ALONG_NOISE, f"noisecurves=moments.bayesian&noiseq=q50&{SAMPLE}")
        assert found.facts.certified
        bound, printed = found.facts.curves["bayesian.q50"], found.facts.curves["printed.q50"]
        assert bound.bayesian.certified
        assert (bound.epsilon >= printed.epsilon * (1 - 1e-12)).all()
        assert bound.epsilon[0] < found.facts.curves["moments"].epsilon[0]
        lines = {line.key: line for line in found.plot.lines}
        assert lines["bayesian.q50"].dash == "solid"
        assert lines["bayesian.q50"].dotted_until is None
        assert (lines["printed.q50"].dash, lines["printed.q50"].end) == ("dash", "")
        assert lines["printed.q50"].hue == estimate(lines["bayesian.q50"].hue)
        assert "printed.q50" not in found.facts.needs
        assert ", certified" in headline(found)
        assert metrics(found)[1].note == "C at 0.50, certified"
        assert "dashed the asymptotic estimate as printed" in " ".join(texts(found))
        assert "epsilon_printed.q50" in found.plot.data().columns

    @pytest.mark.parametrize("question", BOTH)
    @pytest.mark.parametrize(("query", "why"), [("clip=dp", "unclipped"), ("vectors=20&dims=50&pairs=all", "share")])
    def test_else_the_estimate_is_called_one(self, question, query, why):
        axis = "&noiseto=500" if question is ALONG_NOISE else ""
        found = of(question, f"noisecurves=moments.bayesian&noiseq=q99&{SAMPLE}&{query}{axis}")
        assert not found.facts.certified
        if question is ALONG_NOISE:
            drawn = {line.key: line.dash for line in found.plot.lines}
            assert drawn == {"moments": "solid", "bayesian.q99": "dash"}
            assert "ε Bayesian 0.99 (no bound)" in found.plot.table().columns
        else:
            assert "Bayesian 0.99 (no bound)" in found.plot.table()["method"].tolist()
        said = " ".join(texts(found))
        assert why in said
        assert "estimate as printed" in said
        if found.facts.best(bayesian=True):
            assert "an asymptotic estimate that is no bound" in headline(found)
            assert "estimate, no bound" in metrics(found)[1].note


class TestKnownDistribution:
    """The default: no sample and no γ, one solid curve a quantile, compared with what converts moments alike."""

    def test_the_curve_is_the_librarys_and_below_dp(self):
        found = of(ALONG_NOISE, "noisecurves=moments.renyi_improved.bayesian&noiseq=q50.q95")
        assert [line.dash for line in found.plot.lines] == ["solid"] * 4
        curves, grid = found.facts.curves, noise_grid(0.5, 50.0)
        for key, share in (("bayesian.q50", 0.5), ("bayesian.q95", 0.95)):
            assert (curves[key].epsilon <= curves["renyi_improved"].epsilon * (1 + 1e-9)).all()
            exact = [
                dpviz.bayesian_law_epsilon(
                    "weibull", shape=0.5, quantile=share, noise_multiplier=grid[i], sample_rate=0.01, steps=10_000,
                    delta_mu=1e-5,
                )
                for i in (3, 20)
            ]  # fmt: skip
            assert curves[key].epsilon[[3, 20]].tolist() == exact

    @pytest.mark.parametrize("unknown", UNKNOWNS)
    @pytest.mark.parametrize("query", ["", "target=12&q=0.05&sigma=1.3&steps=300&dmu=1e-4", "family=halfnormal"])
    def test_answers_hold_and_are_as_good_as_they_can_be(self, unknown, query):
        found = of(SOLVE, f"solvefor={unknown}&noisecurves=bayesian.renyi_improved&{query}")
        value, dp = (values(found)[key] for key in ("bayesian.q95", "renyi_improved"))
        known = {name: dict(found.facts.ask.composed.known(""))[name] for name in KNOWN}
        known |= {"delta": found.given["delta_mu"] or 1e-5}

        def epsilon(answer):
            asked = known | {unknown: answer}
            asked["delta_mu"] = asked.pop("delta")
            law = found.facts.known
            return dpviz.bayesian_law_epsilon(law.family, shape=law.shape, quantile=0.95, **asked)

        assert epsilon(value) <= found.facts.target
        more = unknown in ("steps", "sample_rate")
        assert value > dp if more else value < dp
        step = {"steps": 1.0, "delta": -2e-2 * value}.get(unknown, (1 if more else -1) * 1e-3 * value)
        assert epsilon(value + step) > found.facts.target

    def test_the_drawn_crossing_is_the_solvers(self):
        drawn, solved = values(of(ALONG_NOISE))["bayesian.q95"], values(of(SOLVE))["bayesian.q95"]
        assert solved * (1 - 4e-4) <= drawn <= solved * 1.002

    def test_words(self):
        found = of(ALONG_NOISE)
        assert "Bayesian DP of this distribution, C at the 0.95-quantile, needs noise <b>σ = 1.97" in headline(found)
        assert "(−14 % noise)" in headline(found)
        assert "sample" not in headline(found)
        assert "certified" not in headline(found)
        assert metrics(found)[1].note == "C at 0.95, this distribution"
        assert metrics(found)[2].note == "against Rényi improved"
        [said] = texts(found)
        assert "18.7 × the median norm, the noise σC is 36.8 × the median norm" in said

    def test_only_rényi_improved_is_like_it(self):
        found = of(SOLVE, "noisecurves=moments.bayesian")
        assert "%" not in headline(found).partition("With σ")[0]
        assert metrics(found)[2].value == "–"

    def test_an_old_link_means_its_sample(self):
        before = links.read({"noiseview": "solve"}, "noise")
        assert (before["source"], before["noiseq"], before["dmu"]) == ("vectors", "q01.q50.q99", "1e-5")
