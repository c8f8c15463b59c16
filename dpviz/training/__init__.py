"""Private training: the only package that imports torch.

Not before it is asked to train: pages read its values. `PrivateTraining` trains a network of one's own (`private`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpviz.training.private import PrivateTraining

__all__ = ["PrivateTraining"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from dpviz.training import private

        return getattr(private, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
