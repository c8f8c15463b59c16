"""What the questions about orders say alike."""

from __future__ import annotations

from dpviz.fields import numbers
from dpviz.questions.mechanism import PUBLIC_SIZE

ASSUMPTIONS = (
    """
- **The mechanism:** Poisson sampling with probability q, Gaussian noise of std σ × sensitivity; one example is
  added or removed; T equal steps. R(α) adds up over steps.
- **Every order gives a valid ε.** The best one is chosen afterwards, at no price: the bound holds at all orders
  at once.
- **Exact** means to about 11 digits, for whole and fractional orders alike.
- **The asymptotic moment** leaves out a term O(q³λ³/σ³) that has no known constant: it is dashed, and it is no
  bound, although over its range it was never found below the exact moment.
- **The closed form** is drawn where Theorem 11 holds: q ≤ 1/5, σ ≥ 4, and two conditions on α.
- **zCDP:** the sampled Gaussian is 1/(2σ²)-zCDP, as without sampling, since sampling never hurts. The papers'
  "it is not zCDP" means: no smaller ρ holds at all orders, however small q is. tCDP asks for α < ω only, where
  it is small.
- **Thresholds:** with fixed noise σ and all distances equal to C, Bayesian DP's cost is the moments
  accountant's at σ/C.
"""
    + PUBLIC_SIZE
)

NOTHING = "With <b>q = 0</b> no example is ever used: every R(α) is <b>0</b>, and so is ε."
APPROXIMATION = "Dashed: the asymptotic moment without its O(q³λ³/σ³), so an approximation, no bound."
DIVERGENCE = (
    "Divergence of one step (Mironov, Talwar, Zhang 2019, §3.3)",
    r"R(\alpha) = \frac{\ln A_\alpha}{\alpha-1},\quad A_\alpha = \sum_{k=0}^{\alpha}\binom{\alpha}{k}"
    r"(1-q)^{\alpha-k}q^k e^{(k^2-k)/(2\sigma^2)}\quad\text{(whole }\alpha\text{)}",
)


def order(alpha: float) -> str:
    """An order, α or λ."""
    return numbers.plain(alpha, digits=3)
