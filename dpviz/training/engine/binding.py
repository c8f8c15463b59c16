"""Between two steps of a training nothing else may change its network or what its optimiser remembers.

Noise protects what a step makes of the data. Another `backward()` and `step()` in the same loop, a parameter that is
unfrozen or given to the optimiser later, a momentum fed with plain gradients: no noise reaches these. So parameters,
modules and optimiser are bound by identity, and their numbers by content, which shows writes that version counters
miss (`.data`, NumPy). That costs a copy of parameters and optimiser state, and a comparison a step.

What cannot be seen is trusted: that the optimiser reads gradients and its own state alone, and what the program does
with the data elsewhere.
"""

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim import optimizer

from dpviz.training.engine.vectors import shaped
from dpviz.training.words import refusal


class Binding:
    """One network and one optimiser.

    Args:
        network: With trainable parameters of one type on one device.
        optimiser: Over parameters of the network; frozen ones stay as they are.

    Attributes:
        trained: The trainable parameters, in the network's order.

    Raises:
        ValueError: for what cannot be trained so, with the way out.
    """

    def __init__(self, network: nn.Module, optimiser: torch.optim.Optimizer) -> None:
        self._network, self._optimiser = network, optimiser
        self.trained = [parameter for parameter in network.parameters() if parameter.requires_grad]
        if not self.trained:
            raise refusal("no parameters")
        if len({(parameter.dtype, parameter.device) for parameter in self.trained}) > 1:
            raise refusal("several types")
        if isinstance(optimiser, torch.optim.LBFGS):
            raise refusal("LBFGS")
        self._modules = list(network.modules())
        self._parameters = {name: (p, p.requires_grad) for name, p in network.named_parameters()}
        self._held = self._held_now()
        if not _ids(self._held) <= _ids(network.parameters()):
            raise refusal("foreign parameters")
        self._weights: dict[str, Tensor] = {}
        self._memory: dict[str, Tensor] = {}

    def refuse_changes(self, step: int) -> None:
        """Refuses to go on where anything but this training changed what it trains.

        Args:
            step: Steps taken, for the words; before the first, numbers are the start and may be anything.

        Raises:
            ValueError: naming what was changed and the way out.
        """
        self._refuse_others()
        if not step and not self._weights:
            self.renew()
        changed = _changed(self._weights, _weights(self._network)) or _changed(self._memory, self._memory_now())
        if changed:
            raise refusal("changed", changed=changed, step=step)

    def _refuse_others(self) -> None:
        if [id(module) for module in self._network.modules()] != [id(module) for module in self._modules]:
            raise refusal("other modules")
        now = {name: (p, p.requires_grad) for name, p in self._network.named_parameters()}
        for name in {**self._parameters, **now}:
            (one, trained), (other, trains) = self._parameters.get(name, (None, False)), now.get(name, (None, False))
            if one is not other or trained != trains:
                raise refusal("other parameter", name=name)
        if _ids(self._held_now()) != _ids(self._held):
            raise refusal("other groups")
        own = (self._optimiser._optimizer_step_pre_hooks, self._optimiser._optimizer_step_post_hooks)
        if any(own) or optimizer._global_optimizer_pre_hooks or optimizer._global_optimizer_post_hooks:
            raise refusal("optimiser hooks")

    def step(self, gradient: Tensor) -> None:
        """Lets the optimiser make what it will of a noisy mean gradient (p,), and takes what it leaves."""
        self._optimiser.zero_grad()  # gradients that somebody left, of frozen parameters too
        for parameter, part in zip(self.trained, shaped(gradient.to(self.trained[0].dtype), self.trained), strict=True):
            parameter.grad = part
        try:
            self._optimiser.step()
        finally:
            self._optimiser.zero_grad()
            self.renew()

    def renew(self) -> None:
        """Takes trained parameters, buffers and optimiser state as a step left them; the frozen stay as at first."""
        frozen = {f"parameter {name!r}" for name, p in self._network.named_parameters() if not p.requires_grad}
        moved = {
            name: now for name, now in _weights(self._network).items() if name not in frozen & self._weights.keys()
        }
        self._weights |= {name: _copied(now, self._weights.get(name)) for name, now in moved.items()}
        self._memory = {name: _copied(now, self._memory.get(name)) for name, now in self._memory_now().items()}

    @property
    def changed(self) -> str:
        """The first of the network's numbers that is not as the last step left it; empty where all are."""
        return _changed(self._weights, _weights(self._network)) if self._weights else ""

    def _held_now(self) -> list[Tensor]:
        return [parameter for group in self._optimiser.param_groups for parameter in group["params"]]

    def _memory_now(self) -> dict[str, Tensor]:
        return {
            f"the optimiser's{path} of its parameter {at}": tensor
            for at, parameter in enumerate(self._held)
            for path, tensor in _tensors(self._optimiser.state.get(parameter, {}))
        }


def _weights(network: nn.Module) -> dict[str, Tensor]:
    """Parameters and buffers, in words."""
    parameters = ((f"parameter {name!r}", tensor.detach()) for name, tensor in network.named_parameters())
    buffers = ((f"buffer {name!r}", tensor.detach()) for name, tensor in network.named_buffers())
    return dict(chain(parameters, buffers))


def _copied(tensor: Tensor, before: Tensor | None) -> Tensor:
    """A copy, in the memory of the one before where it fits."""
    if before is None or (before.shape, before.dtype, before.device) != (tensor.shape, tensor.dtype, tensor.device):
        return tensor.clone()
    return before.copy_(tensor)


def _changed(left: Mapping[str, Tensor], now: Mapping[str, Tensor]) -> str:
    return next((name for name in {**left, **now} if not _same(left.get(name), now.get(name))), "")


def _same(one: Tensor | None, other: Tensor | None) -> bool:
    """Whether all numbers are equal, NaN and NaN too, on whatever device."""
    if one is None or other is None or one.shape != other.shape or one.dtype != other.dtype:
        return False
    other = other.to(one.device)
    if one.device.type == "cpu" and one.dtype is torch.float32 and np.array_equal(one.numpy(), other.numpy()):
        return True  # four times as fast as PyTorch's
    return torch.equal(one, other) or not bool(((one != other) & ((one == one) | (other == other))).any())


def _tensors(value: Any, path: str = "") -> Iterator[tuple[str, Tensor]]:
    """The tensors in an optimiser's state of one parameter, however deep."""
    if isinstance(value, Tensor):
        yield path, value.detach()
    elif isinstance(value, (Mapping, list, tuple)):
        for name, part in value.items() if isinstance(value, Mapping) else enumerate(value):
            yield from _tensors(part, f"{path} {name}")


def _ids(values: Any) -> set[int]:
    return {id(value) for value in values}
