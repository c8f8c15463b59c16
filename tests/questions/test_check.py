"""A claim against what is described: bounds, verdicts, and what code says."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

import dpviz
from dpviz.accounting.tight import tight_epsilon
from dpviz.mechanisms import ReplaceOneGaussian, SampledGaussian
from dpviz.questions.papers.check import CHECK, verdict
from dpviz.questions.papers.described import described, renyi_above, steps_of
from dpviz.questions.papers.snippet import LONGEST, read
from tests.questions.asking import asked, asked_whole

KNOWN = {"size": 60_000, "batch": 256, "epochs": 60.0, "sigma": 1.1}


@pytest.mark.parametrize(
    ("texts", "found"),
    [
        ({}, "consistent"),
        ({"kclaim": "2.0"}, "low"),
        ({"kclaim": "2.381"}, "between"),
        ({"kadj": "replace"}, "low"),
        ({"ksampler": "unsaid"}, "open"),
        ({"ksampler": "unsaid", "kclaim": "1"}, "open"),
        ({"kadj": "unsaid"}, "open"),
        ({"kadj": "unsaid", "kclaim": "1"}, "low"),
        ({"ksampler": "fixed"}, "between"),
        ({"ksampler": "fixed", "kclaim": "30"}, "consistent"),
        ({"ksampler": "fixed", "kclaim": "2"}, "low"),
        ({"ksampler": "shuffled"}, "between"),
        ({"ksampler": "shuffled", "kclaim": "55"}, "consistent"),
    ],
)
def test_verdicts(texts: dict[str, str], found: str) -> None:
    assert verdict(asked_whole(CHECK, **texts)) == found


def test_words_say_how_much_too_low_and_what_is_missing() -> None:
    said = CHECK.headline(asked_whole(CHECK, kclaim="2"))
    assert "too low, by at least × 1.18" in said
    said = CHECK.headline(asked_whole(CHECK, kclaim="2", ksampler="unsaid"))
    assert (
        "cannot be checked</b>: it is not said how batches are made. Read as Poisson sampling, it would be too" in said
    )
    assert "on its way" in CHECK.headline(asked(CHECK, kclaim="2.5"))


def test_a_claim_that_the_tight_interval_refutes_is_never_called_consistent() -> None:
    answer = asked_whole(CHECK, kclaim="2.3789")
    low = float(np.asarray(tight_epsilon(SampledGaussian(1.1, 256 / 60_000), 14_063, 1e-5).lower))
    assert answer.facts.low == low > 2.3789
    assert verdict(answer) == "low"


def test_steps_are_rounded_up() -> None:
    assert steps_of(60_000, 256, 60.0) == 14_063  # 14062.5
    assert steps_of(60_000, 250, 1.0) == 240
    assert steps_of(10, 10, 1e-9) == 1


def test_more_than_the_data_is_refused() -> None:
    with pytest.raises(ValueError, match="A batch of 256 is more than the N = 100 examples"):
        asked(CHECK, n="100")


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("sigma", [0.8, 2.0, 10.0])
def test_upper_bounds_lie_above_lower_ones(sigma: float, *, replace: bool) -> None:
    for sampler in ("poisson", "fixed", "shuffled"):
        known = described(size=1000, batch=20, epochs=4.0, sigma=sigma, sampler=sampler, replace=replace)
        high = renyi_above(known, 1e-5)
        if known.below is not None:
            assert float(np.asarray(tight_epsilon(*known.below, 1e-5).lower)) <= high


def test_the_fixed_size_bound_covers_a_step_in_both_directions() -> None:
    """One step, three records, batch 1, C = 1: gradients −1, 1, 1 against 1, 1, 1. δ by quadrature at any ε."""
    sigma = 1.5
    z = np.linspace(-20.0, 20.0, 200_001)

    def density(center: float) -> np.ndarray:
        return np.exp(-0.5 * ((z - center) / sigma) ** 2) / (sigma * math.sqrt(2.0 * math.pi))

    mixed, same = (density(-1.0) + 2.0 * density(1.0)) / 3.0, density(1.0)
    known = described(size=3, batch=1, epochs=1 / 3, sigma=sigma, sampler="fixed", replace=True)
    assert known.above == (SampledGaussian(0.5 * sigma, 1 / 3), 1)
    for delta in (0.2, 0.05, 1e-3):
        epsilon = renyi_above(known, delta)
        for p, q in ((mixed, same), (same, mixed)):
            reached = float(np.trapezoid(np.maximum(p - math.exp(epsilon) * q, 0.0), z))
            assert reached <= delta


def test_the_doubled_bound_is_above_the_symmetric_pairs_divergence() -> None:
    """A pair whose both directions have the worse profile h: E(P/Q)^α by ∫ over γ, at T = 1, α = 4."""
    sigma, rate, alpha = 1.0, 0.2, 4.0
    pair = SampledGaussian(sigma, rate)
    gamma = np.exp(np.linspace(0.0, 12.0, 1201))
    z = np.linspace(-15.0, 16.0, 40_001)
    base = np.exp(-0.5 * (z / sigma) ** 2) / (sigma * math.sqrt(2.0 * math.pi))
    ratio = 1.0 - rate + rate * np.exp((2.0 * z - 1.0) / (2.0 * sigma**2))
    h = np.array([np.trapezoid(np.maximum(base * ratio - g * base, 0.0), z) for g in gamma])
    whole = 1.0 + alpha * (alpha - 1.0) * np.trapezoid((gamma ** (alpha - 2.0) + gamma ** (-1.0 - alpha)) * h, gamma)
    single = float(dpviz.renyi_divergence(noise_multiplier=sigma, sample_rate=rate, orders=alpha))
    assert pair.releases
    assert math.exp((alpha - 1.0) * single) < whole <= 1.0 + 2.0 * math.expm1((alpha - 1.0) * single)


def test_shuffled_counts_one_use_an_epoch() -> None:
    known = described(**KNOWN, sampler="shuffled", replace=True)  # type: ignore[arg-type]
    assert known.above == (SampledGaussian(0.55, 1.0), 60)
    assert described(**KNOWN, sampler="poisson", replace=True).below == (  # type: ignore[arg-type]
        ReplaceOneGaussian(1.1, 256 / 60_000), 14_063,
    )  # fmt: skip


OPACUS = """
%pip install opacus
EPOCHS = 20
DELTA = 1e-5
loader = DataLoader(train, batch_size=2 * 256, shuffle=True)
model, optimizer, loader = PrivacyEngine().make_private(
    module=model, optimizer=optimizer, data_loader=loader, noise_multiplier=1.3, max_grad_norm=1.0{more})
for epoch in range(EPOCHS): train_one(model)
print(engine.get_epsilon(DELTA))
"""


def test_opacus_is_read() -> None:
    found = read(OPACUS.format(more=""))
    assert found.values == {"kbatch": "512", "ksigma": "1.3", "kepochs": "20", "delta": "1e-5", "ksampler": "poisson"}
    assert "batches: Poisson, the default of make_private" in found.said
    assert read(OPACUS.format(more=", poisson_sampling=False")).values["ksampler"] == "shuffled"


def test_tensorflow_privacy_is_read_without_names_too() -> None:
    found = read("compute_dp_sgd_privacy_lib.compute_dp_sgd_privacy(60000, 250, 1.3, 15, 1e-5)")
    assert found.values == {
        "n": "60000", "kbatch": "250", "ksigma": "1.3", "kepochs": "15", "delta": "1e-5", "ksampler": "unsaid",
    }  # fmt: skip


def test_jax_privacys_updates_become_epochs() -> None:
    found = read(
        "DpParams(num_samples=50_000, batch_size=4096, noise_multiplier=3.0, dp_delta=1e-5); Run(num_updates=875)"
    )
    assert float(found.values["kepochs"]) == pytest.approx(875 * 4096 / 50_000)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("for for", "no Python that can be read in line 1"),
        ("print('hello')", "No number of a private training"),
        ("x" * (LONGEST + 1), "20,001 characters"),
        ("a = " + "-" * 5000 + "1", "no Python|No number"),
        ("batch_size = " + "1+" * 5000 + "1", "no Python|No number"),
        ("sigma = 9 ** 9 ** 9 ** 9", "No number"),
        ("delta = 1/0", "No number"),
    ],
)
def test_what_cannot_be_read_is_said(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        read(text)


def test_code_is_never_run_and_illegal_values_are_left_out(tmp_path: object) -> None:
    found = read(f"open({str(tmp_path)!r} + '/x', 'w'); delta = 2; epochs = 3")
    assert not list(tmp_path.iterdir())  # type: ignore[attr-defined]
    assert found.values["kepochs"] == "3"
    assert "delta" not in found.values
    assert re.match(r"left out, delta: .*outside", found.said[1])
