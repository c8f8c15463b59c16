"""The point where a monotone requirement starts to hold, approached from the side where it does.

The requirement is a function `gap` that is ≤ 0 where it holds; inf and −inf are allowed where it has no size. The
answer is always a point at which gap ≤ 0 was *seen*: rounding can make it a little too careful, never too bold.
"""

import math
from collections.abc import Callable

Gap = Callable[[float], float]
Fits = Callable[[float], bool]

MOST_LOG = 230.0  # |ln x| that is tried; R(α) ~ q² of smaller q would underflow to 0 and seem free
_LEAST_LOG = 700.0  # −ln δ that is tried
_MOST_STEPS = 400


def size_of_gap(epsilon: float, target: float) -> float:
    """ln(ε/target), ≤ 0 exactly where ε ≤ target; ±inf where there is no such number."""
    if epsilon <= target:
        return math.log(epsilon / target) if epsilon > 0.0 else -math.inf
    if target == 0.0 or not math.isfinite(epsilon):  # NaN too: no bound is no proof
        return math.inf
    return max(math.log(epsilon / target), 5e-324)


def smallest(gap: Gap, fits: Fits, start: float, tolerance: float) -> float | None:
    """The smallest x > 0 with gap ≤ 0, which larger ones help: to a relative `tolerance`, rounded up until `fits`.

    None where no x will do; the least one that is tried where all do.
    """

    def at(log: float) -> float:
        return gap(math.exp(log))

    ends = bracket(at, math.log(start), towards=1.0, limit=MOST_LOG)
    if ends is None or math.isinf(ends[1]):
        return None if ends is None else math.exp(ends[0])
    return nudged(math.exp(boundary(at, *ends, tolerance)), 1.0, fits)


def largest_share(gap: Gap, fits: Fits, start: float, tolerance: float) -> float | None:
    """The largest x in (0, 1] with gap ≤ 0, which smaller ones help: rounded down until `fits`; None where none is."""
    at_one = gap(1.0)
    if at_one <= 0.0 and fits(1.0):
        return 1.0

    def at(log: float) -> float:
        return gap(math.exp(log)) if log < 0.0 else max(at_one, 5e-324) + log

    ends = bracket(at, math.log(start), towards=-1.0, limit=MOST_LOG)
    return None if ends is None else nudged(math.exp(boundary(at, *ends, tolerance)), -1.0, fits)


def least_share(gap: Gap, fits: Fits, start: float, tolerance: float) -> float | None:
    """The smallest x in (0, 1) with gap ≤ 0, which larger ones help, as of δ; None where none below 1 will do."""

    def at(log: float) -> float:
        return gap(math.exp(log)) if log < 0.0 else -log - 1.0  # δ = 1 promises nothing, and is within reach

    ends = bracket(at, math.log(start), towards=1.0, limit=_LEAST_LOG)
    assert ends is not None
    if math.isinf(ends[1]):
        return math.exp(ends[0])
    answer = math.exp(boundary(at, *ends, tolerance))
    return None if answer >= 1.0 else nudged(answer, 1.0, lambda value: value >= 1.0 or fits(value))


def nudged(value: float, direction: float, fits: Fits) -> float:
    """`value`, moved to the safe side by a few units in the last place where rounding put it on the other one."""
    for k in range(16):
        if fits(value):
            return value
        value *= 1.0 + direction * 2.0**-52 * 8.0**k
    raise ArithmeticError(f"no safe answer near {value!r}: please report this")  # ε jumps there: not a known accountant


def bracket(gap: Gap, start: float, towards: float, limit: float) -> tuple[float, float, float, float] | None:
    """Points on both sides of the boundary, found by growing steps from `start`.

    Args:
        gap: the requirement, holding further in the direction `towards`.
        start: where to look first.
        towards: +1 where larger x help, −1 where smaller ones do.
        limit: how far |x| may grow.

    Returns:
        (good, bad, gap(good), gap(bad)); bad is −towards·inf where even the limit is good, None where none is good.
    """
    x, value = start, gap(start)
    direction = towards if value > 0 else -towards
    # It crosses where gap falls by about 1 for each 1 of x, as ln ε against ln σ or ln q does at least.
    step = min(max(1.05 * abs(value), 0.02), 3.0) if math.isfinite(value) else 1.0
    while True:
        further = min(max(x + direction * step, -limit), limit)
        if further == x:
            return None if direction == towards else (x, -towards * math.inf, value, math.inf)
        beyond = gap(further)
        if (beyond > 0) != (value > 0):
            return (further, x, beyond, value) if direction == towards else (x, further, value, beyond)
        x, value, step = further, beyond, 2.0 * step


def boundary(gap: Gap, good: float, bad: float, at_good: float, at_bad: float, tolerance: float) -> float:
    """The good end of a bracket narrowed down to `tolerance`: secants (Illinois), halving where those stall."""
    held = 0  # how often in a row the same end has stayed
    weight_good, weight_bad = at_good, at_bad
    width = abs(good - bad)
    for step in range(1, _MOST_STEPS):
        if abs(good - bad) <= tolerance:
            break
        x = 0.5 * (good + bad)
        stalled = step % 4 == 0 and abs(good - bad) > 0.25 * width
        if step % 4 == 0:
            width = abs(good - bad)
        if math.isfinite(weight_good) and math.isfinite(weight_bad) and weight_bad > weight_good and not stalled:
            x = good + (bad - good) * (-weight_good / (weight_bad - weight_good))
            least = 0.5 * tolerance / abs(bad - good)  # no nearer to either end than that: each look must cut
            x = good + (bad - good) * min(max((x - good) / (bad - good), least), 1.0 - least)
        if x in (good, bad):  # no number lies between them
            break
        value = gap(x)
        if value <= 0:
            good, weight_good = x, value
            held = max(held, 0) + 1
            weight_bad = 0.5 * weight_bad if held > 1 else weight_bad
        else:
            bad, weight_bad = x, value
            held = min(held, 0) - 1
            weight_good = 0.5 * weight_good if held < -1 else weight_good
    return good


def last_whole(gap: Gap, start: float, largest: float, tolerance: float = 0.0) -> float:
    """The largest whole x in [0, largest] with gap ≤ 0, gap(0) ≤ 0 taken for granted; secants in ln x.

    With a `tolerance` > 0 a smaller x will do, by as large a part of itself.
    """
    good, at_good = 0.0, -math.inf
    x = float(min(max(math.floor(start), 1), largest))
    value = gap(x)
    factor = 2.0
    while value <= 0:  # upwards until it fails
        if x == largest:
            return largest
        good, at_good = x, value
        x = float(min(max(math.floor(x * factor), x + 1.0), largest))
        value, factor = gap(x), factor**2
    bad, at_bad = x, value
    held, tries = 0, 0
    while bad - good > max(1.0, tolerance * good):
        x = _between(good, bad, at_good, at_bad, halve=tries % 3 == 2)
        least = math.floor(0.5 * tolerance * good)  # no nearer to either end than that: each look must cut
        x = min(max(x, good + least), bad - least) if least else x
        tries += 1
        value = gap(x)
        if value <= 0:
            good, at_good, held = x, value, max(held, 0) + 1
            at_bad = 0.5 * at_bad if held > 1 else at_bad
        else:
            bad, at_bad, held = x, value, min(held, 0) - 1
            at_good = 0.5 * at_good if held < -1 else at_good
    return good


def _between(good: float, bad: float, at_good: float, at_bad: float, *, halve: bool) -> float:
    """A whole number strictly between two whole numbers: where the secant in ln x crosses 0, or half way."""
    if good == 0.0:
        x = math.sqrt(bad) if bad < 1e6 or halve else bad / 16.0
    elif halve or not (math.isfinite(at_good) and math.isfinite(at_bad) and at_bad > at_good):
        x = math.sqrt(good * bad)
    else:
        x = math.exp(math.log(good) + math.log(bad / good) * (-at_good / (at_bad - at_good)))
    return float(min(max(math.floor(x), good + 1.0), bad - 1.0))
