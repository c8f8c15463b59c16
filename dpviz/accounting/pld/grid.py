"""Lower and upper ε of one composition, or of many that share their grids: closed forms, grids, and the Rényi cap.

See `bounds` for the method. Rows of one mechanism that lie close share a discretisation and its transform.

The Rényi cap has the orders, and so the ε, of the Rényi accountant.
"""

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np

from dpviz._arrays import Array
from dpviz._remember import remembered
from dpviz.accounting.pld import plan
from dpviz.accounting.pld import two_grids as two_scales
from dpviz.accounting.pld.composed_loss import ComposedLoss
from dpviz.accounting.pld.delta_search import delta_interval
from dpviz.accounting.pld.loss_transform import compose
from dpviz.accounting.pld.persons import GroupCurve, group_curve
from dpviz.accounting.pld.plan import Aim
from dpviz.accounting.pld.privacy_loss import discretise, pair_of
from dpviz.accounting.pld.read_off import blurred, delta_at, epsilon_above, epsilon_below
from dpviz.accounting.pld.single_step import (
    LEAST_DELTA,
    around,
    gaussian_epsilon,
    gaussian_epsilons,
    single_step_epsilon,
    single_step_least,
)
from dpviz.accounting.renyi.accountant import Renyi
from dpviz.accounting.renyi.conversion import log_delta_per_order
from dpviz.accounting.renyi.varying_noise import VARYING_ORDERS
from dpviz.mechanisms import Mechanism, PersonOf, SampledGaussian, one_row_of
from dpviz.mechanisms.pair import LEAST_SCALE, gaussian_log_delta

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


Mechanisms = Sequence[Mechanism]

LARGEST_LOSS = 2e4  # of one step, in units of ε; beyond, no grid tells much
LARGEST_EPSILON = 50.0  # the width is plan.promised up to here
MOST_SPREAD = 32.0  # of step counts that share a grid and a tilt
FINER_ADDED = 8.0  # than removal's grid, addition's at most
ATTEMPTS = 6  # plan.finer grids tried where the first one is not good enough


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
    if any(pair_of(m).scale < LEAST_SCALE for m in mechanisms):
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
    """Whether a step's loss reaches beyond what a grid can hold, within 12 standard deviations; of too little noise."""
    pair = pair_of(mechanism)
    if pair.scale < LEAST_SCALE:
        return True
    low, high = (float(pair.loss(z)) for z in pair.reach(12.0))
    return max(high, -low) > LARGEST_LOSS


def beyond_grids(mechanism: Mechanism) -> bool:
    """Whether neither a closed form nor a grid bounds several steps of it: then Rényi divergences do."""
    if not mechanism.releases or mechanism.as_gaussian is not None or in_turn(mechanism):
        return False
    return too_large(mechanism)


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


REMOVE, ADD = 0, 1


def removed_rows(
    mechanisms: Mechanisms, counts: Array, aim: Aim, tail: float, near: float | None = None
) -> list[tuple[ComposedLoss, ComposedLoss]]:
    """Removing one example, from above and from below, for each row of counts (curves, mechanisms); `near` one ε."""
    grids = (discretise(m, aim.interval, tail) for m in mechanisms)
    sides = zip(*((pld.remove_above, pld.remove_below) for pld in grids), strict=True)  # without addition's: memory
    above, below = (compose(plds, counts, aim.tilt, aim.log_wrap, near=near) for plds in sides)
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
    gaussian: dict[int, float] = {}
    groups: list[list[int]] = []
    for i, row in enumerate(rows):
        active, counts = releasing(mechanisms, row)
        if active and (sigma := _one_gaussian([m.as_gaussian for m in active], counts)) is not None:
            gaussian[i] = sigma
            continue
        known = epsilon_without_grid(active, counts, delta)
        if known is not None:
            answers[i] = known
            continue
        if len(active) == 1 and two_scales.worth_it(active[0], float(counts[0])):
            answers[i] = epsilon_on_two_scales(active[0], float(counts[0]), delta)
            if answers[i][1] - answers[i][0] <= plan.promised(answers[i][0]):
                continue
        if groups and row.sum() <= MOST_SPREAD * rows[groups[-1][0]].sum():
            groups[-1].append(i)
        else:
            groups.append([i])
    if gaussian:
        ends = gaussian_epsilons(np.array([*gaussian.values()]), delta)
        answers.update(zip(gaussian, zip(*(end.tolist() for end in ends), strict=True), strict=True))
    for members in groups:
        used = [j for j, mechanism in enumerate(mechanisms) if mechanism.releases and rows[members, j].any()]
        active, counts = [mechanisms[j] for j in used], rows[np.ix_(members, used)]
        for i, (lower, upper) in zip(members, epsilon_of_group(active, counts, delta), strict=True):
            low, high = answers.get(i, (0.0, math.inf))
            answers[i] = max(low, lower), min(high, upper)
    return [_capped(mechanisms, row, delta, *answers[i]) for i, row in enumerate(rows)]


def epsilon_of_group(mechanisms: Mechanisms, counts: Array, delta: float) -> list[tuple[float, float]]:
    """(lower, upper) ε for rows of counts that share grids and tilts; where these do not fit, rows with equally many
    steps share their own."""
    shared = len(counts) > 1
    total = counts.sum(axis=1)
    tail = plan.tail_for(float(total.max()), delta)
    aim = plan.aim_for_rows(mechanisms, counts, REMOVE, delta)
    plds = removed_rows(mechanisms, counts, aim, tail)
    removed = [(0.0, math.inf)] * len(counts)
    for rows in _by_steps(total, range(len(counts))):
        refined = _remove_refined(mechanisms, counts[rows], delta, aim, [plds[i] for i in rows], shared)
        for i, ends in zip(rows, refined, strict=True):
            removed[i] = ends
    # Where the largest losses of addition lie below removal's ε, −ln(1 − q) a step, there is nothing to compute.
    added = [most_added(mechanisms, row) for row in counts]
    open_ = [i for i, (_, upper) in enumerate(removed) if added[i] > upper]
    if open_:
        aim = plan.aim_for_rows(mechanisms, counts[open_], ADD, delta)
        grids = dict(zip(open_, added_rows(mechanisms, counts[open_], aim, tail), strict=True))
        for rows in _by_steps(total, open_):
            uppers, limits = [added[i] for i in rows], [removed[i] for i in rows]
            near = [grids[i] for i in rows]
            for i, upper in zip(
                rows, _add_refined(mechanisms, counts[rows], delta, aim, near, uppers, limits, shared), strict=True
            ):
                added[i] = upper
    return [(lower, max(upper, most)) for (lower, upper), most in zip(removed, added, strict=True)]


def _by_steps(total: Array, rows: Iterable[int]) -> list[list[int]]:
    """The rows in lists of equally many steps: one grid and one tilt fit all of a list."""
    lists: dict[float, list[int]] = {}
    for i in rows:
        lists.setdefault(float(total[i]), []).append(i)
    return list(lists.values())


def _common(aims: Sequence[Aim]) -> Aim:
    """One aim for rows with equally many steps: the finest grid, the least tilt."""
    return Aim(*(min(getattr(aim, name) for aim in aims) for name in ("interval", "tilt", "log_wrap")))


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
        for mechanism in active:
            lower = single_step_least(mechanism, delta, lower)
    pure = sum(t * max(pair_of(m).largest_losses) for m, t in zip(active, counts.tolist(), strict=True))
    bound = min(renyi_epsilon(active, counts, delta), float(pure)) * (1 + 1e-9)
    if any(m.least != m for m in active):  # of a pair that shows more than the mechanism
        lower = min(lower, bound)
    return lower, min(upper, bound) if bound >= lower else upper


def _remove_refined(
    mechanisms: Mechanisms,
    rows: Array,
    delta: float,
    aim: Aim,
    plds: list[tuple[ComposedLoss, ComposedLoss]],
    shared: bool,
) -> list[tuple[float, float]]:
    """Lower and upper ε of removal for rows with equally many steps; looked at again, aimed at the ε found, on finer
    grids while too wide."""
    ends = [(epsilon_below(below, delta), epsilon_above(above, delta)) for above, below in plds]
    tail = plan.tail_for(float(rows[0].sum()), delta)

    def wide(lower: float, upper: float) -> bool:
        return upper - lower > 0.7 * plan.promised(lower) and (shared or lower <= LARGEST_EPSILON)

    for attempt in range(ATTEMPTS):
        open_ = [i for i, (lower, upper) in enumerate(ends) if wide(lower, upper)]
        others = shared and attempt == 0  # the aim was other rows' as well
        if not others:
            open_ = [i for i in open_ if math.isfinite(ends[i][1])]
        if not open_:
            break
        last = aim
        if others:
            aim = plan.aim_for_rows(mechanisms, rows[open_], REMOVE, delta)
        else:
            aim = _common([_aim_again(mechanisms, rows[i], delta, last, plds[i][0], *ends[i]) for i in open_])
            if aim.interval > 0.9 * last.interval and 0.99 < aim.tilt / last.tilt < 1.01 and attempt > 1:
                break  # as fine as it gets
        if aim == last:
            continue
        for i, (above, below) in zip(open_, removed_rows(mechanisms, rows[open_], aim, tail), strict=True):
            lower, upper = ends[i]
            plds[i] = (above, below)
            ends[i] = max(lower, epsilon_below(below, delta)), min(upper, epsilon_above(above, delta))
    return ends


def _aim_again(
    mechanisms: Mechanisms, counts: Array, delta: float, aim: Aim, above: ComposedLoss, lower: float, upper: float
) -> Aim:
    """The next aim for removal, at the ε found: a finer grid, or the same one where the tilt was to blame."""
    numeric = blurred(above, upper, delta)
    interval = aim.interval if numeric else plan.finer(aim.interval, lower, upper)
    near = math.sqrt(max(lower, 0.1 * upper) * upper) if numeric else upper
    return plan.aim_at_epsilon(mechanisms, counts, REMOVE, near, delta, interval)


def epsilon_on_two_scales(mechanism: SampledGaussian, steps: float, delta: float) -> tuple[float, float]:
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
    rows: Array,
    delta: float,
    aim: Aim,
    plds: list[ComposedLoss],
    uppers: list[float],
    removed: list[tuple[float, float]],
    shared: bool,
) -> list[float]:
    """Upper ε of addition for rows with equally many steps, in as much detail as it takes to see that removal decides.

    Args:
        uppers: what no ε of addition exceeds.
        removed: lower and upper ε of removal.
    """
    tail = plan.tail_for(float(rows[0].sum()), delta)
    uppers = [min(upper, epsilon_above(pld, delta)) for upper, pld in zip(uppers, plds, strict=True)]

    def wide(i: int) -> bool:
        lower, high = removed[i]
        return uppers[i] - lower > max(high - lower, 0.7 * plan.promised(lower))

    def again(i: int) -> Aim:
        lower, high = removed[i]
        interval = aim.interval if blurred(plds[i], uppers[i], delta) else plan.finer(aim.interval, lower, uppers[i])
        return plan.aim_at_epsilon(mechanisms, rows[i], ADD, min(uppers[i], high), delta, interval)

    for attempt in range(ATTEMPTS):
        open_ = [i for i in range(len(rows)) if wide(i)]
        if not open_:
            break
        last = aim
        others = shared and attempt == 0  # the aim was other rows' as well
        aim = plan.aim_for_rows(mechanisms, rows[open_], ADD, delta) if others else _common([again(i) for i in open_])
        if aim == last and not others:
            break  # it would show the same
        if aim == last:
            continue
        for i, pld in zip(open_, added_rows(mechanisms, rows[open_], aim, tail), strict=True):
            plds[i], uppers[i] = pld, min(uppers[i], epsilon_above(pld, delta))
    return uppers


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
    if plan.too_wide(mechanisms, counts, REMOVE, tail, aim):
        return np.zeros(epsilon.shape), np.ones(epsilon.shape)
    only = float(epsilon[0]) if epsilon.size == 1 else None
    ((above, below),) = removed_rows(mechanisms, counts[None], aim, tail, only)
    below_delta, above_delta = delta_at(below, epsilon, -1.0), delta_at(above, epsilon, 1.0)
    # Adding shows the same; at ε = 0 always, the total variation.
    if only == 0.0 or all(pair_of(mechanism).symmetric for mechanism in mechanisms):
        return below_delta, above_delta
    least = aim.interval / FINER_ADDED
    aim = plan.aim_at_epsilon(mechanisms, counts, ADD, near, delta)
    if aim.interval < least:  # what adding shows may end below `near`, and asks for too fine a grid
        aim = plan.aim_at_epsilon(mechanisms, counts, ADD, near, delta, least)
    if plan.too_wide(mechanisms, counts, ADD, tail, aim):
        return below_delta, np.ones(epsilon.shape)
    (added,) = added_rows(mechanisms, counts[None], aim, tail, only)
    return below_delta, np.maximum(above_delta, delta_at(added, epsilon, 1.0))
