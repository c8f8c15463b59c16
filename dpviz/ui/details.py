"""Details below the notes of any question: a choice of four sections, only the open one computed, and their blocks."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from html import escape
from typing import Any

import pandas as pd
import streamlit as st

from dpviz._public import NO_TRAINING
from dpviz.charts.plot import Plot
from dpviz.experiments.record import Trial, recorded
from dpviz.fields import numbers
from dpviz.questions.answer import AnyAnswer, Folded, Onward, Rerun, whole
from dpviz.questions.handout import Handout
from dpviz.questions.layout import FieldControl, of_values
from dpviz.questions.listing import Listing
from dpviz.questions.question import AnyQuestion, Block
from dpviz.questions.rendered import glossary, listed, noted, two_levels
from dpviz.questions.script import script
from dpviz.questions.source import NoSample
from dpviz.questions.words import Note
from dpviz.runs.measuring.measurement import Request
from dpviz.ui import controls, history, measuring, offered, page, plots, present, share, state
from dpviz.ui.answers import compute, with_samples
from dpviz.ui.offered import PAGES
from dpviz.ui.own_controls import OWN_CONTROLS
from dpviz.ui.plots import Drawing
from dpviz.ui.registry import FIELDS
from dpviz.ui.state import Keys

SECOND_HEIGHT = 260  # pixels of a chart below the notes or in the details

PlotOf = Callable[[AnyAnswer], Plot]

USE, WHY, FILES, SHARE = "Use it", "Why", "Files", "Share"
Doors = Mapping[str, Sequence[str]]  # a door's name → the parts behind it


def details(place: str, question: AnyQuestion, answer: AnyAnswer, plot_of: PlotOf) -> None:
    """The doors to the details, and the open one; `place` is the page's key, `plot_of` what its files draw."""
    drawn: dict[str, Callable[[], object]] = {
        "Table": lambda: _curves(question, answer),
        "Formula": lambda: _formulas(question.formulas(answer)),
        "Assumptions": lambda: _assumptions(question.assumed(answer)),
        "Glossary": lambda: st.markdown("\n".join(f"- **{term}**: {means}" for term, means in glossary().items())),
        "Python": lambda: st.code(script(question, answer), language="python"),
        SHARE: lambda: _share(question, answer, plot_of),
    }
    part = chosen(Keys.details(place), _behind_doors(question))
    if part is None:
        return
    if part in drawn:
        drawn[part]()
    else:
        blocks(question.more[part](answer), f"{question.key}.{part}")


def _assumptions(text: str) -> None:
    first, rest = two_levels(text)
    st.markdown(first)
    if rest:
        st.expander("Terms, accountants, and what else is assumed").markdown(rest)


def _behind_doors(question: AnyQuestion) -> Doors:
    whole = {
        USE: [USE] if USE in question.more else ["Python"],
        WHY: ["Formula", "Assumptions", "Glossary", *(name for name in question.more if name != USE)],
        FILES: ["Table", "Python"],
        SHARE: [SHARE],
    }
    return {name: [part for part in parts if [part] != whole[USE] or name == USE] for name, parts in whole.items()}


def opened(place: str, question: AnyQuestion) -> bool:
    """Whether a detail is open, before they are drawn."""
    part = st.session_state.get(Keys.details(place))
    return not present.bare() and any(part in parts for parts in _behind_doors(question).values())


def chosen(kept: str, doors: Doors) -> str | None:
    """Draw the doors and the choice of the open one's parts; the open part, which the session has under `kept`."""
    part: str | None = st.session_state.setdefault(kept, None)
    door = next((name for name, parts in doors.items() if part in parts), None)

    def choose(key: str, parts: Mapping[str, str]) -> None:
        st.session_state[kept] = parts.get(st.session_state[key])

    key, first = f"{kept}.door", {name: parts[0] for name, parts in doors.items()}
    controls.set_widget(key, door)
    with st.container(key="dpviz-doors"):
        st.segmented_control(
            "Details", list(doors), key=key, label_visibility="collapsed", on_change=choose, args=(key, first)
        )
    if door is None:
        return None
    same = {name: name for name in doors[door]}
    key = ".".join((kept, *same))  # other parts, another widget
    with st.container(key=f"dpviz-door-{list(doors).index(door)}"):
        if len(same) > 1:
            controls.set_widget(key, part)
            st.segmented_control(
                door,
                list(same),
                key=key,
                label_visibility="collapsed",
                required=True,
                on_change=choose,
                args=(key, same),
            )
    return part


def blocks(blocks: Sequence[Block], key: str) -> None:
    """Texts, what opens, plots, tables, listings and controls below each other."""
    for index, block in enumerate(blocks):
        if isinstance(block, Note):
            page.note(*block)
        elif isinstance(block, Folded):
            _folded(block)
        elif isinstance(block, pd.DataFrame):
            _table(block)
        elif isinstance(block, Onward):
            _onward(block)
        elif isinstance(block, Rerun):
            rerun(block.experiment)
        elif isinstance(block, FieldControl):
            OWN_CONTROLS[block.drawn_as]()
        elif isinstance(block, Listing):
            st.html(listed(offered.listing(block)))
        else:
            drawn = block.chart(SECOND_HEIGHT)
            plots.plot(Drawing(drawn.figure, block.alt, [*map(Note, drawn.notes)]), key=f"{key}.{index}")


def _onward(way: Onward) -> None:
    if st.button(way.name, icon=":material/arrow_forward:", key=f"way.{way.name}"):
        [there] = (one for one in PAGES if one.key == way.page)
        for field in there.fields:
            if field.key in way.texts:
                state.put(field, field.parse(way.texts[field.key]))
        st.switch_page(page.places()[way.page])


def _folded(block: Folded) -> None:
    with st.expander(block.name, expanded=block.open):
        if block.text:
            st.markdown(block.text)
        if block.source:
            st.code(block.source, language=None if block.language == "text" else block.language, wrap_lines=True)


def _table(table: pd.DataFrame) -> None:
    st.dataframe(table, width="stretch", hide_index=True)


def _formulas(formulas: Sequence[tuple[str, str]]) -> None:
    for name, latex in formulas:
        st.caption(name)
        st.latex(latex)


def _curves(question: AnyQuestion, answer: AnyAnswer) -> None:
    _table(answer.plot.table())
    page.download("Download the curves (CSV)", f"dpviz-{question.key}.csv", lambda: csv(question, answer))


def _share(question: AnyQuestion, answer: AnyAnswer, plot_of: PlotOf) -> None:
    """Link, images, embed code, and the page that is handed out; `plot_of` draws an answer as the page does."""
    query = history.link()
    address = f"{share.base()}{'?' + query if query else ''}"
    st.caption("This link reproduces the page, pins included. An uploaded file is not part of it.")
    share.link(address, "send the page (HTML) below")
    share.images([question.key])
    share.hand_out(f"dpviz-{question.key}.html", _handout(question, address, plot_of))
    share.embedding(address)


def _handout(question: AnyQuestion, address: str, plot_of: PlotOf) -> Callable[[], str]:
    """Makes the page that is handed out, in a thread without a session: all it needs of that is read now."""
    get, quick = (
        of_values({one.key: state.get(one) for one in (*FIELDS, *question.fields)}),
        compute(question, state.get),
    )

    def made() -> str:
        finished = whole(quick, question.slow)
        return Handout(
            question, finished, get, lambda other: with_samples(question, other, quick.given), address, plot_of
        ).html()

    return made


def csv(question: AnyQuestion, answer: AnyAnswer) -> bytes:
    """The CSV file: its first line, a comment, holds the settings as the link writes them."""
    head = f"# dpviz {question.key}: {history.link() or 'default settings'}\n"
    return (head + answer.plot.data().to_csv(index=False)).encode()


# --- an experiment run again ------------------------------------------------------------------------------------------

NAMED = {"epsilon": "ε that it could claim with secret noise"}
TARGET = "dpviz.experiments.catalogue:again"


def rerun(key: str) -> None:
    """Which run, the button, and what came of it; while it runs the top of the page says how far it is."""
    if offered.PUBLIC:
        page.note(NO_TRAINING)
        return
    record = recorded(key)
    arms, seeds = list(record.settings), sorted({trial.seed for trial in record.trials})
    left, middle, right = st.columns([2, 2, 1], vertical_alignment="bottom")
    arm = left.selectbox("Arm", arms, key=f"{Keys.RERUN}.{key}.arm")
    seed = middle.segmented_control("Seed", seeds, key=f"{Keys.RERUN}.{key}.seed", default=seeds[0], required=True)
    again = partial(st.session_state.update, {Keys.RERUN: (key, arm, seed)})
    with right:
        page.button("Run again", "replay", again, key=f"{Keys.RERUN}.{key}.run", width="stretch")
    [before] = [trial for trial in record.of(arm) if trial.seed == seed]
    took = f"It took {before.seconds:.0f} s when it was recorded ({before.device}, {before.date})."
    st.html(f'<div class="dpviz-quiet">{escape(took)}</div>')
    if st.session_state.get(Keys.RERUN) != (key, arm, seed):
        return
    asked = {"key": key, "arm": arm, "seed": seed}
    try:
        trial: Trial = measuring.result(Request((Keys.RERUN, key, arm, seed), TARGET, asked))
    except NoSample as why:
        words = "The run has started. The top of the page shows its progress." if why.coming else str(why)
        st.html(noted(Note(words, "note" if why.coming else "problem")))
        return
    st.html(noted(Note(verdict(before.found, trial.found))))
    st.dataframe(compared(before, trial), width="stretch", hide_index=True)


def verdict(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Whether the same came out."""
    other = sorted(name for name in {*before, *now} if before.get(name) != now.get(name))
    if not other:
        return "The result is the same to the last digit."
    return (
        f"The result differs from the record in {', '.join(name.replace('_', ' ') for name in other)}. Another "
        "processor or PyTorch version rounds differently, and runs then diverge as with different seeds."
    )


def compared(before: Trial, now: Trial) -> pd.DataFrame:
    """What was recorded beside what came out here: a row a single number or word."""
    rows = [("made", before.date, now.date), ("version", before.version, now.version)]
    rows.append(("computing", f"{before.seconds:.0f} s", f"{now.seconds:.0f} s"))
    for name, value in before.found.items():
        if not isinstance(value, list | dict):
            rows.append((NAMED.get(name, name.replace("_", " ")), _written(value), _written(now.found.get(name))))
    return pd.DataFrame(rows, columns=["", "recorded", "here"])


def _written(value: Any) -> str:
    return numbers.plain(value, digits=6) if isinstance(value, float) else "–" if value is None else str(value)
