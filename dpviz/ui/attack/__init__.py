"""The Attack page: what ε, a mechanism, and a noisy mean of incomes let an attacker do."""
