"""DP-Adam with the noise's variance taken off the second moment (Tang, Shpilevskiy and Lécuyer 2024)."""

import math

import pytest
import torch

from dpviz.training.engine.vectors import flatten_parameters
from dpviz.training.methods.dp_adam import FLOOR
from tests.training.steps import BOUND, EXPECTED, clipped_by_hand, make, make_batch, make_network, noise_by_hand


def slow_steps(noises, variances, rate):
    """Algorithm 1 number by number in double precision, v̂ and the noise's own moving average kept apart."""
    network = make_network()
    theta = flatten_parameters(network)
    m, v, phi = ([0.0] * theta.numel() for _ in range(3))
    for t, (noise, (sigma, expected)) in enumerate(zip(noises, variances, strict=True), start=1):
        total = clipped_by_hand(network, make_batch(seed=t)).double()
        for i in range(theta.numel()):
            g = (float(total[i]) + sigma * BOUND * float(noise[i])) / expected
            m[i] = 0.9 * m[i] + 0.1 * g
            v[i] = 0.999 * v[i] + 0.001 * g * g
            phi[i] = 0.999 * phi[i] + 0.001 * (sigma * BOUND / expected) ** 2
            corrected = (v[i] - phi[i]) / (1 - 0.999**t)
            floor = FLOOR * (sigma * BOUND / expected) ** 2
            theta[i] -= rate * m[i] / (1 - 0.9**t) / math.sqrt(max(corrected, floor))
    return theta


@pytest.mark.parametrize("changed", [[(1.3, EXPECTED)] * 3, [(1.3, EXPECTED), (0.7, 31), (2.0, 12)]])
def test_its_steps_are_the_algorithm_s_also_where_a_policy_changes_noise_and_batch(changed):
    method, state, _ = make("dp_adam", learning_rate_end=1.0)
    for t, (sigma, expected) in enumerate(changed, start=1):
        batch = make_batch(seed=t)._replace(expected=float(expected))
        state, info = method.step(state._replace(noise_multiplier=sigma), batch)
        assert info.mechanism.noise_multiplier == sigma
    by_hand = slow_steps(noise_by_hand(len(changed)), changed, rate=0.05)
    torch.testing.assert_close(state.parameters, by_hand, atol=2e-5, rtol=1e-4)
