"""The paragraph for the paper: what was done, what that promises, by whose theorem, and what must be true."""

from __future__ import annotations

import math

from dpviz._version import __version__
from dpviz.accounting.pld.accountant import Tight
from dpviz.accounting.renyi.accountant import Moments
from dpviz.fields import numbers
from dpviz.questions.use.plan import CLIP, Plan, tight_epsilon, value_text


def paragraph(plan: Plan) -> str:
    """Plain text; ε rounded up."""
    epochs = plan.steps * plan.sample_rate
    rate, delta = value_text("sample_rate", plan.sample_rate), value_text("delta", plan.delta)
    order = f"; order α = {plan.moment + 1} alone" if "λ" in plan.name else ""
    cited = f"{plan.accountant.card.cited}{order}"
    noise = value_text("noise_multiplier", plan.noise_multiplier)
    batch = "all N examples" if plan.sample_rate == 1.0 else "the expected batch size qN"
    text = (
        f"We train with DP-SGD (Abadi et al. 2016). In each of T = {numbers.steps(plan.steps)} steps, every example "
        f"joins the batch independently with probability q = {rate} (Poisson sampling; "
        f"{numbers.plain(epochs)} epochs in expectation). Per-example gradients are clipped to ℓ2 norm C = "
        f"{CLIP:g}; Gaussian noise of standard deviation σC with σ = {noise} is added to their sum, which is divided "
        f"by {batch}. The training satisfies (ε, δ)-differential privacy with "
        f"ε = {numbers.epsilon(plan.epsilon, up=True)} and δ = {delta} for data sets that differ "
        f"by adding or removing one example, by {plan.accountant.card.title} ({cited})."
    )
    tight = tight_epsilon(plan)
    if math.isfinite(tight) and tight < plan.epsilon:
        card = Tight().card
        text += f" {card.title[0].upper()}{card.title[1:]} ({card.cited}) give ε = {numbers.epsilon(tight, up=True)}."
    return (
        f"{text} The guarantee covers all intermediate parameters. It takes the number of examples N as public and "
        "batches and noise as drawn from secret randomness; it does not cover quantities measured on the training "
        "data without noise, the choice of hyperparameters by the private data, or the granularity of floating-point "
        f"noise. Computed with dpviz {__version__}."
    )


def bibliography(plan: Plan) -> str:
    """BibTeX of everything that the paragraph cites, each once."""
    tight = Tight().card.bibtex if math.isfinite(tight_epsilon(plan)) else ()
    entries = (*Moments().card.bibtex[:1], *plan.accountant.card.bibtex, *tight)
    return "\n\n".join(dict.fromkeys(entries))
