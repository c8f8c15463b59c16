"""Train: what will a private run cost? Its plan, before anything is trained; starting and watching it is the page's."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dpviz.accounting.claims import Claim
from dpviz.accounting.methods import READINGS
from dpviz.charts import Axis, Floor, Line, LinePlot, training
from dpviz.fields import Field, Number, numbers
from dpviz.questions import Answer, Folded, Groups, Item, Noted, Own, Question, Reader
from dpviz.questions.page import page
from dpviz.questions.printed.claim import TRAINED
from dpviz.questions.tight_band import band
from dpviz.questions.train import script
from dpviz.questions.train.facts import trained_parameters
from dpviz.questions.train.plan import PlannedCost, plan
from dpviz.questions.train.settings import SETTINGS, acting, no_bayesian, run_settings
from dpviz.questions.words import words
from dpviz.training.accounts.claims import assumptions, epsilon_before, neighbours
from dpviz.training.accounts.origins import beside, conditions_of_start, names, on_the_same
from dpviz.training.data.own.place import is_own
from dpviz.training.defaults import units_of
from dpviz.training.models import MODELS
from dpviz.training.plan import mechanism_at
from dpviz.training.samplers import SAMPLERS, Poisson
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
    models = MODELS
    samplers = SAMPLERS

    @property
    def neighbours(self) -> str:
        return neighbours(self.settings)

    @property
    def secret(self) -> str:
        return SAMPLERS[self.settings.sampler].kind.adjacency.secret

    @property
    def assumptions(self) -> Sequence[str]:
        return assumptions(self.settings)

    @property
    def claim(self) -> Claim:
        return self.cost.claim.shown

    @property
    def first_noise(self) -> float:
        mechanism = mechanism_at(self.settings, 1, self.examples)
        return float(getattr(mechanism, mechanism.noise))

    @property
    def epochs(self) -> float:
        return self.settings.last_step * self.settings.batch_size / self.examples

    @property
    def parameters(self) -> int:
        return trained_parameters(self.settings)

    @property
    def whose(self) -> str:
        return "parameters" if self.settings.trained == RunSettings.trained else "parameters of the last layer"

    @property
    def conditions(self) -> Sequence[str]:
        """On which the plan's ε rests."""
        return conditions_of_start(self.settings) if self.settings.private else ()

    @property
    def no_bayesian(self) -> str:
        return no_bayesian(self.settings)

    @property
    def own_data(self) -> bool:
        return is_own(self.settings.data)

    @property
    def beside(self) -> str:
        return beside(self.settings) if self.settings.private else ""

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


def below(answer: Answer[Planned]) -> Sequence[Own]:
    """The way to the what-if page, which knows nothing of earlier runs, and would say less."""
    settings = answer.facts.settings
    return (
        ()
        if on_the_same(settings) or not settings.reads("noise_multiplier") or settings.sampler != Poisson.key
        else (Own("compose"),)
    )


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
            target = name == "target_epsilon" and isinstance(field, Number)
            groups[group].append(Noted(field, spent(get)) if target else field)  # type: ignore[arg-type]
    return {group: items for group, items in groups.items() if items}


TRAIN: Question[Planned] = Question(
    key="train",
    settings=SETTINGS,
    answer=planned,
    **words("train", "train"),
    presets=tuple(TRAINED.values()),
    layout=layout,
    more={
        "Train it": lambda answer: (
            Folded("Without this app", source=script.training(answer.facts.settings), language="python", open=True),
        )
    },
    below=below,
    printed=lambda _: False,
)
PAGE = page("train", TRAIN)
