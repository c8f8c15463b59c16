"""Bayesian DP (Triastcyn & Faltings 2020): ε_μ from gradient distances, certified bounds on it, and its consequences.

Main modules: `accountant` (`bayesian_epsilon`), `sample_size`, `solve`, `sweep`, `pool`, `consequences`.
"""
