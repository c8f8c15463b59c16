"""What a live run says of its Bayesian ε: what it is, and why it lies where it does."""

from __future__ import annotations

from dpviz.accounting.bayesian import accountant as bayesian
from dpviz.accounting.bayesian.costs import FIRST_ORDERS as ORDERS
from dpviz.accounting.claims import rounded_up
from dpviz.accounting.renyi.accountant import Moments, Renyi
from dpviz.training.accounts.bayesian import Facts
from dpviz.training.accounts.live import LiveAccounts
from dpviz.training.events import NOT_COVERED

_SAME = 0.005  # relative: two ε so near are said to be equal


def bayesian_words(accounts: LiveAccounts | None) -> str:
    """One line on the Bayesian ε of this moment, from facts; empty where there is none.

    DP's own ε at δ_μ, by the accountant with the same conversion, is what it is compared with: moments for
    Definition 1, Rényi for Definition 2. No ε of DP bounds what replacing one example by another costs (`pairs`).
    """
    if accounts is None or accounts.bayesian is None or not accounts.bayesian.taken:
        return ""
    facts, found, ceiling = accounts.bayesian.facts(), accounts.epsilons()[bayesian.NAME], accounts.bayesian_ceiling()
    settings = accounts.settings
    by_norms = settings.bayesian_distances == "norms"
    name = (Renyi if settings.definition == 2 else Moments)().short_label
    delta = f"{settings.bayesian_delta:.3g}"
    said = (
        f"Bayesian DP, Definition {settings.definition}: ε_μ ≤ {_plain(found)} at δ_μ = {delta} "
        f"after step {accounts.bayesian.taken}, for an example drawn "
        f"like the {facts.distances} sampled ones, not for everyone; measured on training data, {NOT_COVERED}, so "
        f"not for publication. The paper's estimate, no bound: {_plain(facts.estimate)}."
    )
    if not by_norms:
        return f"{said} Distances of pairs bound neither adjacency where batches are sampled. {_reason(facts)}"
    if found < (1.0 - _SAME) * ceiling:
        shorter = f": {1.0 - facts.longest:.0%} of the sampled gradients are shorter than C"
        return f"{said} It lies below {name} at this δ_μ ({_plain(ceiling)}){shorter}."
    return f"{said} It is not below {name} at this δ_μ ({_plain(ceiling)}), whose ε bounds it too. {_reason(facts)}"


def _reason(facts: Facts) -> str:
    """Why the distances prove no less."""
    if not facts.distances:
        return "No distance was measured: all steps cost what the longest gradient costs."
    if facts.longest >= 0.5:
        return f"{facts.longest:.0%} of the sampled distances are as large as clipping allows, and cost what DP costs."
    if facts.unseen > 0.5:
        return (
            f"{facts.unseen:.0%} of the mean that bounds it stands for large distances that nobody saw and that so "
            "few cannot exclude at γ."
        )
    if facts.order == ORDERS[-1]:
        return f"Its best order is the last that it tries, λ = {facts.order}; Rényi has more."
    return (
        f"{facts.longest:.0%} of the sampled distances are as large as clipping allows; shorter ones gain less than "
        f"what whole orders λ ≤ {ORDERS[-1]:.0f} and γ cost."
    )


def _plain(epsilon: float) -> str:
    return f"{rounded_up(epsilon, 3):.3g}"
