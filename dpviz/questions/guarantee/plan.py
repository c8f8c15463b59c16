"""The guarantee card of a plan.

>>> card = guarantee(noise_multiplier=1.1, sample_rate=256 / 60_000, steps=14_062, delta=1e-5, size=60_000,
...                  sampler="shuffled", answers={"clipping": "yes"})
>>> f"{card.losses.epsilon:.3f}", card.replies["sampler"].answer, card.replies["noise"].answer
('2.385', 'no', 'not known')
>>> list(card.registry())[:3]
['deployment', 'release', 'dp_flavor']

What follows from the numbers is answered from them; the rest only a person can answer, and is “not known” until then.
"""

from collections.abc import Mapping
from typing import Required, Unpack

from dpviz import _validate
from dpviz._other_names import says_right_names
from dpviz._version import __version__
from dpviz.accounting.claims import rounded_up
from dpviz.accounting.guarantee import Losses, below_one_over, covers, losses_of, prover
from dpviz.accounting.methods import AnyStep, one_mechanism
from dpviz.accounting.tuning import Law
from dpviz.mechanisms import Adjacency, Mechanism
from dpviz.questions.guarantee.card import Guarantee, Reply, Statements
from dpviz.questions.guarantee.words import BY_AUTHOR, NO, SAMPLERS, UNKNOWN, YES

LAWS: dict[Law, str] = {
    "geometric": "drawn in advance, geometric with mean {}, and kept secret",
    "negative_binomial": "drawn in advance, negative binomial (η = ½) with mean {}, and kept secret",
    "poisson": "drawn in advance, Poisson with mean {}, and kept secret",
    "fixed": "{}, fixed in advance, and their costs add up",
}


class PlanArguments(AnyStep, total=False):
    """The arguments of `guarantee`."""

    steps: Required[int]
    delta: Required[float]
    size: int | None
    sampler: str
    runs: float
    law: Law
    answers: Mapping[str, str]
    statements: Statements
    losses: Losses | None


@says_right_names("noise_multiplier", "sample_rate", "mechanism")
def guarantee(
    *,
    steps: int,
    delta: float,
    size: int | None = None,
    sampler: str = UNKNOWN,
    runs: float = 1.0,
    law: Law = "geometric",
    answers: Mapping[str, str] = {},
    statements: Mapping[str, Mapping[str, str]] = {},
    losses: Losses | None = None,
    **one: Unpack[AnyStep],
) -> Guarantee:
    """The guarantee card of a plan.

    Args:
        steps: T, whole, ≥ 0.
        delta: δ in (0, 1).
        size: N, how many units there are; None where it is not known.
        sampler: how batches are really made, one of SAMPLERS; “not known” is never taken for what is accounted.
        runs: number of runs of which the best is released, or its mean (`tuned_epsilon`); 1 for no tuning.
        law: what their number is drawn from, or that it is fixed, where it is above 1.
        answers: pitfall → "yes", "no" or "not known", of those that do not follow from the other arguments.
        statements: further entries of the registry, by group and name.
        losses: its numbers, where `losses_of` gave them before.
        **one: mechanism, one step; or in its place noise_multiplier, σ > 0, noise standard deviation ÷ sensitivity, and
            sample_rate, q in [0, 1].
    """
    step, count = one_mechanism(**one), _validate.whole(0, steps=steps)
    own = getattr(step, "size", size)
    if size not in (None, own):
        raise ValueError(f"Expected size={size} to be the mechanism's own, {own:g}. Leave it out.")
    numbers = losses or losses_of(((step, count),), _validate.number(delta=delta), _validate.number(runs=runs), law)
    units = None if own is None else _validate.whole(1, size=own)
    _validate.choice("sampler", sampler, (*SAMPLERS, UNKNOWN))
    _validate.choice("law", law, tuple(LAWS))
    tuning = tuning_words(runs, law)
    computed = {
        "adjacency": Reply(YES, f"{step.adjacency.unit}: {step.adjacency.name}"),
        "sampler": sampler_reply(step, sampler),
        "delta": delta_reply(units, delta),
    }
    if runs > 1.0:
        computed["tuning"] = Reply(YES, tuning)
    if step.adjacency.unit == Adjacency.PERSON.unit:
        computed["rows"] = Reply(YES, f"the unit is {step.adjacency.unit}: {step.text}")
    if both := computed.keys() & answers:
        raise ValueError(f"Expected no answer to {', '.join(sorted(both))}: the other settings decide. Leave it out.")
    stated = {name: Reply(answer, "" if answer == UNKNOWN else BY_AUTHOR) for name, answer in answers.items()}
    plan = plan_statements(step, count, delta, size=units, sampler=sampler, tuning=tuning)
    merged = {group: plan.get(group, {}) | dict(statements.get(group, {})) for group in {**plan, **statements}}
    return Guarantee(losses=numbers, statements=merged, replies=computed | stated)


def sampler_reply(step: Mechanism, run: str) -> Reply:
    """Whether batches are made as they are accounted, or so that what is accounted covers them."""
    accounted = step.sampler or step.kind
    words = f"accounted for: {SAMPLERS.get(accounted, accounted)}; as run: {SAMPLERS.get(run, run)}"
    if UNKNOWN in (run, accounted):
        return Reply(UNKNOWN, words)
    return Reply(YES, f"{words}, which shows no more") if covers(accounted, run) else Reply(NO, words)


def delta_reply(size: int | None, delta: float) -> Reply:
    """Whether δ is below 1/N."""
    if size is None:
        return Reply(UNKNOWN, "N is not known")
    product = f"δ·N = {rounded_up(delta * size * (1.0 - 1e-12), 3):.3g}"
    if below_one_over(size, delta):
        return Reply(YES, product)
    return Reply(NO, f"{product}: publishing one random record would satisfy this δ")


def tuning_words(runs: float, law: Law) -> str:
    """Whether ε counts the choice of settings."""
    if runs <= 1.0:
        return "not counted: ε is that of one run; choosing settings by results on the private data costs more"
    return (
        f"counted: ε is that of the best of several runs; their number is {LAWS[law].format(f'{runs:g}')}; the score "
        "that picks the best comes from what each run releases or from public data, or is counted in each run"
    )


def plan_statements(
    step: Mechanism, steps: int, delta: float, *, size: int | None, sampler: str, tuning: str
) -> dict[str, dict[str, str]]:
    """What a plan's settings say for the registry."""
    count, accounted = f"{steps:,} {step.step}{'s' * (steps != 1)}", step.sampler or step.kind
    card, fallback = prover(step, steps, delta)
    return {
        "release": {
            "description": f"the outputs of all {count}: of a training, the parameters after each",
            "unprotected_quantities": "N, where sums are divided by the expected batch size, and whatever was "
            "measured without noise",
        },
        "dp_flavor": {"name": "approximate DP: (ε, δ)"},
        "privacy_loss": {
            "privacy_unit": step.adjacency.unit,
            "privacy_unit_description": step.adjacency.name,
        },
        "model": {"model_name": "central: whoever computes sees the data and adds the noise"},
        "accounting": {
            "accountant": f"{card.name} ({card.cited})" + (f". {fallback}" if fallback else ""),
            "version": f"dpviz {__version__}",
            "sampler": SAMPLERS.get(accounted, accounted),
            "composition": f"{count} of: {step.text}; each may depend on earlier outputs",
            "covers": "number of steps and noise are fixed in advance; it holds wherever the steps end",
            "tuning": tuning,
        },
        "implementation": {
            "mechanisms": step.text,
            "sampler_as_run": SAMPLERS.get(sampler, sampler),
            "size": UNKNOWN if size is None else f"{size:,}",
            "assumptions": f"{step.assumes.replace('**', '')} Batches and noise are secret. Exact numbers: no ε here "
            "covers the finite precision of floating point.",
        },
    }
