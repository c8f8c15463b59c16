"""What an attacker gains: from ε and δ, from a whole privacy profile, and by the best test of all."""
