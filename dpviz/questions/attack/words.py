"""What the questions about attackers say alike."""

from __future__ import annotations

from dpviz.fields import numbers
from dpviz.questions.mechanism import PUBLIC_SIZE

ASSUMPTIONS = (
    """
- **The attacker** knows everything but one bit: whether the target took part. Every other record, the mechanism
  and its noise distribution are known; only the noise itself is not. Bounds hold for *any* attack on what was released.
- **Right guesses and belief** are two quantities. The share of right guesses can always reach the larger of prior and
  1 − prior without any data; belief is what one output may make of the prior. At even odds and δ = 0 they have one
  bound, 1/(1 + e^−ε): the P(A) of Triastcyn & Faltings 2020, Eq. 1.
- **δ:** some outputs may prove that you took part. What is said of beliefs holds but for outputs of a small
  probability, which is named; what is said of right guesses holds for all of them together.
- **One (ε, δ) alone** allows more than the mechanism behind it: the best attack on a known mechanism follows from its
  whole privacy curve, (1 + δ(0))/2 at even odds.
- **ROC:** each curve bounds the true positive rate at each false positive rate, for adding and for removing an
  example. “Whole privacy curve” intersects the regions of many (ε, δ(ε)), each with δ from above. The mechanism is the
  sampled Gaussian; other mechanisms, a person with several rows among them, have no ROC here yet: Compose has them.
- **The town:** incomes are log-normal (median 30 thousand, spread 0.6), drawn from the seed; one income more is
  the outlier's. Released: (sum of incomes, each counted up to the outlier's, + noise) ÷ the public number of
  residents.
- **The attack** is Bayes-optimal: "in" when the release is likelier with the target than without. Intervals are
  Clopper and Pearson's, 99 %. All ε of a curve share one set of coins and noises.
- **Own ε** is what the release costs one person, given their income; it is not a promise, for it depends on
  secrets.
- **Bayesian DP** holds for people drawn like the residents, not for the outlier; γ = 1e-15.
"""
    + PUBLIC_SIZE
)


def at_most(p: float) -> str:
    """A probability, rounded up."""
    return numbers.probability(p, up=True)
