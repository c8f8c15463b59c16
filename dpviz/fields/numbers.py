"""Number formats: the digits each kind of number deserves, in plain text that also fits a chart.

>>> epsilon(1.258574741), delta(1e-5), steps(40_000), short_steps(40_000), probability(0.7787)
('1.26', '1e-5', '40\\u202f000', '40k', '77.9 %')
"""

import math
from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Decimal

import numpy as np
import numpy.typing as npt

from dpviz.accounting.claims import rounded_down as rounded_down  # to significant digits, never above the number
from dpviz.accounting.claims import rounded_up as rounded_up  # and never below it
from dpviz.accounting.formula import tex as tex  # a result in a formula, in LaTeX: four digits, to nearest

FLOATING = 1e-12  # what floating point adds to a number that somebody entered: 0.36 is a little less than 0.36
THIN = "\u202f"  # narrow no-break space


def _special(x: float) -> str | None:
    if math.isnan(x):
        return "–"
    return ("∞" if x > 0 else "−∞") if math.isinf(x) else None


def _round(x: float, digits: int, up: bool) -> Decimal:
    """`x` to `digits` significant digits, exactly; `up` rounds towards +∞."""
    exact = Decimal(x)
    place = Decimal(1).scaleb(exact.adjusted() - digits + 1)
    return exact.quantize(place, rounding=ROUND_CEILING if up else ROUND_HALF_EVEN)


def grouped(text: str) -> str:
    """Thin spaces between the thousands of a decimal number with five or more digits before its point."""
    whole, point, rest = text.partition(".")
    digits = whole.lstrip("-")
    return (f"{int(whole):,}".replace(",", THIN) if len(digits) > 4 else whole) + point + rest


def epsilon(x: float, *, digits: int = 3, up: bool = False) -> str:
    """ε (dimensionless) to 3 significant digits: "0.0309", "1.26", "24.2", "1.20e9"; ∞ and "–" for inf and NaN.

    Args:
        x: the number.
        digits: significant digits.
        up: round up instead of to nearest, for sentences that say "at most".
    """
    special = _special(x)
    if special is not None or x == 0:
        return special or "0"
    rounded = _round(x, digits, up)
    if -4 <= rounded.adjusted() < 5:
        return grouped(f"{rounded:f}")
    return f"{rounded.scaleb(-rounded.adjusted()):f}e{rounded.adjusted()}"


def up(x: float, digits: int = 3) -> str:
    """ε of an upper bound, rounded up."""
    return epsilon(x, digits=digits, up=True)


def down(x: float, digits: int = 3) -> str:
    """ε of a lower bound, rounded down."""
    return epsilon(rounded_down(x, digits), digits=digits)


def interval(low: float, high: float) -> str:
    """Two ends of ε, the lower one rounded down, the upper one up; four digits where they are close. "–" for NaN."""
    if math.isnan(low):
        return "–"
    digits = 4 if high < 2 * low else 3
    return f"{down(low, digits)} – {up(high, digits)}"


def plain(x: float, *, digits: int = 3) -> str:
    """As `epsilon`, without the zeros at the end: what axes and settings show ("4", "0.01", "2e9")."""
    special = _special(x)
    if special is not None or x == 0:
        return special or "0"
    mantissa, e, power = epsilon(x, digits=digits).partition("e")
    return (mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa) + e + power


def at_most(x: float, digits: int = 3) -> str:
    """A number ≥ 0 that a sentence gives as an upper bound: rounded up, but for what floating point adds."""
    return plain(rounded_up(x * (1.0 - FLOATING), digits), digits=digits)


def at_least(x: float, digits: int = 3) -> str:
    """A number ≥ 0 that a sentence gives as a lower bound, or as the end of a range: rounded down likewise."""
    return plain(rounded_down(x * (1.0 + FLOATING), digits), digits=digits)


def entered(x: float) -> str:
    """A setting with all its digits, up to twelve: what a sentence says of a result holds at this number alone."""
    return plain(x, digits=12)


def delta(x: float, *, up: bool = True) -> str:
    """δ, δ_μ, γ: "1e-5", "2.5e-6", "0.05"; three significant digits at most.

    Args:
        x: the number.
        up: round up, but for what floating point adds, as δ must be; else to nearest.
    """
    special = _special(x)
    if special is not None or x == 0:
        return special or "0"
    x = rounded_up(x * (1.0 - FLOATING)) if up else x
    if 0.01 <= abs(x) < 1000:
        return plain(x)
    mantissa, _, power = f"{x:.2e}".partition("e")
    return f"{mantissa.rstrip('0').rstrip('.')}e{int(power)}"


def steps(x: float) -> str:
    """A whole number of steps with thin spaces: "9", "4000", "40 000"."""
    return _special(x) or grouped(f"{x:.0f}")


def short_steps(x: float) -> str:
    """A count as an axis writes it: "500", "40k", "2.5M", "1G"; at most three significant digits."""
    special = _special(x)
    if special is not None or x == 0:
        return special or "0"
    for unit, name in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(x) >= unit and abs(x) < 1e12:
            return plain(x / unit) + name
    return plain(x)


def probability(p: float, *, up: bool = False) -> str:
    """P(A) as a percentage that never rounds to a certainty: "50.03 %", "77.9 %", "99.9995 %".

    Digits grow towards 50 and 100 so that the distance to both shows; beyond twelve digits "> 99.99…" is written.

    Args:
        p: probability in [0, 1].
        up: round up instead of to nearest, for sentences that say "at most": beyond twelve digits to "100 %".
    """
    special = _special(p)
    if special is not None:
        return special
    if p in (0.0, 0.5, 1.0):
        return f"{100 * p:.0f} %"
    gap = min(abs(p - 0.5), abs(1 - p), abs(p))
    places = min(max(1, -math.floor(math.log10(gap)) - 2), 10)
    rounding = ROUND_CEILING if up else ROUND_HALF_EVEN
    percent = (100 * Decimal(p)).quantize(Decimal(1).scaleb(-places), rounding=rounding)
    if percent == 100:
        return "100 %" if up else f"> {100 - Decimal(1).scaleb(-places):f} %"
    return f"{percent:f} %"


def chance_up(p: float) -> str:
    """The same, rounded up: of a bound on what attackers reach."""
    return probability(p, up=True)


def percent(share: float, digits: int = 3) -> str:
    """A share in percent, to so many significant digits: "0.43 %"."""
    return f"{plain(100.0 * share, digits=digits)} %"


def tenths(share: float) -> str:
    """A share in percent, to its first digit behind the point: "81.3 %"; "–" for NaN."""
    return _special(share) or f"{100.0 * share:.1f}\u00a0%"


def p_value(p: float) -> str:
    """p of a test, to two digits; what is below 0.001 only as that."""
    if math.isnan(p):
        return "–"
    return "< 0.001" if p < 0.001 else epsilon(p, digits=2)


def p_equals(p: float) -> str:
    """p of a test after its name: "= 0.031", "< 0.001"."""
    text = p_value(p)
    return text if text.startswith("<") else f"= {text}"


def tex_up(x: float) -> str:
    """A result in a formula, in LaTeX: rounded up to four digits."""
    return tex(rounded_up(x, 4))


def tex_down(x: float) -> str:
    """The same, rounded down."""
    return tex(rounded_down(x, 4))


def attack_probabilities(epsilons: npt.NDArray[np.float64]) -> list[str]:
    """P(A) = 1/(1 + e^−ε) as text for each ε of a curve, shape (n,); "> 99.9999 %" from there on, "–" for NaN.

    The same digits as `probability`, but a curve at a time: a hover has thousands of them.
    """
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        doubt = 1 / (1 + np.exp(epsilons))
        gap = np.minimum(np.abs(0.5 - doubt), doubt)
        places = np.clip(-np.floor(np.log10(gap)) - 2, 1, 10)
    places[(gap == 0) | np.isnan(gap)] = 0
    percents = (100 - 100 * doubt).tolist()
    shown = [f"{p:.{n}f} %" for n, p in zip(places.astype(int).tolist(), percents, strict=True)]
    for i in np.flatnonzero(~(doubt >= 1e-6)):
        shown[i] = "–" if np.isnan(doubt[i]) else "> 99.9999 %"
    return shown
