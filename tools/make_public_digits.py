"""Makes the shipped network of public digits: `python -m tools.make_public_digits OUTPUT.npz`, three minutes.

It is trained on the 1,797 digits that scikit-learn ships (`pip install scikit-learn`; no part of dpviz needs it): the
test part of "Optical Recognition of Handwritten Digits" (Alpaydin and Kaynak 1998, UCI Machine Learning Repository,
CC BY 4.0), 8 × 8 pixels, by 13 persons. They are drawn larger, moved, slanted and drawn with another pen at each step.
No other data have a part in it, MNIST's neither. The seed is below; another version of PyTorch may find numbers that
differ in the last digits.
"""

import sys
from pathlib import Path
from pkgutil import resolve_name

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dpviz.training.networks.public_digits import (
    CHANNELS,
    GRID,
    MOST,
    MOST_OF_PIXEL,
    STEPS_OF_PIXEL,
    Convolution,
    passed,
)

SEED, EPOCHS, BATCH, RATE = 0, 60, 64, 3e-3
MEAN, STD = 0.1307, 0.3081  # pixels are scaled as MNIST's published ones
MOST_WEIGHT = 127
_SIDE, _INNER = 28, 24


def larger(digits: Tensor) -> Tensor:
    """Digits (n, 1, 8, 8) on [0, 1] as pictures (n, 1, 28, 28)."""
    grown = F.interpolate(digits, size=(_INNER, _INNER), mode="bicubic", align_corners=False).clamp(0.0, 1.0)
    return F.pad(grown, [(_SIDE - _INNER) // 2] * 4)


def augment(pictures: Tensor, random: torch.Generator) -> Tensor:
    """Each turned by up to 14°, slanted, moved, of another width and with another pen, (n, 1, 28, 28)."""

    def between(low: float, high: float) -> Tensor:
        return low + (high - low) * torch.rand(len(pictures), generator=random)

    turn, wide, high, slant = between(-0.25, 0.25), between(0.85, 1.3), between(0.85, 1.15), between(-0.35, 0.35)
    right, down = between(-0.12, 0.12), between(-0.12, 0.12)
    cos, sin = turn.cos(), turn.sin()
    rows = [torch.stack([cos * wide, (slant - sin) * wide, right], 1), torch.stack([sin * high, cos * high, down], 1)]
    grid = F.affine_grid(torch.stack(rows, 1), list(pictures.shape), align_corners=False)
    moved = F.grid_sample(pictures, grid, align_corners=False)
    level, steep = (between(*ends)[:, None, None, None] for ends in ((0.25, 0.6), (6.0, 14.0)))
    blank = torch.sigmoid(-steep * level)
    return ((torch.sigmoid(steep * (moved - level)) - blank) / (1.0 - blank)).clamp(0.0, 1.0)


def network() -> nn.Sequential:
    """What is trained: the convolutions that are kept, and a layer for the ten digits that is not."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, CHANNELS, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(GRID), nn.Flatten(),
        nn.Dropout(0.3), nn.Linear(CHANNELS * GRID**2, 10),
    )  # fmt: skip


def trained(digits: Tensor, labels: Tensor, *, epochs: int) -> nn.Sequential:
    """The network after so many passes over digits (n, 1, 8, 8) on [0, 1] with labels (n,)."""
    torch.manual_seed(SEED)
    random, made, pictures = torch.Generator().manual_seed(SEED), network(), larger(digits)
    batches = max(1, len(digits) // BATCH)
    optimiser = torch.optim.Adam(made.parameters())
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, RATE, epochs * batches)
    for _ in range(epochs):
        for rows in torch.randperm(len(digits), generator=random)[: batches * BATCH].chunk(batches):
            x = (augment(pictures[rows], random) - MEAN) / STD
            optimiser.zero_grad()
            loss: Tensor = F.cross_entropy(made(x), labels[rows], label_smoothing=0.1)
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            schedule.step()
    return made.eval()


@torch.no_grad()
def whole(made: nn.Sequential, digits: Tensor) -> tuple[Convolution, ...]:
    """Its convolutions in whole numbers; how large what they pass on becomes is seen on the digits (n, 1, 8, 8)."""
    x, steps, layers = (larger(digits) - MEAN) / STD, float(STEPS_OF_PIXEL), []
    x = (x * steps).round().clamp(-MOST_OF_PIXEL, MOST_OF_PIXEL) / steps
    for layer in made:
        if isinstance(layer, nn.AdaptiveAvgPool2d):
            break
        x = layer(x)
        if isinstance(layer, nn.Conv2d):
            assert layer.bias is not None
            fine = MOST_WEIGHT / float(layer.weight.abs().max())
            largest = float(np.quantile(x.clamp(min=0.0).flatten().numpy(), 0.9999))
            layers.append(
                Convolution(
                    (layer.weight.double() * fine).round(),
                    (layer.bias.double() * fine * steps).round(),
                    MOST / largest / fine / steps,
                )
            )
            steps = MOST / largest
    return tuple(layers)


def public_digits() -> tuple[Tensor, Tensor]:
    """Digits (1797, 1, 8, 8) on [0, 1] and labels (1797,)."""
    stored = resolve_name("sklearn.datasets:load_digits")()
    return torch.tensor(stored.images[:, None] / 16.0, dtype=torch.float32), torch.tensor(stored.target)


def main(output: str) -> None:
    torch.set_num_threads(1)
    digits, labels = public_digits()
    layers = whole(trained(digits, labels, epochs=EPOCHS), digits)
    arrays: dict[str, np.typing.NDArray[np.generic]] = {}
    for number, layer in enumerate(layers):
        arrays[f"weight_{number}"] = layer.weight.numpy().astype(np.int8)
        arrays[f"bias_{number}"] = layer.bias.numpy().astype(np.int32)
        arrays[f"scale_{number}"] = np.array(layer.scale)
    np.savez_compressed(Path(output), allow_pickle=False, **arrays)
    print(f"{output}: features of length {float(passed(larger(digits), layers).norm(dim=1).min()):.6g}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("Usage: python -m tools.make_public_digits OUTPUT.npz")
    main(sys.argv[1])
