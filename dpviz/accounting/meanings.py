"""Meanings of δ and δ_μ in plain words: every label, tip, glossary and page takes them from here."""

DELTA = (
    "An allowance. With you in the data, any event is at most e^ε times as likely as without you, plus δ. It is not "
    "the probability that ε fails, which can be much larger. Far below 1/N."
)
DELTA_MU = (
    "The allowance δ of Bayesian DP, over the noise and over an example drawn like the data: any event is at most "
    "e^ε_μ times as likely with it as without it, plus δ_μ."
)
