"""What if N is not public? Divisors of libraries, and what the page says of them."""

import pytest

import dpviz
from dpviz.questions.check.public_size import divisors


@pytest.mark.parametrize(
    ("kind", "size", "batch", "pair"),
    [
        ("set", 10_000, 256, (256.0, 256.0)),
        ("rate", 10_000, 256, (256.0, 255.9744)),
        ("floor", 10_000, 1_024, (1_024, 1_023)),
        ("floor", 60_000, 256.5, (256, 256)),
        ("loader", 60_000, 600, (600, 599)),
        ("loader", 60_000, 256, (255, 255)),
    ],
)
def test_a_sum_is_divided_by(kind: str, size: int, batch: float, pair: tuple[float, float]) -> None:
    assert divisors(kind, size, batch / size) == pytest.approx(pair, rel=1e-12)


@pytest.mark.parametrize(
    ("settings", "epsilon"),
    [
        ({"divisor": "rate", "size": 10_000, "sample_rate": 0.0256, "steps": 150}, 1.0475),
        ({"divisor": "floor", "size": 10_000, "sample_rate": 0.1024, "steps": 150}, 14.79),
        ({"divisor": "loader", "sample_rate": 0.01, "steps": 1_500}, 170.8),
        ({"divisor": "loader", "sample_rate": 256 / 60_000, "steps": 1_500}, 0.0),
        ({"divisor": "set", "steps": 1_500}, 0.0),
        ({"divisor": "rate", "size": 10_000, "steps": 100, "dimension": 7_850}, 0.4365),
    ],
)
def test_the_scale_alone_costs(settings: dict[str, float], epsilon: float) -> None:
    facts = dpviz.ask("public_size", **settings).answer.facts
    assert facts.epsilon == pytest.approx(epsilon, rel=1e-3)
    assert facts.reveals == (epsilon > 0.0)


def test_the_headline_says_what_the_accounted_value_does_not_cover() -> None:
    follows, set_number = (dpviz.ask("public_size", divisor=kind).headline for kind in ("rate", "set"))
    assert "does not cover it" in follows
    assert "nothing more" in set_number


def test_a_divisor_of_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="divided by 0: raise N or q"):
        dpviz.ask("public_size", divisor="floor", size=50, sample_rate=0.01)
