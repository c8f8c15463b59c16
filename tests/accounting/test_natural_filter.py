"""A filter on composed curves, against outcomes that are counted one by one."""

import itertools
import math

import pytest

from dpviz.accounting.adaptive.natural_filter import adaptive_choice


def last_outputs(mechanism):
    """Probabilities of each output of a last round, with you and without you."""
    weight = mechanism.weight
    if math.isinf(mechanism.epsilon):
        response = [(weight, 0.0), (0.0, weight)]
    else:
        right = 1.0 / (1.0 + math.exp(-mechanism.epsilon))
        response = [(weight * right, weight * (1 - right)), (weight * (1 - right), weight * right)]
    return [*response, (1.0 - weight, 1.0 - weight)]


def counted(choice, first, rounds, epsilon):
    """δ at ε of each fixed mechanism and of the rule, over all 2^rounds answers, in both directions."""
    right = 1.0 / (1.0 + math.exp(-first))
    fixed, rule = [[0.0, 0.0] for _ in choice.mechanisms], [0.0, 0.0]
    for bits in itertools.product((0, 1), repeat=rounds):
        ones = sum(bits)
        inside = right**ones * (1 - right) ** (rounds - ones)
        outside = (1 - right) ** ones * right ** (rounds - ones)
        for place, mechanism in enumerate(choice.mechanisms):
            for p, q in last_outputs(mechanism):
                there, away = inside * p, outside * q
                excess = max(0.0, there - math.exp(epsilon) * away), max(0.0, away - math.exp(epsilon) * there)
                for way, one in enumerate(excess):
                    fixed[place][way] += one
                    if place == choice.chosen[ones]:
                        rule[way] += one
    return fixed, rule


@pytest.mark.parametrize(
    ("first", "rounds", "epsilon", "delta"),
    [(0.5, 1, 2.0, 1e-5), (0.1, 5, 2.0, 1e-5), (0.3, 3, 1.0, 1e-2), (0.05, 9, 0.5, 1e-3)],
)
def test_every_mechanism_keeps_the_claim_and_the_rule_breaks_it(first, rounds, epsilon, delta):
    choice = adaptive_choice(first=first, rounds=rounds, epsilon=epsilon, delta=delta)
    fixed, rule = counted(choice, first, rounds, epsilon)
    assert max(map(max, fixed)) <= delta * (1 + 1e-9)
    assert rule[0] == pytest.approx(choice.delta, rel=1e-9)
    assert choice.delta > 1.2 * delta


def test_one_round_costs_one_more_unlikely_answer():
    """By hand: after the likely answer the mechanism that needs it costs δ/p, after the other the one that tells all δ.

    Together δ + (1 − p)δ, where p = e^ε₁/(1 + e^ε₁).
    """
    for first in (0.05, 0.5, 1.0):
        choice = adaptive_choice(first=first, rounds=1, epsilon=2.0, delta=1e-5)
        assert choice.delta == pytest.approx(1e-5 * (1 + 1 / (1 + math.exp(first))), rel=1e-9)


def test_rounds_that_break_the_claim_alone_leave_no_choice():
    assert adaptive_choice(first=1.0, rounds=5, epsilon=2.0, delta=1e-5) is None
    assert adaptive_choice(first=1.0, rounds=2, epsilon=2.0, delta=1e-5) is not None  # their loss is at most ε
