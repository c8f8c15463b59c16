"""The privacy loss of one step, put on a uniform grid from above and from below.

With the likelihood ratio X = P/Q a dominating pair (P, Q) is known by
the convex curve H(k) = E_Q[(X − k)₊]. A pair whose curve lies above H everywhere is at least as
distinguishable, in both directions (P against Q and Q against P) and after any composition with other pairs
(Blackwell's theorem; Dong, Roth, Su 2022, Theorem 2.10; Zhu, Dong, Wang 2022, Theorem 10). So it is
enough to place polygons with corners at k_i = exp(ℓ_i), ℓ_i = anchor + i·interval, above and below H:

* above: the chords of H ("connect the dots", Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022). The mass of
  a cell goes to its two ends so that its P and its Q mass are kept. Tails go to −∞ and +∞ the unfavourable way.
* below: H lies above each of its tangents. One tangent is taken per cell (at its midpoint, where the ends
  allow it); a corner v_i at most as high as the tangents of the two adjoining cells makes every
  chord lie below a tangent, thus below H. The convex hull of these corners is the lower polygon. The part of
  the distribution left of the first tangent point is one atom, and the anchor is put exactly at its loss: without this
  the hull would be empty when the interval is wider than the bulk of the distribution. The far right tail is dropped.

Both differ from H by O(interval²): the first adds interval²/6 to the variance of the loss, the second takes
interval²/12.

Where P is more than exp(MOST_POLYGON) times Q, no double holds both, and removal needs P alone: there a loss is moved
to the next grid point up, or down, which makes any δ(ε) = E_P[(1 − exp(ε − L))₊] of composed steps larger, or smaller.
The output tells on which side of that loss it lies, so each side may be bounded by itself. Addition needs Q alone where
Q is so much larger.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from dpviz._arrays import Array, Bools, Whole
from dpviz._remember import remembered
from dpviz.mechanisms import Mechanism
from dpviz.mechanisms.pair import DominatingPair

PASSES = 40  # over all corners at once, before they are taken one by one
MOST_POLYGON = 500.0  # loss up to which there are polygons: exp of it times the tails that count is still a double


@dataclass(frozen=True, slots=True, eq=False)
class LossDistribution:
    """Distribution of a privacy loss on the grid anchor + (start + i)·interval, under the first measure of its pair.

    Attributes:
        anchor, interval: the grid, in units of ε.
        start: index of the first entry of `mass`.
        mass: probabilities (n,); they add up to 1 − infinite, or less where a tail was dropped.
        rounding: bound on the floating-point error of each mass (n,).
        shift: bound on how much mass rounding may have put at a neighbour instead, times 1 − exp(−interval), by which
            the wrong place changes (1 − exp(ε − loss))₊ at most (n,).
        infinite: probability of an infinite loss.
    """

    anchor: float
    interval: float
    start: int
    mass: Array
    rounding: Array
    shift: Array
    infinite: float

    def index(self) -> Array:
        return self.start + np.arange(self.mass.size, dtype=np.float64)

    def loss(self) -> Array:
        return self.anchor + self.index() * self.interval


@dataclass(frozen=True, slots=True, eq=False)
class Brackets:
    """Loss distributions above and below the privacy loss: remove is P against Q, add is Q against P."""

    remove_above: LossDistribution
    remove_below: LossDistribution
    add_above: LossDistribution
    add_below: LossDistribution


def pair_of(mechanism: Mechanism) -> DominatingPair:
    """Its dominating pair; whoever asks has made sure that there is one (`Tight.supports`)."""
    pair = mechanism.pair()
    if pair is None:
        raise ValueError(f"Expected a mechanism with a dominating pair; found {mechanism}.")
    return pair


def _anchor(pair: DominatingPair, interval: float, low: float) -> tuple[float, float, float]:
    """Anchor, first tangent point (a loss) and the Q mass of the atom at the anchor.

    The first tangent must not reach 0 before the second corner, anchor + interval: a corner cannot lie below 0, and put
    at 0 its chord to the first one would run above the tangent, perhaps above the curve. The tangent point is moved
    to the right until it fits, as it does at `interval`: no anchor is above 0, and the tangent meets 0 beyond its
    point.
    """
    tangent = low + interval / 2
    anchor, zero, atom = pair.split(tangent)
    if not 0.0 < tangent - anchor < interval:
        return tangent - interval / 2, tangent, 0.0  # a thin tail, far from its mean: drop it
    least = interval * (1.0 + 1e-9) + 1e-12
    if zero - anchor >= least:
        return anchor, tangent, atom
    bad, good = tangent, least
    for _ in range(30):
        middle = 0.5 * (bad + good)
        here, zero, _ = pair.split(middle)
        bad, good = (bad, middle) if zero - here >= least else (middle, good)
    anchor, zero, atom = pair.split(good)
    if 0.0 < good - anchor < interval and zero - anchor >= least:
        return anchor, good, atom
    return low, tangent, 0.0


@remembered
def discretise(
    mechanism: Mechanism,
    interval: float,
    tail: float,
    least: float = -math.inf,
    most: float = math.inf,
    grid: float | None = None,
) -> Brackets:
    """Loss distributions above and below the loss of one step.

    Args:
        mechanism: the step; it releases something and has a dominating pair.
        interval: distance of grid points, in units of ε.
        tail: number of standard deviations after which outputs count as tail.
        least, most: outputs outside are left out altogether (the distributions add up to the less).
        grid: a loss that is to be a grid point, and gets index 0; needed where outputs below `least` are left out.
    """
    pair = pair_of(mechanism)
    first_output, last_output = pair.reach(tail)
    lowest, highest = float(pair.loss(max(first_output, least))), float(pair.loss(min(last_output, most)))
    low, high = max(lowest, -MOST_POLYGON), min(highest, MOST_POLYGON)
    first_index = 0
    if grid is None:
        anchor, first, atom = _anchor(pair, interval, low)
    else:  # one empty cell in front
        first_index = math.floor((low - grid) / interval) - 1
        anchor, atom = grid + first_index * interval, 0.0
        first = anchor + interval / 2
    cells = max(3, math.ceil((high - anchor) / interval) + 1)
    node: Array = anchor + np.arange(-1.0, cells + 1.0) * interval  # corner i is node[i + 1]
    middle = node[1:-1] + interval / 2
    middle[0] = first
    edges = np.empty(2 * cells + 2)
    edges[0], edges[1::2], edges[2::2] = node[0], node[1:], middle
    z = np.clip(pair.output(edges), least, most)
    mass, gain, mass_error, gain_error = pair.cells(z)
    excess, ratio = np.expm1(node), np.exp(node)
    width = ratio[:-1] * math.expm1(interval)  # not differences of `excess`: those are all −1 far below 0
    above, heavier = _chords(excess, width, mass, gain)
    beyond_right = pair.above(float(z[-1]))[0] if most == math.inf else 0.0
    if highest <= node[-1]:
        # Removal's last mass would be tiny without it, and tails are cut where they are: bounds would be wider by far.
        above[-1] += beyond_right
        beyond_right = 0.0
    below = lower_corners(excess[1:], width[1:], atom, mass[1:], gain[1:])
    error, shift = _rounding(excess, width, heavier, mass, mass_error, gain_error)
    shift = shift * -math.expm1(-interval)
    origin = anchor if grid is None else grid
    right = _beyond(pair, z[-1:], node[-1] + _middles(highest - node[-1], interval), (least, most), removing=True)
    left = _beyond(pair, z[:1], node[0] - _middles(node[0] - lowest, interval), (least, most), removing=False)

    def pld(masses: Array, first: int, removing: bool, up: bool) -> LossDistribution:
        """Q masses at the corners from `first` on, as the distribution of ln(P/Q) under P or of ln(Q/P) under Q."""
        here = [masses, error[first:], shift[first:]]
        if first:  # the lower masses carry the corners' corrections as well
            here[1:] = [3.0 * here[1], 3.0 * here[2]]
        if removing:
            mass, rounding, moved = (part * ratio[first:] for part in here)
            moved = moved * math.exp(interval)
            if up and least == -math.inf:
                mass[0] += pair.below(float(z[0]))[1]
            return right.joined(origin, interval, first - 1 + first_index, mass, rounding, moved, up)
        mass, rounding, moved = (part[::-1].copy() for part in here)
        if up:
            mass[0] += beyond_right
        side = (
            left if up or not atom else replace(left, mass=left.mass[:0], error=left.error[:0])
        )  # else it is in the atom
        return side.joined(-origin, interval, -cells - first_index, mass, rounding, moved, up)

    return Brackets(
        remove_above=pld(above, 0, removing=True, up=True),
        remove_below=pld(below, 1, removing=True, up=False),
        add_above=pld(above, 0, removing=False, up=True),
        add_below=pld(below, 1, removing=False, up=False),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Beyond:
    """What lies beyond the polygons on one side, under the measure that is the larger there.

    Attributes:
        mass, error: of the cells around the grid points beyond the last one (n,), outwards; the first starts there.
        infinite: probability of what lies beyond the cells.
    """

    mass: Array
    error: Array
    infinite: float

    def joined(
        self, anchor: float, interval: float, start: int, mass: Array, rounding: Array, shift: Array, up: bool
    ) -> LossDistribution:
        """The polygon's masses and these: each cell's moved up by a grid point, or down by one.

        Cells end between grid points, so that an output's rounding takes no loss across one.
        """
        if self.mass.size:
            place = mass.size + (0 if up else -2)
            here = slice(place, place + self.mass.size)
            more = (0, max(here.stop - mass.size, 0))
            mass, rounding, shift = (np.pad(part, more) for part in (mass, rounding, shift))
            mass[here] += self.mass
            rounding[here] += self.error
        return LossDistribution(anchor, interval, start, mass, rounding, shift, self.infinite if up else 0.0)


def _middles(width: float, interval: float) -> Array:
    """Distances of the middles between grid points from the first one, up to the first beyond `width`."""
    return (
        np.asarray(interval * np.arange(0.5, width / interval + 1.0), dtype=np.float64) if width > 0.0 else np.zeros(0)
    )


def _beyond(
    pair: DominatingPair, last: Array, losses: Array, outputs: tuple[float, float], *, removing: bool
) -> _Beyond:
    """P's probabilities on the right of the polygons where `removing`, Q's on the left where not.

    Args:
        last: the output at which the polygons end, (1,).
        losses: where the cells end, outwards.
        outputs: the least and the largest that count.
    """
    z = np.append(last, np.clip(pair.output(losses), *outputs)) if losses.size else last
    mass, gain, mass_error, gain_error = pair.cells(z if removing else z[::-1])
    if removing:
        infinite = pair.above(float(z[-1]))[1] if outputs[1] == math.inf else 0.0
        return _Beyond(mass + gain, mass_error + gain_error, infinite)
    infinite = pair.below(float(z[-1]))[0] if outputs[0] == -math.inf else 0.0
    return _Beyond(mass[::-1], mass_error[::-1], infinite)


def _rounding(
    excess: Array, width: Array, heavier: Bools, mass: Array, mass_error: Array, gain_error: Array
) -> tuple[Array, Array]:
    """Error bounds of each node's Q mass: in all, and of what is only put at the wrong end of the cell.

    A cell's error as a whole is put down to the end that holds most of its mass (the right one where `heavier`), to
    which it is small; what the other end errs by has then moved there from it, and that is no more than there is.
    """
    node_of = np.concatenate([[0], np.repeat(np.arange(1, excess.size - 1), 2)])
    split = (gain_error + np.abs(excess[node_of]) * mass_error) / width[node_of]
    split = np.minimum(split, mass + mass_error)
    cells = excess.size - 1
    whole, moved = np.bincount(node_of, mass_error, cells), np.bincount(node_of, split, cells)
    moved = moved + np.where(heavier, whole, 0.0)
    total, shift = np.zeros(excess.size), np.zeros(excess.size)
    total[:-1] += np.where(heavier, 0.0, whole)
    total[1:] += np.where(heavier, whole, 0.0)
    shift[:-1] += moved
    shift[1:] += moved
    return total, shift


def _chords(excess: Array, width: Array, mass: Array, gain: Array) -> tuple[Array, Bools]:
    """Q masses of the chord polygon at all nodes, and where a cell's mass went to its right end."""
    cell_mass = np.concatenate([mass[:1], mass[1::2] + mass[2::2]])
    cell_gain = np.concatenate([gain[:1], gain[1::2] + gain[2::2]])
    right = np.clip((cell_gain - excess[:-1] * cell_mass) / width, 0.0, cell_mass)
    total: Array = np.zeros(excess.size)
    total[:-1] += cell_mass - right
    total[1:] += right
    return total, right > 0.5 * cell_mass


def lower_corners(excess: Array, width: Array, atom: float, mass: Array, gain: Array) -> Array:
    """Q masses (cells + 1,) of the lower polygon at corners k_i = 1 + excess_i, `width` (cells,) apart.

    `mass`, `gain` hold the half cells [k_0, x_0], [x_0, k_1], [k_1, x_1], …; `atom` is the Q mass at k_0.
    """
    left_mass, right_mass = mass[0::2].copy(), mass[1::2].copy()
    rise = np.clip(gain[0::2] - excess[:-1] * left_mass, 0.0, width * left_mass)  # E[X − k_i; left half]
    fall = np.clip(excess[1:] * right_mass - gain[1::2], 0.0, width * right_mass)  # E[k_{i+1} − X; right half]
    left_mass[0] = rise[0] = 0.0  # it is in the atom, or dropped
    right_mass[-1] = fall[-1] = 0.0  # dropped
    up = np.clip((rise + width * right_mass - fall) / width, 0.0, left_mass + right_mass)
    stay = left_mass + right_mass - up
    chord = np.zeros(excess.size)
    chord[:-1] += stay
    chord[1:] += up
    chord[0] += atom
    rise, fall = _tangents_in_range(width, chord, stay, up, rise, fall)
    if rise[0] > 0.0:  # moved after all (it fits by choice of the anchor, up to rounding): do without the atom
        chord[0] -= atom
    drop = np.maximum(np.concatenate([rise, [0.0]]), np.concatenate([[0.0], fall]))
    slope = np.diff(drop) / width
    return convex_hull(width, chord - np.diff(slope, prepend=0.0, append=0.0))


def _tangents_in_range(
    width: Array, chord: Array, stay: Array, up: Array, rise: Array, fall: Array
) -> tuple[Array, Array]:
    """Moves tangent points to a cell's end where the midpoint's tangent would leave the range of privacy curves.

    A curve lies above 0 and above the line of total distinguishability zero; a lower corner must too.
    """
    rise, fall = rise.copy(), fall.copy()
    left_of = np.concatenate([[0.0], np.cumsum(width * np.cumsum(chord[:-1]))])  # E[(k_i − X)₊]
    right_of = np.concatenate([np.cumsum((width * np.cumsum(chord[:0:-1])[::-1])[::-1])[::-1], [0.0]])  # E[(X − k_i)₊]
    too_low = rise > left_of[:-1]
    rise[too_low] = 0.0
    fall[too_low] = (width * stay)[too_low]
    too_low = fall > right_of[1:]
    fall[too_low] = 0.0
    rise[too_low] = (width * up)[too_low]
    return rise, fall


def convex_hull(width: Array, mass: Array) -> Array:
    """Masses of the convex hull of a polygon given by its changes of slope `mass` at corners `width` apart.

    A corner with a negative change lies above the chord of its neighbours, so it is not on the hull: it is
    taken out and its change of slope shared among its neighbours. The first one may only be lowered: clipped to 0
    instead, it would add mass that is not there.
    """
    kept = np.arange(mass.size)
    position = np.concatenate([[0.0], np.cumsum(width)])  # from the first corner on: no digits are lost there
    mass = mass.copy()
    for _ in range(PASSES):
        if mass[0] < 0 and mass.size > 1:  # it is lowered until the slope before it is no steeper than allowed
            mass[1] += mass[0]
            mass[0] = 0.0
        negative = mass < 0
        negative[[0, -1]] = False
        if not negative.any():
            break
        where = np.flatnonzero(negative)
        run_start = np.concatenate([[True], np.diff(where) > 1])
        within = np.arange(where.size) - np.maximum.accumulate(np.where(run_start, np.arange(where.size), 0))
        where = where[within % 2 == 0]  # no two neighbours in one pass
        here, before, after = position[kept[where]], position[kept[where - 1]], position[kept[where + 1]]
        share = (after - here) / (after - before)
        np.add.at(mass, where - 1, mass[where] * share)
        np.add.at(mass, where + 1, mass[where] * (1 - share))
        mass, kept = np.delete(mass, where), np.delete(kept, where)
    else:  # one high corner can take thousands of neighbours with it, one after the other
        mass, kept = _one_by_one(position, mass, kept)
    result = np.zeros(position.size)
    result[kept] = np.maximum(mass, 0.0)
    return result


def _one_by_one(position: Array, mass: Array, kept: Whole) -> tuple[Array, Whole]:
    """The same hull from left to right, in one pass."""
    places, masses = position[kept].tolist(), mass.tolist()
    hull = [0]
    for corner in range(1, len(masses)):
        hull.append(corner)
        while len(hull) > 1:
            if masses[hull[0]] < 0:
                masses[hull[1]] += masses[hull[0]]
                masses[hull[0]] = 0.0
            if len(hull) == 2 or masses[hull[-2]] >= 0:
                break
            before, here, after = hull[-3:]
            share = (places[after] - places[here]) / (places[after] - places[before])
            masses[before] += masses[here] * share
            masses[after] += masses[here] * (1 - share)
            hull.pop(-2)
    return np.array(masses)[hull], kept[hull]
