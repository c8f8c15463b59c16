"""Accountants' formulas as LaTeX, with and without numbers.

>>> tex(1.23456e-7)
'1.235\\\\cdot 10^{-7}'
"""

import math

CONVERSIONS = {
    "classic": r"\min_\alpha\ T R(\alpha) + \frac{\ln(1/\delta)}{\alpha-1}",
    "improved": r"\min_\alpha\ T R(\alpha) + \ln\frac{\alpha-1}{\alpha} - \frac{\ln\delta + \ln\alpha}{\alpha-1}",
}


def tex(value: float) -> str:
    """Four significant digits in LaTeX."""
    if not math.isfinite(value):
        return r"\text{–}" if math.isnan(value) else r"\infty"
    mantissa, e, power = f"{value:.4g}".partition("e")
    return rf"{mantissa}\cdot 10^{{{int(power)}}}" if e else mantissa


def composed_latex(conversion: str, epsilon: float, order: float, steps: int, delta: float) -> str:
    """T·R(α) and the conversion's tail at the order α that decided; the symbols alone where none did."""
    if not (order > 1.0 and math.isfinite(epsilon)) or steps == 0:
        return rf"\varepsilon = {CONVERSIONS[conversion]} = {tex(epsilon)}"
    if conversion == "classic":
        tail = math.log(1.0 / delta) / (order - 1.0)
        parts = rf"T\,R(\alpha) + \frac{{\ln(1/\delta)}}{{\alpha-1}} = {steps} \cdot {tex((epsilon - tail) / steps)}"
        shown = rf"\frac{{{tex(math.log(1.0 / delta))}}}{{{tex(order - 1.0)}}}"
        return rf"\varepsilon = {parts} + {shown} = {tex(epsilon)}"
    tail = math.log1p(-1.0 / order) - (math.log(delta) + math.log(order)) / (order - 1.0)
    parts = r"T\,R(\alpha) + \ln\frac{\alpha-1}{\alpha} - \frac{\ln\delta + \ln\alpha}{\alpha-1}"
    return (
        rf"\varepsilon = {parts} = {steps} \cdot {tex((epsilon - tail) / steps)} + ({tex(tail)})"
        rf" = {tex(epsilon)}\quad (\alpha = {tex(order)})"
    )
