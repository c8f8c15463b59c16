"""Curves are drawn as described, and whitened features are each example's own, of one length, and kept."""

from pathlib import Path

import pytest
import torch

from dpviz.training.models import MODELS
from dpviz.training.networks import scattering, whitening
from dpviz.training.networks.whitening import LENGTH, basis, curves, features, kept


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A basis of fewer curves, in a cache of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(whitening, "_CURVES", 700)
    return tmp_path / "dpviz"


@pytest.fixture(autouse=True)
def forget() -> None:
    basis.cache_clear()


@pytest.mark.parametrize("side", [8, 28])
def test_curves_lie_in_the_box_with_their_mass_in_the_middle(side: int) -> None:
    drawn = curves(600, side, seed=1)
    assert drawn.shape == (600, 1, side, side)
    assert float(drawn.min()) == 0.0
    assert 0.9 < float(drawn.max()) <= 1.0
    pixels = torch.arange(side) - (side - 1) / 2
    ink = drawn[:, 0] / drawn.sum((1, 2, 3))[:, None, None]
    for axis in (1, 2):
        middle = (ink.sum(axis) * pixels).sum(1).abs()
        assert float(middle.median()) < 0.05, "but for what the edge cuts off"
    assert torch.equal(curves(600, side, seed=1), drawn)
    assert not torch.equal(curves(600, side, seed=2), drawn)
    assert curves(0, side, seed=1).shape == (0, 1, side, side)


def test_directions_are_those_of_the_curves_and_nothing_else_moves(few: Path) -> None:
    torch.manual_seed(5)
    before = torch.rand(1)
    torch.manual_seed(5)
    found = basis(28)
    assert torch.equal(torch.rand(1), before)
    drawn = scattering.features((curves(700, 28, seed=0) - 0.1307) / 0.3081) - found.mean
    variance = (drawn @ found.directions).square().mean(0)  # v^(1/3) of a direction that had v: v / v^(2/3)
    spread = torch.linalg.svdvals(drawn)[: len(variance)].square() / 700
    torch.testing.assert_close(variance[:100], spread[:100] ** (1 / 3), rtol=0.02, atol=0.0)


def test_features_are_each_example_s_own_and_kept(few: Path) -> None:
    images = torch.rand(5, 1, 28, 28, generator=torch.Generator().manual_seed(0))
    assert not kept(images)
    whole = features(images)
    assert kept(images)
    assert whole.shape == (5, *MODELS["whitened"].transformed((1, 28, 28)))
    torch.testing.assert_close(whole.norm(dim=1), torch.full((5,), LENGTH), rtol=1e-3, atol=0.0)
    for i in range(5):
        torch.testing.assert_close(features(images[i : i + 1])[0], whole[i], atol=2e-2, rtol=2e-3)
    assert torch.equal(features(images), whole)
    files = sorted(file.parent.name for file in few.rglob("*.npy"))
    assert files == ["scattering", *["whitened"] * 6], "the curves' features, and those that were asked for"


def test_of_private_images_nothing_is_kept(few: Path) -> None:
    images = torch.rand(2, 1, 28, 28)
    features(images, keep=False)
    assert not kept(images)
    assert not scattering.kept(images)
