"""The form: what a run is to do, what its plan will cost, and the button that starts it."""

from __future__ import annotations

import re
from html import escape
from typing import Any

import streamlit as st

from dpviz.accounting.adaptive.policies import POLICIES, Fixed
from dpviz.accounting.claims import DEMONSTRATION
from dpviz.accounting.methods import READINGS
from dpviz.charts import training
from dpviz.charts.marks import Line
from dpviz.charts.plot import alt_text
from dpviz.fields import numbers
from dpviz.fields.field import Choice, Field, Flag, Number
from dpviz.questions.answer import Metric
from dpviz.questions.guessing import alone
from dpviz.questions.shown import strip
from dpviz.questions.tight_band import band
from dpviz.runs.engine import Engine
from dpviz.runs.store.records import StoreError, new_id
from dpviz.training.accounts.claims import epsilon_before
from dpviz.training.accounts.origins import beside, conditions_of_start, names, on_the_same
from dpviz.training.data.own.place import is_own
from dpviz.training.defaults import examples_of
from dpviz.training.events import DECLARED, NOT_COVERED
from dpviz.training.methods import METHODS, Method
from dpviz.training.models import MODELS
from dpviz.training.plan import mechanism_at
from dpviz.ui import controls, page, pieces, places, state
from dpviz.ui.boundary import Boundary
from dpviz.ui.pieces import Drawing
from dpviz.ui.train import fields as s
from dpviz.ui.train import start
from dpviz.ui.train.facts import data_of, graphics_card, missing, not_usable, trained_parameters, unsuited
from dpviz.ui.train.form_state import Form, no_bayesian, read, usual
from dpviz.ui.train.live import ONE
from dpviz.ui.train.plan import PlannedCost, plan
from dpviz.ui.train.watch_settings import OWN, RUN

FOLDER = "t.folder"
USUAL_FOR = "t.usual_for"
REFUSED = "t.refused"
TICKET = "t.ticket"
GROUP = "t.group"

GROUPS = ("Data", "Noise", "Steps", "Stop", "More")


@st.fragment
def show(engine: Engine) -> None:
    """The form in one fragment: a slider reruns nothing else."""
    bound = Boundary("train", OWN)
    with bound.held("form"):
        _form(engine)
        bound.worked()


def _form(engine: Engine) -> None:
    ticket = _ticket()
    if not state.get(RUN) and engine.knows(ticket):  # started, but the next move came before it was written down here
        _watch(ticket)
    if state.get(RUN):  # Start was pressed: the page around the form is another one now
        st.rerun()
    top = st.container()
    left, right = page.sides()
    _take_usual_values()
    form, problem = _read(engine)
    with right:
        with st.container():
            _start_button(engine, form, ticket, problem)
        _controls(engine, form, problem)
    with top:
        page.notes()
        if form is None:
            page.headline("These settings cannot work yet.")
        else:
            found = plan(form.settings, form.examples)
            page.headline(_headline(form, found))
    with left:
        if form is None:
            page.note(problem + _where(problem), "problem")
        else:
            _plan(form, found)
    page.follow_link(state.query(s.FIELDS))


def _read(engine: Engine) -> tuple[Form | None, str]:
    """The form's run, or what is wrong with it."""
    wrong = unsuited(state.get(s.DATA), state.get(s.MODEL))
    if wrong:
        return None, f"Expected model={state.get(s.MODEL)!r} to read the data: {wrong}"
    try:
        form = read(state.get, start.chosen(engine))
    except ValueError as problem:
        return None, str(problem)
    folder = str(st.session_state.get(FOLDER, "")).strip()
    if folder and data_of(form.settings.data).source is not None:
        form = Form(form.settings.with_(data_folder=folder), form.slow, form.target)
    return form, ""


def _take_usual_values() -> None:
    """Batch, steps, rate and C follow data, model and method until they are set by hand after the last change."""
    if state.get(s.DATA) not in s.DATA.options:
        st.session_state[REFUSED] = f"{data_of(state.get(s.DATA)).title}: its description is gone or cannot be used."
        state.put(s.DATA, s.DATA.default)
    now = (state.get(s.DATA), state.get(s.MODEL), state.get(s.METHOD))
    before = st.session_state.get(USUAL_FOR)
    st.session_state[USUAL_FOR] = now
    if before is None or before == now:
        return
    if unsuited(now[0], now[1]):
        if before[0] != now[0]:  # other data were chosen: take a model that reads them
            state.put(s.MODEL, next(iter(data_of(now[0]).parameters)))
            now = (now[0], state.get(s.MODEL), now[2])
            st.session_state[USUAL_FOR] = now
        else:
            return
    for field, value in usual(*now).items():
        state.put(field, value)


def _headline(form: Form, found: PlannedCost) -> str:
    settings = form.settings
    steps = numbers.steps(settings.steps)
    if not settings.private:
        return (
            f"<b>{numbers.steps(settings.last_step)}</b> steps of plain SGD, the baseline: <b>nothing</b> bounds what "
            "an attacker could learn from the model."
        )
    claim = found.claim.shown
    if not claim.holds:
        return f"No ε can be claimed of this plan: {claim.reason}."
    seeded = f"<b>{DEMONSTRATION}</b>, and no ε is claimed. With secret noise: " if found.claim.demonstration else ""
    chance = numbers.probability(claim.guess, up=True)
    started = "Whatever the policy decides, at most" if settings.adaptive else "All"
    planned = f"<b>{steps}</b> planned steps"
    if settings.last_step != settings.steps:
        planned = f"<b>{numbers.steps(settings.last_step)}</b> steps that it may take, re-planned after every {steps},"
    counts = ", private counts included" if claim.counts else ""
    chosen = f" with noise <b>σ = {numbers.plain(settings.noise_multiplier)}</b>"
    sigma = chosen if settings.reads("noise_multiplier") else ""
    return (
        f"{seeded}{started} {planned}{sigma} let an attacker guess right whether you took part at most "
        f"<b>{chance}</b> of the time (<b>ε ≤ {numbers.epsilon(claim.epsilon, up=True)}</b> at "
        f"δ = {numbers.delta(settings.delta)}, {claim.name}{counts}{escape(beside(settings))}{alone(claim)})."
    )


def _plan(form: Form, found: PlannedCost) -> None:
    settings = form.settings
    chart = training.epsilon_chart(
        found.steps,
        found.epsilon,
        plan_steps=found.steps[:0],
        plan={},
        total=float(settings.last_step),
        band=band(found.tight) if found.tight is not None and found.tight.x.size > 1 else None,
        budget=settings.filter_epsilon,
        height=ONE,
    )
    lines = [
        Line(key, READINGS[key], found.steps, values, training.FAMILY[key]) for key, values in found.epsilon.items()
    ]
    pieces.plot(Drawing(chart.figure, alt_text(lines, x_name="steps", x_kind="steps")), key="train-plan")
    st.html(strip(_figures(form, found)))
    st.html(f'<div class="dpviz-quiet">{_quiet(form)}</div>')
    if settings.private:
        for condition in conditions_of_start(settings):
            page.note(f"On condition that {condition}.", "caution")
    if on_the_same(settings):
        return  # what-if pages know nothing of earlier runs, and would say less
    if settings.reads("noise_multiplier") and st.button(
        "Open this plan in Compose",
        icon=":material/stacked_line_chart:",
        help="The same numbers with more accountants.",
    ):
        page.apply(
            {
                "sigma": repr(settings.noise_multiplier),
                "q": repr(settings.sample_rate(form.examples)),
                "n": str(form.examples),
                "steps": str(settings.last_step),
                "delta": repr(settings.delta),
            }
        )
        st.switch_page(places.places()["compose"])


def _figures(form: Form, found: PlannedCost) -> list[Metric]:
    settings = form.settings
    parameters = trained_parameters(settings)
    epochs = settings.last_step * settings.batch_size / form.examples
    rate = settings.sample_rate(form.examples)
    whose = "parameters" if settings.trained == s.TRAINED.default else "parameters of the last layer"
    model = Metric("Model", f"{numbers.steps(parameters)}", f"{whose}: {MODELS[settings.model].title}")
    data = Metric(
        "Data", numbers.steps(form.examples), f"examples, {numbers.plain(epochs)} epochs at q = {numbers.plain(rate)}"
    )
    if not settings.private:
        return [Metric("Privacy loss", "∞", "not private"), Metric("Noise", "none"), model, data]
    interval = found.tight.last if found.tight is not None else "–"
    noise = numbers.plain(mechanism_at(settings, 1, form.examples).noise_multiplier, digits=4)
    asked = f"least for ε = {numbers.plain(form.target)}" if form.target is not None else ""
    if not settings.reads("noise_multiplier"):
        asked = "of the first step, from its size"
    return [
        Metric("Tight interval of ε", interval, "of the whole plan"),
        Metric("Noise σ", noise, asked or f"on sums clipped to C = {numbers.plain(settings.max_grad_norm)}"),
        model,
        data,
    ]


def _quiet(form: Form) -> str:
    settings = form.settings
    noise = "secret seed" if settings.secure_noise else f"seed {settings.seed}, can be replayed"
    return (
        f"Poisson sampling, add/remove one example, δ = {numbers.delta(settings.delta)} · noise: {noise} · device: "
        f"{settings.device} · loss, gradient norms, distances, batch sizes, times and the Bayesian ε on the next page "
        f"are {NOT_COVERED}"
    )


# --- controls ---------------------------------------------------------------------------------------------------------


def _start_button(engine: Engine, form: Form | None, ticket: str, problem: str) -> None:
    st.button(
        "Start training",
        key="t.start",
        type="primary",
        width="stretch",
        icon=":material/play_arrow:",
        disabled=form is None,
        on_click=_start,
        args=(engine, form, ticket),
    )
    # Once: what was refused a while ago may go well now.
    refused = st.session_state.pop(REFUSED, "") or engine.problem
    if refused:
        page.note(str(refused), "problem")
    if form is not None and state.get(s.DEVICE) == "cuda" and not graphics_card():
        page.note("No GPU was found on this machine: the run will fail unless the workers have one.", "caution")
    if form is None and _field_of(problem) is None:
        page.note(problem, "problem")


def _ticket() -> str:
    """The id of the run that this form starts. The browser delivers a click twice when a fragment's timer is due with
    it, and people click twice: it is one run.
    """
    ticket: str = st.session_state.setdefault(TICKET, new_id())
    return ticket


def _start(engine: Engine, form: Form | None, ticket: str) -> None:
    """Queue the run; what the engine refuses is said below the button, and the form is as it was."""
    if form is None:
        return
    try:
        engine.submit(form.settings, options=form.options, run=ticket)
    except (ValueError, StoreError, RuntimeError) as problem:
        st.session_state[REFUSED] = str(problem)
        return
    _watch(ticket)


def _watch(run: str) -> None:
    state.put(RUN, run)
    for key in (TICKET, REFUSED):
        st.session_state.pop(key, None)


def _field_of(problem: str) -> Field[Any] | None:
    """The control that a message belongs to."""
    named = re.match(r"Expected (\w+)", problem)
    return s.CONTROL_OF.get(named.group(1)) if named else None


def _where(problem: str) -> str:
    """In which group the control stands that a message belongs to."""
    field = _field_of(problem)
    group = next((name for name, fields in _FIELDS_OF.items() if field is not None and field in fields), "")
    return f" {field.label} is set under {group}." if field is not None and group else ""


def _controls(engine: Engine, form: Form | None, problem: str) -> None:
    group = st.segmented_control(
        "Controls", GROUPS, default=GROUPS[0], required=True, key=GROUP, label_visibility="collapsed"
    )
    if group not in (None, GROUPS[0]):
        _missing(state.get(s.DATA))
    wrong = _field_of(problem)
    _GROUPS[group or GROUPS[0]](_Group(engine, form, wrong, problem))


def _missing(data: str) -> None:
    note = missing(data, str(st.session_state.get(FOLDER, "")))
    if note:
        page.note(note, "caution")


class _Group:
    """Draws controls, and below the one that a problem belongs to, the problem."""

    def __init__(self, engine: Engine, form: Form | None, wrong: Field[Any] | None, problem: str) -> None:
        self.engine, self.form = engine, form
        self._wrong, self._problem = wrong, problem

    def number(self, field: Number, note: str = "") -> None:
        controls.number(field, note=note)
        self._say(field)

    def typed(self, field: Number) -> None:
        controls.typed(field)
        self._say(field)

    def choice(self, field: Choice, *, horizontal: bool = True) -> str:
        chosen = controls.choice(field, horizontal=horizontal)
        self._say(field)
        return chosen

    def flag(self, field: Flag) -> bool:
        on = controls.flag(field)
        self._say(field)
        return on

    def _say(self, field: Field[Any]) -> None:
        if self._wrong is not None and field.key == self._wrong.key:
            page.note(self._problem, "problem")


def _data(group: _Group) -> None:
    data = group.choice(s.DATA, horizontal=False)
    for unusable in not_usable():
        page.note(f"Not offered: {unusable}", "caution")
    if is_own(data):
        page.note(DECLARED)
    if data_of(data).source is not None:
        st.text_input("Data folder", key=FOLDER, help="A folder of yours with the files; empty: the usual places.")
        _missing(data)
    model = group.choice(s.MODEL, horizontal=False)
    count = data_of(data).parameters.get(model)
    if count is not None:
        st.html(
            f'<div class="dpviz-quiet">{numbers.steps(count)} parameters, {numbers.steps(examples_of(data))} training '
            "examples</div>"
        )
    group.choice(s.METHOD, horizontal=False)
    group.choice(start.offered(group.engine), horizontal=False)
    if state.get(s.START) and _method().partly and MODELS[model].last_inputs is not None:
        group.choice(s.TRAINED)
    if not _method().private:
        page.note("Not private: a baseline to compare with.", "caution")


def _method() -> type[Method]:
    return METHODS[state.get(s.METHOD)]


def _privacy(group: _Group) -> None:
    method = _method()
    if not method.private:
        page.note("Plain SGD has no noise and no ε. Choose another method under Data.", "caution")
        return
    if "noise_multiplier" in method.reads:
        if group.choice(s.NOISE_BY) == "target":
            group.number(s.TARGET, note=_spent(group.form, state.get(s.TARGET)))
            group.choice(s.SOLVER)
        else:
            group.number(s.SIGMA)
    else:
        page.note("The noise follows from the learning rate: smaller steps have relatively more of it.")
    group.number(s.DELTA)
    group.number(s.CLIP)
    if group.form is not None and (why := no_bayesian(group.form.settings)):
        page.note(f"No Bayesian ε here: {why}.")
    elif group.choice(s.BAYESIAN) != "0" and (group.form is None or group.form.settings.bayesian):
        if group.choice(s.DISTANCES) == "pairs":
            page.note(
                "Under sampling the distance of two examples bounds neither adding nor replacing one: norms do.", "note"
            )
        group.number(s.PAIRS)
        group.choice(s.DEFINITION)
        group.number(s.DELTA_MU)


def _spent(form: Form | None, target: float) -> str:
    """How much of the target is gone before the first step, and how much is left."""
    if form is None or not names(form.settings):
        return ""
    spent = epsilon_before(form.settings)
    left = numbers.epsilon(numbers.down(max(0.0, target - spent)))
    return (
        f"{names(form.settings)} may have spent {numbers.epsilon(spent, up=True)} of it on the same data; {left} is "
        "left for this run."
    )


def _training(group: _Group) -> None:
    reads = s.reads(state.get)
    group.number(s.BATCH)
    group.number(s.STEPS)
    group.number(s.RATE)
    if "learning_rate_end" in reads:
        group.number(s.DECAY)
    if "optimiser" in reads:
        group.choice(s.OPTIMISER)
    if "momentum" in reads and state.get(s.OPTIMISER) == "sgd":
        group.number(s.MOMENTUM)
    if "step_exponent" in reads:
        group.choice(s.EXPONENT)
    if "friction" in reads:
        group.number(s.FRICTION)
    if "prior_std" in reads:
        group.number(s.PRIOR)
    if "burn_in" in reads:
        group.typed(s.BURN_IN)


def _stop(group: _Group) -> None:
    method = _method()
    policy = POLICIES[group.choice(s.POLICY, horizontal=False)] if "policy" in method.reads else Fixed
    if policy.adaptive:
        page.note("A filter holds the run to its promise, whatever the policy does.")
    if method.private and group.flag(s.BUDGET_ON):
        group.number(s.BUDGET)
    if policy.ends or group.flag(s.GOAL_ON):
        group.number(s.GOAL)
        if method.private and not policy.ends:
            group.choice(s.MEASURE, horizontal=False)
    private_count = not policy.adaptive and state.get(s.GOAL_ON) and state.get(s.MEASURE) == "private"
    if method.private and (policy.adaptive or private_count):
        group.number(s.COUNT_NOISE)
        group.typed(s.COUNT_EVERY)
    if policy.saves:
        group.typed(s.MARGIN)
    if group.choice(s.PAST) == "replan":
        group.typed(s.MOST)


def _more(group: _Group) -> None:
    if "views" in s.reads(state.get):
        group.number(s.VIEWS)
    if not group.flag(s.SECURE):
        group.typed(s.SEED)
    else:
        group.typed(s.SEED)
        st.html('<div class="dpviz-quiet">The seed then decides only where training starts.</div>')
    group.choice(s.DEVICE)
    group.choice(s.SLOW)
    group.typed(s.EVALUATE)


_GROUPS = {"Data": _data, "Noise": _privacy, "Steps": _training, "Stop": _stop, "More": _more}
_FIELDS_OF: dict[str, tuple[Field[Any], ...]] = {
    "Data": (s.DATA, s.MODEL, s.METHOD, s.START, s.TRAINED),
    "Noise": (s.TARGET, s.SIGMA, s.DELTA, s.CLIP, s.PAIRS, s.DELTA_MU),
    "Steps": (s.BATCH, s.STEPS, s.RATE, s.DECAY, s.MOMENTUM, s.FRICTION, s.PRIOR, s.BURN_IN),
    "Stop": (s.POLICY, s.BUDGET, s.GOAL, s.MEASURE, s.COUNT_NOISE, s.COUNT_EVERY, s.MARGIN, s.MOST),
    "More": (s.VIEWS, s.SEED, s.DEVICE, s.EVALUATE),
}
