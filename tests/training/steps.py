"""A small network, a batch and one step of any method, with what it is by hand."""

import torch
import torch.nn.functional as F
from torch import nn

from dpviz.training.engine.per_example import PerExample
from dpviz.training.engine.record import clip_factors
from dpviz.training.engine.vectors import flatten_parameters
from dpviz.training.methods import METHODS
from dpviz.training.sampling import PoissonBatch, loss_per_example
from dpviz.training.settings import RunSettings

EXAMPLES, EXPECTED, BOUND = 500, 20, 0.3


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
        noise=torch.Generator(device=device).manual_seed(seed),
    )
    return method, method.init(parameters), network


def make_batch(size=24, seed=1):
    draw = torch.Generator().manual_seed(seed)
    x, y = torch.randn(size, 6, generator=draw), torch.randint(0, 3, (size,), generator=draw)
    return PoissonBatch(x, y, size, float(EXPECTED), EXPECTED / EXAMPLES)


def clipped_by_hand(network, batch, bound=BOUND):
    rows = []
    for x, y in zip(batch.x, batch.y, strict=True):
        loss = F.cross_entropy(network(x[None]), y[None])
        rows.append(torch.cat([g.flatten() for g in torch.autograd.grad(loss, list(network.parameters()))]))
    rows = torch.stack(rows)
    return (clip_factors(rows.norm(dim=1), bound, rows.dtype)[:, None] * rows).sum(0)


def noise_by_hand(count, seed=9):
    draw = torch.Generator().manual_seed(seed)
    sizes = sum(p.numel() for p in make_network().parameters())
    return [torch.randn(sizes, generator=draw) for _ in range(count)]
