"""The device of a training: which one is taken, what it has room for, and copies to it that the host does not wait for.

>>> sent(torch.arange(3), torch.device("cpu"))
tensor([0, 1, 2])
"""

from collections.abc import Sequence

import torch
from torch import Tensor

SHARE = 0.25  # of a device's free memory that data may take: the rest is for what training needs


def chosen_device(wanted: str) -> torch.device:
    """The device that "auto", "cpu" or "cuda" means here: of several GPUs the one with the most free memory.

    Raises:
        ValueError: for "cuda" without a GPU.
    """
    if wanted == "cpu" or (wanted == "auto" and not torch.cuda.is_available()):
        return torch.device("cpu")
    if not torch.cuda.is_available():
        raise ValueError("Expected a GPU for device='cuda', found none: take 'auto' or 'cpu'.")
    cards = [torch.device("cuda", index) for index in range(torch.cuda.device_count())]
    return max(cards, key=_free) if len(cards) > 1 else cards[0]


def device_name(device: torch.device) -> str:
    """In words, with its number where there are several."""
    if device.type == "cpu":
        return "CPU"
    number = f" ({device})" if torch.cuda.device_count() > 1 else ""
    return f"{torch.cuda.get_device_name(device)}{number}"


def _free(device: torch.device) -> int:
    """Bytes of its memory that nobody has taken."""
    return int(torch.cuda.mem_get_info(device)[0])


def fits(parts: Sequence[Tensor], device: torch.device) -> bool:
    """Whether data in the host's memory may lie on this GPU too."""
    if device.type != "cuda" or any(part.device.type != "cpu" for part in parts):
        return False
    return sum(part.numel() * part.element_size() for part in parts) <= SHARE * _free(device)


def sent(part: Tensor, device: torch.device) -> Tensor:
    """The same numbers on the device; to a GPU from pinned memory of their own, so that the host goes on meanwhile."""
    if part.device == device or device.type == "cpu":
        return part.to(device)
    if device.type == "cuda" and part.device.type == "cpu":  # a pinned tensor of the user's may be written next
        part = torch.empty_like(part, pin_memory=True).copy_(part)
    return part.to(device, non_blocking=True)
