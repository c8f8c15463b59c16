"""μ of Gaussian differential privacy and its regret, beside an ε: the whole trade-off as one number, and its error."""

import math
from collections.abc import Sequence

from dpviz import library as dpviz
from dpviz.accounting.methods import Tight
from dpviz.fields import numbers
from dpviz.mechanisms import Event
from dpviz.questions.question import Block
from dpviz.questions.words import Note

NAME = "Gaussian DP"  # of the part of *Why*
# What μ of a curve that errs by so much says of attacks is that of the curve to within a percentage point.
SMALL_REGRET = 0.01


def gaussian_dp(events: Sequence[Event], delta: float, *, of_one_run: bool = False) -> list[Block]:
    """Sentences with μ and its regret.

    Args:
        events: What is done: one mechanism, so many times. μ of several has no numbers here, nor that of none.
        delta: Down to which δ the curve of μ is above the mechanism's own.
        of_one_run: Whether ε is of the best of several runs, which μ is not.
    """
    if len(events) != 1 or Tight().supports(events[0][0]):
        return [Note("μ has no number here: it needs steps of one mechanism whose privacy loss is known.")]
    [(mechanism, steps)] = events
    mu, regret = dpviz.gaussian_mu(mechanism=mechanism, steps=steps, delta=delta)
    if not math.isfinite(mu):
        return [Note("No finite μ is known here: the noise is too small.")]
    shown, error = numbers.up(mu), numbers.up(regret, 2)
    text = (
        f"**μ ≤ {shown}, regret ≤ {error}.** At every rate of false accusations, an attacker finds at most "
        f"δ = {numbers.delta(delta)} more members than somebody who sees one number, from N(0, 1) without you and from "
        f"N({shown}, 1) with you. So μ bounds all attacks, where ε is one point of their trade-off (Dong, Roth and Su "
        "2022)."
    )
    then = (
        "μ alone describes this mechanism well"
        if regret <= SMALL_REGRET
        else "ε or the whole curve should stand with it"
    )
    how = (
        f"The regret says how much μ overstates: with both error rates of every attack lowered by {error}, the "
        f"mechanism would be as bad as μ says (Gomez et al. 2025). Here {then}."
    )
    notes: list[Block] = [Note(text), Note(how)]
    if of_one_run:
        notes.append(Note("This μ is of a single run. The best of several runs costs more.", "caution"))
    return notes
