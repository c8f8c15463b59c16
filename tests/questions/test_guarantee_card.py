"""The guarantee card: its numbers are the library's, nothing is answered that nobody said, nothing is left out."""

import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpviz
from dpviz.accounting.guarantee import Losses, losses_of
from dpviz.accounting.methods import Renyi, Tight
from dpviz.accounting.pld.bounds import FALLBACK
from dpviz.mechanisms import (
    MECHANISMS,
    FixedSize,
    Laplace,
    PersonRows,
    RandomAllocation,
    ReplaceOneGaussian,
    SampledGaussian,
    Shuffled,
)
from dpviz.questions.guarantee.card import Guarantee, Reply
from dpviz.questions.guarantee.deployments import deployments
from dpviz.questions.guarantee.words import ANSWERS, ENTRIES, GROUPS, LOSSES, NO, PITFALLS, SAMPLERS, UNKNOWN, YES

STEP = SampledGaussian(1.1, 256 / 60_000)
PLAN: dict[str, Any] = {"mechanism": STEP, "steps": 60, "delta": 1e-5}
REGISTRY = ("deployment", "release", "dp_flavor", "privacy_loss", "model", "accounting", "implementation")
PITFALL_KEYS = (
    "adjacency", "sampler", "clipping", "scale", "delta", "preprocessing", "tuning", "stopping", "metrics", "models",
    "pretraining", "rows", "noise",
)  # fmt: skip


@pytest.mark.parametrize(
    ("mechanism", "steps"),
    [(STEP, 60), (RandomAllocation(1.1, 234), 3), (Laplace(5.0, 0.1), 20), (PersonRows(2.0, 0.01, 3), 50),
     (FixedSize(3.0, 1000, 10), 5), (Shuffled(4.0, 10), 2), (ReplaceOneGaussian(2.0, 1.0), 3)],
)  # fmt: skip
@pytest.mark.one_of(3)
def test_its_epsilon_is_the_librarys_upper_end_and_is_rounded_up(mechanism: Any, steps: int) -> None:
    card = dpviz.guarantee(mechanism=mechanism, steps=steps, delta=1e-6)
    epsilon = dpviz.epsilon("tight", mechanism=mechanism, steps=steps, delta=1e-6)
    assert card.losses.epsilon == epsilon
    written = card.registry()["privacy_loss"]["privacy_parameters"]["epsilon"]
    assert epsilon <= written <= epsilon * (1 + 1e-5)
    assert f"**ε ≤ {written:.6g} at δ = 1e-6, for " in card.markdown()
    lower = card.registry()["privacy_loss"]["privacy_parameters"]["epsilon_lower"]
    assert lower <= dpviz.epsilon("tight", mechanism=mechanism, steps=steps, delta=1e-6, bound="lower")
    assert card.losses.mu == dpviz.gaussian_mu(mechanism=mechanism, steps=steps, delta=1e-6).mu


def test_the_profile_is_the_librarys_and_holds_the_pair() -> None:
    card = dpviz.guarantee(**PLAN | {"delta": 3e-6})
    assert (card.losses.epsilon, 3e-6) in card.losses.profile
    for epsilon, delta in card.losses.profile:
        assert epsilon == dpviz.epsilon("tight", mechanism=STEP, steps=60, delta=delta)
    assert [pair[0] for pair in card.losses.profile] == sorted(pair[0] for pair in card.losses.profile)
    written = card.registry()["privacy_loss"]["profile"]
    assert all(one["epsilon"] >= epsilon for one, (epsilon, _) in zip(written, card.losses.profile, strict=True))
    shown = {float(delta): float(epsilon) for delta, epsilon in card.points()}
    assert len(shown) == 10
    assert all(shown.get(delta, epsilon) >= epsilon for epsilon, delta in card.losses.profile)


@pytest.mark.parametrize("law", ["geometric", "negative_binomial", "poisson"])
def test_tuning_is_counted_at_every_delta(law: Any) -> None:
    card = dpviz.guarantee(**PLAN, runs=40, law=law)
    tuned = dpviz.tuned_epsilon(**PLAN, runs=40, law=law)
    assert card.losses.epsilon == tuned > losses_of(((STEP, 60),), 1e-5).epsilon  # type: ignore[operator]
    assert law.split("_")[0] in card.replies["tuning"].why.lower()
    for epsilon, delta in card.losses.profile:
        assert epsilon == dpviz.tuned_epsilon(mechanism=STEP, steps=60, delta=delta, runs=40, law=law)
    assert card.losses.mu is card.losses.attack_accuracy is None, "those of one run"
    assert card.replies["tuning"].answer == YES
    with pytest.raises(ValueError, match="Expected no answer to tuning"):
        dpviz.guarantee(**PLAN, runs=40, answers={"tuning": "yes"})


def test_json_has_the_groups_of_the_registry_and_every_entry() -> None:
    card = dpviz.guarantee(**PLAN, statements={"deployment": {"name": "Ours"}})
    read = json.loads(card.json())
    assert tuple(read) == REGISTRY == tuple(GROUPS)
    for group, entries in ENTRIES.items():
        assert set(entries) <= set(read[group])
    assert read["deployment"] == dict.fromkeys(ENTRIES["deployment"], UNKNOWN) | {"name": "Ours"}
    assert read["privacy_loss"]["privacy_parameters"]["rho"] == UNKNOWN
    assert tuple(read["implementation"]["pitfalls"]) == PITFALL_KEYS
    assert read["accounting"]["version"] == f"dpviz {dpviz.__version__}"


def test_every_pitfall_has_three_answers_and_stands_in_the_markdown() -> None:
    assert tuple(PITFALLS) == PITFALL_KEYS
    for name, pitfall in PITFALLS.items():
        for answer in ANSWERS:
            card = Guarantee(losses=Losses(), replies={name: Reply(answer, "seen")})
            assert card.registry()["implementation"]["pitfalls"][name]["answer"] == answer
            assert f"| {pitfall.question} | {answer} | seen |" in card.markdown()
            assert card.markdown().count(f"| {UNKNOWN} |") >= 12
            assert card.count(answer) == (13 if answer == UNKNOWN else 1)


def test_nothing_is_yes_without_evidence() -> None:
    bare = {name: reply.answer for name, reply in dpviz.guarantee(**PLAN).replies.items()}
    assert bare == dict.fromkeys(PITFALL_KEYS, UNKNOWN) | {"adjacency": YES}
    assert {reply.answer for reply in Guarantee(losses=Losses()).replies.values()} == {UNKNOWN}


@pytest.mark.parametrize("kind", MECHANISMS)
def test_a_sampler_is_accounted_for_only_as_itself(kind: type[Any]) -> None:
    numbers = {"noise_multiplier": 5.0, "sample_rate": 0.1, "scale": 5.0, "size": 1000, "batch": 10, "batches": 10}
    numbers |= {"epochs": 2, "largest_batch": 200, "decay": 0.5, "band": 3}
    step = kind(**{name: numbers[name] for name in kind.parameters()})
    losses = Losses(epsilon=1.0, delta=1e-5)
    replies = {
        run: dpviz.guarantee(mechanism=step, steps=1, delta=1e-5, sampler=run, losses=losses).replies["sampler"].answer
        for run in (*SAMPLERS, UNKNOWN)
    }
    assert replies.pop(UNKNOWN) == UNKNOWN
    more = {"partition": ["cyclic", "secret", "shuffled"]}.get(kind.kind, [])
    assert [run for run, answer in replies.items() if answer == YES and run not in more] == [kind.sampler or kind.kind]
    assert set(replies.values()) == {YES, NO}
    assert {replies[run] for run in more} <= {YES}
    assert replies["poisson"] == (YES if kind.kind in ("gaussian", "replace", "laplace") else NO)


@given(st.integers(1, 10**9), st.floats(1e-12, 0.5))
@settings(max_examples=30)
def test_delta_beside_one_over_n(size: int, delta: float) -> None:
    for chosen in (delta, 1.0 / size if size > 1 else 0.5):
        card = dpviz.guarantee(**PLAN | {"delta": chosen}, size=size, losses=Losses(epsilon=1.0, delta=chosen))
        assert card.replies["delta"].answer == (YES if chosen * size < 1 - 1e-12 else NO)
    if size > 1:
        assert card.replies["delta"].answer == NO, "1/N itself is not below it"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"answers": {"clipping": "perhaps"}}, "'clipping'.*perhaps"),
        ({"answers": {"clip": "yes"}}, "pitfall='clip' to be one of adjacency"),
        ({"answers": {"sampler": "yes"}}, "Expected no answer to sampler: the other settings decide"),
        ({"answers": {"delta": "yes"}}, "Expected no answer to delta"),
        ({"sampler": "loader"}, "sampler.*loader"),
        ({"statements": {"deploy": {}}}, "group='deploy'"),
        ({"statements": {"deployment": {"curator": "x"}}}, "entry of deployment='curator' to be one of name"),
        ({"steps": -1}, "steps=-1"),
        ({"delta": 0.0}, "delta=0"),
        ({"size": 0}, "size=0"),
        ({"runs": 0.5}, "runs=0.5"),
        ({"runs": 2.0, "law": "uniform"}, "law='uniform' to be one of geometric"),
        ({"noise_multiplier": 1.0}, "noise_multiplier"),
        ({"mechanism": FixedSize(3.0, 1000, 10), "size": 999}, "size=999 to be the mechanism's own, 1000"),
    ],
)
def test_a_wrong_value_is_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        dpviz.guarantee(**PLAN | change)


@pytest.mark.parametrize("value", [-1.0, math.nan])
@pytest.mark.parametrize("name", LOSSES)
def test_a_number_that_none_can_be_is_named(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=f"{name}={value} >= 0"):
        Losses(**{name: value})


def test_its_class_is_a_public_name() -> None:
    assert dpviz.Guarantee is Guarantee
    with pytest.raises(AttributeError, match="Warranty"):
        dpviz.Warranty  # type: ignore[attr-defined]  # noqa: B018


def test_no_finite_epsilon_is_said_and_is_legal_json() -> None:
    card = Guarantee(losses=Losses(epsilon=math.inf, delta=1e-5, why="its noise can be replayed"))
    assert card.headline == "No ε for not known: its noise can be replayed"
    assert json.loads(card.json())["privacy_loss"]["privacy_parameters"]["epsilon"] == "none: its noise can be replayed"


def test_no_text_breaks_the_markdown() -> None:
    card = dpviz.guarantee(**PLAN, statements={"deployment": {"name": "a|b\n# c ![x](http://y) <b>"}})
    (line,) = (line for line in card.markdown().splitlines() if line.startswith("| Name"))
    assert line == r"| Name | a\|b # c !\[x\](http://y) \<b> |"


def test_known_deployments_hold_what_was_published() -> None:
    """ε from ρ beside what the publishers state: 17.14 (Abowd et al. 2022), 8.9 (Xu, Zhang 2024)."""
    cards = deployments()
    persons, spanish, emoji = cards["census-persons"], cards["gboard-spanish"], cards["apple-emoji"]
    assert (persons.losses.rho, persons.losses.delta, persons.losses.epsilon_published) == (2.56, 1e-10, 17.14)
    assert persons.losses.epsilon == pytest.approx(17.14, rel=2e-3)
    assert spanish.losses.epsilon == pytest.approx(8.92, rel=1e-3)
    assert spanish.losses.epsilon_published == 8.9
    assert (emoji.losses.epsilon, emoji.losses.delta, emoji.losses.profile) == (4.0, 0.0, ())
    for card in cards.values():
        assert card.statements["deployment"]["sources"] != UNKNOWN
        assert all(reply.why for reply in card.replies.values() if reply.answer != UNKNOWN)
        if card.losses.rho is not None:  # never less than the Gaussian mechanism of this ρ needs
            gauss = SampledGaussian(1.0 / math.sqrt(2.0 * card.losses.rho), 1.0)
            for epsilon, delta in card.losses.profile:
                assert epsilon >= dpviz.epsilon("tight", mechanism=gauss, steps=1, delta=delta, bound="lower")


@pytest.mark.parametrize("sigma", [5e-4, 2e-3])
def test_the_card_names_the_renyi_bound_where_no_grid_holds_the_loss(sigma: float) -> None:
    card = dpviz.guarantee(noise_multiplier=sigma, sample_rate=0.01, steps=100, delta=1e-5)
    told = card.statements["accounting"]["accountant"]
    assert told.startswith(Renyi().card.name)
    assert FALLBACK in told
    assert card.losses.epsilon == pytest.approx(
        dpviz.epsilon("renyi", noise_multiplier=sigma, sample_rate=0.01, steps=100, delta=1e-5)
    )


def test_the_card_names_the_numerical_accountant_where_it_decides() -> None:
    once = dpviz.guarantee(noise_multiplier=5e-4, sample_rate=0.01, steps=1, delta=1e-5)
    rare = dpviz.guarantee(noise_multiplier=5e-4, sample_rate=1e-9, steps=100, delta=1e-5)
    usual = dpviz.guarantee(noise_multiplier=1.0, sample_rate=0.01, steps=100, delta=1e-5)
    for card in (once, rare, usual):
        told = card.statements["accounting"]["accountant"]
        assert told.startswith(Tight().card.name)
        assert "No grid" not in told
