"""What (ε, δ) alone allows, in words: right guesses and belief, which are two quantities unless all odds are even."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Decimal

from dpviz.charts import numbers
from dpviz.ui.attack.beliefs import exception
from dpviz.ui.attack.curves import Found
from dpviz.ui.frame import Figure, Remark


def sentence(found: Found) -> str:
    """The result in plain words, as HTML."""
    s, f = found.settings, found.facts
    promise = f"Under <b>ε = {numbers.plain(s.epsilon)}</b> and δ = {numbers.delta(s.delta)}"
    if s.prior == 0.5:
        return (
            f"{promise} alone, an attacker who knows everything else guesses right whether you took part at most "
            f"<b>{_right(found)}</b> of the time; without seeing anything, 50 %."
        )
    answer = "in" if s.prior > 0.5 else "not in"
    return (
        f"{promise}, an attacker who thought you were in with {_exact(s.prior)} can come to <b>believe</b> it with at "
        f"most <b>{_up(f['belief'])}</b> ({_except(found)}). Right <b>guesses</b> are another matter: at most "
        f"<b>{_right(found)}</b>, where “{answer}”, said unseen, is right in {_exact(f['unseen'])}."
    )


def figures(found: Found) -> list[Figure]:
    """The four figures below the chart."""
    f = found.facts
    return [
        Figure("Guesses right", f"≤ {_right(found)}", "what ε and δ alone allow"),
        Figure("Right unseen", _exact(f["unseen"]), "the likelier answer to everybody"),
        Figure("Belief that you are in", f"≤ {_up(f['belief'])}", _except(found)),
        Figure("Odds grow", f"≤ × {numbers.epsilon(f['odds'], up=True)}", _except(found)),
    ]


def remarks(found: Found) -> list[Remark]:
    """What must be said beside the chart."""
    s, built = found.settings, []
    if s.prior == 0.5:
        built.append(
            Remark(
                "Diamonds: printed by Triastcyn and Faltings (2020): blue DP, orange Bayesian DP (Table 1), green §3. "
                "The whole privacy curve of a mechanism allows less: see “Which attacks are possible?”."
            )
        )
    if s.epsilon > s.largest:
        built.append(
            Remark(f"Your ε = {numbers.plain(s.epsilon)} lies beyond the chart: raise “Largest ε shown”.", "note")
        )
    return built


def formulas(found: Found) -> list[tuple[str, str]]:
    """(name, LaTeX) with today's numbers."""
    s, f = found.settings, found.facts
    return [
        (
            "Right guesses (Kairouz, Oh, Viswanath 2015; at δ = 0, π = ½: Triastcyn & Faltings 2020, Eq. 1)",
            r"\text{accuracy} \le \delta + (1-\delta)"
            r"\max\left(\frac{e^{\varepsilon}}{1+e^{\varepsilon}},\ \pi,\ 1-\pi\right) = "
            rf"{f['right']:.8g} \quad (\pi = {s.prior:g},\ \varepsilon = {s.epsilon:g})",
        ),
        (
            "Belief, except with probability p (after Kasiviswanathan & Smith 2014)",
            r"\text{belief} \le \frac{\pi e^{\varepsilon'}}{1-\pi+\pi e^{\varepsilon'}} = "
            rf"{f['belief']:.6g},\quad "
            r"\varepsilon' = \varepsilon - \ln\left(1-\frac{\delta}{p}\right),\ "
            rf"p = {numbers.delta(exception(s))}",
        ),
    ]


def _up(p: float) -> str:
    return numbers.probability(p, up=True)


def _exact(p: float) -> str:
    """A prior as it was given, "1 %" or "12.5 %"; never rounded to a certainty."""
    return numbers.probability(p) if p > 0.9999 else f"{numbers.plain(100 * p, digits=6)} %"


def _except(found: Found) -> str:
    return f"except with probability {numbers.delta(exception(found.settings))}"


def _places(gap: float) -> int:
    """Decimals of a percentage that show two digits of `gap`, at least one."""
    return max(1, -math.floor(math.log10(gap)) - 2)


def _right(found: Found) -> str:
    """The bound on right guesses, rounded up; a digit more than guessing unseen needs tells it from that."""
    right, unseen = found.facts["right"], found.facts["unseen"]
    gain = right - unseen
    if gain < 1e-12:
        return _up(right) if unseen > 0.9999 else _exact(unseen)
    places = min(_places(gain), _places(1.0 - unseen) + 1)
    shown = (100 * Decimal(right)).quantize(Decimal(1).scaleb(-places), rounding=ROUND_CEILING)
    if shown >= 100:
        return _up(right)
    whole, _, digits = f"{shown:f}".partition(".")
    return f"{whole}.{digits.rstrip('0') or '0'} %"
