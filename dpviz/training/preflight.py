"""Before the first step: does the engine follow this network?

    >>> preflight(network, loss, images[:5], labels[:5])

On a few examples, in double precision, where rounding (1e-16) and faults (what the engine does not see) lie far apart
at every scale of the data:

- examples do not mix: the output of one is the same whatever stands beside it, and on its own;
- the engine's per-example gradients and clipped sum are those of autograd, one example at a time, for batches of 2, 3
  and 5, so that no size of a layer is taken for the number of examples.

Layers that draw random numbers (dropout) run with the same numbers on both sides; then autograd's gradients are those
of one example's loss within the batch. The network, its buffers and the random numbers of the run are left as they
were. Nothing of the examples is told but that the network was refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import torch
from torch import nn

from dpviz.training.layers import FunctionalLayer
from dpviz.training.per_example import Loss, PerExample

Tensor = torch.Tensor
T = TypeVar("T")

# Three sizes: a width can equal one of them, and what is true of all is not an accident of one.
SIZES = (2, 3, 5)
# Relative, in double precision; the least fault that was seen was 1e-3.
_TOLERANCE = 1e-6
# Where the network cannot run in double precision, faults are told from rounding only if they are large.
_COARSE = 1e-2
# A gradient of this length is none: the engine tells lengths only down to where squares vanish.
_NOTHING = 1e-9
_SEED = 20_260

_WAY_OUT = (
    "The engine sees what each layer reads and returns in one forward pass: hooks and parametrisations that change a "
    "weight or an output, activation checkpointing, and inputs whose first dimension is not the examples hide it. Take "
    "them away, or wrap that part in one module that holds its parameters."
)


def preflight(network: nn.Module, loss: Loss, x: Tensor, y: Tensor) -> None:
    """Refuses a network whose per-example gradients the engine would get wrong.

    Args:
        network: In the mode it is trained in; left as it is.
        loss: As for `PerExample`.
        x, y: Some examples, `max(SIZES)` are enough; fewer test fewer sizes.

    Raises:
        ValueError: naming the layer or parameter and the way out.
    """
    x, y = x[: max(SIZES)], y[: max(SIZES)]
    if not len(y):
        return
    if x.is_floating_point():
        x = x.nan_to_num(0.0, 0.0, 0.0)  # a broken example is the run's to tell
    PerExample(network, loss)  # tells of parameters that it does not accept, before they are copied
    with _as_it_was(network, x.device):
        _refuse_reruns(network, loss, x, y)
        wide = _Checked(network, loss, x.double() if x.is_floating_point() else x, y, _TOLERANCE)
        with _in_double(network):
            runs = wide.runs()
            if runs:
                wide.check()
        if not runs:
            _Checked(network, loss, x, y, _COARSE).check()


def _refuse_reruns(network: nn.Module, loss: Loss, x: Tensor, y: Tensor) -> None:
    """In the precision of the run: refuses what the engine itself refuses, and layers that run again going back."""
    for size in SIZES[:2]:
        engine = PerExample(network, loss)
        with torch.no_grad(), _counted(engine) as usual:
            network(x[:size])
        with _counted(engine) as found:
            _followed(lambda engine=engine, size=size: engine.gradients(x[:size], y[:size]))  # type: ignore[misc]
        for name, calls in found.items():
            if calls != usual[name]:
                raise ValueError(
                    f"Expected layer {name or 'network'!r} to run {usual[name]} times, found {calls}: activation "
                    "checkpointing runs it again on the way back, unseen by the engine. Switch it off; the engine "
                    "works in chunks, which bound memory too (chunk_size)."
                )


@contextmanager
def _counted(engine: PerExample) -> Iterator[dict[str, int]]:
    """How often each layer runs, but those that the engine itself runs again."""
    calls = {layer.name: 0 for layer in engine.layers if not isinstance(layer, FunctionalLayer)}

    def counter(name: str) -> Callable[..., None]:
        def count(_: nn.Module, __: object) -> None:
            calls[name] += 1

        return count

    layers = [layer for layer in engine.layers if layer.name in calls]
    handles = [layer.module.register_forward_pre_hook(counter(layer.name)) for layer in layers]
    try:
        yield calls
    finally:
        for handle in handles:
            handle.remove()


def _followed(run: Callable[[], T]) -> T:
    try:
        return run()
    except RuntimeError as error:
        raise ValueError(f"Expected a network that the engine can follow, found: {error} {_WAY_OUT}") from error


class _Checked:
    def __init__(self, network: nn.Module, loss: Loss, x: Tensor, y: Tensor, tolerance: float) -> None:
        self.network, self.loss, self.x, self.y, self.tolerance = network, loss, x, y, tolerance
        self.names = [name for name, p in network.named_parameters() if p.requires_grad]

    def runs(self) -> bool:
        """Whether the network takes numbers of this precision: its own forward may hold constants of another."""
        try:
            self._losses(self.x[:1], self.y[:1])
        except RuntimeError:
            return False
        return True

    def check(self) -> None:
        self._refuse_mixing()
        self._alone = self._same_again()
        if self._alone:
            self._refuse_size()
        own = [self._gradient(self.x[i : i + 1], self.y[i : i + 1]) for i in range(len(self.y) * self._alone)]
        for size in SIZES:
            if size <= len(self.y):
                x, y = self.x[:size], self.y[:size]
                self._compare(x, y, own[:size] or [self._gradient(x, y, i) for i in range(size)])

    def _outputs(self, x: Tensor, seed: int = _SEED) -> Tensor:
        torch.manual_seed(seed)
        found: Tensor = self.network(x)
        return found

    def _losses(self, x: Tensor, y: Tensor) -> Tensor:
        return self.loss(self._outputs(x), y)

    def _same_again(self) -> bool:
        with torch.no_grad():
            return bool(torch.equal(self._outputs(self.x[:2]), self._outputs(self.x[:2], _SEED + 1)))

    def _refuse_mixing(self) -> None:
        """The first example beside others, and beside others again."""
        if len(self.y) < 2:
            return
        others = torch.cat((self.x[:1], self.x[:1].expand_as(self.x[1:])))
        found = []
        for x in (self.x, others):
            with _layer_outputs(self.network, len(x)) as seen, torch.no_grad():
                outputs = self._outputs(x)
            if outputs.ndim == 0 or len(outputs) != len(x):
                raise ValueError(
                    f"Expected an output for each of {len(x)} examples, found shape {tuple(outputs.shape)}."
                )
            found.append([*seen, ("", outputs[0])])
        for (name, one), (_, other) in zip(*found, strict=False):
            if one.shape != other.shape or _apart(one, other) > self.tolerance:
                where = f"layer {name!r}" if name else "the network"
                raise ValueError(
                    f"Expected every example to be treated on its own, found that the output of {where} for one "
                    "example changes with the examples beside it: it mixes them. Leave "
                    "out means, norms and sorting over the "
                    "first dimension; use group or layer norm."
                )

    def _refuse_size(self) -> None:
        """The first example alone, and beside others."""
        with torch.no_grad():
            alone, beside = self._outputs(self.x[:1]), self._outputs(self.x)
        if alone.shape[1:] != beside.shape[1:] or _apart(alone[0], beside[0]) > self.tolerance:
            raise ValueError(
                "Expected every example to be treated on its own, found that an output changes with the number of "
                "examples in the batch: the network mixes them or divides by their number."
            )

    def _compare(self, x: Tensor, y: Tensor, wanted: list[tuple[Tensor, ...]]) -> None:
        """The engine against autograd's gradients of these examples."""
        size = len(y)
        rows = torch.stack([torch.cat([part.flatten() for part in parts]) for parts in wanted])
        if not bool(torch.isfinite(rows).all()):
            return  # nothing to compare with; the engine leaves out what is not finite
        norms = rows.norm(dim=1)
        scale = float(norms.max())
        bound = max(float(norms.median()), _NOTHING)
        torch.manual_seed(_SEED)
        record = _followed(lambda: PerExample(self.network, self.loss).gradients(x, y))
        for i, parts in enumerate(wanted):
            found = record.weighted_sum(torch.eye(size, dtype=record.norms.dtype, device=x.device)[i])
            self._refuse_difference(parts, found, scale, size)
        if float((record.norms - norms).abs().max()) > self.tolerance * scale + _NOTHING:
            raise ValueError(f"Expected the norms of per-example gradients to be autograd's, found others. {_WAY_OUT}")
        factors = torch.nan_to_num(bound / norms, nan=1.0, posinf=1.0).clamp(max=1.0)
        short = factors @ rows
        total = torch.cat([part.flatten() for part in record.clipped_sum(bound)])
        if float((total - short).norm()) > self.tolerance * bound * size:
            raise ValueError(f"Expected the clipped sum of {size} examples to be autograd's, found another. {_WAY_OUT}")

    def _gradient(self, x: Tensor, y: Tensor, i: int = 0) -> tuple[Tensor, ...]:
        """Autograd's of example i of a batch: of one alone, but where random numbers must be those of a batch."""
        parameters = [p for p in self.network.parameters() if p.requires_grad]
        own = self._losses(x, y)[i]
        found: tuple[Tensor | None, ...]
        found = _followed(lambda: torch.autograd.grad(own, parameters, allow_unused=True))
        return tuple(torch.zeros_like(p) if g is None else g for g, p in zip(found, parameters, strict=True))

    def _refuse_difference(
        self, wanted: tuple[Tensor, ...], found: tuple[Tensor, ...], scale: float, size: int
    ) -> None:
        apart = [float((g - h).norm()) for g, h in zip(wanted, found, strict=True)]
        worst = max(range(len(apart)), key=apart.__getitem__)
        if not apart[worst] <= self.tolerance * scale + _NOTHING:
            layer = self.names[worst].rpartition(".")[0]
            kind = type(self.network.get_submodule(layer)).__name__
            raise ValueError(
                f"Expected the engine's per-example gradients to be autograd's, found parameter {self.names[worst]!r} "
                f"of layer {layer or 'network'!r} ({kind}) off by {apart[worst] / scale:.2g} of the gradient's norm in "
                f"a batch of {size}. {_WAY_OUT}"
            )


def _apart(one: Tensor, other: Tensor) -> float:
    """Largest difference relative to the largest number."""
    scale = max(float(one.abs().max()), float(other.abs().max()), 1e-30) if one.numel() else 1.0
    return float((one - other).abs().max()) / scale if one.numel() else 0.0


@contextmanager
def _layer_outputs(network: nn.Module, examples: int) -> Iterator[list[tuple[str, Tensor]]]:
    """Collects what each module with a name returns for the first example, in the order in which they end."""
    seen: list[tuple[str, Tensor]] = []

    def collector(name: str) -> Callable[..., None]:
        def collect(_: nn.Module, __: object, output: object) -> None:
            if isinstance(output, Tensor) and output.is_floating_point() and output.shape[:1] == (examples,):
                seen.append((name, output[0].clone()))

        return collect

    handles = [module.register_forward_hook(collector(name)) for name, module in network.named_modules() if name]
    try:
        yield seen
    finally:
        for handle in handles:
            handle.remove()


@contextmanager
def _as_it_was(network: nn.Module, device: torch.device) -> Iterator[None]:
    """Parameters, buffers and random numbers are put back in the end."""
    parameters = [(p, p.data) for p in network.parameters()]
    buffers = [(m, name, b) for m in network.modules() for name, b in m._buffers.items() if b is not None]
    devices = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        for module, name, buffer in buffers:
            module._buffers[name] = buffer.clone()
        try:
            yield
        finally:
            for parameter, data in parameters:
                parameter.data = data
            for module, name, buffer in buffers:
                module._buffers[name] = buffer


@contextmanager
def _in_double(network: nn.Module) -> Iterator[None]:
    """The same numbers in double precision, in memory of their own."""
    own = [(p, p.data) for p in network.parameters()]
    buffers = [(m, name, b) for m in network.modules() for name, b in m._buffers.items() if b is not None]
    for parameter, data in own:
        parameter.data = data.double() if data.is_floating_point() else data
    for module, name, buffer in buffers:
        module._buffers[name] = buffer.double() if buffer.is_floating_point() else buffer
    try:
        yield
    finally:
        for parameter, data in own:
            parameter.data = data
        for module, name, buffer in buffers:
            module._buffers[name] = buffer
