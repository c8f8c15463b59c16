"""What adaptive noise, adaptive batches and fine-tuning would do and cost on an assumed accuracy."""

from __future__ import annotations

from dpviz.accounting.adaptive.policies import AdaptiveBatch, AdaptiveNoise, FineTuning, Fixed, Policy, Setting
from dpviz.accounting.adaptive.trajectory import Scenario, policy_trajectory
from dpviz.accounting.formula import tex
from dpviz.charts import look
from dpviz.charts.marks import Column, Line
from dpviz.charts.plot import Axis
from dpviz.fields import numbers
from dpviz.fields.field import Number
from dpviz.questions import units
from dpviz.questions.answer import Answer, Metric, Note
from dpviz.questions.budget import fields
from dpviz.questions.budget.trajectories import NAMES, QUANTITIES, Trajectories, TrajectoryPlot
from dpviz.questions.budget.words import ASSUMPTIONS, accountants, budget_axis, epsilon, floors, rise_formula
from dpviz.questions.layout import Expert, Groups, InUnits, Reader, Row, experts
from dpviz.questions.mechanism import DELTA, RATE, SIGMA, SIZE
from dpviz.questions.question import Question
from dpviz.questions.shared import IMAGE, LOG_Y

COLORS = {"fixed": look.GREY, "noise": look.BLUE, "batch": look.ORANGE, "tune": look.GREEN}
ENDS = {"budget": "budget used up", "goal": "goal reached", "epochs": "epochs over"}


def policy(
    *,
    noise_multiplier: float,
    sample_rate: float,
    size: int,
    delta: float,
    target_epsilon: float,
    account: str,
    one_order: bool,
    variant: str,
    policies: tuple[str, ...],
    shown: str,
    epochs: int,
    margin: int,
    noise_step: float,
    batch_step: int,
    goal: float,
    top: float,
    pace: float,
    seed: int,
    log_y: bool,
) -> Answer[Trajectories]:
    """What each policy's epochs use, cost and (assumed) reach."""
    size = min(size, 10**9)
    batch = round(sample_rate * size)
    if batch < 1:
        raise ValueError(
            f"q = {sample_rate:.3g} of N = {size} examples is less than one example a batch: raise q or N."
        )
    if size / batch > 1e7:
        raise ValueError(f"An epoch would have {size / batch:.3g} steps: raise q (batches of more examples).")
    scenario = Scenario(size=size, top=top, pace=pace, seed=seed)
    target = target_epsilon if account == "filter" else None
    start = Setting(noise_multiplier, batch)
    trajectories = {
        key: policy_trajectory(
            first_state(key, start, noise_step=noise_step, batch_step=batch_step, goal=goal * size),
            scenario,
            delta=delta,
            target_epsilon=target,
            most_epochs=epochs,
            variant=variant,
            one_order=one_order,
            margin_epochs=margin,
        )
        for key in policies
    }
    facts = Trajectories(trajectories, scenario, target)
    end = max((float(trajectory.epochs[-1]) for trajectory in trajectories.values()), default=1.0)
    costs = shown == "epsilon"
    budget = target if costs else None
    plot = TrajectoryPlot(
        x=Axis("epochs", shown=(0.0, max(end, 1.0)), hover="%{x:,d} epochs"),
        y=budget_axis(shown, "accuracy (assumed)", log=log_y, budget=budget),
        lines=tuple(
            Line(
                key,
                NAMES[key],
                trajectory.epochs,
                facts.account(trajectory) if costs else getattr(trajectory, QUANTITIES[shown]),
                "odometer",
                color=COLORS[key],
                hover=(Column("σ", trajectory.noise_multiplier), Column("batch", trajectory.batch_size)),
            )
            for key, trajectory in trajectories.items()
        ),
        floors=floors(budget),
        facts=facts,
    )
    return Answer(plot, facts)


def first_state(key: str, start: Setting, *, noise_step: float, batch_step: int, goal: float) -> Policy:
    """The policy called `key` before its first count; `start` is the baseline, `goal` in examples."""
    if key == "noise":
        return AdaptiveNoise(start, step=noise_step)
    if key == "batch":
        return AdaptiveBatch(start, step=batch_step)
    if key == "tune":
        sigma = start.noise_multiplier
        return FineTuning(start._replace(noise_multiplier=2 * sigma), step=noise_step, least_noise=sigma, goal=goal)
    return Fixed(start)


def headline(a: Answer[Trajectories]) -> str:
    f = a.facts
    if not f.trajectories:
        return "No policy is switched on: switch one on beside the chart."
    said = []
    for key, trajectory in f.trajectories.items():
        length = int(trajectory.epochs[-1])
        spent = epsilon(float(f.account(trajectory)[-1]))
        if length == 0 and trajectory.ended == "budget":
            said.append(f"{NAMES[key]} <b>not one epoch</b> (it would exceed the budget)")
            continue
        said.append(
            f"{NAMES[key]} <b>{length}</b> epoch{'' if length == 1 else 's'} (ε ≤ {spent}, {ENDS[trajectory.ended]})"
        )
    head = "Read by an odometer"
    if f.target is not None:
        head = f"With a budget of <b>ε = {numbers.plain(f.target, digits=4)}</b>"
    return f"{head} at δ = {numbers.delta(a.given['delta'])}, on an assumed accuracy: {'; '.join(said)}."


def metrics(a: Answer[Trajectories]) -> list[Metric]:
    f, delta = a.facts, numbers.delta(a.given["delta"])
    built = [
        Metric(
            NAMES[key].capitalize(),
            f"{int(trajectory.epochs[-1])} epochs",
            f"accuracy {100 * trajectory.accuracy[-1]:.1f} % (assumed); {ENDS[trajectory.ended]}",
        )
        for key, trajectory in f.trajectories.items()
    ]
    if f.target is None:
        built.append(Metric("Account", "odometer", f"δ = {delta}; holds at any stop"))
    else:
        built.append(Metric("Budget ε", numbers.plain(f.target, digits=4), f"filter at δ = {delta}"))
    return built[:4]


def notes(a: Answer[Trajectories]) -> list[Note]:
    g, f = a.given, a.facts
    built = [
        Note(
            "Nothing is trained here: the accuracy is an assumption (see Assumptions), so epochs and accuracy are "
            "an illustration. The budgets are exact for the steps and counts that the policies then ask for. What "
            "real runs did is under “Policies, really trained”."
        )
    ]
    adaptive = [key for key in f.trajectories if key != "fixed"]
    if f.target is not None and adaptive and not g["one_order"]:
        built.append(
            Note(
                "The filter tracks all orders at once, as in the paper. Where results choose the noise, that is "
                "not proved for every outcome: “One order, fixed ahead” is."
            )
        )
    held = [NAMES[key] for key in adaptive if f.trajectories[key].blocked.any()]
    if held:
        built.append(
            Note(
                f"After some counts {' and '.join(held)} would have saved budget, but what was left lasted for no "
                f"more than {numbers.steps(g['margin'])} epochs, the margin under Show."
            )
        )
    return built


def formulas(a: Answer[Trajectories]) -> list[tuple[str, str]]:
    s = a.facts.scenario
    return [
        (
            "assumed accuracy after each epoch",
            rf"a \leftarrow a + {tex(s.pace)}\left({tex(s.top)} - {tex(s.toll)}\,\ln\frac{{\sigma/B}}{{1/512}}"
            rf" - a\right) + {tex(s.wobble)}\,\mathcal N(0,1)",
        ),
        rise_formula(rf"{s.size}\,a", 100),
    ]


def layout(get: Reader) -> Groups:
    on, filtered = get(fields.POLICIES), get(fields.ACCOUNT) == "filter"
    acts: dict[Number, bool] = {
        fields.NOISE_STEP: "noise" in on or "tune" in on,
        fields.BATCH_STEP: "batch" in on,
        fields.MARGIN: filtered and ("noise" in on or "batch" in on),
        fields.SEED: True,
    }
    typed = [field for field, does in acts.items() if does]
    return {
        "Budget": (
            fields.POLICIES,
            fields.SHOWN,
            fields.ACCOUNT,
            *((fields.TARGET, Expert(fields.ONE_ORDER)) if filtered else ()),
            fields.EPOCHS,
        ),
        "Mechanism": (SIGMA, InUnits((SIZE, RATE)), units.suggested(SIZE, get)),
        "Show": (
            fields.TOP,
            fields.PACE,
            *((fields.GOAL,) if "tune" in on else ()),
            *((LOG_Y,) if get(fields.SHOWN) == "epsilon" else ()),
            *experts(*(Row(tuple(typed[i : i + 2])) for i in range(0, len(typed), 2)), fields.VARIANT, IMAGE),
        ),
    }


POLICY: Question[Trajectories] = Question(
    key="policy",
    title="Policies that adapt while training",
    settings={
        "noise_multiplier": SIGMA,
        "sample_rate": RATE,
        "size": SIZE,
        "delta": DELTA,
        "target_epsilon": fields.TARGET,
        "account": fields.ACCOUNT,
        "one_order": fields.ONE_ORDER,
        "variant": fields.VARIANT,
        "policies": fields.POLICIES,
        "shown": fields.SHOWN,
        "epochs": fields.EPOCHS,
        "margin": fields.MARGIN,
        "noise_step": fields.NOISE_STEP,
        "batch_step": fields.BATCH_STEP,
        "goal": fields.GOAL,
        "top": fields.TOP,
        "pace": fields.PACE,
        "seed": fields.SEED,
        "log_y": LOG_Y,
    },
    answer=policy,
    headline=headline,
    metrics=metrics,
    notes=notes,
    formulas=formulas,
    assumptions=ASSUMPTIONS,
    layout=layout,
    more={"Accountants": lambda a: accountants(a.given["variant"])},
)
