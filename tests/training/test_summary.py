import numpy as np
import pytest

from dpviz.mechanisms import SampledGaussian
from dpviz.training.accounts.live import LiveAccounts
from dpviz.training.settings import RunSettings
from dpviz.training.summary import closing

SETTINGS = RunSettings(bayesian=True, bayesian_distances="pairs", steps=100)
N = 10_000


def summary(distances, settings=SETTINGS):
    accounts = LiveAccounts(settings, examples=N)
    for _ in range(3):
        accounts.step(SampledGaussian(2.0, settings.batch_size / N), distances)
    return closing(settings, accounts, examples=N, state="done", reason="plan", steps=3, seconds=0.1)


@pytest.mark.parametrize(("distances", "unseen"), [([0.01] * 32, True), ([2.0] * 32, False), ([], False)])
def test_a_bayesian_epsilon_that_stands_for_what_nobody_saw_says_so(distances, unseen):
    """One on large distances or on the worst case does not."""
    found = summary(distances)
    assert 0.5 < found["tail_share"] <= 1.0 if unseen else found["tail_share"] < 0.1
    assert ("not in the sample" in found["bayesian_text"]) == unseen
    assert not unseen or f"{found['tail_share']:.0%} of the bound" in found["bayesian_text"]


def test_what_a_bayesian_epsilon_is_and_why_it_lies_above_or_below():
    norms = SETTINGS.with_(bayesian_distances="norms")
    for distances, settings, said in (
        ([0.1] * 64, norms, "It is not below Rényi at this δ_μ"),
        ([0.1] * 64, norms, "100% of the sampled distances are as large as clipping allows"),
        ([0.02] * 2000, norms.with_(steps=3), "It lies below Rényi at this δ_μ"),
        ([0.02] * 2000, norms.with_(steps=3), "100% of the sampled gradients are shorter than C"),
        ([0.1] * 64, norms.with_(definition=1), "It is not below moments at this δ_μ"),
        ([], norms, "No distance was measured"),
        ([0.2] * 64, SETTINGS, "no bound for either adjacency"),
    ):
        text = summary(distances, settings)["bayesian_text"]
        assert said in text
        assert "not covered by ε, so not for publication" in text
        assert "at δ_μ = 1e-05" in text


def test_no_bayesian_epsilon_by_norms_is_above_the_one_of_dp_at_the_same_delta():
    for draw in range(20):
        chance = np.random.default_rng(draw)
        settings = SETTINGS.with_(bayesian_distances="norms", delta=float(10.0 ** chance.uniform(-9, -3)))
        found = summary(chance.uniform(0.0, 0.1, chance.integers(0, 200)), settings)["epsilon"]
        assert found["bayesian"] <= found["renyi"] < found["moments"]
        apart = settings.with_(delta=1e-6, delta_mu=settings.delta)
        assert summary([0.1] * 64, apart)["epsilon"]["bayesian"] <= found["renyi"]


def test_without_bayesian_accounting_there_is_no_tail():
    found = summary(None, RunSettings())
    assert found["tail_share"] is None
    assert "bayesian" not in found["epsilon"]
