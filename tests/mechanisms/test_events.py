"""Mechanisms as values and runs of equal steps."""

from __future__ import annotations

import numpy as np

from dpviz.mechanisms import SampledGaussian, merge_events


class TestSampledGaussian:
    def test_is_a_value(self) -> None:
        assert SampledGaussian(4, 0.5) == SampledGaussian(np.float64(4.0), 0.5)
        assert len({SampledGaussian(4.0, 0.01), SampledGaussian(4.0, 0.01), SampledGaussian(4.0, 0.02)}) == 2
        assert type(SampledGaussian(np.float32(2), 1).noise_multiplier) is float


class TestMergeRuns:
    def test_equal_steps_add_up_in_order_of_appearance(self) -> None:
        a, b = SampledGaussian(1.0, 0.1), SampledGaussian(2.0, 0.1)
        assert merge_events([(a, 3), (b, 2), (SampledGaussian(1.0, 0.1), 4)]) == ((a, 7), (b, 2))
