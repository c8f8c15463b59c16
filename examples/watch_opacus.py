"""Watch an Opacus training in the app, its own ε beside the others. Needs: pip install 'dpviz[train]' opacus."""

import torch
from opacus import PrivacyEngine
from torch import nn

import dpviz
from dpviz.training.data.catalogue import load


def watch_opacus(run, optimizer, loader, engine, delta):
    """Tell each step once Opacus has added its noise, before the parameters move: what raises there stops it."""
    count = optimizer.step_hook

    def tell(optim):
        if optim.accumulated_iterations > 1:  # an example may be in several of them: use BatchMemoryManager
            raise ValueError("Expected one backward pass a step: the sum may move by more than C.")
        run.step(noise_multiplier=optim.noise_multiplier, sample_rate=loader.sample_rate)
        count(optim)
        run.tell(reported_epsilon=engine.get_epsilon(delta))

    optimizer.attach_step_hook(tell)


digits, plan = load("mnist-10k"), {"examples": 2_000, "delta": 1e-5, "steps": 40}
data = torch.utils.data.TensorDataset(digits.train_x[:2_000], digits.train_y[:2_000])
model = nn.Sequential(nn.Conv2d(1, 8, 8, 4), nn.Tanh(), nn.Flatten(), nn.Linear(8 * 6 * 6, 10))
engine = PrivacyEngine(accountant="rdp")
model, optimizer, loader = engine.make_private(
    module=model, optimizer=torch.optim.SGD(model.parameters(), lr=0.5), noise_multiplier=1.1, max_grad_norm=1.0,
    data_loader=torch.utils.data.DataLoader(data, batch_size=100),
)  # fmt: skip
with dpviz.watch("Opacus, digits", sampler="poisson", adjacency="add_remove", **plan) as run:
    watch_opacus(run, optimizer, loader, engine, delta=1e-5)
    for _ in range(2):
        for x, y in loader:
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
    print(f"Opacus, RDP: ε = {engine.get_epsilon(1e-5):.3f}; {run.claim.name}: ε ≤ {run.claim.epsilon:.3f}")
