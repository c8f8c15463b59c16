"""Audit a training of your own: the same table as `dpviz audit examples/audit_own_network.py:training --runs 100`."""

import torch
from torch import nn

from dpviz.accounting.audit.counts import joint_bound
from dpviz.accounting.audit.threshold import attacked
from dpviz.training import PrivateTraining
from dpviz.training.audit_own import own_audit


def training(member: bool) -> PrivateTraining:
    """A training that has taken no step, with the first row (True) and without it (False)."""
    torch.manual_seed(0)  # the same data and the same start every time; batches and noise stay random
    x = torch.randn(20, 3)
    y = (x[:, 0] > 0).long()
    x[0] = torch.tensor([0.0, 0.0, 8.0]) if member else 0.0  # a row whose gradient is long, and like nobody else's
    network = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    optimiser = torch.optim.SGD(network.parameters(), lr=0.05)
    return PrivateTraining(
        network, (x, y), optimiser, steps=1, batch_size=20, noise_multiplier=0.8, max_grad_norm=1.0, delta=0.01,
        disjoint_data=True,
    )  # fmt: skip


if __name__ == "__main__":
    audit = own_audit(training, runs=100)
    _, counts = attacked(audit.without, audit.with_it, audit.delta)
    print(f"Claimed: ε ≤ {audit.claim:.3f}. Shown by 100 runs a side: ε ≥ {joint_bound(counts, audit.delta):.2f}.")
