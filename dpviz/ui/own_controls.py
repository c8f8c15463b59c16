"""Controls that are more than a field, by the name that a question's layout gives them."""

from collections.abc import Callable
from functools import partial
from html import escape
from itertools import islice

import streamlit as st

from dpviz.fields import numbers
from dpviz.fields.field import Choice
from dpviz.questions.attack.audit import FAULT, MORE, RUNS
from dpviz.questions.attack.audit_runs import HUNDRED, recorded_scores
from dpviz.questions.budget.blocks import BLOCKS, MOST_BLOCKS, Block
from dpviz.questions.budget.ledger import lines_of
from dpviz.questions.budget.spend import SPEND
from dpviz.questions.check.fields import COUNTED
from dpviz.questions.check.question import CHECK
from dpviz.questions.leakage.fields import NEWEST, RUN, SMALL
from dpviz.questions.leakage.stored import finished_run, finished_runs
from dpviz.questions.pasted.form import filled
from dpviz.questions.pasted.texts import LONGEST
from dpviz.ui import controls, offered, page, sources, state
from dpviz.ui.answers import compute
from dpviz.ui.state import Keys
from dpviz.ui.train import plan

MOST_RUNS = 50  # that are offered, the latest


def network() -> None:
    """The run whose network is looked at: the newest, one of those that ended here and kept their weights, or none."""
    runs = list(islice(finished_runs(), MOST_RUNS))
    chosen = state.get(RUN)
    if chosen not in (NEWEST, SMALL, *(run.id for run in runs)):
        runs += filter(None, [finished_run(chosen)])
    names = {NEWEST: f"The newest run: {runs[0].title}" if runs else "The newest run (none yet)"}
    for run in runs:  # they may be called alike; their numbers differ
        usual = f"Run {run.number}"
        names[run.id] = usual if run.title == usual else f"{run.title} · run {run.number}"
    names[SMALL] = "No run: a small network, no noise"
    if chosen not in names:
        names[chosen] = f"{chosen[:12]} (not here)"
    controls.choice(Choice(RUN.key, RUN.label, NEWEST, RUN.help, options=names), horizontal=False)


# --- runs of an audit -------------------------------------------------------------------------------------------------


def audit_runs() -> None:
    """A button that makes a hundred more runs a side, by workers; a public server makes none."""
    if offered.PUBLIC:
        return
    more = int(state.get(MORE))
    help = f"Makes {HUNDRED} runs with the canary and {HUNDRED} without, here and now; seconds to a minute."
    act = partial(_more_runs, more + 1)
    page.button("A hundred more", "add", act, enabled=more < MORE.high, help=help, width="stretch")


def _more_runs(hundreds: int) -> None:
    state.put(MORE, float(hundreds))
    state.put(RUNS, float(len(recorded_scores(state.get(FAULT)).without) + HUNDRED * hundreds))


# --- a budget that is spent by hand -----------------------------------------------------------------------------------


def blocks() -> None:
    """Buttons for the next block: add it, or remove the last one."""
    try:
        answer = compute(SPEND, state.get)
    except ValueError:
        return  # the page says it
    spent, block, left = state.get(BLOCKS), answer.facts.coming, answer.facts.left
    first, second = st.columns(2, gap="small")
    most = f"Spends these steps, if the filter lets them pass. At most {MOST_BLOCKS} blocks."
    for place, label, icon, act, enabled, help in (
        (first, "Add block", "add", partial(_add, block), len(spent) < MOST_BLOCKS, most),
        (second, "Undo", "undo", partial(_remove, len(spent) - 1), bool(spent), "Removes the last block."),
    ):
        with place:
            page.button(label, icon, act, enabled=enabled, help=help, width="stretch")
    if state.error(BLOCKS) and left < block.steps:
        fits = numbers.steps(left)
        problem = f"Refused: {block.words}. {fits} of them still fit; nothing was spent."
        st.html(f'<div class="dpviz-problem" role="alert">{problem}</div>')
        if left >= 1:
            st.button(f"Add the {fits} that fit", on_click=_add, args=(block._replace(steps=int(left)),))


def ledger() -> None:
    """The blocks, each with its cost and a button that removes it."""
    for index, text in enumerate(lines_of(compute(SPEND, state.get).facts.entries)):
        with st.container(horizontal=True, vertical_alignment="center"):
            drop, words = f"budget.drop.{index}", f"Remove block {index + 1}."
            page.button("", "close", partial(_remove, index), key=drop, help=words, type="tertiary")
            st.html(f'<div class="dpviz-quiet">{text}</div>')


def _add(block: Block) -> None:
    """Spend a block if the filter allows it; otherwise change nothing and say so."""
    values = SPEND.read(state.get)
    spent = (*values["blocks"], block)
    if SPEND.asked({**values, "blocks": spent}).facts.entries[-1].passed:
        state.put(BLOCKS, spent)
    else:
        st.session_state[Keys.error(BLOCKS)] = f"Refused: {block.words}."


def _remove(index: int) -> None:
    spent = state.get(BLOCKS)
    state.put(BLOCKS, (*spent[:index], *spent[index + 1 :]))


# --- steps that an accountant counted ---------------------------------------------------------------------------------


def counted() -> None:
    """The counted steps of a claim, with a button that goes back to the form's own."""
    for block in state.get(COUNTED):
        st.html(f'<div class="dpviz-quiet">Counted: {block.words}.</div>')
    act = partial(state.put, COUNTED, ())
    page.button("Enter N, batch and epochs instead", "edit", act, key="check.counted", help="Forgets these steps.")


# --- text that is pasted ----------------------------------------------------------------------------------------------


NEVER_RUN = "The app reads it for names and numbers, and never runs it; it is neither stored nor part of a link."


def snippet() -> None:
    """A paste of training code or settings, which fills the form of a claim, and what was understood of it."""
    label, example = "Paste code", "privacy_engine.make_private(noise_multiplier=1.1, …)"
    help = f"A program, settings, a log or an accountant's history. {NEVER_RUN}"
    st.text_area(label, key=Keys.SNIPPET, height=160, max_chars=LONGEST, placeholder=example, help=help)
    st.button("Fill the form", on_click=_fill, icon=":material/input:", width="stretch")
    _understood()


def _understood() -> None:
    """What was recognised in the pasted text, and why it was not read."""
    sentences, problem = st.session_state.get(Keys.SNIPPET_READ, ((), ""))
    if problem:
        st.html(f'<div class="dpviz-problem" role="alert">{escape(problem)}</div>')
    if sentences:
        rows = "".join(f"<br>{escape(sentence)}" for sentence in sentences)
        st.html(f'<div class="dpviz-note">The text says:{rows}</div>')


def _fill() -> None:
    try:
        code = filled(st.session_state.get(Keys.SNIPPET) or "")
    except ValueError as problem:
        st.session_state[Keys.SNIPPET_READ] = ((), str(problem))
        return
    before = st.session_state.get(Keys.SNIPPET_FILLED, {})
    now = {field.key: field.write(state.get(field)) for field in CHECK.fields}
    start = state.reader("")
    usual = {field.key: field.write(start(field)) for field in CHECK.fields}
    texts = code.texts({key for key, text in now.items() if text not in (usual[key], before.get(key))})
    for field in CHECK.fields:
        if field.key in texts:
            state.put(field, field.parse(texts[field.key]))
    st.session_state[Keys.SNIPPET_FILLED] = texts
    st.session_state[Keys.SNIPPET_READ] = (tuple(code.sentences), "")


OWN_CONTROLS: dict[str, Callable[[], None]] = {
    "counted": counted,
    "network": network,
    "audit_runs": audit_runs,
    "learned": plan.learned,
    "start": plan.start,
    "compose": plan.compose,
    "upload": sources.upload,
    "blocks": blocks,
    "ledger": ledger,
    "snippet": snippet,
}
