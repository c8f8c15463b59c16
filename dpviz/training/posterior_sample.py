"""An exact sample of the posterior of logistic regression, by rejection: no chain, nothing left to converge.

A signed row v = ±(x, 1) holds the label as its sign, so that the model gives what was observed the probability σ(v·θ).
To scale each row by its own norm needs no other row, so it costs no privacy; then no gradient is longer than 1. The
density on the ball ‖θ‖ ≤ R is proportional to exp(−U), with signed rows v_i of norm at most 1:

    U(θ) = ρ Σ_i s(−v_i·θ) + ‖θ‖²/(2τ²),    s(u) = ln(1 + e^u).

For any λ ≥ 0 let U_λ = U + λ‖θ‖²/2 and θ_λ its minimum. On the ball each |v_i·θ| ≤ R, and there s lies above its
tangent at u_i = −v_i·θ_λ by at least c_i (u − u_i)²/2, c_i from `chord_curvature`. So with H = ρ Σ c_i v_i v_iᵀ +
(1/τ² + λ) I and Q the quadratic with U_λ's value and gradient at θ_λ and curvature H,

    U(θ) ≥ Q(θ) − λR²/2    for all ‖θ‖ ≤ R.

A draw of N(minimum of Q, H⁻¹) is kept where it lies in the ball, with probability exp(−(U − Q + λR²/2)) ≤ 1: what is
kept has exactly the posterior's distribution, up to the rounding of double precision. λ decides how many are kept and
nothing else. How many draws it took, or that none was kept, depends on the data and must not be
published.
"""

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from dpviz import _validate
from dpviz._arrays import Array
from dpviz.training.words import words

AT_ONCE = 32
MOST_DRAWS = 300_000
ROUNDING = 1e-6  # of sums over all examples, in U
SHORTER = 1.0 - 1e-12  # what rounding may add to a norm stays below 1


def with_one(x: npt.ArrayLike) -> Array:
    """(x, 1): (n, features + 1) from (n, features)."""
    return np.pad(np.asarray(x, dtype=np.float64), ((0, 0), (0, 1)), constant_values=1.0)


def unit_rows(x: npt.ArrayLike) -> Array:
    """(x, 1), each scaled to norm 1."""
    rows = with_one(x)
    return np.asarray(SHORTER * rows / np.linalg.norm(rows, axis=1, keepdims=True))


def signed(rows: Array, labels: npt.ArrayLike) -> Array:
    """Rows (n, p) times their label, 1 or −1 where it is 0."""
    return np.asarray(rows * np.where(np.asarray(labels) > 0, 1.0, -1.0)[:, None])


def softplus(u: Array) -> Array:
    """ln(1 + e^u)."""
    return np.logaddexp(0.0, u)


def sigmoid(u: Array) -> Array:
    return np.asarray(np.exp(-softplus(-u)))


def chord_curvature(u: Array, reach: float) -> Array:
    """The largest c with s(w) ≥ s(u) + s′(u)(w − u) + c (w − u)²/2 for all |w| ≤ reach, where |u| ≤ reach.

    The quotient of both sides is a mean of s″ between u and w, and s″ rises to 0 and falls: so it is least at an end.
    """
    at_most = float(sigmoid(np.array(reach)) * sigmoid(np.array(-reach)))  # the least s″ there is
    curvature = np.full(u.shape, np.inf)
    for end in (-reach, reach):
        apart = end - u
        near = np.abs(apart) < 1e-3
        safe = np.where(near, 1.0, apart)
        mean = 2.0 * (softplus(np.array(end)) - softplus(u) - sigmoid(u) * safe) / safe**2
        curvature = np.minimum(curvature, np.where(near, at_most, mean))
    return curvature


class LogisticPosterior:
    """The posterior of θ in the ball of radius R under a Gaussian prior, with the likelihood to the power ρ.

    Args:
        rows: signed rows (n, p), none longer than 1.
        power: ρ in (0, 1]; for a private release from `PosteriorSample.power`.
        radius: R.
        prior_std: τ of the prior N(0, τ²) on every parameter.

    Raises:
        ValueError: for a longer row, or numbers out of range.
    """

    def __init__(self, rows: Array, *, power: float, radius: float, prior_std: float) -> None:
        self.rows = np.asarray(rows, dtype=np.float64)
        if self.rows.ndim != 2 or not self.rows.size or not np.isfinite(self.rows).all():
            raise ValueError(f"Expected rows (n, p) of finite numbers, found shape {self.rows.shape}.")
        longest = float(np.linalg.norm(self.rows, axis=1).max())
        if longest > 1.0:
            raise ValueError(f"Expected rows of norm at most 1, found {longest:.12g}: scale them (`unit_rows`).")
        self.power = _validate.scalar("power", _validate.positive("power", power))
        if self.power > 1.0:
            raise ValueError(f"Expected power={self.power:.12g} in (0, 1].")
        self.radius = _validate.scalar("radius", _validate.positive("radius", radius))
        self.precision = 1.0 / _validate.scalar("prior_std", _validate.positive("prior_std", prior_std)) ** 2
        self._envelope()

    def energy(self, theta: Array) -> Array:
        """U of each column of θ (p, k)."""
        fit = self.power * softplus(-(self.rows @ theta)).sum(axis=0)
        return np.asarray(fit + 0.5 * self.precision * (theta**2).sum(axis=0))

    def mode(self, tilt: float = 0.0, start: Array | None = None) -> Array:
        """θ_λ at λ = `tilt`, by Newton's method; at 0 the posterior's mode, were there no ball."""
        theta = np.zeros(self.rows.shape[1]) if start is None else start
        for _ in range(100):
            gradient, curvature = self._slopes(theta, tilt)
            step = cho_solve(cho_factor(curvature), gradient)
            theta = theta - step / max(1.0, float(np.linalg.norm(step)))
            if np.linalg.norm(step) < 1e-9:
                break
        return theta

    def _slopes(self, theta: Array, tilt: float) -> tuple[Array, Array]:
        """Gradient and Hessian of U_λ."""
        p = sigmoid(-(self.rows @ theta))
        inner = self.precision + tilt
        gradient = -self.power * (p @ self.rows) + inner * theta
        return gradient, self._weighted(p * (1.0 - p), inner)

    def _weighted(self, weights: Array, inner: float) -> Array:
        """ρ Σ w_i v_i v_iᵀ + `inner` I."""
        return np.asarray(self.power * (self.rows.T * weights) @ self.rows + inner * np.eye(self.rows.shape[1]))

    def _envelope(self) -> None:
        """λ, θ_λ, H and Q's minimum. λ makes draws about as long as the ball is wide, where they would be longer."""
        low, high = 0.0, 0.0
        theta = self.mode()
        size = self._mean_square(theta, 0.0)
        while size > self.radius**2:
            low, high = high, max(2.0 * high, 0.25 * self.precision)
            theta = self.mode(high, theta)
            size = self._mean_square(theta, high)
        for _ in range(8 if high else 0):
            middle = 0.5 * (low + high)
            other = self.mode(middle, theta)
            if self._mean_square(other, middle) > self.radius**2:
                low = middle
            else:
                high, theta = middle, other
        self.tilt, self.centre = high, theta
        gradient, _ = self._slopes(theta, high)
        reach = self.radius  # rows are no longer than 1
        curvature = self._weighted(chord_curvature(-(self.rows @ theta), reach), self.precision + high)
        self._root = np.linalg.cholesky(curvature)
        self._lowest = -cho_solve((self._root, True), gradient)  # of Q, from θ_λ
        # Q(θ) at x from its minimum is this much and ‖rootᵀ x‖²/2.
        self._least = float(self.energy(theta[:, None])[0] + 0.5 * high * theta @ theta + 0.5 * gradient @ self._lowest)

    def _mean_square(self, theta: Array, tilt: float) -> float:
        """About E‖θ‖² of draws."""
        _, curvature = self._slopes(theta, tilt)
        return float(theta @ theta + np.trace(np.linalg.inv(curvature)))

    def draw(self, random: np.random.Generator) -> Array:
        """One exact sample (p,).

        Raises:
            RuntimeError: where hardly a draw is kept; nothing is released then.
        """
        for _ in range(MOST_DRAWS // AT_ONCE):
            sample = self._kept(random)
            if sample is not None:
                return sample
        raise RuntimeError(words("no_draw_kept", draws=MOST_DRAWS))

    def _kept(self, random: np.random.Generator) -> Array | None:
        """The first of `AT_ONCE` draws that is kept."""
        z = random.standard_normal((self.rows.shape[1], AT_ONCE))
        bar = np.log(random.random(AT_ONCE))  # kept where the log probability lies above
        draws = (self.centre + self._lowest)[:, None] + solve_triangular(self._root.T, z)
        square = (draws**2).sum(axis=0)
        # λ(R² − ‖θ‖²)/2 alone already decides about most, at no cost.
        tried = np.flatnonzero((square <= self.radius**2) & (-0.5 * self.tilt * (self.radius**2 - square) > bar))
        if not tried.size:
            return None
        below = self._least + 0.5 * (z[:, tried] ** 2).sum(axis=0) - 0.5 * self.tilt * self.radius**2
        excess = self.energy(draws[:, tried]) - below
        if float(excess.min()) < -ROUNDING * max(1.0, abs(self._least)):
            raise RuntimeError(f"The envelope lies above the posterior by {-float(excess.min()):.3g}.")
        kept = tried[-excess > bar[tried]]
        return np.asarray(draws[:, kept[0]]) if kept.size else None
