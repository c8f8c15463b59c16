"""The panel of controls beside a chart: the choice of those in sight, their drawing, and their updates.

A what-if page shows what one usually moves, or (`expert=1`) all. The link says it and it stays in the session, as
presenting does: no preset, pin, undo or script knows of it. Whatever is not shown is at its default, and a line says
how many there are.
"""

from collections.abc import Collection, Mapping, Sequence
from html import escape
from typing import Any

import streamlit as st

from dpviz.fields.field import AnyField, Choice, Flag, Number, Several, Text
from dpviz.questions import units
from dpviz.questions.layout import FieldControl, Reader, SettingsSnapshot, control, fields_of, in_sight, moved_of
from dpviz.questions.mechanism import RATE, SIZE, STEPS
from dpviz.questions.page import Page
from dpviz.questions.question import AnyQuestion
from dpviz.questions.units import BATCH, EPOCHS, UNITS
from dpviz.ui import controls, history, offered, present, state
from dpviz.ui.controls import NumberControl
from dpviz.ui.own_controls import OWN_CONTROLS
from dpviz.ui.state import Keys

Messages = Mapping[str, Mapping[str, Any]]
BUILT = ("label", "help", "shows_label", "stops")  # what a control is built of
_HELP = (
    "Rarely used settings: other accountants, orders and axes, how samples are drawn, the image's format. Hidden "
    "settings have their defaults; `expert=1` in a link shows all."
)


def show(page: Page, question: AnyQuestion, now: SettingsSnapshot) -> None:
    """All that stands beside the chart: the choice of a group, its controls, and the way to expert settings."""
    if present.presenting():
        draw(in_view(page, question, now), now)
        return
    groups, hidden = _in_sight(question, now)
    with st.container(key="dpviz-tabs"):
        chosen = _one_of(Keys.group(page.key), list(groups))
    _begin()
    there: set[str] = set()
    for place, (name, shown) in enumerate(groups.items()):
        with st.container(key=f"dpviz-group-{place}{'-open' * (name == chosen)}"):
            if place:
                st.html(f'<h2 class="dpviz-group">{escape(name)}</h2>')
            elif page.choice is not None:
                _choice(page)
            _draw_each(shown, now, there)
    _keep_messages(in_view(page, question, now), now)
    _expert_switch(hidden)


def _choice(page: Page) -> None:
    """Which of the page's questions is asked."""
    assert page.choice is not None
    if page.groups:
        controls.listed(page.choice, page.groups)
    else:
        tall = page.choice.tall
        controls.choice(page.choice, horizontal=not tall, label_visible=False, then=history.open_question)


def in_view(page: Page, question: AnyQuestion, now: SettingsSnapshot) -> Sequence[FieldControl]:
    """The controls that are drawn: those of all groups, of which a low window shows one, or the few of a lecture."""
    if present.presenting():
        return [control(field) for field in present.controls(question, now)]
    groups, _ = _in_sight(question, now)
    return [one for shown in groups.values() for one in shown]


def drawn(page: Page, question: AnyQuestion, now: SettingsSnapshot) -> tuple[object, ...]:
    """What is drawn, but for numbers' messages: as long as it stays, messages are enough."""
    groups, hidden = ({}, 0) if present.presenting() else _in_sight(question, now)
    shown = [(one.drawn_as, one.fields, one.options) for one in in_view(page, question, now)]
    return *groups, hidden, shown, now(UNITS)


def _one_of(kept: str, names: list[str]) -> str:
    """Which group of controls is open. A widget's options never change: other names, another widget."""
    key = f"{kept}.{'.'.join(names)}"
    if key not in st.session_state:
        chosen = st.session_state.get(kept)
        st.session_state[key] = chosen if chosen in names else names[0]
    chosen = names[0]
    if len(names) > 1:
        chosen = st.segmented_control("Controls", names, required=True, key=key, label_visibility="collapsed") or chosen
    st.session_state[kept] = chosen
    return chosen


# --- which are in sight -----------------------------------------------------------------------------------------------


def _in_sight(question: AnyQuestion, now: SettingsSnapshot) -> tuple[Mapping[str, Sequence[FieldControl]], int]:
    """The controls to be drawn, without groups that have none; and how many settings are not drawn."""
    return now.made((question.key, "in sight"), lambda now: _chosen(question, now))


def _chosen(question: AnyQuestion, now: Reader) -> tuple[Mapping[str, Sequence[FieldControl]], int]:
    every = offered.groups(question.groups(now))
    kept = None if present.expert() else _kept(question, now, [one for group in every.values() for one in group])
    parts = {name: in_sight(group, kept) for name, group in every.items()}
    first = next(iter(parts))
    shown = {name: seen for name, (seen, _) in parts.items() if seen or name == first}
    return shown, len({name for _, names in parts.values() for name in names})


def _kept(question: AnyQuestion, now: Reader, every: Sequence[FieldControl]) -> set[str]:
    """Names of settings that stay in sight: those that the link or the preset names, and those not at their defaults;
    these stay when they go back there, or a control would vanish under the hand that moved it.
    """
    before: set[str] = st.session_state.get(Keys.MOVED, set(st.query_params))
    moved = moved_of(fields_of(every), now) | before
    st.session_state[Keys.MOVED] = moved
    preset = history.preset()
    return moved | set(preset.values if preset is not None and preset in question.presets else ())


def _expert_switch(hidden: int) -> None:
    """The way to all controls, and back: the last line below them."""
    if present.expert():
        words, key, to, icon = "Fewer settings", "tool", "", ":material/expand_less:"
    elif hidden:
        words = f"{hidden} expert settings at defaults" if hidden > 1 else "1 expert setting at its default"
        key, to, icon = "expert", "1", ":material/expand_more:"
    else:
        return
    st.button(words, key=f"depth.{key}", on_click=_switch, args=(to,), icon=icon, type="tertiary", help=_HELP)


def _switch(to: str) -> None:
    history.take_entries()
    st.session_state[Keys.EXPERT] = to
    st.session_state[Keys.MOVED] = set()


# --- drawn, and changed -----------------------------------------------------------------------------------------------


def draw(shown: Sequence[FieldControl], now: SettingsSnapshot) -> None:
    """The controls, in their order."""
    _begin()
    _draw_each(shown, now, set())
    _keep_messages(shown, now)


def _begin() -> None:
    st.session_state[Keys.DRAWINGS] = st.session_state.get(Keys.DRAWINGS, 0) + 1


def _draw_each(shown: Sequence[FieldControl], now: SettingsSnapshot, there: set[str]) -> None:
    """The controls, but for those that are `there`, in a group before: two groups may name the same setting."""
    for one in shown:
        _draw(one, now, there)


def _keep_messages(shown: Sequence[FieldControl], now: SettingsSnapshot) -> None:
    st.session_state[Keys.MESSAGES] = messages(shown, now)
    st.session_state[Keys.TOUCHED] = frozenset()


def draw_in_strip(shown: Sequence[FieldControl], now: SettingsSnapshot) -> None:
    """Numbers and choices once more, in the strip of the run."""
    for one in shown:
        if one.drawn_as == UNITS.key:
            controls.choice(UNITS, label_visible=False, in_strip=True)
        for field in one.fields:
            if isinstance(field, Choice):
                controls.choice(field, horizontal=not field.tall, in_strip=True)
        for number in _numbers(one, now):
            number.draw(in_strip=True)


def messages(shown: Sequence[FieldControl], now: SettingsSnapshot) -> Messages:
    """What the numbers' controls among them are to say now, by their fields' keys."""
    numbers = [one for control in shown for one in _numbers(control, now)]
    return {one.field.key: one.says for one in reversed(numbers)}  # of one that is named twice the first is drawn


def pulled(
    keys: Collection[str], question: AnyQuestion, shown: Sequence[FieldControl], now: SettingsSnapshot
) -> Messages:
    """What the controls of these fields are to say: of those in sight, and of others that a hand pulls on the chart."""
    says = messages(shown, now)
    numbers = {one.key: one for one in question.fields if isinstance(one, Number) and one.ticks}
    unseen = {
        key: controls.number_control(numbers[key], pulled=True).says for key in keys if key in numbers.keys() - says
    }
    return {key: one for key, one in {**says, **unseen}.items() if key in keys}


def changed_messages(shown: Sequence[FieldControl], now: SettingsSnapshot) -> Messages:
    """Messages that changed since the controls were drawn. Always all of them: a browser that receives two answers at
    once keeps only the last.
    """
    fresh, drawn = messages(shown, now), st.session_state.get(Keys.MESSAGES, {})
    before: frozenset[str] = st.session_state.get(Keys.TOUCHED, frozenset())
    touched = before | {key for key, says in fresh.items() if says != drawn.get(key)}
    st.session_state[Keys.TOUCHED] = touched
    return {key: _differing(says, drawn.get(key, {})) for key, says in fresh.items() if key in touched}


def _differing(now: Mapping[str, Any], before: Mapping[str, Any]) -> Mapping[str, Any]:
    return {key: value for key, value in now.items() if key not in BUILT or value != before.get(key)}


def _draw(control: FieldControl, now: SettingsSnapshot, there: set[str]) -> None:
    if control.drawn_as == UNITS.key:
        for one in _numbers(control, now):
            if one.field.key not in there:
                one.draw()
                there.add(one.field.key)
        return
    fields = [field for field in control.fields if field.key not in there]
    names = {control.drawn_as} if control.drawn_as else {field.key for field in fields}
    if names <= there:
        return
    there |= names
    if control.drawn_as:
        OWN_CONTROLS[control.drawn_as]()
    elif len(fields) == 1:
        _draw_field(fields[0], control)
    else:
        shares = [3 if isinstance(field, Choice) else 2 for field in fields]
        for column, field in zip(st.columns(shares, gap="small"), fields, strict=True):
            with column:
                _draw_field(field, control)


def _draw_field(field: AnyField, control: FieldControl) -> None:
    match field:
        case Number():
            _number(field, control).draw()
            if control.runs:
                controls.run_button(field, control.stops(field))
        case Several():
            controls.several(field, control.options)
        case Choice():
            controls.choice(offered.field(field), horizontal=not field.tall)
        case Flag():
            controls.flag(field)
        case Text():
            controls.text(field)
        case _:
            raise TypeError(f"Expected a field that has a control, found {type(field).__name__} {field.key!r}.")


def _numbers(control: FieldControl, now: SettingsSnapshot) -> list[NumberControl]:
    if control.drawn_as:
        return rate_and_steps(control.fields, now) if control.drawn_as == UNITS.key else []
    return [_number(field, control) for field in control.fields if isinstance(field, Number)]


def _number(field: Number, control: FieldControl) -> NumberControl:
    return controls.number_control(
        field,
        slider=bool(field.ticks),
        stops=control.stops(field) if field.ticks else None,
        note=control.warning,
        offers=control.choices,
        why=control.caption or "",
        picture=control.picture,
        size=control.size,
    )


# --- q and T ----------------------------------------------------------------------------------------------------------


def rate_and_steps(fields: Sequence[AnyField], now: SettingsSnapshot) -> list[NumberControl]:
    """The controls of q and T, as they are or as data set size N, batch size and epochs.

    Args:
        fields: Those that the page uses: q, perhaps T, and N.
        now: The values of this moment.
    """
    size = controls.number_control(SIZE, slider=False)
    why = units.captions(now, with_steps=STEPS in fields)
    if now(UNITS) == "mechanism":
        shown = [field for field in (RATE, STEPS) if field in fields]
        return [*(controls.number_control(field, why=why[field.key]) for field in shown), size]
    _forget_old_errors(now)
    n = now(SIZE)
    stops = [*(text for text, tick in zip(BATCH.stops, BATCH.ticks, strict=True) if tick < n), BATCH.write(n)]
    batch = controls.number_control(BATCH, value=units.batch(now), stops=stops, why=why.get(BATCH.key, ""))
    if STEPS not in fields:
        return [size, batch]
    return [size, batch, controls.number_control(EPOCHS, value=units.epochs(now), why=why[EPOCHS.key])]


def _forget_old_errors(get: SettingsSnapshot) -> None:
    """q or T was set otherwise: a wrong batch is then of no interest."""
    now = get(RATE), get(STEPS), get(SIZE)
    if st.session_state.get(Keys.READ_OF) != now:
        st.session_state[Keys.READ_OF] = now
        state.forget_error(BATCH)
        state.forget_error(EPOCHS)
