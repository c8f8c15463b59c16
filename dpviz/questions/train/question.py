"""The plan of a run before any training: what will a private run cost? The page starts and watches it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from dpviz.accounting.claims import DEMONSTRATION, Claim
from dpviz.accounting.methods import READINGS
from dpviz.charts import Axis, Floor, Line, LinePlot, training
from dpviz.fields import AnyField, numbers
from dpviz.questions import (
    Answer,
    Block,
    FieldControl,
    Folded,
    Formula,
    Item,
    Layout,
    Metric,
    Note,
    Question,
    Reader,
    Words,
    gaussian_dp,
)
from dpviz.questions.guessing import capital, limit
from dpviz.questions.printed.claim import TRAINED
from dpviz.questions.tight_band import band
from dpviz.questions.train import script
from dpviz.questions.train.facts import trained_parameters
from dpviz.questions.train.plan import PlannedCost, plan
from dpviz.questions.train.settings import SETTINGS, acting, no_bayesian, run_settings
from dpviz.training.accounts.claims import assumptions, epsilon_before, neighbours, public_data
from dpviz.training.accounts.origins import conditions_of_start, names, on_the_same, start_words
from dpviz.training.covered import DECLARED, NOT_COVERED
from dpviz.training.data.own.place import is_own
from dpviz.training.defaults import units_of
from dpviz.training.methods import METHODS
from dpviz.training.models import MODELS
from dpviz.training.plan import mechanism_at, planned_events
from dpviz.training.samplers import SAMPLERS, Poisson
from dpviz.training.settings import FIELDS, GROUPS, RunSettings

# Settings that one control shows, which knows what is on this machine.
LEARNED = FieldControl(tuple(FIELDS[name] for name in ("data", "model", "method")), drawn_as="learned")
START = FieldControl((FIELDS["start_from"], FIELDS["trained"]), drawn_as="start")


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
    def claim(self) -> Claim:
        """What may be claimed; of a demonstration, what secret noise would allow."""
        return self.cost.claim.shown

    @property
    def epsilon(self) -> float:
        """The claimed ε; inf where nothing can be claimed."""
        return self.claim.epsilon

    @property
    def first_noise(self) -> float:
        """The noise multiplier of the first step."""
        mechanism = mechanism_at(self.settings, 1, self.examples)
        return float(getattr(mechanism, mechanism.noise))

    @property
    def noise_is_set(self) -> bool:
        """Whether the noise is a setting, by hand or by a target ε; else it follows from the step size."""
        return self.settings.reads("noise_multiplier")

    @property
    def sample_rate(self) -> float:
        """q = B/N."""
        return self.settings.sample_rate(self.examples)

    @property
    def epochs(self) -> float:
        """How often the run goes through the data."""
        return self.settings.last_step * self.settings.batch_size / self.examples

    @property
    def options(self) -> dict[str, Any]:
        """What `Engine.submit` takes beside the settings."""
        return {"slow": self.slow} if self.slow else {}


def planned(**values: Any) -> Answer[Planned]:
    """ε against steps; keywords as in `SETTINGS`, each a setting of the run or of how its noise is chosen."""
    settings = run_settings(values)
    examples = units_of(settings)
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


def headline(f: Planned) -> str:
    settings = f.settings
    if not settings.private:
        return (
            f"<b>{numbers.steps(settings.last_step)}</b> steps of plain SGD, the baseline: <b>nothing</b> bounds what "
            "an attacker can learn from the model."
        )
    if not f.claim.holds:
        return f"No ε can be claimed for this plan: {escape(f.claim.reason)}."
    demonstration = f"<b>{DEMONSTRATION}</b>, and no ε is claimed. With secret noise: "
    when = "Whatever the policy decides, after at most" if settings.adaptive else "After"
    secret = SAMPLERS[settings.sampler].kind.adjacency.secret
    return (
        f"{demonstration if f.cost.claim.demonstration else ''}{when} {taken(f)}, <b>ε ≤ {numbers.up(f.epsilon)}</b> "
        f"at δ = {numbers.delta(settings.delta)}, {proof(f)}. {no_guess(secret, f.claim)}"
    )


def no_guess(secret: str, claim: Claim, *, so_far: bool = False) -> str:
    """How often an attack can be right, of a plan, a run under way and a finished one."""
    return f"{capital(limit(f'guess at {secret}', claim.guess, so_far=so_far))}."


def taken(f: Planned) -> str:
    """The steps, and their noise where that is a setting."""
    settings = f.settings
    steps = f"<b>{numbers.steps(settings.steps)}</b> planned step{'s' * (settings.steps > 1)}"
    if settings.last_step != settings.steps:
        most, replanned = numbers.steps(settings.last_step), numbers.steps(settings.steps)
        steps = f"<b>{most}</b> steps, re-planned after every {replanned}"
        if f.noise_is_set:
            steps += ","
    return f"{steps} with noise <b>σ = {numbers.at_most(settings.noise_multiplier, 4)}</b>" if f.noise_is_set else steps


def proof(f: Planned) -> str:
    """Whose the ε is, and what it includes."""
    counts = ", private counts included" if f.claim.counts else ""
    return f"{f.claim.name}{counts}{escape(start_words(f.settings))}"


def metrics(f: Planned) -> Iterator[Metric]:
    settings = f.settings
    if settings.private:
        interval = f.cost.tight.last if f.cost.tight else "–"
        yield Metric("PLD interval of ε", interval, "for the whole plan")
        yield Metric("Noise multiplier σ", numbers.at_most(f.first_noise, 4), whence(f))
    else:
        yield Metric("Privacy loss", "∞", "not private")
        yield Metric("Noise", "none")
    whose = "parameters" if settings.trained == RunSettings.trained else "parameters of the last layer"
    yield Metric("Model", numbers.steps(trained_parameters(settings)), f"{whose}; {MODELS[settings.model].title}")
    units = "persons" if settings.by_person else "examples"
    length = f"{numbers.plain(f.epochs)} epochs; at q = {numbers.plain(f.sample_rate)}"
    yield Metric("Data", numbers.steps(f.examples), f"{units}, {length}")


def whence(f: Planned) -> str:
    """What decides the noise."""
    if not f.noise_is_set:
        return "at the first step, from the step size"
    if f.target is not None:
        return f"the least for ε = {numbers.at_most(f.target)}"
    return f"on sums clipped to C = {numbers.entered(f.settings.max_grad_norm)}"


def notes(f: Planned) -> Iterator[Note]:
    settings = f.settings
    if not settings.private:
        yield Note("Not private: a baseline for comparison, without noise and without an ε.", "caution")
        return
    for condition in (*conditions_of_start(settings), *public_data(settings)):
        yield Note(f"The claim holds on condition that {condition}.", "caution")
    if not f.noise_is_set:
        yield Note(
            f"The learning rate determines the noise: smaller steps have relatively more noise. {chain_noise(f)}"
        )
    if settings.adaptive:
        yield Note("A filter enforces this bound, whatever the policy does.")
    yield from bayesian(settings)
    if is_own(settings.data):
        yield Note(DECLARED)
    seed = "secret seed" if settings.secure_noise else f"seed {settings.seed}, can be replayed"
    yield Note(
        f"{SAMPLERS[settings.sampler].label} batches, {neighbours(settings)}, δ = {numbers.delta(settings.delta)} · "
        f"noise: {seed} · device: {settings.device} · loss, gradient norms, distances, batch sizes, times and the "
        f"Bayesian ε of the run are {NOT_COVERED}"
    )


def chain_noise(f: Planned) -> str:
    """What a chain of Langevin steps samples, to follow a sentence; empty for other steps."""
    if not f.settings.reads("langevin_noise"):
        return ""
    if f.settings.langevin_noise == "sgld":
        return " Each step adds noise of variance 2η/N, so the chain samples the posterior."
    return (
        " Each step adds noise of variance η/N, as Li et al. print it: the chain has only about half of the "
        "posterior's variance."
    )


def bayesian(settings: RunSettings) -> Iterator[Note]:
    """Why there is no Bayesian ε beside the others, or what its distances do not bound."""
    if reason := no_bayesian(settings):
        yield Note(f"No Bayesian ε here: {reason}.")
    elif settings.bayesian and settings.bayesian_distances == "pairs":
        yield Note(
            "With sampled batches, the distance of two examples bounds neither adding nor replacing one; norms do."
        )


def formulas(f: Planned) -> Iterator[Formula]:
    rate = numbers.plain(f.sample_rate, digits=4)
    if rate_in_c(f.settings.method, f.settings.optimiser):
        yield Formula(
            "Step, without momentum",
            r"\theta \leftarrow \theta - \frac{\eta}{C} \frac{\sum_i \bar g_i + \mathcal N(0, \sigma^2 C^2)}{B},\ "
            rf"\eta = {numbers.plain(f.settings.learning_rate)},\ C = {numbers.plain(f.settings.max_grad_norm)}",
        )
    yield Formula("Sampling rate", rf"q = \frac{{B}}{{N}} = \frac{{{f.settings.batch_size}}}{{{f.examples}}} = {rate}")


def assumed(f: Planned) -> str:
    return "".join(f"- {one}\n" for one in assumptions(f.settings))


def below(answer: Answer[Planned]) -> Sequence[FieldControl]:
    """The way to the what-if page, which knows nothing of earlier runs, and would say less."""
    f = answer.facts
    comparable = f.noise_is_set and f.settings.sampler == Poisson.key and not on_the_same(f.settings)
    return (FieldControl(drawn_as="compose"),) if comparable else ()


def mu_of_plan(answer: Answer[Planned]) -> Sequence[Block]:
    """μ of the planned steps, where they are all that is known of these data."""
    f = answer.facts
    counted = on_the_same(f.settings) or f.settings.adaptive or f.settings.target_measure == "private"
    plan = () if counted else planned_events(f.settings.with_(steps=f.settings.last_step), f.examples)
    return gaussian_dp.gaussian_dp(plan, f.settings.delta)


def without_app(answer: Answer[Planned]) -> Sequence[Folded]:
    """The same run as a script."""
    source = script.training(answer.facts.settings)
    return (Folded("Without this app", source=source, language="python", open=True),)


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
    left = numbers.down(max(0.0, get(FIELDS["target_epsilon"]) - before))
    return (
        f"{names(settings)} may have spent {numbers.epsilon(before, up=True)} of it on the same data; {left} is left "
        "for this run."
    )


def rate_in_c(method: str, optimiser: str) -> bool:
    """Whether the learning rate multiplies the mean of clipped gradients ÷ C; that of Adam is the length of a step."""
    return METHODS[method].rate_in_c and optimiser == "sgd"


def rate_unit(get: Reader) -> str:
    """What the learning rate multiplies, where that is the mean of clipped gradients ÷ C."""
    if not rate_in_c(get(FIELDS["method"]), get(FIELDS["optimiser"])):
        return ""
    rate = numbers.plain(get(FIELDS["learning_rate"]) / get(FIELDS["max_grad_norm"]))
    return f"in units of C: {rate} × the mean of clipped gradients"


def layout(get: Reader) -> Layout:
    """The settings that act, in their groups."""
    act = acting(lambda name: get(FIELDS[name]))
    groups: dict[str, list[Item]] = {group: [] for group in GROUPS.values()}
    groups["Data"] += [LEARNED, START]
    for name, group in GROUPS.items():
        field: AnyField = FIELDS[name]
        if name in act and field not in (*LEARNED.fields, *START.fields):
            item: Item = field
            if name == "target_epsilon":
                item = FieldControl((field,), warning=spent(get))
            elif name == "learning_rate":
                item = FieldControl((field,), caption=rate_unit(get))
            groups[group].append(item)
    return {group: items for group, items in groups.items() if items}


TRAIN: Question[Planned] = Question(
    "train",
    "What will a private run cost?",
    planned,
    Words(headline, metrics, notes, formulas, assumed),
    asks="epsilon",
    settings=SETTINGS,
    presets=tuple(TRAINED.values()),
    layout=layout,
    more={gaussian_dp.NAME: mu_of_plan, "Train it": without_app},
    below=below,
    printed=lambda _: False,
)
