"""Several views of each example in place of it: shifted, and mirrored where that is an example of the same kind.

The engine averages an example's gradient over its views and clips the mean, so that views cost no privacy (De, Berrada,
Hayes, Smith and Balle 2022, "Unlocking high-accuracy differentially private image classification through scale", §3.2:
augmentation multiplicity). Each view is drawn on its own, whatever the other examples are, and from a stream that is as
secret as the batches: who knew which draw went to which place of a batch would see more than one example move.
"""

from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from dpviz.training.accelerator import sent
from dpviz.training.models.base import image
from dpviz.training.words import refusal

SHIFT = 4  # pixels up, down and sideways at most, as in the paper


class Views:
    """Draws K views of every image.

    Args:
        count: K.
        random: Where the draws come from.
        shape: Of an image, (c, h, w).
        flips: Whether half of them are mirrored, left for right.

    Raises:
        ValueError: if the examples are no images, or too small to be shifted.
    """

    def __init__(self, count: int, random: np.random.Generator, shape: Sequence[int], *, flips: bool) -> None:
        if not image(tuple(shape)) or min(shape[1:]) <= SHIFT:
            raise refusal("views_of_shape", shape=tuple(shape), count=count, shift=SHIFT)
        self.count, self._random, self._flips = count, random, flips

    def __call__(self, x: Tensor) -> Tensor:
        """Images (b, c, h, w) → their views (bK, c, h, w), one image's together; edges are filled by reflection."""
        sides, mirrors = 2 * SHIFT + 1, 2 if self._flips else 1
        # One number a view: the first images get theirs however many come after.
        drawn = sent(torch.from_numpy(self._random.integers(0, mirrors * sides**2, x.shape[0] * self.count)), x.device)
        padded = F.pad(x, [SHIFT] * 4, mode="reflect")
        windows = padded.unfold(2, x.shape[2], 1).unfold(3, x.shape[3], 1)  # (b, c, 9, 9, h, w), no copy
        which = torch.arange(x.shape[0], device=x.device).repeat_interleave(self.count)
        shifted = windows[which, :, drawn // sides % sides, drawn % sides]
        mirrored = drawn >= sides**2
        return torch.where(mirrored[:, None, None, None], shifted.flip(-1), shifted) if self._flips else shifted
