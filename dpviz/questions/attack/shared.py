"""Assumptions shared by the questions about attacks."""

from dpviz.training.covered import PUBLIC_SIZE

_ATTACKER = """
- **The attacker** knows everything except one bit: whether the target took part. All other records, the mechanism and
  its noise distribution are known; only the noise itself is not. Bounds hold for *any* attack on what was released.
"""
_WHAT_IS_SHOWN = """
- **Right guesses and belief** are two quantities. Without any data, always giving the likelier
  answer is right with probability max(prior, 1 − prior). Belief is what the prior can become after one output is seen.
  At even odds and δ = 0 both have the same bound, 1/(1 + exp(−ε)): the P(A) of Triastcyn & Faltings 2020, Eq. 1.
- **δ:** some outputs may prove that you took part. Bounds on belief therefore hold except for outputs of a small,
  stated probability. Bounds on right guesses hold over all outputs.
- **One pair (ε, δ)** on its own guarantees less than the mechanism behind it. The best attack on a known mechanism
  follows from its whole privacy curve: (1 + δ(0))/2 at even odds.
- **ROC:** each curve bounds the true positive rate at each false positive rate, in both directions (for example, adding
  and removing). “Whole privacy curve” intersects the regions of many pairs (ε, δ(ε)), each with an upper bound on δ.
- **The town:** incomes are log-normal (median 30 thousand, spread 0.6), drawn from the seed; the outlier has one more
  income. The town publishes its mean income plus noise; incomes are capped at the outlier's, and the number of
  residents is public.
- **The attack** is Bayes-optimal: it answers "in" if the release is likelier with the target than without. Intervals
  are Clopper and Pearson's, 99 %. All ε of a curve use the same coins and noises.
- **Own ε** is what the release costs one person, given their income. It is not a guarantee, because it depends on
  secrets.
- **Bayesian DP** holds for people drawn like the residents, not for the outlier; γ = 1e-15.
"""
ATTACKS = _ATTACKER + _WHAT_IS_SHOWN.lstrip()
ASSUMPTIONS = f"{_ATTACKER}- {PUBLIC_SIZE}{_WHAT_IS_SHOWN}"
