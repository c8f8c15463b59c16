"""The plan of a run: which settings act, which noise a target needs, what it costs, and what old links mean."""

from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode

import numpy as np
import pytest

import dpviz
from dpviz.accounting.pld.bounds import tight_epsilon
from dpviz.experiments.catalogue import EXPERIMENTS
from dpviz.mechanisms import SampledGaussian
from dpviz.questions import links
from dpviz.questions.asked import ask
from dpviz.questions.layout import fields_of, of_texts
from dpviz.questions.presets import Preset
from dpviz.questions.printed import CLAIMS
from dpviz.questions.printed.claim import TRAINED, train
from dpviz.questions.train import script
from dpviz.questions.train.facts import missing, unsuited
from dpviz.questions.train.plan import plan
from dpviz.questions.train.question import TRAIN
from dpviz.questions.train.settings import run_settings, texts_of
from dpviz.questions.train.solving import solved_noise
from dpviz.training.accounts.claims import planned_claim
from dpviz.training.accounts.counting import baseline
from dpviz.training.accounts.live import LiveAccounts, promised
from dpviz.training.data import DATA_SETS
from dpviz.training.defaults import examples_of, recommended
from dpviz.training.methods import METHODS
from dpviz.training.models import MODELS
from dpviz.training.networks.by_name import suits
from dpviz.training.settings import FIELDS, RunSettings
from tests.questions.asking import table

TABLES = table("train")
OWN_START = {"prior_std", "most_steps"}  # 0 for a run that does not read them


def run_of(query: str = "") -> RunSettings:
    """The run that a link plans; one of today where it does not say otherwise."""
    texts = links.read(dict(parse_qsl(query)))
    return run_settings(TRAIN.read(of_texts(texts)))


def shown(query: str) -> set[str]:
    """Names of the settings that have a control."""
    groups = TRAIN.groups(of_texts(dict(parse_qsl(query))))
    keys = {field.key for items in groups.values() for field in fields_of(items)}
    return {name for name, field in FIELDS.items() if field.key in keys}


# What a plan begins with: the model that is offered first, with what trains it well.
FIRST = next(iter(MODELS.values()))
START = RunSettings(model=FIRST.key, **FIRST.usual)
MEASURED = {"bayesian": True, "followed": 32}  # on the page: it costs little


def test_a_plan_starts_as_a_run_of_the_first_model_does() -> None:
    """Defaults are said by `RunSettings` for whoever trains, and by the fields for whoever looks: they are the same."""
    usual = TRAIN.read(lambda field: field.default)
    named = {name for name in usual if hasattr(START, name)} - OWN_START - set(MEASURED)
    assert {name: usual[name] for name in named} == {name: getattr(START, name) for name in named}


def test_the_first_plan_is_one_run_on_the_page_in_the_script_in_its_link_and_for_the_library() -> None:
    """The quick one: a linear layer on fixed features; the CNN is a preset with what trains it well."""
    settings = run_of()
    assert FIRST.features is not None
    advised = recommended(settings.data, FIRST.key, target_epsilon=3.0)
    assert settings == advised.with_(**MEASURED)
    source = script.training(settings)
    written = eval(source[source.index("RunSettings(\n") : source.index("\nsummary")], {"RunSettings": RunSettings})
    assert written == settings
    texts = texts_of(settings)
    assert run_of(urlencode(texts)) == settings
    network = run_of("preset=trcnn")
    assert network == recommended(network.data, "cnn", target_epsilon=3.0).with_(**MEASURED)


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("t_unit=person", "these data do not say whose each row is"),
        ("t_unit=person&t_method=dp_sgld", "only .* draw and clip whole persons"),
    ],
)
def test_persons_that_cannot_be_protected_are_refused_and_not_left_out(query: str, said: str) -> None:
    """A run over examples covers less: the page says so, beside the control that changes it."""
    with pytest.raises(ValueError, match=f"Expected unit='example' .*{said}"):
        run_of(query)
    assert "unit" in shown(query)
    assert "unit" not in shown("")
    assert run_of("t_unit=person&t_method=sgd").unit == "example", "a training without noise protects nobody"


@pytest.mark.parametrize("data", DATA_SETS)
def test_what_is_said_of_a_model_that_cannot_read_the_data(data: str) -> None:
    for key, model in MODELS.items():
        if key in DATA_SETS[data].parameters:
            assert unsuited(data, key) == ""
        else:
            with pytest.raises(ValueError, match="Expected model"):
                suits(key, DATA_SETS[data])
            assert model.title in unsuited(data, key)


def test_missing_files_are_said_with_the_place_to_put_them(tmp_path: Path) -> None:
    assert missing("mnist-10k") == ""
    assert str(tmp_path) in missing("cifar10", str(tmp_path))
    (tmp_path / "cifar-10-python.tar.gz").write_bytes(b"")
    assert missing("cifar10", str(tmp_path)) == ""


# --- which settings act -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_the_controls_of_a_method_are_the_settings_that_it_reads(method: str) -> None:
    some = {"policy", "learning_rate_end", "optimiser", "momentum", "step_exponent", "friction", "prior_std", "burn_in"}
    assert shown(f"t_method={method}") & some == some & (METHODS[method].reads | MODELS["cnn"].reads)


def test_a_policy_has_its_controls() -> None:
    policies = ("fixed", "adaptive_noise", "adaptive_batch", "fine_tuning")
    own = [policy for policy in policies if "margin_epochs" in shown(f"t_policy={policy}")]
    assert own == ["adaptive_noise", "adaptive_batch"]


def test_views_are_offered_where_images_are_read_as_they_are() -> None:
    for query, offered in (("t_model=cnn", True), ("t_model=whitened", False), ("t_data=adult&t_model=mlp", False)):
        settings = run_of(f"{query}&t_views=8")
        assert settings.views == (8 if offered else 1)
        assert (texts_of(settings).get("t_views") == "8") == offered
        assert ("views" in shown(query)) == offered


def test_the_size_of_microbatches_can_be_set_where_gradients_are_taken_one_by_one() -> None:
    for query, offered in (("", True), ("t_method=sgd", False)):
        settings = run_of(f"{query}&t_chunk_size=64")
        assert settings.chunk_size == (64 if offered else None)
        assert (texts_of(settings).get("t_chunk_size") == "64") == offered
        assert ("chunk_size" in shown(query)) == offered
    assert run_of("").chunk_size is None


@pytest.mark.parametrize(("query", "on"), TABLES["bayesian"].items())
def test_bayesian_dp_is_on_where_it_costs_little_and_can_be(query: str, on: bool) -> None:
    assert run_of(query).bayesian is on


# --- the noise and the cost -------------------------------------------------------------------------------------------


def test_the_default_asks_for_a_tight_epsilon_of_three() -> None:
    settings = run_of()
    cost = tight_epsilon(SampledGaussian(settings.noise_multiplier, settings.sample_rate(10_000)), settings.steps, 1e-5)
    assert 2.98 < float(cost.upper) <= 3.0
    assert settings.with_(noise_multiplier=2.0) == START.with_(**MEASURED)
    assert settings.secure_noise


@pytest.mark.parametrize("counts", [0, 1])
@pytest.mark.parametrize("method", ["renyi", "tight"])
def test_a_delta_that_needs_no_noise_is_refused(method: str, counts: int) -> None:
    with pytest.raises(ValueError, match=r"Expected delta=0\.5 < 0\.0956 = .*no noise is needed"):
        solved_noise(3.0, method, SampledGaussian(1.0, 0.01), 10, 0.5, counts=counts, count_noise=1e6)


@pytest.mark.parametrize("policy", ["adaptive_noise", "adaptive_batch", "fine_tuning&t_target_accuracy=0.93"])
@pytest.mark.parametrize(
    "more", ["", "&t_past_plan=replan&t_most_steps=400", "&t_count_every=100", "&t_solver=moments"]
)
def test_a_target_under_an_adaptive_policy_is_its_promise_and_holds_the_plan(policy: str, more: str) -> None:
    settings = run_of(f"t_policy={policy}&t_target_epsilon=3{more}")
    assert promised(settings, 10_000) == settings.filter_epsilon == 3.0
    budget = LiveAccounts(settings, examples=10_000).budget
    assert budget is not None
    for mechanism, count in baseline(settings, 10_000):
        budget.spend(mechanism, count)
    assert 2.999 < budget.epsilon() <= 3.0
    assert settings.steps == 150


@pytest.mark.parametrize(("query", "budget"), [
    ("t_policy=adaptive_noise&t_target_epsilon=3&t_filter_epsilon=2", 2.0),
    ("t_policy=adaptive_noise&t_noise_by=sigma&t_noise_multiplier=2", None),
    ("t_policy=fixed&t_target_epsilon=3", None),
])  # fmt: skip
def test_a_budget_set_beside_a_target_is_the_promise(query: str, budget: float | None) -> None:
    settings = run_of(query)
    assert settings.filter_epsilon == budget
    if settings.adaptive:
        assert promised(settings, 10_000) == pytest.approx(budget or 3.2, abs=0.0 if budget else 0.3)


def test_the_plan_is_what_the_library_says_to_the_last_digit() -> None:
    settings = RunSettings(noise_multiplier=1.7, steps=90)
    cost = plan(settings, 10_000)
    for method in ("moments", "renyi", "mixture"):
        known = {"noise_multiplier": 1.7, "sample_rate": 0.1024, "steps": cost.steps, "delta": 1e-5}
        np.testing.assert_array_equal(cost.epsilon[method], dpviz.accountant(method).evaluate(**known).epsilon)


def test_a_run_that_re_plans_is_planned_to_its_cap() -> None:
    """The target holds for all steps that it may take, not for those of its first plan."""
    query = "t_data=abalone&t_model=logistic&t_batch_size=64&t_steps=20&t_target_epsilon=1&t_past_plan=replan"
    settings = run_of(query + "&t_most_steps=50")
    cost = float(tight_epsilon(SampledGaussian(settings.noise_multiplier, 64 / 3133), 50, 1e-5).upper)
    assert 0.98 < cost <= 1.0
    ahead = plan(settings, 3133)
    assert ahead.tight is not None
    assert (ahead.steps[-1], ahead.claim.epsilon, ahead.tight.upper[-1]) == (50, cost, cost)


def test_a_target_is_met_with_the_private_counts_that_are_planned() -> None:
    settings = run_of("t_target_accuracy=0.9&t_target_measure=private&t_count_noise=20&t_target_epsilon=3")
    cost = plan(settings, 10_000)
    assert cost.claim.counts > 0
    assert 2.5 < cost.claim.epsilon <= 3.0


# --- from a run, and as Python ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("settings", TABLES["runs"])
def test_a_run_fills_the_plan_with_the_same_settings(settings: dict[str, Any]) -> None:
    run = RunSettings(**settings)
    assert run_settings(TRAIN.read(of_texts(texts_of(run)))) == run


def test_the_script_trains_the_same_run() -> None:
    settings = RunSettings(data="abalone", model="logistic", batch_size=64, steps=6, learning_rate=0.1)
    code = script.training(settings).split("summary =")[0].replace("from dpviz.training.loop import FreeRun, run", "")
    scope: dict[str, Any] = {}
    exec(code, scope)
    assert scope["settings"] == settings
    (block,) = TRAIN.more["Train it"](ask("train", data="abalone", model="logistic").answer)
    compile(block.source, "script", "exec")  # type: ignore[union-attr]


# --- links and rows ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("row", "arm"), TABLES["recorded"].items())
def test_a_recorded_row_is_what_was_recorded(row: str, arm: list[str]) -> None:
    """The noise of what was reached is solved for again."""
    usual, settings = RunSettings(), run_settings(TRAIN.read(of_texts(TRAINED[row].values)))
    same = ("secure_noise", "device", "threads", "evaluation_every", "histogram_every")
    ran = RunSettings.from_json(dict(EXPERIMENTS[arm[0]].arms[arm[1]]))
    if arm[0].startswith("inference"):
        assert settings == ran.with_(**{name: getattr(usual, name) for name in same})
        return
    assert settings.noise_multiplier == pytest.approx(ran.noise_multiplier, rel=1e-3)
    steps = ("batch_size", "steps", "learning_rate", "learning_rate_end", "momentum", "max_grad_norm")
    for name in ("data", "model", "method", "delta", *steps):
        assert getattr(settings, name) == getattr(ran, name), name


@pytest.mark.parametrize("row", TRAINED.values(), ids=lambda row: row.key)
def test_all_that_a_papers_row_sets_acts(row: Preset) -> None:
    by_key = {field.key: field for field in TRAIN.fields}
    assert row.values.keys() <= by_key.keys()
    settings = run_settings(TRAIN.read(of_texts(row.values)))
    written = texts_of(settings)
    for key, text in row.values.items():
        if key not in ("t_noise_by", "t_target_epsilon") and (settings.private or key in written):
            assert by_key[key].parse(written[key]) == by_key[key].parse(text), f"{key} has no effect"
    if "t_target_epsilon" in row.values:
        claim = planned_claim(settings, examples_of(settings.data))
        assert claim.epsilon == pytest.approx(float(row.values["t_target_epsilon"]), rel=1e-3)


def test_claims_of_trained_accuracies_link_to_their_rows() -> None:
    trained = [claim.link for claim in CLAIMS if claim.link.startswith("train?")]
    for row in TRAINED.values():
        printed = row.name.endswith(" %")
        assert not printed or any(link.startswith(train(row.key)) for link in trained), "its accuracy is a claim"
    known = {field.key: field for field in TRAIN.fields}
    for link in trained:
        for key, text in parse_qsl(link.partition("?")[2]):
            known[key].parse(text)
