"""Settings of the questions about orders."""

from __future__ import annotations

from dpviz.fields.field import Flag, Number, even_ticks, log_ticks

LARGEST = Number(
    key="omax",
    label="Largest order λ shown",
    default=512.0,
    low=2.0,
    high=1e6,
    ticks=log_ticks(2.0, 1e6, 8),
    ends=("few", "many"),
    example="512",
    help="Orders run from just above 0 to this λ = α − 1. Many nearly free steps are decided by large orders.",
)
LOG_X = Flag(key="ologx", label="Log λ", default=True, help="Logarithmic axis of orders.")
LOG_Y = Flag(key="ology", label="Log ε", default=False, help="Logarithmic axis where the chart shows ε.")


def _threshold(index: int, default: float) -> Number:
    return Number(
        key=f"oc{index}",
        symbol=f"C{'₁₂₃'[index - 1]}",
        label=f"Threshold C{'₁₂₃'[index - 1]}",
        default=default,
        low=1e-6,
        high=1e6,
        ticks=even_ticks(0.05, 2.0, 0.05),
        ends=("clips more, hides better", "clips less"),
        example="0.7",
        help="Clipping threshold of one gradient in the units of the noise: the noise multiplier is σ/C.",
    )


FIRST, SECOND, THIRD = _threshold(1, 0.1), _threshold(2, 0.7), _threshold(3, 1.0)
