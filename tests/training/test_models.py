import pytest
import torch

from dpviz.training.models import MODELS, build, parameter_count


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("logistic", 784 * 10 + 10),
        ("mlp", 784 * 128 + 128 + 128 * 10 + 10),
        ("cnn", (64 * 16 + 16) + (16 * 16 * 32 + 32) + (512 * 32 + 32) + (32 * 10 + 10)),
    ],
)
def test_parameter_counts(name, count):
    assert parameter_count(build(name, seed=0)) == count == MODELS[name].parameters


def test_the_cnn_has_26010_parameters():
    assert MODELS["cnn"].parameters == 26_010


@pytest.mark.parametrize("name", MODELS)
def test_ten_classes_for_any_number_of_digits(name):
    network = build(name, seed=0)
    for examples in (0, 1, 3):
        assert network(torch.zeros(examples, 1, 28, 28)).shape == (examples, 10)


@pytest.mark.parametrize("name", MODELS)
def test_the_seed_decides_the_start_and_nothing_else_is_touched(name):
    torch.manual_seed(5)
    before = torch.random.get_rng_state()
    first, again, other = build(name, seed=1), build(name, seed=1), build(name, seed=2)
    assert torch.equal(torch.random.get_rng_state(), before)
    for a, b, c in zip(first.parameters(), again.parameters(), other.parameters(), strict=True):
        assert torch.equal(a, b)
        assert not torch.equal(a, c)


def test_an_unknown_model_is_refused():
    with pytest.raises(ValueError, match="logistic, mlp, cnn"):
        build("transformer", seed=0)
