"""The Runs page: filter, choose, compare, name, export."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from html import escape
from typing import Any

import pandas as pd
import streamlit as st

from dpviz.accounting.claims import Claim
from dpviz.charts.plot import alt_text
from dpviz.fields import numbers
from dpviz.runs.claims import claim_of_view
from dpviz.runs.engine import Engine
from dpviz.runs.exchange.checks import NotARun
from dpviz.runs.exchange.import_run import import_run
from dpviz.runs.store.records import OPEN, Chosen, RunRecord, State, StoreError
from dpviz.training.summary import accuracy_of, below_majority
from dpviz.ui import controls, page, plots, state, strip
from dpviz.ui import engine as engines
from dpviz.ui.boundary import Boundary
from dpviz.ui.plain import plain
from dpviz.ui.plots import Drawing
from dpviz.ui.runs import fields as f
from dpviz.ui.runs import listing
from dpviz.ui.runs.charts import overlay
from dpviz.ui.runs.frontier import MOST, Frontier
from dpviz.ui.runs.unbeaten import RunResult, tested, unbeaten
from dpviz.ui.state import Keys
from dpviz.ui.train import watch
from dpviz.ui.train.words import in_words

DELETED = "r.deleted"
MESSAGES = "r.messages"
UPLOADS = "r.uploads"
SEARCH = "r.search"
FIRST = "r.first"
PAGE = 50  # runs that are listed at once
COMPARED, NAMED = 100, 3  # runs among which the headline looks for those that no other beats, and of these it names
EVERY = 2.0
COLUMNS = {
    "ε claimed": st.column_config.NumberColumn(
        format="%.3g", help="The privacy claim of the run. Details are on the page of the run."
    ),
    "δ": st.column_config.NumberColumn(format="%.0e"),
    "by": st.column_config.TextColumn(width=190),
    "state": st.column_config.TextColumn(width=100),
    "run": st.column_config.TextColumn(width=90),
    listing.BAYESIAN: st.column_config.NumberColumn(format="%.3g", width=240),
    "accuracy": st.column_config.NumberColumn(format="percent", help="On test data."),
    listing.SECONDS: st.column_config.NumberColumn(format="%.1f", width=200),
}


def show() -> None:
    """Draw the page."""
    bound = Boundary("runs", f.FIELDS)
    with bound.part("page"):
        page.begin("runs", (*f.WATCHED, *f.FIELDS))
        page.heading("Runs · Which run was worth its ε?")
        strip.show()
        engine, problem = engines.current()
        try:
            if engine is not None:
                _page(engine)
            else:
                page.headline("Runs cannot be kept on this machine now.")
        except StoreError as trouble:
            problem = str(trouble)
        if problem:
            page.note(problem, "problem")
        bound.worked()


def _page(engine: Engine) -> None:
    open_runs, recorded = engine.states(OPEN), engine.store.count()
    chosen = [engine.store.run(run) for run in state.get(f.CHOSEN) if engine.knows(run)]
    chosen = [record for record in chosen if record.deleted is None]
    compared = tested(chosen or engine.store.most_accurate(COMPARED), engine.store)
    best = unbeaten(compared)[:NAMED]
    top = st.container()
    left, right = page.sides()
    with top:
        page.notes()
        page.headline(_headline(recorded, len(chosen), compared))
        for problem in filter(None, (engine.problem, engine.notice)):
            page.note(problem, "problem")
        for record in chosen or [run.record for run in best]:
            if warning := below_majority(accuracy_of(record.summary), record.summary.get("majority")):
                page.note(f"{record.title}: {warning}", "caution")
    with right if recorded else left:
        if recorded:
            _filters()
        _import(engine)
    with left:
        _undo(engine)
        for text, kind in st.session_state.pop(MESSAGES, ()):
            page.note(text, kind)
        if chosen:
            _compared(engine, chosen)
        if recorded:
            if not chosen:
                _frontier(engine)
            _list(engine, open_runs)
        if chosen:
            _edit(engine, chosen)
    page.follow_link(state.query(f.FIELDS))
    if open_runs:
        _watching(engine, open_runs)


@st.fragment(run_every=EVERY)
def _watching(engine: Engine, before: dict[str, State]) -> None:
    """Draws the page again once the state of a run that had not ended is another one."""
    with Boundary("runs", f.FIELDS).part("look at the runs"):
        if engine.states(OPEN) != before:
            st.rerun()


def _headline(recorded: int, chosen: int, compared: Sequence[RunResult]) -> str:
    if not recorded:
        return "No run has been recorded yet: <a href='train'>start one</a> on the page Train, or import one."
    words = f"<b>{recorded:,}</b> run{'s' * (recorded != 1)} recorded"
    if chosen:
        words += f", <b>{chosen}</b> compared"
    if not compared:
        return f"{words}."
    best = unbeaten(compared)
    named = "; ".join(map(_reached, best[:NAMED]))
    others = f"; and {len(best) - NAMED} more" if len(best) > NAMED else ""
    if len(compared) == 1:
        return f"{words}. {named}."
    among = f" among the {COMPARED} most accurate" if len(compared) == COMPARED else ""
    return f"{words}. No other run{among} is as accurate at as little ε: {named}{others}."


def _reached(run: RunResult) -> str:
    """ "Run 3 reaches 97.9 % at ε ≤ 3 (PLD)": a run's accuracy and its claim."""
    claim, cost = run.claim, f"and claims no ε: {escape(in_words(run.claim))}"
    if claim.holds:
        cost = f"at ε ≤ {numbers.epsilon(claim.epsilon, up=True)} ({claim.name}{escape(listing.start(run.record))})"
    return f"{escape(run.record.title)} reaches <b>{numbers.tenths(run.accuracy)}</b> {cost}"


def choice_cost(claims: Sequence[Claim], *, one_unit: bool = True) -> str:
    """What the choice among compared runs costs, which no claim of one of them covers; empty for less than two."""
    if len(claims) < 2:
        return ""
    words = f"Each ε covers one run, not the choice of the best of these {len(claims)}. "
    if not (one_unit and all(claim.holds for claim in claims)):
        return words + "Not all of them claim an ε for the same unit, so their choice has no bound here."
    both = (sum(values) for values in zip(*((claim.epsilon, claim.delta) for claim in claims), strict=True))
    epsilon, delta = (
        numbers.rounded_up(total * (1.0 - 1e-12)) for total in both
    )  # up, but for what floating point adds
    return (
        f"{words}Suppose that these were all runs on the same data, and that their number and ε were fixed in advance. "
        f"Together they then cost at most ε = {numbers.epsilon(epsilon)} at δ = {numbers.delta(delta)}, and so does "
        "the chosen one (basic composition). If the number of runs is drawn at random and no uncounted private number "
        "picks one, it costs less: see “Runs tried” on Compose."
    )


# --- choosing ---------------------------------------------------------------------------------------------------------


def _filters() -> None:
    def search() -> None:
        state.put(f.TEXT, f.TEXT.parse(st.session_state[SEARCH]))

    st.text_input("Search", state.get(f.TEXT), key=SEARCH, placeholder="name or note", on_change=search)
    controls.choice(f.DATA_FILTER, horizontal=False)
    controls.choice(f.METHOD_FILTER, horizontal=False)
    controls.several(f.STATE)


def _frontier(engine: Engine) -> None:
    """All runs that the filters let through, in one chart."""
    wanted = listing.chosen(state.get)
    runs = tested(engine.store.most_accurate(MOST, wanted), engine.store)
    if chart := Frontier(runs, engine.store.count_tested(wanted)).html():
        st.html(chart)


def _list(engine: Engine, open_runs: Mapping[str, State]) -> None:
    wanted, chosen = listing.chosen(state.get), state.get(f.CHOSEN)
    number = engine.store.count(wanted)
    if not number:
        page.note("No run matches the filters: remove a filter.", "caution")
        return
    first = _first(wanted, number)
    kept = engine.store.listed(wanted, PAGE, first)
    ids = [record.id for record in kept]
    key = f"r.table.{hash((*ids, chosen))}"
    st.caption(f"Choose up to {f.MOST} runs to compare, name, export or delete.")
    st.dataframe(
        listing.table(kept, listing.places(open_runs), engine.store),
        width="stretch",
        height=min(36 * (len(kept) + 1) + 2, 300 if chosen else 560),
        hide_index=True,
        key=key,
        on_select=partial(_picked, key, ids),
        selection_mode="multi-row",
        selection_default={"selection": {"rows": [i for i, run in enumerate(ids) if run in chosen]}},
        column_config=COLUMNS,
        placeholder="–",
    )


def _first(wanted: Chosen, number: int) -> int:
    """How many runs come before those that are shown; buttons show others where not all fit."""
    kept_for, first = st.session_state.get(FIRST, (wanted, 0))
    first = min(first, (number - 1) // PAGE * PAGE) if kept_for == wanted else 0
    if number > PAGE:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(f"Runs {first + 1:,} to {min(first + PAGE, number):,} of {number:,}")
            for label, icon, to in (("Newer", "chevron_left", first - PAGE), ("Older", "chevron_right", first + PAGE)):
                turn = partial(st.session_state.__setitem__, FIRST, (wanted, to))
                page.button(label, icon, turn, enabled=0 <= to < number, key=f"r.{label}")
    return first


def _picked(key: str, ids: list[str]) -> None:
    rows = st.session_state[key]["selection"]["rows"]
    here = [ids[row] for row in rows if row < len(ids)]
    elsewhere = [run for run in state.get(f.CHOSEN) if run not in ids]
    chosen = tuple(dict.fromkeys([run for run in state.get(f.CHOSEN) if run in here] + here))
    if len(chosen) + len(elsewhere) > f.MOST:
        _say(f"At most {f.MOST} runs fit on one chart: the first {f.MOST} are compared.", "caution")
    state.put(f.CHOSEN, (*elsewhere, *chosen)[: f.MOST])


def _compared(engine: Engine, chosen: list[RunRecord]) -> None:
    with st.container(horizontal=True):
        kind = controls.choice(f.VIEW)
        accountant = controls.choice(f.ACCOUNTANT) if kind == "epsilon" else state.get(f.ACCOUNTANT)
    views = [engine.look(record.id) for record in chosen]
    claims = [claim_of_view(view, engine.store) for view in views]
    chart, lines = overlay(views, claims, kind, accountant)
    alt = f"{f.VIEW.options[kind]} of {len(lines)} runs."
    if kind == "epsilon" and lines:
        alt = alt_text(lines, x_name="steps", x_kind="steps", lower="lowest")
    plots.plot(Drawing(chart.figure, alt), key="runs")
    units = {str(record.settings.get("unit")) for record in chosen}
    for text in (*chart.notes, *filter(None, [choice_cost(claims, one_unit=len(units) == 1)])):
        page.note(text)


# --- naming, deleting, exporting --------------------------------------------------------------------------------------


def _edit(engine: Engine, chosen: list[RunRecord]) -> None:
    for record in chosen:
        with st.expander(f"{'★ ' if record.baseline else ''}{plain(record.title)}", expanded=len(chosen) == 1):
            left, right = st.columns([0.3, 0.7])
            _named(record, left, "Name", record.name, engine.store.rename)
            _named(record, right, "Note", record.note, engine.store.annotate)
            with st.container(horizontal=True):
                for key, label, icon, act, enabled, help in _actions(engine, record):
                    page.button(label, icon, act, enabled=enabled, key=f"{key}.{record.id}", help=help)
            watch.files(engine, record)
    if len(differing := _differences(chosen)):
        st.caption("Settings that differ")
        st.dataframe(differing, width="stretch", hide_index=True)


def _actions(engine: Engine, record: RunRecord) -> Iterator[tuple[str, str, str, Callable[..., Any], bool, str | None]]:
    """Key, label, icon, what it does, whether it can, and what to know of each button."""
    filled = f"Fills the Train form with this run's settings. {watch.CLONED}"
    pinned = None if record.baseline else record.id
    name, first = "Baseline" if pinned else "No baseline", "The baseline stands first in the list."
    undone = "Can be undone. A run under way must be stopped first."
    yield "open", "Open", "visibility", partial(_go, partial(state.put, f.RUN, record.id)), True, None
    clone = partial(_go, partial(watch.clone, record))
    yield "clone", "Clone settings", "content_copy", clone, watch.can_be_cloned(record), filled
    yield "pin", name, "star", partial(_do, engine.store.pin_baseline, pinned), True, first
    yield "delete", "Delete", "delete", partial(_delete, engine, record), record.over, undone


def _differences(chosen: list[RunRecord]) -> pd.DataFrame:
    """One row a setting that is not the same in all; one column a run."""
    columns = {f"{r.title} (no. {r.number})": pd.Series(r.settings, dtype=object).map(str) for r in chosen}
    table = pd.DataFrame(columns).fillna("–")
    return table[table.nunique(axis=1) > 1].rename_axis("setting").reset_index()


def _go(prepare: Callable[[], object]) -> None:
    """To the Train page, which then shows what was prepared."""
    prepare()
    st.session_state[Keys.GO] = "train"


def _named(record: RunRecord, place: Any, label: str, now: str, change: Callable[[str, str], None]) -> None:
    key = f"{label}.{record.id}"
    place.text_input(
        label, now, key=key, max_chars=200, on_change=lambda: _do(change, record.id, st.session_state[key])
    )


def _do(act: Callable[..., object], *values: Any) -> bool:
    """Change the store; what it refuses is said, and nothing else changes."""
    try:
        act(*values)
    except (KeyError, ValueError, StoreError) as problem:
        _say(str(problem), "problem")
        return False
    return True


def _delete(engine: Engine, record: RunRecord) -> None:
    if _do(engine.store.delete, record.id):
        st.session_state[DELETED] = (record.id, record.title)
        state.put(f.CHOSEN, tuple(run for run in state.get(f.CHOSEN) if run != record.id))


def _undo(engine: Engine) -> None:
    if DELETED not in st.session_state:
        return
    run, title = st.session_state[DELETED]

    def bring_back() -> None:
        _do(engine.store.undelete, run)
        st.session_state.pop(DELETED, None)

    with st.container(horizontal=True, vertical_alignment="center"):
        st.html(f'<div class="dpviz-caution">{escape(title)} was deleted.</div>')
        page.button("Undo", "undo", bring_back, key="r.undo")


def _say(text: str, kind: str) -> None:
    """Once the page is drawn again."""
    st.session_state[MESSAGES] = (*st.session_state.get(MESSAGES, ()), (text, kind))


def _import(engine: Engine) -> None:
    key = f"r.upload.{st.session_state.setdefault(UPLOADS, 0)}"
    st.file_uploader(
        "Import an exported run",
        type=["gz", "jsonl"],
        key=key,
        on_change=partial(import_uploaded, engine, key),
        help="A file that the button “Run file” of a run has written, here or on another machine.",
    )


def import_uploaded(engine: Engine, key: str) -> None:
    file = st.session_state.get(key)
    if file is None:
        return
    st.session_state[UPLOADS] += 1  # a fresh uploader: the same file may come again
    try:
        record = import_run(engine.store, file)
    except (NotARun, StoreError) as problem:
        return _say(f"{file.name}: {problem} Nothing was imported.", "problem")
    _say(f"{file.name} was imported as {record.title}.", "note")
    state.put(f.CHOSEN, (record.id, *state.get(f.CHOSEN))[: f.MOST])
