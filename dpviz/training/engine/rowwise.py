"""Which networks may run on whole batches: those made of listed modules alone, each of which treats rows one by one.

Every other network runs one example at a time (`one_at_a_time`). A module that is listed here must give the same output
for an example whatever stands beside it, at any number of dimensions from 2 on, and must write nothing down.
"""

from __future__ import annotations

from collections.abc import Collection

from torch import nn
from torch.nn.modules.module import _has_any_global_hook

from dpviz.training.networks.residual import Residual

_LISTED = frozenset(
    {
        nn.Sequential, Residual, nn.Identity, nn.Dropout,
        nn.ReLU, nn.ReLU6, nn.LeakyReLU, nn.ELU, nn.SELU, nn.CELU, nn.GELU, nn.SiLU, nn.Mish, nn.Softplus, nn.Softsign,
        nn.Sigmoid, nn.LogSigmoid, nn.Tanh, nn.Hardtanh, nn.Hardsigmoid, nn.Hardswish, nn.Tanhshrink, nn.Softshrink,
        nn.MaxPool1d, nn.MaxPool2d, nn.MaxPool3d, nn.AvgPool1d, nn.AvgPool2d, nn.AvgPool3d,
        nn.AdaptiveAvgPool1d, nn.AdaptiveAvgPool2d, nn.AdaptiveAvgPool3d,
        nn.AdaptiveMaxPool1d, nn.AdaptiveMaxPool2d, nn.AdaptiveMaxPool3d,
    }
)  # fmt: skip
_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


def treats_rows_alone(network: nn.Module, layers: Collection[nn.Module]) -> bool:
    """Whether `network` is made of listed modules and of `layers`, with nothing hooked onto any of them."""
    hooked = bool(_has_any_global_hook())  # type: ignore[no-untyped-call]
    return not hooked and _alone(network, layers)


def _alone(module: nn.Module, layers: Collection[nn.Module]) -> bool:
    own = vars(module)
    if "forward" in own or any(own[hooks] for hooks in _HOOKS):
        return False
    if module in layers:
        return True
    kind = type(module)
    listed = kind in _LISTED or (isinstance(module, nn.Flatten) and kind is nn.Flatten and module.start_dim == 1)
    return listed and not own["_parameters"] and all(_alone(child, layers) for child in module.children())
