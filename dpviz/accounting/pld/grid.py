"""(lower, upper) ε of one composition, or of many that share their grids: closed forms, grids, and the Rényi cap.

See `tight` for the method. Rows of one mechanism that lie close share a discretisation and its transform.

What can be said of composed steps without a grid.

Closed forms: the privacy curve of one step, and of the Gaussian mechanism without sampling.

>>> from dpviz.mechanisms import SampledGaussian
>>> round(single_step_epsilon(SampledGaussian(noise_multiplier=1.0, sample_rate=1.0), 1e-5)[1], 4)
4.3772

The Rényi bound on the tight accountant's steps: the same orders, the same ε as the Rényi accountant's.

δ(ε) as the inverse of ε(δ): the bounds at one are the bounds at the other, in both directions.

What is returned was put back: ε_upper(δ_upper) ≤ ε and ε_lower(δ_lower) ≥ ε hold for the very floats, whatever δ is.
"""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from dpviz._arrays import Array
from dpviz._remember import remembered
from dpviz.accounting.pld import plan
from dpviz.accounting.pld import two_grids as two_scales
from dpviz.accounting.pld.composed_loss import ComposedLoss, blurred, delta_at, epsilon_above, epsilon_below
from dpviz.accounting.pld.loss_transform import compose
from dpviz.accounting.pld.persons import GroupCurve, group_curve
from dpviz.accounting.pld.plan import Aim
from dpviz.accounting.pld.privacy_loss import discretise, pair_of
from dpviz.accounting.renyi.accountant import Renyi
from dpviz.accounting.renyi.conversion import log_delta_per_order
from dpviz.accounting.renyi.varying_noise import VARYING_ORDERS
from dpviz.mechanisms import Mechanism, PersonOf, SampledGaussian, one_row_of
from dpviz.mechanisms.pair import LEAST_SCALE, gaussian_log_delta

LEAST_DELTA = float(np.finfo(np.float64).tiny)
SLACK = 1e-9  # relative; covers rounding of the closed forms many times over


def _bisect(log_delta_of: Callable[[float], float], delta: float) -> tuple[float, float]:
    """Neighbouring ε with δ(upper) ≤ delta < δ(lower), for decreasing δ(ε), parted by their rounding."""
    most = math.log(delta)
    if log_delta_of(0.0) <= most:
        return 0.0, 0.0
    low, high = 0.0, 1.0
    while log_delta_of(high) > most:
        low, high = high, 2 * high
        if not math.isfinite(high):
            return low * (1 - SLACK), math.inf
    for _ in range(200):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        low, high = (middle, high) if log_delta_of(middle) > most else (low, middle)
    return low * (1 - SLACK), high * (1 + SLACK)


def gaussian_epsilon(noise_multiplier: float, delta: float) -> tuple[float, float]:
    """Lower and upper ε of the Gaussian mechanism; they differ by rounding only."""
    return _bisect(lambda e: float(gaussian_log_delta(noise_multiplier, e)), delta)


def single_step_epsilon(mechanism: Mechanism, delta: float) -> tuple[float, float]:
    """Lower and upper ε of one step; they differ by rounding only."""
    return _bisect(pair_of(mechanism).log_delta, delta)


def around(log_delta: float) -> tuple[float, float]:
    """Lower and upper δ from ln δ with its rounding; 0 and the least double where it underflows."""
    exact = math.exp(log_delta)
    upper = exact * (1.0 + SLACK) if exact > 0.0 or log_delta == -math.inf else 0.0
    if log_delta > -math.inf:  # what was spent leaves some δ
        upper = max(upper, LEAST_DELTA)
    return exact * (1.0 - SLACK), min(upper, 1.0)


MOST_MECHANISMS = 8  # with all orders; divergences of many different steps take their time


def renyi_epsilon(mechanisms: Sequence[Mechanism], counts: Array, delta: float) -> float:
    """ε of all steps together by `Renyi`, fewer orders where many mechanisms differ.

    Where a curve is unknown, that of Gaussian mechanisms that show no less; inf where these are unknown too.
    """
    if any(mechanism.renyi() is None for mechanism in mechanisms):
        sigma = _one_gaussian([mechanism.gaussian_above for mechanism in mechanisms], counts)
        return math.inf if sigma is None else gaussian_epsilon(sigma, delta)[1]
    accountant = Renyi() if len(mechanisms) <= MOST_MECHANISMS else Renyi(order_values=VARYING_ORDERS)
    events = [(mechanism, int(count)) for mechanism, count in zip(mechanisms, counts.tolist(), strict=True)]
    return float(accountant.of_events(events, delta).epsilon)


LEAST_LOG_DELTA = -690.0  # below, a double has no digits to spare
LARGEST_LOG_DELTA = -1e-9
TOLERANCE = 1e-3  # of ln δ
_LONGEST_STEP = 50.0
_MOST_LOOKS = 40

Interval = Callable[[float], tuple[float, float]]


def delta_interval(interval: Interval, epsilon: float, start: float, slope: float) -> tuple[float, float]:
    """Lower and upper δ at ε.

    Args:
        interval: δ ↦ (lower, upper) ε, both falling.
        epsilon: ε ≥ 0.
        start: ln δ where to look first.
        slope: −d ln δ/dε there, an estimate; it only steers.
    """
    seen: dict[float, tuple[float, float]] = {}

    def at(x: float) -> tuple[float, float]:
        if x not in seen:
            seen[x] = interval(math.exp(x))
        return seen[x]

    def too_high(x: float) -> float:
        high = at(x)[1]
        return _gap(slope * (high - epsilon)) if high > 0.0 else -1.0  # ε ends at 0: there is no telling how far off

    def too_low(x: float) -> float:
        low = at(x)[0]
        return _gap(slope * (epsilon - low)) if low > 0.0 else 1.0

    upper = _search(too_high, _clipped(start), 1.0)
    nearest = min(seen, key=lambda x: abs(seen[x][0] - epsilon))
    lower = _search(too_low, nearest, -1.0)
    high = 1.0 if upper is None else math.exp(upper)
    return min(0.0 if lower is None else math.exp(lower), high), high


def _clipped(x: float) -> float:
    return min(max(x, LEAST_LOG_DELTA), LARGEST_LOG_DELTA)


def _gap(move: float) -> float:
    """How far ln δ has to move, about; > 0 exactly where it has to."""
    return max(move, -_LONGEST_STEP) if move <= 0.0 else min(max(move, 1e-300), _LONGEST_STEP)


def _search(gap: Callable[[float], float], x: float, towards: float) -> float | None:
    """The x nearest to where gap turns positive at which gap ≤ 0 was seen, to TOLERANCE; None where there is none."""
    good: tuple[float, float] | None = None
    bad: tuple[float, float] | None = None
    stretch = 1.0
    for step in range(_MOST_LOOKS):
        value = gap(x)
        if value <= 0.0:
            good = (x, value)
        else:
            bad = (x, value)
        if -TOLERANCE < value <= 0.0 or (good and bad and abs(good[0] - bad[0]) < TOLERANCE):
            break
        if good and bad:  # aimed a little on the good side
            share = (-0.3 * TOLERANCE - good[1]) / (bad[1] - good[1]) if step % 3 < 2 else 0.5
            x = good[0] + min(max(share, 0.02), 0.98) * (bad[0] - good[0])
            continue
        further = _clipped(x + towards * stretch * (value + 0.3 * TOLERANCE))
        stretch *= 2.0
        if further == x:
            break
        x = further
    return None if good is None else good[0]


Mechanisms = Sequence[Mechanism]

LARGEST_LOSS = 250.0  # of one step, in units of ε; beyond, exp(loss) nears overflow
LARGEST_EPSILON = 50.0  # the width is plan.promised up to here
MOST_SPREAD = 32.0  # of step counts that share a grid and a tilt
ATTEMPTS = 6  # plan.finer grids tried where the first one is not good enough


# What can be said without a grid -----------------------------------------------------------------------------------


def releasing(mechanisms: Mechanisms, counts: Array) -> tuple[list[Mechanism], Array]:
    """The mechanisms that release something, and how often."""
    kept = [j for j, m in enumerate(mechanisms) if counts[j] > 0 and m.releases]
    return [mechanisms[j] for j in kept], counts[kept]


def _one_gaussian(known: Sequence[float | None], counts: Array) -> float | None:
    """The noise multiplier of the one Gaussian mechanism that several make together; None where one of them is none."""
    sigmas = [sigma for sigma in known if sigma is not None]
    if len(sigmas) < len(known):
        return None
    return 1.0 / math.hypot(*(math.sqrt(t) / sigma for sigma, t in zip(sigmas, counts.tolist(), strict=True)))


def epsilon_without_grid(mechanisms: Mechanisms, counts: Array, delta: float) -> tuple[float, float] | None:
    if not mechanisms:
        return 0.0, 0.0
    if (sigma := _one_gaussian([m.as_gaussian for m in mechanisms], counts)) is not None:
        return gaussian_epsilon(sigma, delta)
    if any(in_turn(m) for m in mechanisms):
        return 0.0, _group_epsilon(mechanisms, counts, delta)
    if min(pair_of(m).scale for m in mechanisms) < LEAST_SCALE:
        return 0.0, renyi_epsilon(mechanisms, counts, delta)
    if counts.sum() == 1.0:
        return single_step_epsilon(mechanisms[0], delta)
    if sum(t * m.total_variation for m, t in zip(mechanisms, counts, strict=True)) * (1 + 1e-9) <= delta:
        return 0.0, 0.0  # total variation adds up at most
    if any(too_large(m) for m in mechanisms):
        single = max(single_step_epsilon(m, delta)[0] for m in mechanisms)
        return single, renyi_epsilon(mechanisms, counts, delta)
    return None


@lru_cache(maxsize=1024)
def too_large(mechanism: Mechanism) -> bool:
    """Whether a step's loss reaches beyond what a grid can hold, within 12 standard deviations."""
    pair = pair_of(mechanism)
    low, high = (float(pair.loss(z)) for z in pair.reach(12.0))
    return max(high, -low) > LARGEST_LOSS


def without_grid(mechanism: Mechanism, steps: float) -> bool:
    """Whether δ(ε) of so many steps has a closed form, or no grid holds it: `delta_of_row` knows what there is."""
    if steps <= 1.0 or not mechanism.releases or mechanism.as_gaussian is not None:
        return True
    return in_turn(mechanism) or too_large(mechanism)


# Several rows of one person: the curve of one row, and what it says of all in turn.

_GROUP_POINTS, _GROUP_LOOKS = 512, 8  # points of one row's curve, and tilts that resolve it


def in_turn(mechanism: Mechanism) -> bool:
    """Whether it is told by group privacy: no pair of all rows is known."""
    return isinstance(mechanism, PersonOf) and mechanism.exact is None


def _group_epsilon(mechanisms: Mechanisms, counts: Array, delta: float) -> float:
    """ε of all steps for a person, from above."""
    above = _one_gaussian([m.gaussian_above for m in mechanisms], counts)
    most = math.inf if above is None else gaussian_epsilon(above, delta)[1]
    return min(_group_curve(tuple(mechanisms), tuple(counts.tolist()), _level(delta)).epsilon_at(math.log(delta)), most)


def _group_delta(mechanisms: Mechanisms, counts: Array, epsilon: float) -> float:
    """δ of all steps for a person, from above."""
    above = _one_gaussian([m.gaussian_above for m in mechanisms], counts)
    log_delta = 0.0 if above is None else float(gaussian_log_delta(above, epsilon))
    level = 0.0
    while _level(math.exp(log_delta)) != level:  # at the level at which ε is told at this δ
        level = _level(math.exp(log_delta))
        curve = _group_curve(tuple(mechanisms), tuple(counts.tolist()), level)
        log_delta = min(log_delta, curve.delta_at(epsilon))
    return around(log_delta)[1]


def _level(delta: float) -> float:
    """A δ at most as large, of few: curves reach down to it."""
    return 10.0 ** (10 * max(min(math.floor(math.log10(max(delta, LEAST_DELTA)) / 10), -1), -28))


@remembered
def _group_curve(mechanisms: tuple[Mechanism, ...], counts: tuple[float, ...], level: float) -> GroupCurve:
    """The curve of the person with the most rows, who has all that others have."""
    ones, rows = zip(*map(one_row_of, mechanisms), strict=True)
    most, total = max(rows), np.array(counts)
    near = sum(plan.rough_epsilon(m, t, level) for m, t in zip(ones, counts, strict=True))
    away = math.sqrt(-2.0 * math.log(level))
    mean = most * plan.gaussian_mean(near, away)
    lowest = math.exp(max(-0.5 * (away + mean) ** 2, -640.0))
    if epsilon_without_grid(ones, total, 0.5 * lowest) is None:
        last = sum(plan.rough_epsilon(m, t, lowest) for m, t in zip(ones, counts, strict=True))
        epsilon, delta = np.linspace(0.0, max(last, 1e-9), _GROUP_POINTS), np.ones(_GROUP_POINTS)
        for anchor in np.linspace(0.0, last, _GROUP_LOOKS).tolist():
            delta = np.minimum(delta, delta_bounds(ones, total, anchor, epsilon)[1])
    else:
        delta = np.append(np.geomspace(0.999, 0.1, 64), np.geomspace(0.1, lowest, _GROUP_POINTS))
        ends = [epsilon_without_grid(ones, total, d) for d in delta.tolist()]
        epsilon = np.array([math.inf if end is None else end[1] for end in ends])
    pure = sum(t * max(pair_of(m).largest_losses) for m, t in zip(ones, counts, strict=True)) * (1.0 + 1e-12)
    epsilon, log_delta = np.append(epsilon, pure), np.append(np.log(np.maximum(delta, LEAST_DELTA)), -math.inf)
    curves = [m.renyi() for m in ones]
    if all(curves):  # deeper than a double δ reaches
        orders, deep = Renyi().orders, np.geomspace(1e-3, 2.0, _GROUP_POINTS) * (near + mean * (away + mean))
        spent = sum(t * curve(orders) for curve, t in zip(curves, counts, strict=True))
        logs = log_delta_per_order(np.broadcast_to(spent, (deep.size, orders.size)), orders, deep, "improved")
        epsilon, log_delta = np.append(epsilon, deep), np.append(log_delta, logs.min(axis=1))
    order = np.lexsort((log_delta, epsilon))
    order = order[np.isfinite(epsilon[order])]
    epsilon, first = np.unique(epsilon[order], return_index=True)
    return group_curve(epsilon, np.minimum.accumulate(np.minimum(log_delta[order][first], 0.0)), most)


# On a grid ---------------------------------------------------------------------------------------------------------


REMOVE, ADD = 0, 1


def removed_rows(
    mechanisms: Mechanisms, counts: Array, aim: Aim, tail: float, near: float | None = None
) -> list[tuple[ComposedLoss, ComposedLoss]]:
    """Removing one example, from above and from below, for each row of counts (curves, mechanisms); `near` one ε."""
    plds = [discretise(m, aim.interval, tail) for m in mechanisms]
    above = compose([pld.remove_above for pld in plds], counts, aim.tilt, aim.log_wrap, near=near)
    below = compose([pld.remove_below for pld in plds], counts, aim.tilt, aim.log_wrap, near=near)
    return list(zip(above, below, strict=True))


def added_rows(
    mechanisms: Mechanisms, counts: Array, aim: Aim, tail: float, near: float | None = None
) -> list[ComposedLoss]:
    """Adding one example, from above, for each row of counts."""
    plds = [discretise(m, aim.interval, tail).add_above for m in mechanisms]
    return compose(plds, counts, aim.tilt, aim.log_wrap, near=near)


def epsilon_of_rows(mechanisms: Mechanisms, rows: Array, delta: float) -> list[tuple[float, float]]:
    """(lower, upper) ε for each row of counts; rows that lie close share a grid and its transforms."""
    answers: dict[int, tuple[float, float]] = {}
    groups: list[list[int]] = []
    for i, row in enumerate(rows):
        active, counts = releasing(mechanisms, row)
        known = epsilon_without_grid(active, counts, delta)
        if known is not None:
            answers[i] = known
            continue
        if len(active) == 1 and two_scales.worth_it(active[0], float(counts[0])):
            answers[i] = _on_two_scales(active[0], float(counts[0]), delta)
            if answers[i][1] - answers[i][0] <= plan.promised(answers[i][0]):
                continue
        if groups and row.sum() <= MOST_SPREAD * rows[groups[-1][0]].sum():
            groups[-1].append(i)
        else:
            groups.append([i])
    for members in groups:
        used = [j for j, mechanism in enumerate(mechanisms) if mechanism.releases and rows[members, j].any()]
        active, counts = [mechanisms[j] for j in used], rows[np.ix_(members, used)]
        for i, (lower, upper) in zip(members, _epsilon_of_group(active, counts, delta), strict=True):
            low, high = answers.get(i, (0.0, math.inf))
            answers[i] = max(low, lower), min(high, upper)
    return [_capped(mechanisms, row, delta, *answers[i]) for i, row in enumerate(rows)]


def _epsilon_of_group(mechanisms: Mechanisms, counts: Array, delta: float) -> list[tuple[float, float]]:
    """(lower, upper) ε for rows of counts that share grids and tilts; a row that these do not fit gets its own."""
    shared = len(counts) > 1
    tail = plan.tail_for(float(counts.sum(axis=1).max()), delta)
    aim = plan.aim_for_rows(mechanisms, counts, REMOVE, delta)
    removed = [
        _remove_refined(mechanisms, row, delta, aim, plds, shared)
        for row, plds in zip(counts, removed_rows(mechanisms, counts, aim, tail), strict=True)
    ]
    # Where the largest losses of addition lie below removal's ε, −ln(1 − q) a step, there is nothing to compute.
    pure = [most_added(mechanisms, row) for row in counts]
    open_ = [i for i, (_, upper) in enumerate(removed) if pure[i] > upper]
    added = list(pure)
    if open_:
        aim = plan.aim_for_rows(mechanisms, counts[open_], ADD, delta)
        for i, pld in zip(open_, added_rows(mechanisms, counts[open_], aim, tail), strict=True):
            added[i] = _add_refined(mechanisms, counts[i], delta, aim, pld, pure[i], removed[i], shared)
    return [(lower, max(upper, most)) for (lower, upper), most in zip(removed, added, strict=True)]


def most_added(mechanisms: Mechanisms, counts: Array) -> float:
    """No ε of addition exceeds it; 0 where addition is removal's mirror image, whose ε it then has."""
    pairs = [pair_of(m) for m in mechanisms]
    if all(pair.symmetric for pair in pairs):
        return 0.0
    pure = sum(t * pair.largest_losses[1] for pair, t in zip(pairs, counts.tolist(), strict=True))
    return float(pure) * (1 + 1e-12)


def _capped(mechanisms: Mechanisms, row: Array, delta: float, lower: float, upper: float) -> tuple[float, float]:
    """The bounds, no higher than Rényi's and no lower than one step's, where these may help: small ε, T above 10⁹."""
    if upper - lower <= plan.RELATIVE_WIDTH * lower or upper == 0.0:
        return lower, upper
    active, counts = releasing(mechanisms, row)
    if any(in_turn(m) for m in active):
        return lower, upper
    if upper - lower > plan.promised(lower):
        lower = max(lower, *(single_step_epsilon(m, delta)[0] for m in active))
    pure = sum(t * max(pair_of(m).largest_losses) for m, t in zip(active, counts.tolist(), strict=True))
    bound = min(renyi_epsilon(active, counts, delta), float(pure)) * (1 + 1e-9)
    if any(m.least != m for m in active):  # of a pair that shows more than the mechanism
        lower = min(lower, bound)
    return lower, min(upper, bound) if bound >= lower else upper


def _remove_refined(
    mechanisms: Mechanisms, counts: Array, delta: float, aim: Aim, plds: tuple[ComposedLoss, ComposedLoss], shared: bool
) -> tuple[float, float]:
    """Lower and upper ε of removal; looked at again, aimed at the ε found, on finer grids while too wide."""
    lower, upper = epsilon_below(plds[1], delta), epsilon_above(plds[0], delta)
    tail = plan.tail_for(float(counts.sum()), delta)
    for attempt in range(ATTEMPTS):
        if upper - lower <= 0.7 * plan.promised(lower) or (lower > LARGEST_EPSILON and not shared):
            break
        if shared and attempt == 0:  # the aim was another row's
            aim = plan.aim_for_rows(mechanisms, counts[None], REMOVE, delta)
        elif math.isfinite(upper):
            numeric = blurred(plds[0], upper, delta)
            interval = aim.interval if numeric else plan.finer(aim.interval, lower, upper)
            near = math.sqrt(max(lower, 0.1 * upper) * upper) if numeric else upper
            last, aim = aim, plan.aim_at_epsilon(mechanisms, counts, REMOVE, near, delta, interval)
            if aim.interval > 0.9 * last.interval and 0.99 < aim.tilt / last.tilt < 1.01 and attempt > 1:
                break  # as fine as it gets
        else:
            break
        (plds,) = removed_rows(mechanisms, counts[None], aim, tail)
        lower, upper = max(lower, epsilon_below(plds[1], delta)), min(upper, epsilon_above(plds[0], delta))
    return lower, upper


def _on_two_scales(mechanism: SampledGaussian, steps: float, delta: float) -> tuple[float, float]:
    """Lower and upper ε, both directions, of many rarely sampled steps."""
    split = two_scales.split_of(mechanism, steps)
    left_out, missed = two_scales.most_large(split, steps, 1e-4 * delta)
    tail, counts = plan.tail_for(steps, delta), np.array([steps])
    lower, upper, removed = 0.0, math.inf, math.inf
    added = -steps * math.log1p(-mechanism.sample_rate) * (1 + 1e-12)  # no loss of addition exceeds it
    near = plan.rough_epsilon(mechanism, steps, delta)
    if near > 3.0 * LARGEST_EPSILON:
        return lower, upper
    for attempt in range(4):
        scales = two_scales.scales_for(mechanism, split, steps, near, delta, plan.wanted(near) / 2.0 ** (attempt + 1))
        remove, add = (
            plan.aim_at_epsilon([mechanism], counts, way, near, delta, scales.coarse) for way in (REMOVE, ADD)
        )

        def pld(aim: Aim, side: str, small: float, scales: two_scales.Scales = scales) -> ComposedLoss:
            return two_scales.composed(mechanism, split, steps, scales, aim, tail, side, small)

        above = pld(remove, "remove_above", steps)
        lower = max(lower, epsilon_below(pld(remove, "remove_below", steps - left_out), delta + missed))
        removed = min(removed, epsilon_above(above, delta))
        if added > lower:  # else removal decides
            added = min(added, epsilon_above(pld(add, "add_above", steps), delta))
        upper = max(removed, added)
        width = upper - lower
        if width <= plan.wanted(lower) or (attempt and width <= 0.7 * plan.promised(lower)) or lower > LARGEST_EPSILON:
            break
        near = math.sqrt(max(lower, 0.1 * min(upper, near)) * min(upper, near))
    return lower, upper


def _add_refined(
    mechanisms: Mechanisms,
    counts: Array,
    delta: float,
    aim: Aim,
    pld: ComposedLoss,
    upper: float,
    removed: tuple[float, float],
    shared: bool,
) -> float:
    """Upper ε of addition, in as much detail as it takes to see that removal decides."""
    tail = plan.tail_for(float(counts.sum()), delta)
    lower, high = removed
    for attempt in range(ATTEMPTS):
        upper = min(upper, epsilon_above(pld, delta))
        if upper - lower <= max(high - lower, 0.7 * plan.promised(lower)):
            break
        if shared and attempt == 0:  # the aim was other rows'
            aim = plan.aim_for_rows(mechanisms, counts[None], ADD, delta)
        else:
            interval = aim.interval if blurred(pld, upper, delta) else plan.finer(aim.interval, lower, upper)
            aim = plan.aim_at_epsilon(mechanisms, counts, ADD, min(upper, high), delta, interval)
        (pld,) = added_rows(mechanisms, counts[None], aim, tail)
    return upper


def delta_of_row(mechanisms: Mechanisms, counts: Array, epsilon: float) -> tuple[float, float]:
    active, counts = releasing(mechanisms, counts)
    if not active:
        return 0.0, 0.0
    if (sigma := _one_gaussian([m.as_gaussian for m in active], counts)) is not None:
        return around(float(gaussian_log_delta(sigma, epsilon)))
    if any(in_turn(m) for m in active):
        return 0.0, _group_delta(active, counts, epsilon)
    if counts.sum() == 1.0:
        return around(pair_of(active[0]).log_delta(epsilon))

    def interval(delta: float) -> tuple[float, float]:
        ((lower, upper),) = epsilon_of_rows(active, counts[None], delta)
        return lower, upper

    return delta_interval(interval, epsilon, *plan.rough_log_delta(active, counts, epsilon))


def delta_bounds(mechanisms: Mechanisms, counts: Array, near: float, epsilon: Array) -> tuple[Array, Array]:
    """Lower and upper δ at each ε, resolved best at `near`."""
    delta = math.exp(min(max(plan.rough_log_delta(mechanisms, counts, near)[0], -600.0), -5.0))
    tail = plan.tail_for(float(counts.sum()), delta)
    aim = plan.aim_at_epsilon(mechanisms, counts, REMOVE, near, delta)
    only = float(epsilon[0]) if epsilon.size == 1 else None
    ((above, below),) = removed_rows(mechanisms, counts[None], aim, tail, only)
    aim = plan.aim_at_epsilon(mechanisms, counts, ADD, near, delta)
    (added,) = added_rows(mechanisms, counts[None], aim, tail, only)
    return delta_at(below, epsilon, -1.0), np.maximum(delta_at(above, epsilon, 1.0), delta_at(added, epsilon, 1.0))
