"""Train: what will a private run cost? Its plan, before anything is trained; starting and watching it is the page's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from dpviz.accounting.adaptive.policies import POLICIES
from dpviz.accounting.claims import DEMONSTRATION
from dpviz.accounting.methods import READINGS
from dpviz.charts import training
from dpviz.charts.marks import Floor, Line
from dpviz.charts.plot import Axis, LinePlot
from dpviz.fields import numbers
from dpviz.fields.field import Field, Number
from dpviz.questions.answer import Answer, Folded, Metric, Note
from dpviz.questions.guessing import alone
from dpviz.questions.layout import Groups, Item, Noted, Own, Reader
from dpviz.questions.page import Page
from dpviz.questions.printed.rows import BY_KEY
from dpviz.questions.question import Question
from dpviz.questions.tight_band import band
from dpviz.questions.train import script
from dpviz.questions.train.facts import trained_parameters
from dpviz.questions.train.plan import PlannedCost, plan
from dpviz.questions.train.settings import SETTINGS, acting, no_bayesian, run_settings
from dpviz.training.accounts.claims import ASSUMPTIONS, epsilon_before
from dpviz.training.accounts.origins import beside, conditions_of_start, names, on_the_same
from dpviz.training.data.own.place import is_own
from dpviz.training.defaults import examples_of
from dpviz.training.events import DECLARED, NOT_COVERED
from dpviz.training.models import MODELS
from dpviz.training.plan import mechanism_at
from dpviz.training.settings import FIELDS, GROUPS, RunSettings

# Settings that one control shows, which knows what is on this machine.
LEARNED = Own("learned", tuple(FIELDS[name] for name in ("data", "model", "method")))
START = Own("start", (FIELDS["start_from"], FIELDS["trained"]))


@dataclass(frozen=True, eq=False)
class Planned:
    """A run that is planned, and what it costs.

    Attributes:
        settings: of the run.
        examples: N.
        cost: by every accountant.
        target: ε that its noise was solved for; None for σ by hand.
        slow: seconds that the run waits after each step.
    """

    settings: RunSettings
    examples: int
    cost: PlannedCost
    target: float | None
    slow: float

    @property
    def options(self) -> dict[str, Any]:
        """What `Engine.submit` takes beside the settings."""
        return {"slow": self.slow} if self.slow else {}


def planned(**values: Any) -> Answer[Planned]:
    """ε against steps; keywords as in `SETTINGS`, each a setting of the run or of how its noise is chosen."""
    settings = run_settings(values)
    examples = examples_of(settings.data)
    cost = plan(settings, examples)
    target = values["target_epsilon"] if "target_epsilon" in acting(values.__getitem__) else None
    budget = settings.filter_epsilon
    plot = LinePlot(
        x=training.steps_axis(float(settings.last_step)),
        y=Axis("ε", lowest="best", reading="attack"),
        lines=tuple(
            Line(key, READINGS[key], cost.steps, values, training.FAMILY[key]) for key, values in cost.epsilon.items()
        ),
        bands=(band(cost.tight),) if cost.tight is not None and cost.tight.x.size > 1 else (),
        floors=() if budget is None else (Floor(budget, "filter budget", "budget"),),
    )
    return Answer(plot, Planned(settings, examples, cost, target, values["slow"]))


def headline(answer: Answer[Planned]) -> str:
    """What the plan lets an attacker do, as HTML."""
    settings, claim = answer.facts.settings, answer.facts.cost.claim.shown
    if not settings.private:
        return (
            f"<b>{numbers.steps(settings.last_step)}</b> steps of plain SGD, the baseline: <b>nothing</b> bounds what "
            "an attacker could learn from the model."
        )
    if not claim.holds:
        return f"No ε can be claimed of this plan: {escape(claim.reason)}."
    demonstration = answer.facts.cost.claim.demonstration
    seeded = f"<b>{DEMONSTRATION}</b>, and no ε is claimed. With secret noise: " if demonstration else ""
    started = "Whatever the policy decides, at most" if settings.adaptive else "All"
    steps = numbers.steps(settings.steps)
    counted = f"<b>{steps}</b> planned steps"
    if settings.last_step != settings.steps:
        counted = f"<b>{numbers.steps(settings.last_step)}</b> steps that it may take, re-planned after every {steps},"
    chosen = f" with noise <b>σ = {numbers.plain(settings.noise_multiplier)}</b>"
    return (
        f"{seeded}{started} {counted}{chosen if settings.reads('noise_multiplier') else ''} let an attacker guess "
        f"right whether you took part at most <b>{numbers.probability(claim.guess, up=True)}</b> of the time "
        f"(<b>ε ≤ {numbers.epsilon(claim.epsilon, up=True)}</b> at δ = {numbers.delta(settings.delta)}, "
        f"{claim.name}{', private counts included' if claim.counts else ''}{escape(beside(settings))}{alone(claim)})."
    )


def metrics(answer: Answer[Planned]) -> Sequence[Metric]:
    """The interval, the noise, the model and the data."""
    facts, settings = answer.facts, answer.facts.settings
    rate = settings.sample_rate(facts.examples)
    epochs = settings.last_step * settings.batch_size / facts.examples
    whose = "parameters" if settings.trained == RunSettings.trained else "parameters of the last layer"
    model = Metric("Model", numbers.steps(trained_parameters(settings)), f"{whose}: {MODELS[settings.model].title}")
    data = Metric(
        "Data", numbers.steps(facts.examples), f"examples, {numbers.plain(epochs)} epochs at q = {numbers.plain(rate)}"
    )
    if not settings.private:
        return Metric("Privacy loss", "∞", "not private"), Metric("Noise", "none"), model, data
    origin = f"on sums clipped to C = {numbers.plain(settings.max_grad_norm)}"
    if facts.target is not None:
        origin = f"least for ε = {numbers.plain(facts.target)}"
    if not settings.reads("noise_multiplier"):
        origin = "of the first step, from its size"
    interval = facts.cost.tight.last if facts.cost.tight is not None else "–"
    noise = numbers.plain(mechanism_at(settings, 1, facts.examples).noise_multiplier, digits=4)
    return Metric("Tight interval of ε", interval, "of the whole plan"), Metric("Noise σ", noise, origin), model, data


def notes(answer: Answer[Planned]) -> Sequence[Note]:
    """On what the plan's ε rests, and what it does not cover."""
    settings = answer.facts.settings
    if not settings.private:
        return (Note("Not private: a baseline to compare with. Its steps have no noise, and it has no ε.", "caution"),)
    source = "secret seed" if settings.secure_noise else f"seed {settings.seed}, can be replayed"
    remarks = [Note(f"On condition that {condition}.", "caution") for condition in conditions_of_start(settings)]
    if not settings.reads("noise_multiplier"):
        remarks.append(Note("The noise follows from the learning rate: smaller steps have relatively more of it."))
    if POLICIES[settings.policy].adaptive:
        remarks.append(Note("A filter holds the run to its promise, whatever the policy does."))
    if why := no_bayesian(settings):
        remarks.append(Note(f"No Bayesian ε here: {why}."))
    elif settings.bayesian and settings.bayesian_distances == "pairs":
        pairs = "Under sampling the distance of two examples bounds neither adding nor replacing one: norms do."
        remarks.append(Note(pairs))
    if is_own(settings.data):
        remarks.append(Note(DECLARED))
    return (
        *remarks,
        Note(
            f"Poisson sampling, add/remove one example, δ = {numbers.delta(settings.delta)} · noise: {source} · "
            f"device: {settings.device} · loss, gradient norms, distances, batch sizes, times and the Bayesian ε of "
            f"the run are {NOT_COVERED}"
        ),
    )


def formulas(answer: Answer[Planned]) -> Sequence[tuple[str, str]]:
    """q of a step, with today's numbers."""
    settings, examples = answer.facts.settings, answer.facts.examples
    rate = numbers.plain(settings.sample_rate(examples), digits=4)
    return (("Sampling rate", rf"q = \frac{{B}}{{N}} = \frac{{{settings.batch_size}}}{{{examples}}} = {rate}"),)


def below(answer: Answer[Planned]) -> Sequence[Own]:
    """The way to the what-if page, which knows nothing of earlier runs, and would say less."""
    settings = answer.facts.settings
    return () if on_the_same(settings) or not settings.reads("noise_multiplier") else (Own("compose"),)


def spent(get: Reader) -> str:
    """How much of the target is gone before the first step, and how much is left, where that is known."""
    if not get(FIELDS["start_from"]):
        return ""
    try:
        settings = TRAIN.asked(TRAIN.read(get)).facts.settings
    except ValueError:
        return ""
    if not names(settings):
        return ""
    before = epsilon_before(settings)
    left = numbers.epsilon(numbers.down(max(0.0, get(FIELDS["target_epsilon"]) - before)))
    return (
        f"{names(settings)} may have spent {numbers.epsilon(before, up=True)} of it on the same data; {left} is left "
        "for this run."
    )


def layout(get: Reader) -> Groups:
    """The settings that act, in their groups."""
    act = acting(lambda name: get(FIELDS[name]))
    groups: dict[str, list[Item]] = {group: [] for group in GROUPS.values()}
    groups["Data"] += [LEARNED, START]
    for name, group in GROUPS.items():
        field: Field[Any] = FIELDS[name]
        if name in act and field not in (*LEARNED.fields, *START.fields):
            if name == "target_epsilon" and isinstance(field, Number):
                groups[group].append(Noted(field, spent(get)))
            else:
                groups[group].append(field)
    return {group: items for group, items in groups.items() if items}


TRAIN = Question(
    key="train",
    title="What will a private run cost?",
    settings=SETTINGS,
    answer=planned,
    headline=headline,
    metrics=metrics,
    notes=notes,
    formulas=formulas,
    assumptions="\n".join(f"- {text}" for text in ASSUMPTIONS),
    presets=tuple(BY_KEY.values()),
    layout=layout,
    more={
        "Train it": lambda answer: (
            Folded("Without this app", source=script.training(answer.facts.settings), language="python", open=True),
        )
    },
    below=below,
    printed=lambda _: False,
)
PAGE = Page(
    key="train",
    title="Train",
    icon=":material/play_circle:",
    asks="Train: what does a private run learn, and cost?",
    about="Start private training and watch loss, accuracy and every accountant's ε move.",
    questions=(TRAIN,),
)
