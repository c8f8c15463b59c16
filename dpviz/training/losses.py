"""Per-example losses, made from the loss function of a user's program.

PyTorch's losses average over the batch unless they are told not to. Gradients are clipped one by one, so each is taken
in the form that gives one loss for each example; what it averages or adds up within one example it does as before.

>>> loss, notice = per_example(nn.CrossEntropyLoss())
>>> loss(torch.zeros(3, 2), torch.tensor([0, 1, 1])).shape
torch.Size([3])
"""

import copy
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch.nn.functional as F
from torch import Tensor, nn

from dpviz.training.engine.accepted import refuse_class_targets
from dpviz.training.engine.passes import Loss
from dpviz.training.engine.per_example import cross_entropy
from dpviz.training.sampling import IGNORED, loss_per_example
from dpviz.training.words import refusal


@dataclass(frozen=True)
class ForEach:
    """A loss of PyTorch's in its form without a reduction, reduced within each example alone.

    Attributes:
        loss: With reduction="none", (b, …) numbers.
        reduction: What it did over the batch: "mean", or another that adds up.
        ignored: The label that has no loss, of cross-entropy; None for other losses.
    """

    loss: Callable[[Tensor, Tensor], Tensor]
    reduction: str
    ignored: int | None = None

    def __call__(self, outputs: Tensor, targets: Tensor) -> Tensor:
        if self.ignored is not None:
            refuse_class_targets(outputs, targets)
        numbers = self.loss(outputs, targets)
        if numbers.ndim < 2:
            return numbers
        return numbers.flatten(1).mean(1) if self.reduction == "mean" else numbers.flatten(1).sum(1)


def per_example(loss: Any) -> tuple[Loss, str]:
    """The loss for each example, (b,), and what is to be said of it: empty where it is used as it is."""
    if isinstance(loss, nn.CrossEntropyLoss):
        plain = loss.ignore_index == IGNORED and loss.weight is None and loss.label_smoothing == 0.0
        # The plain one is known to see one row at a time, which is faster.
        return loss_per_example if plain else ForEach(_whole(loss), "mean", loss.ignore_index), _notice(loss)
    if isinstance(loss, nn.modules.loss._Loss) and loss.reduction != "none":
        return ForEach(_whole(loss), loss.reduction), _notice(loss)
    if _reduces(loss):
        ignored = IGNORED if loss is F.cross_entropy else None
        each = ForEach(partial(loss, reduction="none"), "mean", ignored)
        return each, _reduced(loss.__name__, "mean")
    return loss, ""


def _whole(loss: nn.modules.loss._Loss) -> nn.modules.loss._Loss:
    """The same loss without its reduction."""
    whole = copy.copy(loss)
    whole.reduction = "none"
    return whole


def _notice(loss: nn.modules.loss._Loss) -> str:
    if loss.reduction == "none":
        return ""
    return _reduced(type(loss).__name__, loss.reduction)


def _reduced(loss: str, reduction: str) -> str:
    return (
        f"{loss} reduces the losses of a batch to one number (reduction={reduction!r}). Gradients are clipped for each "
        "example, so its loss for each example is used."
    )


def _reduces(loss: Any) -> bool:
    """Whether it is a function of PyTorch's that averages unless it is told not to."""
    if getattr(loss, "__module__", "") != F.__name__ or not inspect.isfunction(loss):
        return False
    return "reduction" in inspect.signature(loss).parameters


def refuse_labels(loss: Loss, targets: Tensor, classes: int) -> None:
    """Refuses labels that cross-entropy has no output for, before a GPU breaks off at them.

    Args:
        loss: As `per_example` gives it; other losses take any target.
        targets: Labels, (b, …); probabilities of classes pass.
        classes: Outputs of the network.

    Raises:
        ValueError: with the way out.
    """
    by_class = loss in (cross_entropy, loss_per_example) or (isinstance(loss, ForEach) and loss.ignored is not None)
    if not by_class or targets.is_floating_point() or not targets.numel():
        return
    ignored = loss.ignored if isinstance(loss, ForEach) else IGNORED
    if bool((((targets < 0) | (targets >= classes)) & (targets != ignored)).any()):
        raise refusal("label", classes=classes, last=classes - 1)
