"""A small network, a batch and one step of any method, with what it is by hand."""

import torch
import torch.nn.functional as F
from torch import nn

from dpviz.mechanisms import SampledGaussian
from dpviz.training import PrivateTraining
from dpviz.training.engine.per_example import PerExample, clip_factors
from dpviz.training.engine.vectors import flatten_parameters
from dpviz.training.methods import METHODS
from dpviz.training.sampling import Batch, loss_per_example
from dpviz.training.settings import RunSettings

EXAMPLES, EXPECTED, BOUND = 500, 20, 0.3
OWN = 300


def make_network(seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 3))


def make(name, network=None, seed=9, device="cpu", **changed):
    settings = RunSettings(
        **{
            "method": name, "max_grad_norm": BOUND, "noise_multiplier": 1.3, "batch_size": EXPECTED, "steps": 10,
            "learning_rate": 0.05, "prior_std": float(METHODS[name].needs_prior),
        } | changed
    )  # fmt: skip
    network = METHODS[name].prepare(make_network().to(device) if network is None else network)
    parameters = flatten_parameters(network)
    method = METHODS[name](
        PerExample(network, loss_per_example),
        settings,
        examples=EXAMPLES,
        noise=None if device == "meta" else torch.Generator(device=device).manual_seed(seed),
    )
    return method, method.init(parameters), network


def own_data(seed=1):
    draw = torch.Generator().manual_seed(seed)
    return torch.randn(OWN, 6, generator=draw), torch.randint(0, 3, (OWN,), generator=draw)


def own_training(data=None, network=None, optimiser=torch.optim.SGD, **changed):
    """A training by the public API, of `own_data` where nothing else is given."""
    network = nn.Linear(6, 3) if network is None else network
    settings = {"batch_size": 30, "steps": 20, "noise_multiplier": 1.5} | changed
    data = own_data() if data is None else data
    return PrivateTraining(network, data, optimiser(network.parameters(), lr=0.1), **settings)


def make_examples():
    draw = torch.Generator().manual_seed(0)
    return torch.randn(EXAMPLES, 6, generator=draw), torch.randint(0, 3, (EXAMPLES,), generator=draw)


def make_batch(size=24, seed=1):
    draw = torch.Generator().manual_seed(seed)
    x, y = torch.randn(size, 6, generator=draw), torch.randint(0, 3, (size,), generator=draw)
    return Batch(x, y, size, float(EXPECTED), SampledGaussian(1.0, EXPECTED / EXAMPLES))


def gradients_by_hand(network, x, y, loss=F.cross_entropy):
    """Gradients (b, entries) by autograd, one example at a time."""
    parameters = [p for p in network.parameters() if p.requires_grad]
    rows = []
    for i in range(len(x)):
        parts = torch.autograd.grad(loss(network(x[i : i + 1]), y[i : i + 1]).sum(), parameters, allow_unused=True)
        pairs = zip(parts, parameters, strict=True)
        rows.append(torch.cat([(torch.zeros_like(p) if part is None else part).flatten() for part, p in pairs]))
    return torch.stack(rows)


def clipped_rows(network, batch, bound=BOUND):
    """Each example's clipped gradient (b, entries)."""
    rows = gradients_by_hand(network, batch.x, batch.y)
    return clip_factors(rows.norm(dim=1), bound, rows.dtype)[:, None] * rows


def clipped_by_hand(network, batch, bound=BOUND):
    return clipped_rows(network, batch, bound).sum(0)


def noise_by_hand(count, seed=9):
    draw = torch.Generator().manual_seed(seed)
    sizes = sum(p.numel() for p in make_network().parameters())
    return [torch.randn(sizes, generator=draw) for _ in range(count)]


def weights_of(network):
    """All parameters in one vector (p,)."""
    return nn.utils.parameters_to_vector(network.parameters()).detach()
