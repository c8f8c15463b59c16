"""Rényi and moments accounting: a step's divergences, their sum, the search over orders, and (ε, δ) from it.

From outside: `accountant` (RENYI, RENYI_IMPROVED, MOMENTS), `conversion`, `orders`, `closed_form`, `asymptotic`.
"""
