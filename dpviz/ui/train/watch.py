"""A run under way or over, on the page: its browser fetches what changes, and the page runs again for the rest."""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import partial
from html import escape
from typing import Any

import pandas as pd
import streamlit as st

from dpviz.charts.marks import thinned
from dpviz.questions.guarantee.card import Guarantee
from dpviz.questions.guarantee.run import guarantee_of_run, others_on_the_same_data
from dpviz.questions.train import PAGE, script
from dpviz.questions.train.settings import texts_of
from dpviz.runs.claims import claim_of_view, settings_of, told_settings_of, trained_on, unfit
from dpviz.runs.engine import Engine
from dpviz.runs.exchange.disputes import MISMATCH, disputes_of
from dpviz.runs.exchange.files import RUN_FILE, export_run, shared_view, steps_csv, steps_parquet, why_no_file
from dpviz.runs.store.records import Chosen, RunRecord, StoreError
from dpviz.runs.told.settings import ToldSettings
from dpviz.runs.told.settings import assumptions as told_assumptions
from dpviz.training.accounts.claims import assumptions
from dpviz.training.accounts.origins import spent_before
from dpviz.training.accounts.stepwise import encoded_events
from dpviz.training.covered import NOT_COVERED, heading
from dpviz.training.models import MODELS
from dpviz.training.settings import FIELDS as SETTINGS
from dpviz.ui import controls, details, page, plots, present, share, state
from dpviz.ui.boundary import Boundary
from dpviz.ui.browser import updates
from dpviz.ui.browser.routes import component, root
from dpviz.ui.runs.fields import CHART, RUN, SECOND, STATE_WORDS, TRAIN, WATCHED
from dpviz.ui.runs.report import bundle, html_report
from dpviz.ui.train.live import place_of, screen, unreadable, update
from dpviz.ui.train.words import in_words

# Milliseconds between two looks of a browser at a run under way, and where something is about to show: its first step,
# or what was asked for.
EVERY = 500
SOON = 150
ONCE = 0  # of a run that is over: what came late from before may have been put in place of its last words

FAILED = "t.control_failed"
DETAILS = "t.details"
DECIDED = "Its claim holds if results did not decide that it goes on."
CLONED = "Not available for a run of your own program, because only that program can build its network."

# Puts in place what changes while a run goes on; its trigger "again" says that the page would be another.
_follow = component("follow")


def show(engine: Engine, run: str) -> None:
    """The page of one run."""
    page.notes()
    try:
        record = engine.run(run)
    except KeyError:
        page.headline("There is no such run here.")
        page.note(f"No run has the id {run}: it was removed, or it belongs to another store.", "problem")
        page.button("Start a new run", "add", _leave, type="primary")
        return
    left, right = page.sides()
    with left:
        _moving(engine, record)
    if not present.bare():
        with right:
            _controls(engine, record)
        with left:
            _details(engine, record)
    page.follow_link(state.query(WATCHED))


def _charts() -> tuple[str, ...]:
    first, second = state.get(CHART), state.get(SECOND)
    return (first,) if second in ("none", first) else (first, second)


def _moving(engine: Engine, record: RunRecord) -> None:
    """Headline, charts and what stands below them: what changes while the run goes on."""
    bound, run, charts = Boundary("train", TRAIN), record.id, _charts()
    with bound.part("charts"):
        try:
            now = screen(engine, run, charts, slide=present.presenting())
        except (KeyError, StoreError) as problem:
            page.note(unreadable(problem), "problem")
            _let_follow(engine, run, charts, unreadable(problem), EVERY)
            return
        page.headline(now.headline)
        beside = st.container(key="dpviz-run-charts", horizontal=True) if present.presenting() else nullcontext()
        with beside:
            for number, drawing in enumerate(now.drawings):
                plots.plot(drawing, key=place_of(number), camera=present.presenting())
        st.html(f"<div data-follow>{now.below}</div>")
        same = now.state == (record.state, record.desired)  # else the controls are those of a state of before
        pause = ONCE if now.final else SOON if now.coming or not now.moving else EVERY
        _let_follow(engine, run, charts, now.page * same, pause)
    bound.worked()


def _let_follow(engine: Engine, run: str, charts: tuple[str, ...], page_mark: str, every: int) -> None:
    """Let the browser look every so many milliseconds, or once, and run the page again if its mark is another."""
    slide = present.presenting()
    token = updates.offer(("run", run, charts, slide), partial(update, engine, run, charts, slide))
    data = {"at": root(), "token": token, "page": page_mark, "every": every}
    _follow(key="train.follow", data=data, on_again_change=lambda: None)


# --- what holds the run -----------------------------------------------------------------------------------------------


def _controls(engine: Engine, record: RunRecord) -> None:
    words = STATE_WORDS[record.state].lower() + (f", {MISMATCH}" if disputes_of(record, engine.store) else "")
    st.html(f'<div><b>{escape(record.title)}</b> <span class="dpviz-quiet">{words}</span></div>')
    with st.container(horizontal=not record.over):
        width = "stretch" if record.over else "content"
        for label, icon, act, enabled, help in _actions(engine, record):
            kind, done = "primary" if act is _leave else "secondary", partial(_do, act)
            page.button(label, icon, done, enabled=enabled, key=f"t.{label}", type=kind, width=width, help=help)
    if record.desired in ("stop", "kill") and not record.over:
        st.html('<div class="dpviz-quiet">Stopping …</div>')
    failed = st.session_state.pop(FAILED, "")
    if failed and not engine.problem.startswith(failed):  # said with the run already
        page.note(failed, "problem")
    if record.over and record.steps:
        card = partial(_card, engine, record)
        page.download(
            "Guarantee card",
            f"{_file_name(record)}.md",
            lambda: card().markdown().encode(),
            key="t.card",
            width="stretch",
        )
    controls.choice(CHART, horizontal=False)
    controls.choice(SECOND, horizontal=False)
    st.page_link("pages/runs.py", label="Compare runs", icon=":material/history:")


def _actions(engine: Engine, record: RunRecord) -> Iterator[tuple[str, str, Callable[[], object], bool, str | None]]:
    """Label, icon, what it does, whether it can be done now, and what to know of each button."""
    run = record.id
    if record.over:
        filled, added = "Fills the form with this run's settings.", "the cost of this run is added"
        from_here = f"Fills the form with a run that starts where this one ended; {added}."
        if engine.may_go_on(record):
            where = "Takes up this run where its last checkpoint was kept: same settings, plan, budget and claim."
            why = engine.why_not_go_on(record)
            yield "Continue", "resume", partial(engine.go_on, run), not why, why or f"{where} {DECIDED}"
        yield "New run", "add", _leave, True, None
        again = partial(clone, record)
        yield "Same settings again", "content_copy", again, can_be_cloned(record), f"{filled} {CLONED}"
        if not unfit(record, engine.weights):
            yield "Go on from its weights", "step_over", partial(_go_on, record), True, from_here
        return
    going = record.desired not in ("stop", "kill")
    if record.state == "paused" or record.desired == "pause":
        one = partial(engine.step, run, granted=record.granted)  # a click that is delivered twice is one step
        yield "Resume", "play_arrow", partial(engine.resume, run), going, None
        yield "One step", "skip_next", one, going, "Takes one step and waits."
    else:
        yield "Pause", "pause", partial(engine.pause, run), going and record.state != "queued", None
    yield "Stop", "stop", partial(engine.stop, run), going, "Stops after the current step with complete numbers."
    killed = "Ends its process at once. Recorded data are kept."
    yield "Hard stop", "dangerous", partial(engine.hard_stop, run), record.desired != "kill", killed


def _do(act: Callable[[], object]) -> None:
    try:
        act()
    except (KeyError, StoreError) as problem:
        st.session_state[FAILED] = str(problem)


def _leave() -> None:
    state.put(RUN, "")


def _go_on(record: RunRecord) -> None:
    clone(record)
    state.put(SETTINGS["start_from"], record.id)


def can_be_cloned(record: RunRecord) -> bool:
    """Whether a form can hold its settings."""
    settings = settings_of(record)
    return settings is not None and settings.model in MODELS


def clone(record: RunRecord) -> None:
    """Fill the form with a run's settings, and show it; settings of another version are left alone."""
    settings = settings_of(record)
    if settings is not None:
        slow = record.options.get("slow", 0.0)
        state.assign(PAGE.fields, texts_of(settings, float(slow) if isinstance(slow, (int, float)) else 0.0))
    _leave()


# --- details ----------------------------------------------------------------------------------------------------------


def _details(engine: Engine, record: RunRecord) -> None:
    parts: dict[str, Callable[[Engine, RunRecord], None]] = {
        "Table": _table,
        "Settings": _settings,
        "Assumptions": _assumptions,
        "Python": _python,
        "Downloads": files,
        details.SHARE: _share,
    }
    doors = {
        details.USE: ("Python",),
        details.WHY: ("Settings", "Assumptions"),
        details.FILES: ("Table", "Downloads"),
        details.SHARE: (details.SHARE,),
    }
    part = details.chosen(DETAILS, doors)
    if part is not None:
        parts[part](engine, record)


def _table(engine: Engine, record: RunRecord) -> None:
    """The evaluations with ε at each: every number on the charts that can be read off."""
    view = engine.look(record.id)
    steps = view.steps
    if "step" not in steps:
        st.caption("No step was recorded yet.")
        return
    table = pd.DataFrame(dict(steps)).drop(columns=["time"], errors="ignore")
    table = table.iloc[thinned(len(table), 100)].rename(columns=partial(heading, "step"))
    st.dataframe(table, width="stretch", hide_index=True)
    st.caption(f"As of step {record.steps}; all steps are in the files.")


def _settings(engine: Engine, record: RunRecord) -> None:
    view = engine.look(record.id)
    named = ("data", "data_mark", "model", "device", "noise_source")
    start: dict[str, object] = {key: view.started[key] for key in named if key in view.started}
    layers = view.started.get("fallback_layers")
    if layers:
        start["layers by torch.func"] = ", ".join(map(str, layers))
    rows = [(key, str(value)) for key, value in {**start, **record.settings}.items()]
    st.dataframe(pd.DataFrame(rows, columns=["setting", "value"]), width="stretch", hide_index=True)


def _assumptions(engine: Engine, record: RunRecord) -> None:
    view = engine.look(record.id)
    st.markdown(
        "The ε in the headline is what you may state. The curves show other accountants' values for the same steps. "
        "**Moments, Rényi and PLD** treat the run as if its end had been planned. The **Whitehouse odometer** "
        "holds whenever the run ends, also if results chose noise and batches; the **filter** keeps its budget. "
        "**Bayesian DP** only covers data like these."
    )
    claim = claim_of_view(view, engine.store)
    coverage = claim.coverage if claim.holds else in_words(claim)
    settings, terms = settings_of(record), told_settings_of(record)
    stated = told_assumptions(terms) if terms else () if settings is None else assumptions(settings)
    for text in (coverage, *stated, *claim.shown.conditions) if claim.shown.holds else (coverage,):
        page.note(text)
    if view.started.get("unprotected"):
        page.note(str(view.started["unprotected"]))


def _python(engine: Engine, record: RunRecord) -> None:
    settings, terms = settings_of(record), told_settings_of(record)
    if terms is not None:
        return _told_python(engine, record, terms)
    if settings is None:
        st.caption("These settings belong to another version.")
        return
    if settings.model in MODELS:
        st.caption("Trains the same run without this app.")
        st.code(script.training(settings), language="python")
    mechanisms = engine.look(record.id).final.get("mechanisms")
    if mechanisms:
        st.caption("Recomputes its ε from the charged mechanisms.")
        before = encoded_events(spent_before(trained_on(settings, engine.look(record.id).started)))
        st.code(script.accounting([*before, *mechanisms], settings.delta), language="python")


def _told_python(engine: Engine, record: RunRecord, terms: ToldSettings) -> None:
    mechanisms = engine.look(record.id).final.get("mechanisms")
    if mechanisms:
        st.caption("Recomputes its ε from the told steps.")
        st.code(script.accounting(mechanisms, terms.delta), language="python")
    else:
        st.caption("No step was told, or the run goes on.")


def _share(_engine: Engine, record: RunRecord) -> None:
    st.caption("This link shows the run to everyone who can open this app.")
    share.link(f"{share.base()}?run={record.id}", "send its report or its run file (Files, Downloads)")
    share.images([place_of(number) for number in range(len(_charts()))])


def _file_name(record: RunRecord) -> str:
    return f"dpviz-run-{record.number}" + "-imported" * record.imported


def _card(engine: Engine, record: RunRecord) -> Guarantee:
    view, same = engine.look(record.id), Chosen(data=(str(record.settings.get("data")),))
    others = others_on_the_same_data(record, engine.each(same))
    return guarantee_of_run(shared_view(view), claim_of_view(view, engine.store), others=others)


def files(engine: Engine, record: RunRecord) -> None:
    """Download buttons; a file is made when its button is pressed."""
    name = _file_name(record)
    measured = st.checkbox(
        f"Report with measurements on training data ({NOT_COVERED})",
        key=f"file.measured.{record.id}",
        help="These are loss, norms, the Bayesian ε and times: do not publish them. CSV, Parquet and the run file hold "
        "and mark them.",
    )

    def report() -> bytes:
        view = engine.look(record.id)
        return html_report(view, claim_of_view(view, engine.store), measured=measured).encode()

    card = partial(_card, engine, record)
    no_file = why_no_file(engine.look(record.id), engine.store)
    with st.container(horizontal=True):
        for label, kind, make in (
            ("CSV", "csv", lambda: steps_csv(engine.store, record.id)),
            ("Parquet", "parquet", lambda: steps_parquet(engine.store, record.id)),
            ("Run file", RUN_FILE, lambda: export_run(engine.store, record.id)),
            ("Report", "html", report),
            ("Guarantee card", "md", lambda: card().markdown().encode()),
            ("Guarantee card (JSON)", "card.json", lambda: card().json().encode()),
            ("Everything", "zip", lambda: bundle(engine.store, record.id)),
        ):
            more: dict[str, Any] = {"disabled": True, "help": no_file} if no_file and kind == RUN_FILE else {}
            page.download(label, f"{name}.{kind}", make, key=f"file.{kind}.{record.id}", **more)
