import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from dpviz.training.data.views import SHIFT, Views
from dpviz.training.engine.per_example import PerExample, clip_factors
from dpviz.training.loop import FreeRun, run
from dpviz.training.sampling import IGNORED, loss_per_example
from dpviz.training.settings import RunSettings
from tests.training.small import Applied
from tests.training.steps import gradients_by_hand

SHAPE = (3, 12, 12)


def random(seed=0):
    return np.random.default_rng(seed)


def images(size, shape=SHAPE, classes=3, seed=1):
    draw = torch.Generator().manual_seed(seed)
    return torch.randn(size, *shape, generator=draw), torch.randint(0, classes, (size,), generator=draw)


def windows(image, *, flips):
    """All views that there may be of one image (c, h, w), by slicing."""
    padded = F.pad(image[None], [SHIFT] * 4, mode="reflect")[0]
    height, width = image.shape[1:]
    found = [padded[:, i : i + height, j : j + width] for i in range(2 * SHIFT + 1) for j in range(2 * SHIFT + 1)]
    return torch.stack(found + [view.flip(-1) for view in found if flips])


@pytest.mark.parametrize("flips", [False, True])
def test_each_view_is_the_image_shifted_and_all_shifts_occur(flips):
    x, _ = images(2)
    views = Views(2000, random(), SHAPE, flips=flips)(x)
    assert views.shape == (4000, 3, 12, 12)
    for image, of_image in zip(x, views.split(2000), strict=True):
        allowed = windows(image, flips=flips).flatten(1)
        least, at = torch.cdist(of_image.flatten(1), allowed, compute_mode="donot_use_mm_for_euclid_dist").min(1)
        assert float(least.max()) < 1e-3
        counts = torch.bincount(at, minlength=len(allowed)).double()
        expected = 2000 / len(allowed)
        # χ² of a uniform draw: mean 80 or 161, standard deviation 12.6 or 18.
        assert float(((counts - expected) ** 2 / expected).sum()) < len(allowed) + 6 * np.sqrt(2 * len(allowed))


def test_an_example_s_views_are_drawn_whatever_the_other_examples_are():
    x, _ = images(5)
    other = x.clone()
    other[[0, 1, 3, 4]] = 7.0
    ours, theirs = (Views(4, random(), SHAPE, flips=True)(batch)[8:12] for batch in (x, other))
    assert torch.equal(ours, theirs)


class Kept:
    """The views of `Views`, kept to be looked at."""

    def __init__(self, views):
        self.views, self.count, self.seen = views, views.count, []

    def __call__(self, x):
        self.seen.append(self.views(x))
        return self.seen[-1]


def all_forms():
    """A layer at several positions, one used twice, group norm, and one that goes through `torch.func`."""
    return Applied(
        lambda module, x: module.last(module.again(module.again(module.first(x))).flatten(1)),
        first=nn.Sequential(nn.Conv2d(3, 4, 3, stride=2), nn.GroupNorm(2, 4), nn.PReLU(4)),
        again=nn.Conv2d(4, 4, 3, padding=1), last=nn.Linear(100, 3),
    )  # fmt: skip


NETWORKS = {
    "linear": lambda: nn.Sequential(nn.Flatten(), nn.Linear(432, 3)),
    "mlp": lambda: nn.Sequential(nn.Flatten(), nn.Linear(432, 8), nn.Tanh(), nn.Linear(8, 3)),
    "all forms": all_forms,
    "few positions": lambda: nn.Sequential(nn.Conv2d(3, 8, 6, stride=6), nn.Flatten(), nn.Linear(32, 3)),
}


def by_hand(network, views, y, bound):
    """Averages each example's gradient over its views in double precision, then clips."""
    network.double()
    views_of_each = len(views) // len(y)
    rows = gradients_by_hand(network, views.double(), y.repeat_interleave(views_of_each))
    rows = rows.unflatten(0, (len(y), views_of_each)).mean(1)
    network.float()
    norms = rows.norm(dim=1)
    return (clip_factors(norms, bound, torch.float32).double()[:, None] * rows).sum(0), norms


@pytest.mark.parametrize("chunk_size", [None, 6])
@pytest.mark.parametrize("name", NETWORKS)
def test_the_mean_over_views_is_what_is_clipped(name, chunk_size):
    torch.manual_seed(3)
    network, (x, y) = NETWORKS[name](), images(7)
    kept = Kept(Views(3, random(), SHAPE, flips=True))
    engine = PerExample(network, chunk_size=chunk_size, views=kept)
    for bound in (1e6, 0.2):
        kept.seen.clear()
        found = engine.clipped(x, y, max_grad_norm=bound, pairs=3)
        total, norms = by_hand(network, torch.cat(kept.seen), y, bound)
        assert found.norms.shape == found.losses.shape == (7,)
        torch.testing.assert_close(found.norms.double(), norms, rtol=1e-4, atol=1e-6)
        torch.testing.assert_close(found.total.double(), total, rtol=1e-3, atol=1e-5 * float(total.norm()))
    if chunk_size:
        assert max(map(len, kept.seen)) <= chunk_size  # memory: views count as examples


def test_a_view_that_is_not_finite_takes_out_its_example_alone():
    x, y = images(4)
    x[2, 0, 0, 0] = torch.inf
    found = PerExample(NETWORKS["mlp"](), views=Views(40, random(), SHAPE, flips=False)).clipped(
        x, y, max_grad_norm=1.0
    )
    assert torch.isfinite(found.norms).tolist() == [True, True, False, True]
    assert torch.isfinite(found.total).all()
    assert found.lengths[2] == torch.inf


def test_padding_and_empty_batches():
    x, y = images(5)
    y[3:] = IGNORED
    torch.manual_seed(0)
    network = NETWORKS["mlp"]()
    found = [
        PerExample(network, loss_per_example, views=Views(3, random(), SHAPE, flips=True)).clipped(
            a, b, max_grad_norm=1.0
        )
        for a, b in ((x, y), (x[:3], y[:3]), (x[:0], y[:0]))
    ]
    torch.testing.assert_close(found[0].total, found[1].total)
    assert found[2].total.abs().max() == 0.0


SETTINGS = RunSettings(steps=3, batch_size=32, secure_noise=False, evaluation_every=0, views=2, model="mlp")


def parameters(tmp_path, **changed):
    path, told = tmp_path / "weights.pt", []
    summary = run(SETTINGS.with_(**changed), told.append, FreeRun(), weights_to=path)
    return torch.load(path)["parameters"], summary


def test_runs_with_views_are_the_same_by_their_seed_and_cost_the_same(tmp_path):
    (one, first), (two, _), (other, plain) = (parameters(tmp_path, views=k) for k in (2, 2, 1))
    assert torch.equal(one, two)
    assert not torch.equal(one, other)
    assert first["epsilon"] == plain["epsilon"]
    assert first["claim"] == plain["claim"]


def test_one_view_is_the_run_without_any(tmp_path, monkeypatch):
    """The example itself: nothing of the views is called, no random number taken."""

    def refuse(*_):
        raise AssertionError

    monkeypatch.setattr(Views, "__call__", refuse)
    parameters(tmp_path, views=1)
    with pytest.raises(AssertionError):
        parameters(tmp_path, views=2)
