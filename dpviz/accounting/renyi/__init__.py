"""Rényi and moments accounting: a step's divergences, their sum, the search over orders, and (ε, δ) from it.

Main modules: `accountant` (`Renyi`, `Moments`), `conversion`, `orders`, `closed_form`, `asymptotic`.
"""
