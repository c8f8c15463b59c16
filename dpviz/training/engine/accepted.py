"""Checks of a network that need no run of it; those that need one are in `passes`."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from dpviz.training.words import refusal

_PRECISE = (torch.float32, torch.float64)


def refuse_parameters(network: nn.Module) -> None:
    """Refuses a device, and trainable parameters, in which clipped sums cannot be bounded.

    Raises:
        ValueError: naming the parameter and the way out.
    """
    trained = [(name, parameter) for name, parameter in network.named_parameters() if parameter.requires_grad]
    if not trained:
        raise refusal("no parameters")
    first, own = trained[0]
    for name, parameter in trained:
        if parameter.is_complex():
            raise refusal("complex", name=name, dtype=parameter.dtype)
        if parameter.dtype not in _PRECISE:
            raise refusal("rounded parameter", name=name, dtype=parameter.dtype)
        if parameter.dtype != own.dtype:
            precision = str(own.dtype).removeprefix("torch.")
            raise refusal("two precisions", first=first, precision=precision, name=name, dtype=parameter.dtype)
    refuse_device(own.device)


def refuse_device(device: torch.device) -> None:
    if device.type == "mps":
        raise refusal("mps")


def refuse_recomputed(name: str, module: nn.Module) -> None:
    """Refuses a known layer whose weight or bias is not its own parameter, as hooks leave it."""
    for role in ("weight", "bias"):
        tensor = getattr(module, role, None)
        if isinstance(tensor, torch.Tensor) and tensor is not module._parameters.get(role):
            raise refusal("recomputed", role=role, layer=name, kind=type(module).__name__)


def refuse_half(name: str, *tensors: torch.Tensor) -> None:
    """Refuses what a layer reads or returns in less than single precision, as under autocast."""
    for tensor in tensors:
        if tensor.is_floating_point() and tensor.dtype not in _PRECISE:
            raise refusal("half", layer=name, dtype=tensor.dtype)


def refuse_sparse(network: nn.Module) -> None:
    """Refuses tables whose gradients are kept as the rows that were used."""
    for name, module in network.named_modules():
        trained = any(p.requires_grad for p in module.parameters(recurse=False))
        if trained and isinstance(module, (nn.Embedding, nn.EmbeddingBag)) and module.sparse:
            raise refusal("sparse", layer=name, kind=type(module).__name__)


def refuse_class_targets(outputs: torch.Tensor, targets: torch.Tensor) -> None:
    """Refuses what cross-entropy would learn nothing from, or take for something else.

    Args:
        outputs: One score a class, (b, classes, …).
        targets: A class each, (b, …), or a probability of each class, as the outputs.
    """
    if outputs.ndim < 2 or outputs.shape[1] < 2:
        raise refusal("one class", shape=("b", *outputs.shape[1:]))
    labels = (*outputs.shape[:1], *outputs.shape[2:])
    if targets.is_floating_point() and targets.shape != outputs.shape:
        raise refusal("float classes", dtype=targets.dtype)
    if not targets.is_floating_point() and targets.shape != labels:
        raise refusal("shape of classes", wanted=("b", *labels[1:]), shape=("b", *targets.shape[1:]))


def refuse_batch_norms(network: nn.Module) -> None:
    """Refuses batch norm on batch statistics, and any norm that writes running statistics from the batch."""
    for norm in network.modules():
        if isinstance(norm, nn.modules.batchnorm._BatchNorm):
            mixes = norm.training or norm.running_mean is None
        else:
            mixes = isinstance(norm, nn.modules.batchnorm._NormBase) and norm.training and norm.track_running_stats
        if mixes:
            raise refusal("norm over the batch")


def refuse_rounded_products(device: torch.device) -> None:
    """TF32 and bfloat16 keep 3 digits: clipped gradients would add up to more than the bound, distances to less."""
    backends: Any = torch.backends
    cpu = (backends.mkldnn.matmul, backends.mkldnn.conv, backends.mkldnn.rnn)
    general = backends.fp32_precision
    for backend in (backends.cuda.matmul,) if device.type == "cuda" else cpu:
        own = backend.fp32_precision
        precision = general if own == "none" else own
        if precision not in ("none", "ieee"):
            raise refusal("rounded products", precision=precision)


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
