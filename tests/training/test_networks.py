from dataclasses import replace

import pytest
import torch

from dpviz.training.data import DATA_SETS
from dpviz.training.data.catalogue import load
from dpviz.training.models import MODELS
from dpviz.training.networks import scattering
from dpviz.training.networks.by_name import build, prepared, suits
from dpviz.training.networks.scattering import features, scatter


def parameter_count(network):
    return sum(parameter.numel() for parameter in network.parameters())


def _outputs(model, shape):
    x = torch.randn(2, *shape)
    return MODELS[model].make(shape, 3)(scatter(x) if MODELS[model].features else x)


@pytest.mark.parametrize("shape", [(5,), (1, 8, 8), (1, 13, 40), (3, 14, 14), (1, 16, 16), (1, 17, 23), (3, 33, 20)])
def test_what_is_said_of_a_network_is_what_it_is(shape):
    """Which examples fit, and how many parameters there are then, is known without PyTorch."""
    known = replace(DATA_SETS["abalone"], shape=shape, classes=3)
    for model in MODELS:
        if MODELS[model].unfit(shape):
            with pytest.raises(ValueError, match="Expected model="):
                suits(model, known)
            with pytest.raises((RuntimeError, ValueError, IndexError, UserWarning)):  # PyTorch warns of empty layers
                _outputs(model, shape)
            continue
        inputs = MODELS[model].transformed(shape)
        network = build(model, replace(known, shape=inputs), seed=0)
        assert parameter_count(network) == MODELS[model].parameters(shape, 3)
        assert network(torch.randn(2, *inputs)).shape == (2, 3)
        if model == "scattering":
            assert features(torch.randn(2, *shape), keep=False).shape == (2, *inputs)


def test_the_seed_decides_the_start_and_nothing_else_moves():
    torch.manual_seed(5)
    before = torch.rand(1)
    torch.manual_seed(5)
    starts = [next(build("cnn", DATA_SETS["mnist-10k"], seed=seed).parameters()) for seed in (1, 1, 2)]
    assert torch.equal(starts[0], starts[1])
    assert not torch.equal(starts[0], starts[2])
    assert torch.equal(torch.rand(1), before)


def test_only_scattering_changes_the_data(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    data = load("mnist-10k")
    assert prepared("cnn", data) is data
    few = data._replace(train_x=data.train_x[:6], test_x=data.test_x[:4])
    found = prepared("scattering", few)
    assert found.train_x.shape == (6, 3969)
    assert found.test_x.shape == (4, 3969)
    assert len(list((tmp_path / "dpviz" / "scattering").iterdir())) == 2
    with pytest.raises(ValueError, match="square images"):
        prepared("scattering", few._replace(train_x=torch.zeros(2, 2, 32, 32)))


def test_wavelets_have_no_mean_and_the_average_has():
    for scale in range(scattering.SCALES):
        for angle in range(scattering.ANGLES):
            transform = scattering.wavelet(36, scale, angle)
            assert abs(float(transform[0, 0])) < 1e-6
            assert float(transform.abs().max()) > 0.3
    # A constant image has no edges.
    found = scattering.scatter(torch.ones(1, 1, 28, 28))[0]
    torch.testing.assert_close(found[0], torch.ones(7, 7), atol=1e-5, rtol=1e-5)
    assert float(found[1:].abs().max()) < 1e-5


def test_features_are_kept(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    images = torch.rand(5, 1, 28, 28, generator=torch.Generator().manual_seed(0))
    whole = scattering.features(images)
    assert torch.equal(scattering.features(images), whole)
    (path,) = [p for p in (tmp_path / "dpviz" / "scattering").iterdir() if "-5x1x28x28-" in p.name]
    path.write_bytes(b"damaged")
    assert torch.equal(scattering.features(images), whole)
    assert scattering.features(images[:0]).shape == (0, 3969)


def test_features_without_a_place_to_keep_them(monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/nowhere")
    assert scattering.features(torch.rand(2, 1, 28, 28)).shape == (2, 3969)


def direct(image):
    """The features (81, s/4, s/4) of one colour (s, s), each wavelet taken by itself at every pixel.

    Coarser waves are looked at on every second pixel of what they find, as the definition says.
    """
    size = image.shape[-1] + 8
    padded = torch.nn.functional.pad(image[None, None].double(), [4] * 4, mode="reflect")[0, 0]
    offsets = torch.fft.fftfreq(size, d=1.0 / size, dtype=torch.float64)
    gauss = torch.exp(-(offsets[:, None] ** 2 + offsets**2) / (2.0 * 1.6**2))

    def low(signal, step):
        kernel = (gauss / gauss.sum())[::step, ::step] * step**2
        smooth = torch.fft.ifft2(torch.fft.fft2(signal) * torch.fft.fft2(kernel)).real
        return smooth[:: 4 // step, :: 4 // step][1:-1, 1:-1]

    def wave(signal, scale, angle):
        found = torch.fft.ifft2(torch.fft.fft2(signal) * scattering.wavelet(size, scale, angle).double()).abs()
        return found[:: 2**scale, :: 2**scale]

    first = [wave(padded, 0, angle) for angle in range(8)]
    found = [low(padded, 1)] + [low(edge, 1) for edge in first]
    found += [low(wave(padded, 1, angle), 2) for angle in range(8)]
    found += [low(wave(edge, 1, angle), 2) for edge in first for angle in range(8)]
    return torch.stack(found)


@pytest.mark.parametrize("shape", [(1, 28, 28), (3, 32, 32), (3, 8, 8)])
def test_each_colour_is_scattered_on_its_own(shape, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    images = torch.randn(3, *shape, generator=torch.Generator().manual_seed(2))
    wanted = torch.stack([torch.cat([direct(colour) for colour in image]) for image in images])
    torch.testing.assert_close(scattering.scatter(images).double(), wanted, atol=1e-5, rtol=1e-4)
    # Each image's channels in 27 groups: no mean, spread 1, from that image alone.
    groups = wanted.reshape(3, 27, -1)
    scaled = (groups - groups.mean(2, keepdim=True)) / (groups.var(2, correction=0, keepdim=True) + 1e-5).sqrt()
    found = scattering.features(images)
    assert found.shape == (3, 81 * shape[0] * (shape[1] // 4) ** 2)
    torch.testing.assert_close(found.double(), scaled.flatten(1), atol=3e-3, rtol=3e-3)
    assert torch.equal(scattering.features(images), found)
