"""Numerical accounting: privacy loss distributions on grids, from above and from below, composed by Fourier transform.

Main modules: `accountant` (`Tight`), `bounds` (ε(δ) and δ(ε) as intervals), `quick` (an upper end in milliseconds).
"""
