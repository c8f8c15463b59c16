"""Train a network of your own with a certified ε. Needs PyTorch: pip install 'dpviz[train]'."""

import torch
from torch import nn

from dpviz.training import PrivateTraining

# Two noisy rings, as an example of data; each row stands for one person.
torch.manual_seed(0)
y = torch.randint(0, 2, (4_000,))
angle = 2 * torch.pi * torch.rand(4_000)
radius = 1.0 + y + 0.2 * torch.randn(4_000)
x = torch.stack((radius * angle.cos(), radius * angle.sin()), dim=1)

network = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 2))
optimiser = torch.optim.SGD(network.parameters(), lr=2.0, momentum=0.9)
training = PrivateTraining(network, (x, y), optimiser, epochs=6, batch_size=400, max_grad_norm=0.5, target_epsilon=3.0)
for step in training:
    if step.number % 10 == 0:
        print(f"step {step.number:3} of {len(training)}: ε ≤ {step.claim.epsilon:.3f}")

right = (network(x).argmax(1) == y).float().mean()
print(f"{right:.1%} of the training examples are right. This number itself is not covered by ε.")
for condition in step.claim.conditions:
    print("on condition:", condition)
