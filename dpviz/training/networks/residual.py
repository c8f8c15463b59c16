"""Two 3 × 3 convolutions with group norm around a shortcut (He et al. 2016; Wu & He 2018)."""

from torch import Tensor, nn


class Residual(nn.Module):
    """From `inputs` to `outputs` channels, the side divided by `stride`."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1, bias=False),
            nn.GroupNorm(8, outputs),
            nn.ReLU(),
            nn.Conv2d(outputs, outputs, 3, padding=1, bias=False),
            nn.GroupNorm(8, outputs),
        )
        same = inputs == outputs and stride == 1
        self.shortcut = nn.Identity() if same else nn.Conv2d(inputs, outputs, 1, stride=stride, bias=False)
        self.last = nn.ReLU()

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.last(self.body(x) + self.shortcut(x))
        return y
