"""What the engine accepts, told without running the network; what a run of it tells is in `one_at_a_time`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

_PRECISE = (torch.float32, torch.float64)


def refuse_parameters(network: nn.Module) -> None:
    """Refuses trainable parameters that are not single or double precision, or are not read by their layer.

    Raises:
        ValueError: naming the parameter and the way out.
    """
    first: tuple[str, torch.dtype] | None = None
    for name, parameter in network.named_parameters():
        if not parameter.requires_grad:
            continue
        if parameter.is_complex():
            raise ValueError(
                f"Expected real parameters, found {name!r} in {_told(parameter.dtype)}: clipping and noise are for "
                "real numbers. Train its real and imaginary part as a parameter of their own (torch.view_as_real)."
            )
        if parameter.dtype not in _PRECISE:
            raise ValueError(
                f"Expected parameters in single or double precision, found {name!r} in {_told(parameter.dtype)}: it "
                "rounds gradients above the bound and noise to a few thousand values. Call network.float()."
            )
        first = first or (name, parameter.dtype)
        if parameter.dtype != first[1]:
            raise ValueError(
                f"Expected all parameters in one precision, found {first[0]!r} in {_told(first[1])} and {name!r} in "
                f"{_told(parameter.dtype)}. Call network.float()."
            )


def refuse_recomputed(name: str, module: nn.Module) -> None:
    """Refuses a known layer whose weight or bias is not its own parameter, as hooks leave it."""
    for role in ("weight", "bias"):
        tensor = getattr(module, role, None)
        if isinstance(tensor, torch.Tensor) and tensor is not module._parameters.get(role):
            raise ValueError(
                f"Expected the {role} of layer {name or 'network'!r} ({type(module).__name__}) to be its own "
                "parameter; a hook computes it from others (the older spectral_norm and weight_norm, prune). Take that "
                "away (remove_spectral_norm, remove_weight_norm, prune.remove) or use torch.nn.utils.parametrizations."
            )


def refuse_half(name: str, tensor: torch.Tensor) -> None:
    """Refuses what a layer reads or returns in less than single precision, as under autocast."""
    if tensor.is_floating_point() and tensor.dtype not in _PRECISE:
        raise ValueError(
            f"Expected layer {name or 'network'!r} to work in single or double precision, found "
            f"{_told(tensor.dtype)}: it breaks the bound on an example's gradient. Switch autocast off and convert the "
            "data with .float()."
        )


def refuse_device(device: torch.device) -> None:
    if device.type == "mps":
        raise ValueError(
            "Expected a CPU or an NVIDIA GPU, found device 'mps': Apple's GPU has no double precision, in which sums "
            "are bounded. Call network.to('cpu')."
        )


def refuse_rounded_products(device: torch.device) -> None:
    """TF32 and bfloat16 keep 3 digits: clipped gradients would add up to more than the bound, distances to less."""
    backends: Any = torch.backends
    for backend in (backends.cuda.matmul,) if device.type == "cuda" else _of_cpu():
        own, general = backend.fp32_precision, backends.fp32_precision
        precision = general if own == "none" else own
        if precision not in ("none", "ieee"):
            raise ValueError(
                f"Expected matrix products in full single precision, found fp32_precision={precision!r}: it breaks the "
                "bound on an example's gradient. Call torch.set_float32_matmul_precision('highest') and leave "
                "torch.backends.mkldnn.conv and .rnn at 'ieee'."
            )


def _of_cpu() -> tuple[Any, ...]:
    mkldnn: Any = torch.backends.mkldnn
    return mkldnn.matmul, mkldnn.conv, mkldnn.rnn


@contextmanager
def full_precision(device: torch.device) -> Iterator[None]:
    """cuDNN's convolutions round to TF32 unless they are told not to: off meanwhile."""
    cudnn: Any = torch.backends.cudnn
    before = [(part, part.fp32_precision) for part in (cudnn.conv, cudnn.rnn)] if device.type == "cuda" else []
    for part, _ in before:
        part.fp32_precision = "ieee"
    try:
        yield
    finally:
        for part, precision in before:
            part.fp32_precision = precision


def _told(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
