"""The buttons of a budget that is spent by hand: add a block, take it back, remove any."""

from __future__ import annotations

import streamlit as st

from dpviz.fields import numbers
from dpviz.questions.budget.blocks import MOST_BLOCKS, Block
from dpviz.questions.budget.fields import BLOCKS
from dpviz.questions.budget.ledger import lines_of
from dpviz.questions.budget.spend import SPEND, coming
from dpviz.ui import state
from dpviz.ui.answers import compute
from dpviz.ui.state import Keys


def blocks() -> None:
    """What may be done with the coming block."""
    try:
        answer = compute(SPEND, state.get)
    except ValueError:
        return  # the page says it
    spent, block, left = state.get(BLOCKS), coming(answer), answer.facts.left
    first, second = st.columns(2, gap="small")
    first.button(
        "Add block",
        on_click=_add,
        args=(block,),
        disabled=len(spent) >= MOST_BLOCKS,
        help=f"Spends these steps, if the filter lets them pass. At most {MOST_BLOCKS} blocks.",
        icon=":material/add:",
        width="stretch",
    )
    second.button(
        "Undo",
        on_click=_remove,
        args=(len(spent) - 1,),
        disabled=not spent,
        help="Takes the last block back.",
        icon=":material/undo:",
        width="stretch",
    )
    if state.error(BLOCKS) and left < block.steps:
        fits = numbers.steps(left)
        st.html(
            f'<div class="dpviz-problem" role="alert">Refused: {block.words}. {fits} of them still fit; '
            "nothing was spent.</div>"
        )
        if left >= 1:
            st.button(f"Add the {fits} that fit", on_click=_add, args=(block._replace(steps=int(left)),))


def ledger() -> None:
    """The blocks, each with what it cost and a button that takes it out."""
    for index, text in enumerate(lines_of(compute(SPEND, state.get).facts.entries)):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.button(
                "",
                key=f"budget.drop.{index}",
                on_click=_remove,
                args=(index,),
                icon=":material/close:",
                help=f"Remove block {index + 1}.",
                type="tertiary",
            )
            st.html(f'<div class="dpviz-quiet">{text}</div>')


def _add(block: Block) -> None:
    """Spend a block if the filter lets it pass; else leave everything as it is and say so."""
    values = SPEND.read(state.get)
    spent = (*values["blocks"], block)
    if SPEND.asked(values | {"blocks": spent}).facts.entries[-1].passed:
        state.put(BLOCKS, spent)
    else:
        st.session_state[Keys.error(BLOCKS)] = f"Refused: {block.words}."


def _remove(index: int) -> None:
    spent = state.get(BLOCKS)
    state.put(BLOCKS, (*spent[:index], *spent[index + 1 :]))
