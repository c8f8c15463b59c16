"""Rebuilt bits: a plain least-squares fit of one release, seeds, and the bound of differential privacy."""

import numpy as np
import pytest

from dpviz.accounting.attack.reconstruction import REPEATS, rebuild


@pytest.mark.parametrize(("bits", "counts"), [(12, 60), (30, 30), (25, 10)])
@pytest.mark.parametrize("noise_std", [0.3, 2.0])
def test_the_guess_is_that_of_a_fit_to_the_released_counts(bits: int, counts: int, noise_std: float) -> None:
    """By normal equations or the pseudo-inverse, from counts of whole bits."""
    found = rebuild(bits=bits, counts=counts, seed=3)
    subsets = (np.random.default_rng((3, bits, 1)).random((counts, bits)) < 0.5).astype(float)
    noise = np.random.default_rng((3, bits, 2)).standard_normal((counts, REPEATS // 2))[:, 0]
    released = subsets @ found.secret + noise_std * noise
    estimate = np.linalg.pinv(subsets) @ (released - subsets.sum(axis=1) / 2.0)
    assert (found.guess(noise_std) == (estimate > 0.0)).mean() == 1.0


def test_exact_counts_of_enough_subsets_give_every_bit() -> None:
    for seed in range(5):
        found = rebuild(bits=60, counts=120, seed=seed)
        assert (found.guess(1e-6) == found.secret).all()
        assert found.mean_share(np.array([1e-6]))[1][0] == 1.0


def test_noise_without_end_leaves_guessing() -> None:
    mean, low, high = rebuild(bits=60, counts=240, seed=0).mean_share(np.array([1e9]))
    assert mean[0] == pytest.approx(0.5, abs=1e-12)
    assert low[0] < 0.5 < high[0]


def test_one_seed_is_one_data_set_and_more_counts_go_on() -> None:
    few, again, more = (rebuild(bits=20, counts=m, seed=7) for m in (30, 30, 40))
    assert (few.secret == more.secret).all()
    assert few.noise == pytest.approx(again.noise)
    assert (few.secret != rebuild(bits=20, counts=30, seed=8).secret).any()


@pytest.mark.parametrize("noise_std", [3.0, 10.0, 30.0])
def test_the_attack_gets_fewer_bits_than_privacy_allows(noise_std: float) -> None:
    """On average over many data sets."""
    from scipy.stats import norm

    counts, sigma = 100, np.array([noise_std])
    shares = [rebuild(bits=25, counts=counts, seed=seed).mean_share(sigma)[0][0] for seed in range(40)]
    assert float(np.mean(shares)) <= norm.cdf(0.5 * np.sqrt(counts) / noise_std)
    assert float(np.mean(shares)) > 0.5


@pytest.mark.parametrize(("given", "message"), [
    ({"bits": 1, "counts": 5}, "bits=1"), ({"bits": 5, "counts": 0}, "counts=0"),
    ({"bits": 1001, "counts": 5}, "bits=1001 <= 1000"), ({"bits": 5, "counts": 10001}, "counts=10001 <= 10000"),
])  # fmt: skip
def test_what_takes_too_long_or_is_nothing_is_refused(given: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        rebuild(**given, seed=0)
