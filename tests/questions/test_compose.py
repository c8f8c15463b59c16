"""How ε grows: the numbers are the library's, nothing that is no bound is called one, and nothing breaks it."""

import io
from dataclasses import replace
from urllib.parse import parse_qsl

import numpy as np
import pandas as pd
import pytest
from dp_accounting import NeighboringRelation, dp_event
from dp_accounting.pld import PLDAccountant, privacy_loss_distribution

import dpviz
from dpviz.accounting.pld.bounds import tight_epsilon
from dpviz.fields import numbers
from dpviz.gradients.law_sample import law_sample
from dpviz.mechanisms import Adjacency, Laplace, Mechanism, PersonRows, ReplaceOneGaussian, SampledGaussian
from dpviz.questions.asked import ask
from dpviz.questions.compose.question import GROWTH
from dpviz.questions.gradients import File, Measured, Norms, Vectors, clipped
from dpviz.questions.methods import NAMES
from dpviz.questions.presets import PRESETS
from dpviz.questions.script import script
from dpviz.questions.source import Missing
from dpviz.questions.tight_band import along_steps
from tests.contract.cases import promised
from tests.questions.asking import asked, linked, of_preset

ALL = "basic.strong.moments.renyi_classic.renyi_improved.closed_form.bayesian"
TIGHT, RANK, SAMPLE, BESIDE = GROWTH.slow
headline, metrics, notes = GROWTH.headline, GROWTH.metrics, GROWTH.notes


def of(query):
    return linked(GROWTH, query)


def sampled(query):
    """Where a sample is what Bayesian DP learns from."""
    given = {"source": "vectors", "quantile": "0.5", **dict(parse_qsl(query, keep_blank_values=True))}
    return asked(GROWTH, **given)


def with_part(answer, slow):
    assert slow.key(answer) is not None
    return slow.join(answer, slow.work(answer))


def texts(answer):
    return [note.text for note in notes(answer)]


def columns(answer):
    return set(answer.plot.data().columns)


def test_what_is_no_bound_is_never_the_tightest():
    """At these settings linear amplification reads far below every bound."""
    answer = of("curves=basic.strong.moments&amp=linear&sigma=0.3&q=0.001&steps=10&delta=0.00001")
    ends = {line.key: float(line.y[-1]) for line in answer.plot.lines}
    assert min(ends, key=lambda key: ends[key]) in ("basic", "strong")
    assert answer.facts.tightest() == "moments"
    assert [line.key for line in answer.plot.lines if line.approximate] == ["basic", "strong"]
    assert [line.key for line in answer.plot.lines if line.kept] == ["moments"]
    assert "ε strong (no bound)" in answer.plot.table().columns


def test_every_curve_is_the_librarys_and_the_file_reads_back_equal():
    answer = sampled(f"curves={ALL}&steps=300")
    again = pd.read_csv(io.StringIO(answer.plot.data().to_csv(index=False)))
    mechanism = {"noise_multiplier": 4.0, "sample_rate": 0.01, "steps": again["steps"].to_numpy(), "delta": 1e-5}
    for key in ALL.split(".")[:-1]:
        name, _, conversion = key.partition("_") if key.startswith("renyi") else (key, "", "")
        options = {"conversion": conversion} if conversion else {}
        np.testing.assert_allclose(again[f"epsilon_{key}"], dpviz.epsilon(name, **mechanism, **options), rtol=1e-12)
    sample = Vectors(400, 1000, 0.5, "disjoint", 0).sample()
    threshold = sample.threshold(0.5)
    known = {
        "noise_std": 4.0 * sample.sensitivity(threshold),
        "sample_rate": 0.01,
        "steps": mechanism["steps"],
        "delta_mu": 1e-5,
    }
    distances = sample.distances(threshold)
    certified = dpviz.bayesian_epsilon(distances, largest_distance=sample.sensitivity(threshold), **known)
    np.testing.assert_allclose(again["epsilon_bayesian"], certified, rtol=1e-12)
    printed = dpviz.bayesian_epsilon(distances, **known)
    np.testing.assert_allclose(again["epsilon_bayesian_printed"], printed, rtol=1e-12)
    assert {"order_moments", "largest_share_bayesian_printed", "effective_size_bayesian_printed"} <= set(again.columns)


def test_printed_numbers_lie_on_the_curves():
    """Abadi et al. 2016, Fig. 2, as rounded there; strong composition to 0.15 %."""
    answer = of_preset(GROWTH, "abadi2")
    for point in PRESETS["abadi2"].points:
        at = np.interp(point.x, answer.facts.steps, answer.facts.bounds[point.family].epsilon)
        assert at == pytest.approx(point.y, rel=0.02)


def test_the_best_attack_is_told_by_the_whole_curve():
    """σ = 4, q = 0.01, T = 10 000: 55.1 %; the pair of the moments accountant, which papers state, allows 77.9 %."""
    answer = of("curves=moments")
    assert "at most <b>…</b> of the time" in headline(answer)
    assert metrics(answer)[2][1:] == ("…", "")
    soon = with_part(answer, TIGHT._replace(work=TIGHT.quick))
    answer = with_part(answer, TIGHT)
    assert "at most <b>55.1 %</b> of the time (chance: 50 %)." in headline(answer)
    assert headline(soon) == headline(answer)
    assert metrics(soon)[2] == metrics(answer)[2]
    assert metrics(answer)[2][1:] == ("≤ 55.1 %", "ε and δ alone: 77.9 %")


def test_where_no_grid_helps_the_pair_is_told():
    answer = of("sigma=3000&q=1&steps=10000000&delta=0.3&curves=moments")
    answer = replace(answer, facts=replace(answer.facts, accuracy=dpviz.Accuracy(0.5, 1.0)))
    assert "by ε and δ alone" in metrics(answer)[2].note
    chance = answer.facts.chance(0.3)
    assert chance.right == chance.alone


def test_without_an_accountant_the_curve_still_bounds_attackers():
    answer = of("curves=closed_form&sigma=1")
    assert answer.facts.tightest() is None
    answer = with_part(answer, TIGHT)
    assert "at most <b>74.1 %</b>" in headline(answer)
    assert metrics(answer)[2][1:] == ("≤ 74.1 %", "by the whole privacy curve; chance: 50 %")


EXTREME = [
    "steps=1e9&sigma=1000&q=1e-9&delta=1e-100",
    "steps=1e12&sigma=1000000&q=0&delta=1e-100&logx=1&logy=1",
    "steps=1&sigma=0.01&q=1&delta=1e-100",
    "steps=1e9&sigma=0.01&q=1",
    "sigma=1e-3",
    "delta=0.999",
    "source=vectors&dmu=1e-100&gamma=1e-100",
    "quantile=0",
    "quantile=1&clip=dp&source=vectors",
    "quantile=1",
    "lam=256",
    "curves=",
]


@pytest.mark.parametrize("query", EXTREME)
def test_extreme_settings_give_a_number_or_a_reason(query):
    answer = of(query + ("" if "curves" in query else f"&curves={ALL}"))
    for key, bound in answer.facts.bounds.items():
        assert np.nanmin(np.r_[bound.epsilon, 0.0]) >= 0
        finite = np.isfinite(bound.epsilon[-1])
        assert finite or any(text.startswith(NAMES[key]) for text in texts(answer))
        order = np.isfinite(bound.epsilon)
        assert (np.diff(bound.epsilon[order]) >= -1e-9 * bound.epsilon[order][1:]).all()
    assert "nan" not in headline(answer).lower()
    assert answer.plot.chart().figure["data"]
    assert not any(text.startswith(NAMES[key]) for text in answer.plot.chart().notes for key in answer.facts.bounds)


def test_tiny_budgets_are_right():
    """T = 1e9, q = 1e-9, σ = 1000: the moments bound is the floor ln(1/δ)/32 to many digits."""
    answer = of("steps=1e9&sigma=1000&q=1e-9&delta=1e-100&curves=moments")
    assert answer.facts.bounds["moments"].epsilon[-1] == pytest.approx(100 * np.log(10) / 32, rel=1e-9)


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("gamma=0.001&dmu=1e-5", "raise delta_mu"),
        ("source=upload", "upload a CSV"),
        ("vectors=100000&dims=1000000", "take fewer"),
        ("source=law&quantile=1", "its norms have no largest"),
        ("source=law&quantile=0", "the least norm is 0"),
    ],
)
def test_where_bayesian_dp_has_no_number_the_rest_stands(query, reason):
    answer = sampled(query)
    first = notes(answer)[0]
    assert first.kind == "problem"
    assert reason in first.text
    assert "Rényi improved" in metrics(answer)[0].note
    assert metrics(answer)[-1].note == "not defined here"
    assert "bayesian" not in {line.key for line in answer.plot.lines}
    assert BESIDE.key(answer) is None


def test_a_sample_that_is_on_its_way_is_no_problem():
    coming = Missing(Measured("mlp", 100, 2000, 0), "it comes.", coming=True)
    answer = GROWTH.asked(of("curves=moments.bayesian").given | {"gradients": coming})
    assert notes(answer)[0] == ("Bayesian DP: it comes.", "caution")
    assert "    source='measured',\n)" in script(GROWTH, answer)


def test_without_bayesian_dp_no_sample_is_asked_for():
    answer = of("curves=moments&source=measured")
    assert answer.given["gradients"] is None
    assert list(GROWTH.groups(lambda f: ("moments",) if f.key == "curves" else f.default)) == ["Mechanism", "Show"]


def drawn(answer):
    """Name → dash of every line."""
    return {line.name: line.dash for line in answer.plot.lines}


def test_clipped_the_bound_is_solid_and_claimed_the_estimate_dashed():
    answer = sampled("curves=bayesian")
    found = answer.facts.bayesian
    assert found.main.certified
    assert not found.printed.certified
    assert (found.main.epsilon >= found.printed.epsilon).all()
    assert drawn(answer) == {"Bayesian DP": "solid", "asymptotic, as printed": "dash"}
    assert [line.kept for line in answer.plot.lines] == [True, False]
    assert "data like the sample" in headline(answer)
    assert f"≤ {numbers.epsilon(float(found.main.epsilon[-1]), up=True)}" in headline(answer)
    shown = metrics(answer)[-1]
    assert shown.name == "Bayesian ε, certified"
    assert "as printed: ≈" in shown.note
    assert {"epsilon_bayesian", "epsilon_bayesian_printed"} <= columns(answer)


@pytest.mark.parametrize(
    ("query", "said_too"),
    [
        ("curves=bayesian&clip=dp&source=halfnormal&count=500", "no distance is the largest"),
        ("curves=bayesian&vectors=20&dims=50&pairs=all", "Disjoint pairs give a bound"),
    ],
)
def test_where_there_is_no_bound_the_estimate_is_called_one(query, said_too):
    answer = sampled(query)
    assert not answer.facts.bayesian.main.certified
    assert answer.facts.bayesian.printed is None
    assert drawn(answer) == {"asymptotic, as printed": "dash"}
    assert "ε<sub>μ</sub> ≈" in headline(answer)
    assert metrics(answer)[-1].name == "Bayesian ε, no bound"
    assert any(said_too in text for text in texts(answer))
    assert "epsilon_bayesian" not in columns(answer)
    assert any(
        "no bound at this sample size" in getattr(block, "text", "") for block in GROWTH.more["Distances"](answer)
    )


def test_an_infinite_truth_is_said():
    answer = with_part(of("curves=bayesian&clip=dp&source=weibull&shape=0.5&count=500"), BESIDE)
    assert answer.facts.beside.truth is None
    assert any("true cost of this distribution is infinite" in text for text in texts(answer))


FEW = "curves=bayesian&sigma=1&q=0.05&steps=200&source=weibull&shape=0.5&count=50&quantile=1&seed=3"


@pytest.mark.parametrize("query", [FEW, FEW + "&gamma=0.01&dmu=0.1", "curves=bayesian&vectors=40&dims=20&steps=300"])
def test_the_bound_lies_above_the_truth(query):
    answer = with_part(sampled(query), BESIDE)
    beside = answer.facts.beside
    at = np.searchsorted(answer.facts.steps, beside.steps)
    assert (answer.facts.bayesian.main.epsilon[at] >= beside.truth.lower * (1 - 1e-9)).all()
    figure = answer.plot.chart().figure
    assert any("true cost" in (trace.get("name") or "") for trace in figure["data"])
    assert answer.plot.data()["epsilon_true_upper"].notna().sum() == beside.steps.size


def test_an_estimate_below_the_truth_is_named_and_so_is_what_few_samples_cost():
    """Fifty clipped heavy-tailed norms of which few were large."""
    query = FEW.replace("quantile=1", "quantile=0.98").replace("seed=3", "seed=29&gamma=0.01&dmu=0.5")
    early = of(query)
    answer = with_part(early, BESIDE)
    found = answer.facts.bayesian
    assert found.printed.epsilon[-1] < answer.facts.beside.truth.lower[-1] <= found.main.epsilon[-1]
    said = texts(answer)
    assert any("is below the true cost of this distribution from t = " in text and "(at T" in text for text in said)
    assert early.facts.too_low is None  # before the truth is there
    assert any(
        "stands for large distances that 50 samples cannot exclude" in t for t in texts(with_part(of(FEW), BESIDE))
    )


def test_gradients_that_nobody_drew_have_no_true_cost(tmp_path):
    path = tmp_path / "norms.csv"
    path.write_text("norm\n" + "\n".join(map(str, np.linspace(0.1, 1.0, 60))))
    answer = ask("compose", curves=("bayesian",), steps=50, gradients=File(str(path))).answer
    assert answer.facts.beside.truth is None
    assert not answer.facts.beside.infinite
    assert answer.facts.bayesian.size == 60
    assert not np.isfinite(answer.facts.beside.samples) or answer.facts.beside.samples > 60


def test_the_table_tells_an_interval_only_at_its_own_steps():
    table = with_part(of("curves=moments.tight"), TIGHT).plot.table()
    assert table["ε tight"].iloc[[0, -1]].str.contains(" – ").all()
    shown = dict(zip(table["steps"], table["ε tight"], strict=True))
    assert shown["202"] == "–"


def test_a_sample_is_written_as_what_made_it():
    answer = ask("compose", steps=20, source="lognormal", count=80, shape=0.7)
    written = "    steps=20,\n    source='lognormal',\n    shape=0.7,\n    count=80,\n)"
    assert written in answer.script()
    assert answer.link == "/compose?steps=20&source=lognormal&count=80&shape=0.7&v=2"
    again = ask("compose", steps=20, gradients=Norms("lognormal", 80, 0.7, 0))
    assert again.script() == answer.script()
    pd.testing.assert_frame_equal(again.data(), answer.data())
    assert again.link == answer.link


OTHERS = {
    "replace": (ReplaceOneGaussian(1.0, 0.2), "mech=replace&sigma=1&q=0.2&steps=10&delta=1e-6"),
    "laplace": (Laplace(1.0, 0.02), "mech=laplace&b=1&q=0.02&steps=50&delta=1e-6"),
}


def peer_epsilon(key):
    """The same by dp-accounting, from above."""
    if key == "laplace":
        one = privacy_loss_distribution.from_laplace_mechanism(
            1.0, sampling_prob=0.02, value_discretization_interval=1e-4
        )
        return one.self_compose(50).get_epsilon_for_delta(1e-6)
    peer = PLDAccountant(NeighboringRelation.REPLACE_ONE, value_discretization_interval=1e-4)
    peer.compose(dp_event.PoissonSampledDpEvent(0.2, dp_event.GaussianDpEvent(1.0)), 10)
    return peer.get_epsilon(1e-6)


@pytest.mark.parametrize("key", OTHERS)
def test_other_mechanisms_have_the_curves_that_know_them(key):
    mechanism, query = OTHERS[key]
    answer = of(f"{query}&curves={ALL}.tight")
    assert answer.given["mechanism"] == mechanism
    assert [line.key for line in answer.plot.lines] == ["moments", "renyi_classic", "renyi_improved"]
    known = {"mechanism": mechanism, "steps": answer.facts.steps, "delta": 1e-6}
    for line, name in zip(answer.plot.lines, ("moments", "renyi", "renyi"), strict=True):
        options = {"conversion": "classic"} if line.key == "renyi_classic" else {}
        np.testing.assert_array_equal(line.y, dpviz.epsilon(name, **known, **options))
    left = [text for text in texts(answer) if text.startswith("Not offered")]
    assert left == [
        "Not offered for this mechanism: basic, strong, closed form, Bayesian DP: only worked out for sampled Gaussian "
        "steps, one example added or removed."
    ]
    answer = with_part(answer, TIGHT)
    assert BESIDE.key(answer) is None
    lower, upper = answer.facts.tight.lower[-1], answer.facts.tight.upper[-1]
    assert lower <= peer_epsilon(key) <= upper + promised(upper)
    assert (answer.facts.bounds["renyi_improved"].epsilon[-1] >= lower).all()
    assert answer.facts.accuracy.upper == pytest.approx(0.5 + 0.5 * shown(mechanism, answer.given["steps"]), abs=1e-3)
    assert metrics(answer)[3] == ("Bayesian ε", "–", "not for this mechanism")


def shown(mechanism, steps):
    """δ at ε = 0."""
    return dpviz.delta("tight", mechanism=mechanism, steps=steps, epsilon=0.0)


def test_words_follow_the_mechanism():
    replaced, laplace = (of(f"{query}&curves=moments") for _, query in OTHERS.values())
    assert "whether the data held your example or another in its place at most" in headline(replaced)
    assert "whether you took part at most" in headline(laplace)
    assert "replaced by any other" in GROWTH.assumed(replaced)
    assert "N, the number of training examples" not in GROWTH.assumed(replaced)
    assert "Laplace, scale b × C" in GROWTH.assumed(laplace)
    assert "Bayesian" not in GROWTH.assumed(laplace)
    assert "Bayesian" in GROWTH.assumed(of("curves=moments"))
    assert GROWTH.formulas(laplace)[0][0] == "one step: sampled Laplace, b = 1, q = 0.02"
    assert "mechanism='laplace',\n    scale=1,\n    sample_rate=0.02," in script(GROWTH, laplace)


def test_a_person_with_several_rows():
    asked = ask("compose", mechanism="person", rows=5, noise_multiplier=1.1, sample_rate=256 / 60_000, steps=14_062)
    assert asked.answer.given["mechanism"] == PersonRows(1.1, 256 / 60_000, 5)
    assert asked.link == "/compose?mech=person&sigma=1.1&rows=5&q=0.004266666666666667&steps=14062&v=2"
    assert [line.key for line in asked.answer.plot.lines] == ["moments", "renyi_improved"]
    assert asked.answer.facts.tight.lower[-1] <= 16.11 <= asked.answer.facts.tight.upper[-1]
    assert "whether any of your rows took part at most" in asked.headline
    assert "all rows of one person" in GROWTH.assumed(asked.answer)
    assert any("Bayesian DP: only worked out for sampled Gaussian" in text for text in texts(asked.answer))
    one = of("mech=person&rows=1&curves=moments")
    np.testing.assert_allclose(one.plot.lines[0].y, of("curves=moments").plot.lines[0].y, rtol=1e-12)
    for query in ("rows=3&q=0", "rows=1000&q=0.5&sigma=0.01&steps=20", "rows=2&q=1", "rows=7&curves=strong.bayesian"):
        assert headline(with_part(of(f"mech=person&{query}"), TIGHT))


def test_a_mechanism_is_asked_for_by_its_fields_or_whole():
    named = ask("compose", mechanism="laplace", scale=3, sample_rate=0.1, steps=20, curves=("moments",))
    assert named.answer.given["mechanism"] == Laplace(3.0, 0.1)
    assert named.link == "/compose?mech=laplace&b=3&q=0.1&steps=20&curves=moments&v=2"
    whole = ask("compose", mechanism=Laplace(3.0, 0.1), steps=20, curves=("moments",))
    pd.testing.assert_frame_equal(whole.data(), named.data())
    assert whole.link == named.link
    as_ever = ask("compose", noise_multiplier=2, sample_rate=0.1, steps=20, curves=("moments",))
    assert as_ever.answer.given["mechanism"] == SampledGaussian(2.0, 0.1)
    assert as_ever.link == "/compose?sigma=2&q=0.1&steps=20&curves=moments&v=2"


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
    assert any("tight: needs a dominating pair" in text for text in texts(answer.answer))
    assert "guesses right whether any of your examples took part" in answer.headline
    assumed = GROWTH.assumed(answer.answer)
    assert "**Who is protected:** one user, with every example of theirs. Data sets that differ by all" in assumed
    assert "**The mechanism:** my own" in assumed
    for others in ("one example", "whether you took part", "Poisson", "N, the number of training examples"):
        assert others not in answer.headline + assumed
    with pytest.raises(ValueError, match="found my own: no link shows it"):
        answer.link  # noqa: B018
    with pytest.raises(ValueError, match="No script can write mechanism="):
        answer.script()


def test_one_order_for_all_curves_that_have_one():
    known = {"noise_multiplier": 4.0, "sample_rate": 0.01, "steps": 10_000, "delta": 1e-5}
    query = "curves=moments.renyi_improved.renyi_classic.strong.bayesian&source=weibull"
    best, fixed = of(query), of(f"{query}&lam=16")
    found = fixed.facts.bounds
    assert found["moments"].epsilon[-1] == dpviz.epsilon("moments", min_order=16, max_order=16, **known)
    for conversion in ("improved", "classic"):
        expected = dpviz.epsilon("renyi", orders=(17.0,), conversion=conversion, **known)
        assert found[f"renyi_{conversion}"].epsilon[-1] == expected
        assert expected > best.facts.bounds[f"renyi_{conversion}"].epsilon[-1]
    assert {int(bound.order[-1]) for key, bound in found.items() if key != "strong"} == {17}
    assert found["strong"].epsilon[-1] == best.facts.bounds["strong"].epsilon[-1]
    assert any("λ = 16" in text for text in texts(fixed))
    assert not any("λ = 16" in text for text in texts(best))


def test_the_printed_cost_is_a_switch_and_loses_what_sampling_gains():
    """Where the largest distance decides: ψ_R as printed turns 1.2586 into 7.7143."""
    left, printed = (sampled(f"curves=bayesian&psi={key}") for key in ("left", "printed"))
    seen = clipped(printed.given["gradients"], printed.given["quantile"], "both")
    known = dpviz.bayesian_epsilon(
        seen.distances,
        noise_std=4.0 * seen.sensitivity,
        sample_rate=0.01,
        steps=10_000,
        delta_mu=1e-5,
        divergence="printed",
        largest_distance=seen.largest,
    )
    assert float(printed.facts.bayesian.main.epsilon[-1]) == pytest.approx(known, rel=1e-3)
    assert float(printed.facts.bayesian.main.epsilon[-1]) > 5 * float(left.facts.bayesian.main.epsilon[-1])
    assert printed.facts.bayesian.worst == pytest.approx(7.7143, rel=1e-4)
    assert left.facts.bayesian.worst == pytest.approx(1.258574741, rel=1e-6)
    assert any("not needed" in text for text in texts(printed))
    assert not any("ψ_R" in text for text in texts(left))
    assert BESIDE.key(left) != BESIDE.key(printed)
    assert np.isnan(BESIDE.work(printed)["beside"].samples)


def test_strong_and_weak_bayesian_dp_are_told_apart_where_it_is_defined():
    assert "Proposition 2" in GROWTH.assumed(of(""))
    assert "Proposition 2" not in GROWTH.assumed(of("mech=laplace"))


def test_what_bayesian_dp_alone_allows_pays_its_delta() -> None:
    a = asked(GROWTH, curves="bayesian", dmu="0.1", steps="100")
    allowed = dpviz.attack_success(a.facts.law.last, delta=0.1)
    assert metrics(a)[3].note.endswith(f"alone: {numbers.probability(allowed, up=True)}")


def test_delta_mu_is_delta_unless_it_is_set() -> None:
    linked, own = of("delta=1e-7&curves=bayesian"), of("delta=1e-7&dmu=1e-5&curves=bayesian")
    assert (linked.given["delta_mu"], own.given["delta_mu"]) == (None, 1e-5)
    assert of("delta=1e-7&dmu=1e-7&curves=bayesian").facts.law.last == linked.facts.law.last
    assert own.facts.law.last < linked.facts.law.last


def test_the_six_sliders_move_what_they_should() -> None:
    """Bayesian DP of the distribution follows every one of them, and the shape."""
    shown = [
        [of(f"curves=bayesian&{key}={text}").facts.law.last for text in texts.split()]
        for key, texts in {
            "sigma": "8 4 2", "q": "0.005 0.01 0.02", "steps": "1000 10000 100000", "lam": "best 4 2",
            "quantile": "0.99 0.95 0.5", "delta": "1e-3 1e-5 1e-7", "shape": "0.25 0.5 1",
        }.items()
    ]  # fmt: skip
    for ends in shown:
        assert ends[0] * 1.005 < ends[1] < ends[2] / 1.005


def test_best_is_a_word_for_the_order() -> None:
    best, none = ask("compose", order="best", steps=20), ask("compose", order=None, steps=20)
    assert best.answer.given["order"] is none.answer.given["order"] is None
    fixed = ask("compose", order=16, steps=20)
    assert (fixed.answer.given["order"], fixed.link) == (16, "/compose?steps=20&lam=16&v=2")
    assert "order=16" in fixed.script()


def test_the_band_is_the_tight_interval() -> None:
    step = SampledGaussian(4.0, 0.01)
    band = along_steps(step, 12, 1e-5, log=False)
    found = tight_epsilon(step, band.x, 1e-5)
    assert np.array_equal(band.lower, found.lower)
    assert np.array_equal(band.upper, found.upper)
    assert band.upper[-1] > band.lower[-1]


@pytest.mark.parametrize(("quantile", "gains"), [("0.05", False), ("0.95", True)])
def test_where_bayesian_dp_hardly_gains_a_sentence_says_why(quantile: str, gains: bool) -> None:
    answer = of(f"curves=renyi_improved.bayesian&quantile={quantile}")
    dp = float(answer.facts.bounds["renyi_improved"].epsilon[-1])
    assert answer.facts.law.last <= dp
    assert (answer.facts.law.last < 0.95 * dp) is gains
    assert any("hardly gains" in text for text in texts(answer)) is not gains


def test_the_distribution_s_cost_is_the_librarys_with_its_tight_value_below() -> None:
    answer = of("curves=bayesian.tight&quantile=0.9")
    known = {"shape": 0.5, "quantile": 0.9, "noise_multiplier": 4.0, "sample_rate": 0.01, "delta_mu": 1e-5}
    for definition in (1, 2):
        law = of(f"curves=bayesian&quantile=0.9&bdef={definition}").facts.law
        exact = dpviz.bayesian_law_epsilon("weibull", steps=law.steps, definition=definition, **known)
        np.testing.assert_allclose(law.bound.upper, exact, rtol=1e-12)
    fixed = of("curves=bayesian&quantile=0.9&lam=16").facts.law
    assert fixed.last == dpviz.bayesian_law_epsilon("weibull", steps=10_000, orders=(17.0,), **known)
    joined = with_part(answer, RANK)
    assert 0.794 < joined.facts.rank.lower[-1] <= joined.facts.rank.upper[-1] < 0.799 < answer.facts.law.last
    assert "epsilon_bayesian_tight_upper" in columns(joined)
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
    answer = with_part(of("m=1000"), SAMPLE)
    assert [line.approximate for line in answer.plot.lines[-2:]] == [False, True]
    assert any("1000 norms of this distribution prove" in text for text in texts(answer))


@pytest.mark.parametrize(("query", "why"), [("gamma=1e-5", "is not below δ_μ"), ("reading=running", "plans alone")])
def test_a_sample_that_proves_nothing_is_refused_in_words(query, why):
    answer = of(f"m=1000&{query}")
    assert SAMPLE.key(answer) is None
    assert any(why in text for text in texts(answer))
