"""Bayesian DP (Triastcyn & Faltings 2020): ε_μ from gradient distances, what certifies it, and what it says.

From outside: `accountant` (`bayesian_cost`, `bayesian_epsilon`), `samples`, `solve`, `statements`, `sweep`.
"""
