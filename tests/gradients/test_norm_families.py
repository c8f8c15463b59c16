"""Families of gradients: their closed forms against sums over a fine grid of quantiles."""

import math

import numpy as np
import pytest

from dpviz.gradients.norm_families import FAMILIES, NormFamily


def quantiles(family: NormFamily) -> list[tuple[float, np.ndarray, float]]:
    """Share, norms and angle of each group: 200 000 equally likely norms of its law."""
    u = (np.arange(200_000) + 0.5) / 200_000
    return [(g.share, g.scale * (-np.log1p(-u)) ** (1 / g.shape), g.angle) for g in family.groups]


@pytest.mark.parametrize("key", FAMILIES)
def test_closed_forms_are_sums_over_quantiles(key: str) -> None:
    family = FAMILIES[key]
    parts = quantiles(family)
    assert sum(share for share, _, _ in parts) == pytest.approx(1.0)
    assert family.mean_norm == pytest.approx(sum(s * r.mean() for s, r, _ in parts), rel=2e-3)
    for threshold in (0.1, 1.0, 5.0):
        norm = sum(s * np.minimum(r, threshold).mean() for s, r, _ in parts)
        assert float(family.clipped_norm(threshold)) == pytest.approx(norm, rel=1e-4)
        x = sum(s * np.minimum(r, threshold).mean() * math.cos(a) for s, r, a in parts)
        y = sum(s * np.minimum(r, threshold).mean() * math.sin(a) for s, r, a in parts)
        assert family.clipped(threshold) == pytest.approx([x, y], rel=1e-4, abs=1e-12)
        over = sum(s * (r > threshold).mean() for s, r, _ in parts)
        assert float(family.beyond(threshold)) == pytest.approx(over, abs=1e-5)
    assert family.clipped(1e9) == pytest.approx(family.mean)


@pytest.mark.parametrize("key", FAMILIES)
def test_the_largest_of_many_is_its_median(key: str) -> None:
    family = FAMILIES[key]
    for count in (1.0, 1000.0, 1e9):
        norm = float(family.largest(count))
        none = count * math.log1p(-float(family.beyond(norm)))
        assert none == pytest.approx(-math.log(2), rel=1e-6)
    sizes = family.largest(np.geomspace(1, 1e12, 25))
    assert (np.diff(sizes) > 0).all(), "it has no end"
