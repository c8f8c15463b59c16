"""Accuracy of the best membership attack, as answers say it: by the whole privacy curve, and by a pair (ε, δ) alone."""

from dataclasses import dataclass

import numpy as np

from dpviz._arrays import Array
from dpviz._remember import remembered
from dpviz.accounting.attack.best_accuracy import Accuracy, best_accuracy
from dpviz.accounting.attack.membership import attack_success
from dpviz.accounting.claims import Claim
from dpviz.accounting.pld.quick import quick_accuracy, within_one_percent
from dpviz.charts import Column
from dpviz.fields import numbers
from dpviz.mechanisms import Mechanism
from dpviz.questions.mechanism import DELTA
from dpviz.questions.words import Metric

RIGHT = "Best attack accuracy"


CERTAIN = 1e-9  # from so little doubt on, a bound on right guesses is as good as none


def limit(attack: str, right: float, most: str = "", *, chance: str = "50 %", so_far: bool = False) -> str:
    """That no such attack is right more often, as HTML; that one may be right every time where nothing hinders it.

    Args:
        attack: what guesses, without an article.
        right: the bound on its right guesses.
        most: the same as text, if it has other digits than bounds have elsewhere.
        chance: how often a guess is right that knows nothing.
        so_far: whether more steps may come.

    >>> limit("attack", 0.5506), limit("attack", 1.0)
    ('no attack is right more than <b>55.1 %</b> of the time (chance: 50 %)', \
'an attack may be right <b>every time</b> (chance: 50 %)')
    """
    if 1.0 - right < CERTAIN:
        return f"{'an' if attack[0] in 'aeiou' else 'a'} {attack} may be right <b>every time</b> (chance: {chance})"
    no = "so far no" if so_far else "no"
    return f"{no} {attack} is right more than <b>{most or _up(right)}</b> of the time (chance: {chance})"


def capital(sentence: str) -> str:
    """With a capital at its beginning."""
    return sentence[0].upper() + sentence[1:]


@remembered
def accuracy(mechanism: Mechanism, steps: int) -> Accuracy:
    """Of the best attack at even odds, never above `accuracy_soon`; some 0.1 s."""
    best = best_accuracy(mechanism=mechanism, steps=steps)
    return best._replace(upper=float(within_one_percent(best.upper, accuracy_soon(mechanism, steps).upper)))


def accuracy_soon(mechanism: Mechanism, steps: int) -> Accuracy:
    """Its upper end, at most 1 % above, in some milliseconds; one number whatever δ is."""
    return Accuracy(0.5, quick_accuracy(mechanism, steps, DELTA.default))


@dataclass(frozen=True)
class Guess:
    """Upper bounds on how often a guess of membership is right at even odds.

    Attributes:
        pair: what (ε, δ) alone allows, which is what papers state; 1 where no ε is proven.
        curve: what the mechanism's whole privacy curve allows; None while it is not there.
    """

    pair: float
    curve: float | None = None

    @property
    def by_curve(self) -> bool:
        """Whether the curve decides: where no grid resolves it, the pair may say less."""
        return self.curve is not None and self.curve < self.pair

    @property
    def right(self) -> str:
        """The smaller of both, rounded up: "55.1 %"; "…" while the curve is not there."""
        return "…" if self.bound is None else _up(self.bound)

    @property
    def bound(self) -> float | None:
        """The smaller of both; None while the curve is not there."""
        return None if self.curve is None else min(self.curve, self.pair)

    @property
    def alone(self) -> str:
        return _up(self.pair)

    @property
    def figure(self) -> Metric:
        """Its place among the four numbers."""
        if self.curve is None:
            return Metric(RIGHT, self.right)
        if not self.by_curve:
            return Metric(RIGHT, f"≤ {self.right}", "from ε and δ alone")
        return Metric(RIGHT, f"≤ {self.right}", "chance: 50 %")


def guess(epsilon: float, delta: float, best: Accuracy | None) -> Guess:
    """Both bounds; ε may be inf."""
    return Guess(float(attack_success(epsilon, delta=delta)), None if best is None else best.upper)


def allowed(name: str, epsilon: Array, delta: float) -> Column:
    """Right guesses that each ε alone allows, for the table: the chart has an axis of its own for them."""
    finite = np.where(np.isnan(epsilon), 0.0, epsilon)
    values = np.where(np.isnan(epsilon), np.nan, attack_success(finite, delta=delta))
    return Column(name, values, hovers=False, write=_up)


def alone(claim: Claim | None) -> str:
    """What a claim's pair alone would allow, where the whole privacy curve says less; continues a sentence."""
    if claim is None or not claim.guess < claim.pair:
        return ""
    return f"; on their own they only guarantee {_up(claim.pair)}"


def _up(p: float) -> str:
    return numbers.probability(p, up=True)
