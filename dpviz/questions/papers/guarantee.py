"""What must be stated with an ε: the guarantee card of a plan, or of a known deployment."""

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Annotated, Any

import numpy as np

from dpviz import library as dpviz
from dpviz.accounting.guarantee import (
    PITFALLS,
    SAMPLERS,
    UNKNOWN,
    Guarantee,
    Law,
    Losses,
    deployments,
    losses_of,
    quick_losses,
)
from dpviz.accounting.methods import Tight
from dpviz.charts import LinePlot, Ring, look
from dpviz.fields import Text, numbers
from dpviz.fields.declared import choice, field
from dpviz.mechanisms import Adjacency, Mechanism, PersonRows, ReplaceOneGaussian, SampledGaussian
from dpviz.questions import DELTA, LAW, SIZE, STEPS, TRIED, Block, Compound, cards, chart, kinds, make_question
from dpviz.questions.answer import PENDING, Answer, Folded, Pending, slow_facts
from dpviz.questions.layout import Groups, Reader, experts
from dpviz.questions.listing import Listing
from dpviz.questions.needed import MOST_TIGHT_STEPS

ROOM, PLAN = "papers/guarantee", "plan"
NOTHING = {"unknown": UNKNOWN}  # options of a link → what the library calls them
NAMES = {key: card.statements["deployment"]["name"] for key, card in deployments().items()}
OF = choice("gof", options={PLAN: "A plan"} | NAMES)
RUN_AS = choice("grun", options={"unknown": "Not known", **SAMPLERS}, means=NOTHING)
KEYS = {
    "clipping": "gclip", "scale": "gscale", "preprocessing": "gprep", "tuning": "gtune", "stopping": "gstop",
    "metrics": "gmetrics", "models": "gmodels", "pretraining": "gpre", "rows": "grows", "noise": "gnoise",
}  # fmt: skip
FIELDS = {
    name: choice(key, label=PITFALLS[name]["name"], help=PITFALLS[name]["question"], means=NOTHING)
    for name, key in KEYS.items()
}
# Pitfall and answer, of those that were answered.
ANSWERED = Compound(
    tuple(FIELDS.values()),
    lambda get: tuple((name, get(field)) for name, field in FIELDS.items() if get(field) != field.default),
    lambda answers: {KEYS[name]: answer for name, answer in answers},
    {key: "bounded" if name == "rows" else name for name, key in KEYS.items()},  # a mechanism has rows too
)
# Group and entry of the registry → what its author types.
TYPED = {
    ("deployment", "name"): field(Text, "gname"),
    ("deployment", "data_curators"): field(Text, "gwho"),
    ("release", "description"): field(Text, "gwhat"),
    ("deployment", "intended_use"): field(Text, "gwhy"),
}
STATED = Compound(
    tuple(TYPED.values()),
    lambda get: tuple((*entry, get(one)) for entry, one in TYPED.items() if get(one)),
    lambda stated: {TYPED[group, name].key: text for group, name, text in stated},
    {one.key: name for (_, name), one in TYPED.items()},
)


@dataclass(frozen=True, eq=False)
class CardFacts:
    """What the card is made of.

    Attributes:
        of: "plan", or the key of a known deployment.
        plan: arguments of `dpviz.guarantee`.
        losses: its numbers; PENDING while they are computed.
        quick: whether only those that follow a moving hand are there: ε and its profile.
    """

    of: str
    plan: Mapping[str, Any]
    losses: Losses | Pending
    quick: bool = False

    @property
    def waits(self) -> bool:
        return isinstance(self.losses, Pending)

    @property
    def card(self) -> Guarantee:
        """The card, without numbers while they are computed."""
        if self.of != PLAN:
            return deployments()[self.of]
        losses = Losses(delta=self.plan["delta"]) if isinstance(self.losses, Pending) else self.losses
        return dpviz.guarantee(**self.plan, losses=losses)

    @property
    def delta(self) -> str:
        delta = self.card.losses.delta
        return "0" if not delta else numbers.delta(delta)

    @property
    def finite(self) -> bool:
        return math.isfinite(self.card.losses.epsilon or 0.0)

    def names(self, answer: str) -> str:
        """The pitfalls with this answer."""
        return ", ".join(PITFALLS[name]["name"] for name, reply in self.card.replies.items() if reply.answer == answer)


def guarantee_card(
    *,
    of: Annotated[str, OF],
    mechanism: Annotated[Mechanism, kinds.MECHANISM],
    steps: Annotated[int, STEPS],
    delta: Annotated[float, DELTA],
    size: Annotated[int, SIZE],
    runs: Annotated[int, TRIED],
    law: Annotated[Law, LAW],
    sampler: Annotated[str, RUN_AS],
    answers: Annotated[tuple[tuple[str, str], ...], ANSWERED],
    stated: Annotated[tuple[tuple[str, str, str], ...], STATED],
) -> Answer[CardFacts]:
    """The card; the privacy profile is its chart. Answers that the settings decide are left out."""
    if of != PLAN:
        facts = CardFacts(of, {}, deployments()[of].losses)
        return Answer(profile(facts), facts)
    Tight().check(mechanism)
    if steps > MOST_TIGHT_STEPS:
        most = numbers.steps(MOST_TIGHT_STEPS)
        raise ValueError(f"The numerical (PLD) accountant is too slow beyond {most} steps: choose fewer.")
    if runs > 1:
        dpviz.tuned_epsilon(
            mechanism=mechanism, steps=0, delta=delta, runs=runs, law=law
        )  # says why it cannot be counted
    decided = undecided(mechanism.adjacency.unit == Adjacency.PERSON.unit, runs)
    plan = {"mechanism": mechanism, "steps": steps, "delta": delta, "size": size, "sampler": sampler}
    plan |= {"runs": float(runs), "law": law}
    given = {name: answer for name, answer in answers if name in decided}
    statements: dict[str, dict[str, str]] = {}
    for group, name, text in stated:
        statements.setdefault(group, {})[name] = text
    facts = CardFacts(of, plan | {"answers": given, "statements": statements}, PENDING)
    return Answer(profile(facts), facts)


def undecided(person: bool, runs: float) -> list[str]:
    """The pitfalls that only the author can answer, where the unit is a person or not."""
    return [name for name in KEYS if not (name == "tuning" and runs > 1) and not (name == "rows" and person)]


def profile(facts: CardFacts) -> LinePlot:
    """The privacy profile, with the pair that the card states; chords of its points bound δ, which is convex in e^ε."""
    losses = facts.losses
    points = {} if isinstance(losses, Pending) else dict(losses.profile)  # of several δ at one ε the least
    ends = np.array(list(points))
    x = np.unique(np.concatenate([np.linspace(*pair, 9) for pair in pairwise(ends)] or [ends]))
    y = np.interp(np.exp(x - ends[-1]), np.exp(ends - ends[-1]), list(points.values())) if points else x
    plot = chart(ROOM, "guarantee", x, {"profile": y} if points else {}, summary="The privacy profile ε(δ)")
    if isinstance(losses, Pending) or losses.epsilon is None or not losses.delta or math.isinf(losses.epsilon):
        return plot
    text = f"ε ≤ {numbers.epsilon(losses.epsilon, up=True)} at δ = {facts.delta}"
    return replace(plot, rings=(Ring(losses.epsilon, losses.delta, text, look.ORANGE),))


def losses_key(answer: Answer[CardFacts]) -> Hashable | None:
    """What decides the numbers; None for a deployment, whose numbers are its publisher's."""
    plan = answer.facts.plan
    return tuple(plan[name] for name in ("mechanism", "steps", "delta", "runs", "law")) if plan else None


def computed(answer: Answer[CardFacts]) -> dict[str, Any]:
    plan = answer.facts.plan
    event = plan["mechanism"], plan["steps"]
    return {"losses": losses_of((event,), *(plan[name] for name in ("delta", "runs", "law"))), "quick": False}


def at_once(answer: Answer[CardFacts]) -> dict[str, Any]:
    """The numbers that take little time, of Gaussian steps: of the best of several runs these are all.

    A stop of another mechanism takes .2 to 1.2 s, too long for a moving hand.
    """
    plan, mechanism = answer.facts.plan, answer.facts.plan["mechanism"]
    if mechanism.as_gaussian is None and not isinstance(mechanism, SampledGaussian | ReplaceOneGaussian | PersonRows):
        return {}
    if plan["runs"] > 1.0:
        return computed(answer)
    return {"losses": quick_losses(mechanism, plan["steps"], plan["delta"]), "quick": True}


def pitfalls(answer: Answer[CardFacts]) -> list[Block]:
    """The questions of an auditor, with their answers."""
    rows = [(question, f"**{reply}**", why) for question, reply, why in answer.facts.card.asked()]
    return [Listing(("Pitfall", "Answer", "Shown by"), tuple(rows), (3.4, 0.9, 3.0))]


def use_it(answer: Answer[CardFacts]) -> list[Block]:
    return [] if answer.facts.waits or answer.facts.quick else files_of(answer.facts.card)


def files_of(card: Guarantee) -> list[Block]:
    """The card to read, and to copy."""
    return [
        Folded("The card", text=card.markdown(), open=True),
        Folded("As Markdown", source=card.markdown(), language="markdown"),
        Folded("As JSON, by the groups of the registry of deployments", source=card.json(), language="json"),
    ]


def layout(get: Reader) -> Groups:
    if get(OF) != PLAN:
        return {"Card": (OF,)}
    return {
        "Card": (OF, RUN_AS),
        "Mechanism": (*kinds.controls(get), *experts(TRIED, *[LAW] * (get(TRIED) > 1))),
        "Pitfalls": [FIELDS[name] for name in undecided(get(kinds.ROWS) > 1, get(TRIED))],
        "About": (*TYPED.values(),),
    }


GUARANTEE = make_question(
    f"{ROOM}/guarantee",
    guarantee_card,
    layout,
    slow=(slow_facts(losses_key, computed, at_once, lambda answer: profile(answer.facts)),),
    presets=("censuspersons", "gboardspanish", "appleemoji"),
    more={"Use it": use_it, "Accountants": lambda _: cards((Tight.name,))},
    below=pitfalls,
)
