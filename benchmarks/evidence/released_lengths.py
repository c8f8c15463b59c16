"""How long is what one example adds to the clipped sum, beside the bound C that the noise is sized for?"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from importlib.util import find_spec

import torch
import torch.nn.functional as F
from torch import nn

from dpviz.training.engine.per_example import PerExample, cross_entropy

Tensor = torch.Tensor

BOUND = 1e-3
EXAMPLES = 24
SCALES = {"normalised": 1.0, "ten times": 10.0, "raw pixels": 255.0}


class _Twice(nn.Module):
    """A layer applied to two nearly equal inputs, whose outputs are subtracted."""

    def __init__(self, layer: nn.Module, head: nn.Module) -> None:
        super().__init__()
        self.layer, self.head = layer, head

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.head(self.layer(x[:, 0]) - self.layer(x[:, 1]))
        return found


class _Tokens(nn.Module):
    """A layer on tokens with a common offset, whose outputs are added with alternating signs."""

    def __init__(self, layer: nn.Module, head: nn.Module) -> None:
        super().__init__()
        self.layer, self.head = layer, head

    def forward(self, x: Tensor) -> Tensor:
        signs = torch.tensor([1.0, -1.0]).repeat(x.shape[1] // 2)[:, None]
        found: Tensor = self.head((self.layer(x) * signs).sum(1))
        return found


def _near(shape: tuple[int, ...], apart: float) -> Callable[[float, torch.Generator], Tensor]:
    def make(scale: float, draw: torch.Generator) -> Tensor:
        offset = scale * (1.0 + torch.randn(EXAMPLES, 1, *shape, generator=draw))
        return torch.cat((offset, offset + apart * torch.randn(EXAMPLES, 1, *shape, generator=draw)), dim=1)

    return make


def _offset(shape: tuple[int, ...], apart: float) -> Callable[[float, torch.Generator], Tensor]:
    return lambda scale, draw: scale + apart * torch.randn(EXAMPLES, *shape, generator=draw)


def _plain(shape: tuple[int, ...]) -> Callable[[float, torch.Generator], Tensor]:
    return lambda scale, draw: scale * (1.0 + torch.randn(EXAMPLES, *shape, generator=draw))


Engine = Callable[[nn.Module, Tensor, Tensor], float]
Case = tuple[Callable[[], nn.Module], Callable[[float, torch.Generator], Tensor]]
CASES: dict[str, Case] = {
    "linear layer": (lambda: nn.Linear(64, 10), _plain((64,))),
    "linear layer used twice": (lambda: _Twice(nn.Linear(64, 10), nn.Identity()), _near((64,), 1e-2)),
    "linear layer used twice, nearer": (lambda: _Twice(nn.Linear(64, 10), nn.Identity()), _near((64,), 1e-3)),
    "tokens with an offset": (lambda: _Tokens(nn.Linear(64, 10), nn.Identity()), _offset((2, 64), 1e-2)),
    "tokens with an offset, nearer": (
        lambda: _Tokens(nn.Linear(64, 10), nn.Identity()), _offset((2, 64), 1e-3),
    ),
    "convolution used twice": (
        lambda: _Twice(nn.Conv2d(16, 32, 3), nn.Flatten()), _near((16, 4, 4), 1e-2),
    ),
}  # fmt: skip


def _ours(network: nn.Module, x: Tensor, y: Tensor) -> float:
    found = PerExample(network, cross_entropy).clipped(x, y, max_grad_norm=BOUND)
    return float(found.total.double().norm())


def _opacus(network: nn.Module, x: Tensor, y: Tensor) -> float:
    from opacus.grad_sample.grad_sample_module_fast_gradient_clipping import GradSampleModuleFastGradientClipping
    from opacus.optimizers.optimizer_fast_gradient_clipping import DPOptimizerFastGradientClipping
    from opacus.utils.fast_gradient_clipping_utils import DPLossFastGradientClipping

    wrapped = GradSampleModuleFastGradientClipping(network, max_grad_norm=BOUND, use_ghost_clipping=True)
    optimiser = DPOptimizerFastGradientClipping(
        torch.optim.SGD(network.parameters(), lr=1.0), noise_multiplier=0.0, max_grad_norm=BOUND, expected_batch_size=1
    )
    loss = DPLossFastGradientClipping(wrapped, optimiser, nn.CrossEntropyLoss())
    try:
        loss(wrapped(x), y).backward()
        return float(torch.cat([p.grad.flatten() for p in network.parameters() if p.grad is not None]).double().norm())
    finally:
        optimiser.zero_grad()
        wrapped.remove_hooks()
        wrapped.to_standard_module()


def worst(case: str, scale: float, engine: Engine) -> float:
    """Longest sum of a batch of one example ÷ C."""
    make, data = CASES[case]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = make()
    x = data(scale, torch.Generator().manual_seed(1))
    # A wrong label each: no gradient is small because the loss is.
    with torch.no_grad():
        y = F.softmax(network(x), dim=1).argmin(1)
    return max(engine(network, x[i : i + 1], y[i : i + 1]) for i in range(EXAMPLES)) / BOUND


def _cell(case: str, scale: float, engine: Engine) -> str:
    try:
        found = worst(case, scale, engine)
    except NotImplementedError:  # Opacus, for a layer that is used twice
        return "refuses"
    return f"{found:.6f}" if found < 1.1 else f"{found:,.4g}"


def rows() -> Iterator[str]:
    engines = [_ours] + ([_opacus] if find_spec("opacus") is not None else [])
    for case in CASES:
        for words, scale in SCALES.items():
            cells = [_cell(case, scale, engine) for engine in engines]
            yield f"| {case}, {words} | " + " | ".join([*cells, *["–"] * (2 - len(cells))]) + " |"


def table() -> str:
    """A Markdown section."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Opacus, on its hooks
        body = "\n".join(rows())
    return (
        "## Length of what one example adds to the clipped sum, ÷ C\n\n"
        f"The longest of {EXAMPLES} examples. Each is a separate batch, whose clipped single-precision sum is measured "
        "in double precision. Above 1, the noise is too small for the stated ε. Opacus' ghost clipping computes its "
        "norms from the same products in single precision and refuses a layer that is used twice.\n\n"
        "| case | dpviz | Opacus ghost clipping |\n|---|---|---|\n"
        f"{body}\n"
    )


if __name__ == "__main__":
    print(table())
