"""Numerical accounting: privacy loss distributions on grids, from above and from below, composed by Fourier transform.

From outside: `accountant` (TIGHT), `bounds` (ε(δ) and δ(ε) as intervals), `quick` (an upper end in milliseconds).
"""
