"""Names at line ends: their widths, and where they go so that none covers another."""

from __future__ import annotations

from collections.abc import Sequence

_NARROW = frozenset("iljtfrI.,:;|!'()[]/ \u202f·↑↓")
_WIDE = frozenset("mwMWGOQ@%→∞σεδ×")


def text_width(text: str, size: float) -> float:
    """About how many pixels `text` takes in the app's font at `size` pixels; errs on the wide side."""
    ems = sum(0.31 if c in _NARROW else 0.84 if c in _WIDE else 0.64 if c.isupper() else 0.55 for c in text)
    return 1.04 * size * ems


def shortened(text: str, longest: int) -> str:
    """`text` cut to `longest` characters, the last one an ellipsis where something was cut."""
    return text if len(text) <= longest else text[: longest - 1].rstrip(" ,·") + "…"


def pushed_apart(wanted: Sequence[float], *, gap: float, low: float, high: float) -> list[float]:
    """Positions nearest to `wanted` (least squares) that keep their order, stand ≥ `gap` apart, and lie in [low, high].

    Equal positions keep the order of the list. Where (n − 1)·gap does not fit into [low, high] the gap shrinks to what
    fits. Pool adjacent violators: after subtracting k·gap from the k-th, "at least gap apart" reads "not decreasing".

    Returns:
        The positions, in the order of `wanted`.
    """
    if not wanted:
        return []
    gap = min(gap, (high - low) / max(len(wanted) - 1, 1))
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    blocks: list[tuple[float, int]] = []  # (sum, how many)
    for rank, i in enumerate(order):
        total, count = wanted[i] - rank * gap, 1
        while blocks and blocks[-1][0] / blocks[-1][1] >= total / count:
            total, count = total + blocks[-1][0], count + blocks[-1][1]
            blocks.pop()
        blocks.append((total, count))
    top = high - gap * (len(wanted) - 1)
    placed = [min(max(total / count, low), top) for total, count in blocks for _ in range(count)]
    result = [0.0] * len(wanted)
    for rank, i in enumerate(order):
        result[i] = placed[rank] + rank * gap
    return result
