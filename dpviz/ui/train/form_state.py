"""The run that the Train form describes, and the form that describes a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dpviz._remember import remembered
from dpviz.accounting.adaptive.policies import POLICIES
from dpviz.fields.field import Field
from dpviz.questions.layout import Reader
from dpviz.runs.origins import StartFrom
from dpviz.training.accounts.counting import planned_counts
from dpviz.training.accounts.live import check_run
from dpviz.training.accounts.origins import names, spent_before
from dpviz.training.defaults import examples_of, recommended
from dpviz.training.methods import METHODS
from dpviz.training.settings import RunSettings
from dpviz.ui.train.fields import (
    BATCH,
    BAYESIAN,
    BUDGET,
    BUDGET_ON,
    BURN_IN,
    CLIP,
    CONTROL_OF,
    COUNT_EVERY,
    COUNT_NOISE,
    DATA,
    DECAY,
    DEFAULT,
    DEFINITION,
    DELTA,
    DELTA_MU,
    DEVICE,
    DISTANCES,
    EVALUATE,
    EXPONENT,
    FRICTION,
    GOAL,
    GOAL_ON,
    MARGIN,
    MEASURE,
    METHOD,
    MODEL,
    MOMENTUM,
    MOST,
    NOISE_BY,
    OPTIMISER,
    PAIRS,
    PAST,
    POLICY,
    PRIOR,
    RATE,
    SECURE,
    SEED,
    SIGMA,
    SLOW,
    SOLVER,
    START,
    STEPS,
    TARGET,
    TRAINED,
    VIEWS,
    reads,
)
from dpviz.ui.train.solving import solved_noise


@dataclass(frozen=True)
class Form:
    """The run that the form describes: its settings, seconds of slow motion, and ε asked for (None: σ by hand)."""

    settings: RunSettings
    slow: float
    target: float | None

    @property
    def examples(self) -> int:
        return examples_of(self.settings.data)

    @property
    def options(self) -> dict[str, Any]:
        """What `Engine.submit` takes beside the settings."""
        return {"slow": self.slow} if self.slow else {}


def read(get: Reader, start: StartFrom | None = None) -> Form:
    """The form's run, its noise solved for where a target ε was chosen; what does not apply is left at its default.

    Args:
        get: The form.
        start: What its field START names; None for random weights.

    Raises:
        ValueError: where the settings cannot work, naming the setting first ("Expected batch_size=…").
    """
    act = reads(get)

    def acting(name: str, found: Any) -> Any:
        return found if name in act else getattr(DEFAULT, name)

    private = METHODS[get(METHOD)].private
    policy = POLICIES[acting("policy", get(POLICY))]
    by_target = "noise_multiplier" in act and get(NOISE_BY) == "target"
    measure = "private" if policy.ends else get(MEASURE) if private else DEFAULT.target_measure
    settings = RunSettings(
        data=get(DATA),
        model=get(MODEL),
        method=get(METHOD),
        policy=policy.key,
        optimiser=acting("optimiser", get(OPTIMISER)),
        learning_rate=get(RATE),
        learning_rate_end=get(DECAY),
        momentum=get(MOMENTUM),
        step_exponent=0.0 if get(EXPONENT) == "fixed" else DEFAULT.step_exponent,
        friction=get(FRICTION),
        prior_std=acting("prior_std", get(PRIOR)),
        max_grad_norm=get(CLIP),
        noise_multiplier=DEFAULT.noise_multiplier if by_target else acting("noise_multiplier", get(SIGMA)),
        batch_size=int(get(BATCH)),
        views=acting("views", int(get(VIEWS))),
        steps=int(get(STEPS)),
        past_plan=get(PAST),
        most_steps=int(get(MOST)) if get(PAST) == "replan" else 0,
        delta=get(DELTA),
        delta_mu=get(DELTA_MU) if get(DELTA_MU) < 1.0 else None,
        bayesian=get(BAYESIAN) != "0" and private,
        bayesian_distances=get(DISTANCES),
        pairs=int(get(PAIRS)),
        definition=int(get(DEFINITION)),
        filter_epsilon=get(BUDGET) if private and get(BUDGET_ON) else None,
        target_accuracy=get(GOAL) if get(GOAL_ON) or policy.ends else None,
        target_measure=measure,
        count_every=int(get(COUNT_EVERY)),
        count_noise=get(COUNT_NOISE),
        margin_epochs=int(get(MARGIN)),
        burn_in=acting("burn_in", int(get(BURN_IN))),
        evaluation_every=int(get(EVALUATE)) or None,
        seed=int(get(SEED)),
        secure_noise=get(SECURE),
        device=get(DEVICE),
        start_from=start.weights if start is not None else None,
        origins=start.origins if start is not None else (),
        trained=get(TRAINED) if start is not None and METHODS[get(METHOD)].partly else DEFAULT.trained,
    )
    dear = settings.changing and get(BAYESIAN) == "auto"
    if dear or no_bayesian(settings):  # the form says so
        settings = settings.with_(bayesian=False)
    settings.check()
    rate = settings.sample_rate(examples_of(settings.data))
    target = get(TARGET) if by_target else None
    if target is not None:
        settings = _solved(settings, target, get(SOLVER), rate)
    check_run(settings, examples_of(settings.data))
    return Form(settings, float(get(SLOW)), target)


def no_bayesian(settings: RunSettings) -> str:
    """Why there can be no Bayesian ε beside these settings, in words; empty where there can."""
    if earlier := names(settings):
        return f"it needs the gradients of every step, and those of {earlier} were not kept"
    if settings.delta_mu is None and settings.delta <= settings.estimator_failure:
        return f"its bound fails with probability γ = {settings.estimator_failure:g}, and δ_μ = δ is not above that"
    return ""


def _solved(settings: RunSettings, target: float, solver: str, rate: float) -> RunSettings:
    """With the least noise for `target`, what was spent on the same data before included.

    Under an adaptive policy the target is also what the run promises. Such a run may go on past its T steps with what
    it saved; a fixed plan that does pays for all it may take.
    """
    steps = settings.steps if settings.adaptive else settings.last_step
    counts = planned_counts(settings.with_(steps=steps), examples_of(settings.data))
    sigma = solved_noise(
        target,
        solver,
        rate,
        steps,
        settings.delta,
        counts=counts,
        count_noise=settings.count_noise if counts else 0.0,
        before=spent_before(settings),
        named=names(settings),
        batch_size=settings.batch_size,
        adaptive=settings.adaptive,
    )
    settings = settings.with_(noise_multiplier=sigma)
    if settings.adaptive and settings.filter_epsilon is None:
        settings = settings.with_(filter_epsilon=target)
    return settings


def texts_of(settings: RunSettings, slow: float = 0.0) -> dict[str, str]:
    """The form that describes these settings, as texts for `dpviz.ui.state.assign`; σ is by hand."""
    values: list[tuple[Field[Any], Any]] = [
        (DATA, settings.data),
        (MODEL, settings.model),
        (METHOD, settings.method),
        (NOISE_BY, "sigma"),
        (SIGMA, settings.noise_multiplier),
        (DELTA, settings.delta),
        (CLIP, settings.max_grad_norm),
        (BATCH, float(settings.batch_size)),
        (VIEWS, float(settings.views)),
        (STEPS, float(settings.steps)),
        (RATE, settings.learning_rate),
        (DECAY, settings.learning_rate_end),
        (OPTIMISER, settings.optimiser),
        (MOMENTUM, settings.momentum),
        (EXPONENT, "fixed" if settings.step_exponent == 0.0 else "third"),
        (FRICTION, settings.friction),
        (BURN_IN, float(settings.burn_in)),
        (BAYESIAN, "1" if settings.bayesian else "0"),
        (DISTANCES, settings.bayesian_distances),
        (PAIRS, float(settings.pairs)),
        (DEFINITION, str(settings.definition)),
        (DELTA_MU, DELTA_MU.default if settings.delta_mu is None else settings.delta_mu),
        (POLICY, settings.policy),
        (COUNT_NOISE, settings.count_noise),
        (COUNT_EVERY, float(settings.count_every)),
        (MARGIN, float(settings.margin_epochs)),
        (BUDGET_ON, settings.filter_epsilon is not None),
        (GOAL_ON, settings.target_accuracy is not None),
        (MEASURE, settings.target_measure),
        (PAST, settings.past_plan),
        (SEED, float(settings.seed)),
        (SECURE, settings.secure_noise),
        (DEVICE, settings.device),
        (START, settings.origins[0].run if settings.origins else START.default),
        (TRAINED, settings.trained),
        (EVALUATE, _between_tests(settings)),
    ]
    if settings.prior_std > 0:
        values.append((PRIOR, settings.prior_std))
    if settings.filter_epsilon is not None:
        values.append((BUDGET, settings.filter_epsilon))
    if settings.target_accuracy is not None:
        values.append((GOAL, settings.target_accuracy))
    if settings.most_steps:
        values.append((MOST, float(settings.most_steps)))
    texts = {field.key: field.write(value) for field, value in values}
    return texts | ({SLOW.key: f"{slow:g}"} if f"{slow:g}" in SLOW.options else {})


def _between_tests(settings: RunSettings) -> float:
    """`EVALUATE` for these settings: at the end only is more steps than any run has."""
    every = settings.evaluation_every
    return 0.0 if every is None else float(every or EVALUATE.high)


@remembered
def _recommended(data: str, model: str) -> RunSettings:
    return recommended(data, model, target_epsilon=TARGET.default)


def usual(data: str, model: str, method: str) -> dict[Field[Any], float]:
    """Batch, steps, learning rate and C that train well: what the form takes when one of these three changes."""
    found = _recommended(data, model)
    return {
        BATCH: float(found.batch_size),
        STEPS: float(found.steps),
        RATE: found.learning_rate,
        CLIP: found.max_grad_norm,
    } | {CONTROL_OF[name]: value for name, value in METHODS[method].usual.items()}
