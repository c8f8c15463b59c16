"""Ways to show a page, set by its link and kept in the session: barer for a lecture (`present=1`) or within another
page (`embed=1`), fuller with all settings (`expert=1`).

A page that is presented shows headline, chart and up to three sliders in large type, which the presenter chooses, and
the pins of the link as stops of a story.
"""

from collections.abc import Sequence
from html import escape
from pathlib import Path
from urllib.parse import parse_qs, urlencode

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from dpviz.fields.field import AnyField, Number
from dpviz.questions.acting import sliders
from dpviz.questions.layout import Reader
from dpviz.questions.question import AnyQuestion
from dpviz.ui import history, state
from dpviz.ui.state import Keys

HERE = Path(__file__).parent
OFF = ("", "0", "false")


def read_link() -> None:
    """Once a session: what the link asks for."""
    if Keys.PRESENT in st.session_state:
        return
    text = st.query_params.get("present", "")
    st.session_state[Keys.PRESENT] = "" if text in OFF else text[:200]
    st.session_state[Keys.EMBED] = _asked_to_embed()
    st.session_state[Keys.EXPERT] = "" if st.query_params.get("expert", "") in OFF else "1"


def _asked_to_embed() -> bool:
    """Streamlit keeps the word from its own names for a link's parts, and knows it as "true" alone."""
    context = get_script_run_ctx(suppress_warning=True)
    text = parse_qs(context.query_string if context else "").get("embed", [""])[-1]
    return text.lower() not in OFF or bool(st.context.is_embedded)


def lecturing() -> bool:
    """Whether the page is one of stops, which is a slide always."""
    return st.session_state.get(Keys.PAGE) == "lecture"


def presenting() -> bool:
    return lecturing() or bool(st.session_state.get(Keys.PRESENT))


def embedded() -> bool:
    return bool(st.session_state.get(Keys.EMBED))


def expert() -> bool:
    return bool(st.session_state.get(Keys.EXPERT))


def bare() -> bool:
    return presenting() or embedded()


def style() -> str:
    """What a bare page does not show; and how large a presented one is written."""
    if not bare():
        return ""
    names = ["hidden", *["presented"] * presenting(), *["lecture"] * lecturing()]
    return f"<style>{''.join((HERE / f'{name}.css').read_text() for name in names)}</style>"


def link() -> str:
    """What the page's link says of the mode, as a query string."""
    more = {
        "present": st.session_state.get(Keys.PRESENT, ""),
        "embed": "true" if embedded() else "",
        "expert": "1" if expert() else "",
    }
    return urlencode({key: text for key, text in more.items() if text})


# --- a lecture --------------------------------------------------------------------------------------------------------

SHOWN = 2  # controls below it, unless the presenter chooses
MOST = 3  # that can be chosen
LEAVE = "End presenting (Escape)."

# The keys of a presenter's hand, where they mean nothing to what has the focus: the stops of the story, or without one
# those of the first slider.
KEYS_SCRIPT = """
window.onkeydown = (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
  const ways = {ArrowLeft: "back", PageUp: "back", ArrowRight: "on", PageDown: "on", Escape: "leave"};
  const keys = {...ways, a: "answer", r: "run"};
  const means = keys[event.key];
  if (!means || (document.activeElement?.matches("input, select, textarea") && event.key !== "Escape")) return;
  const button = document.querySelector(`.st-key-present-${means} button`);
  if (button) return button.disabled || button.click();
  if (means === "answer" || means === "run") return;
  const slider = document.querySelector('.dpviz-number input[type="range"]');
  if (!slider) return;
  event.preventDefault();
  slider.focus();
  slider.dispatchEvent(new KeyboardEvent("keydown", {key: means === "on" ? "ArrowRight" : "ArrowLeft"}));
};
"""


def controls(question: AnyQuestion, get: Reader) -> list[Number]:
    """The controls below the chart: those chosen or named by the link, else the first that act, experts' ones last."""
    numbers = sliders(question, get)
    by_name = {field.key: field for field in numbers}
    named = [by_name[key] for key in dict.fromkeys(st.session_state[Keys.PRESENT].split(".")) if key in by_name]
    return named[:MOST] or numbers[:SHOWN]


HELP = (
    "Present: headline, chart and up to three sliders of your choice in large type. Pins are the stops of your story: "
    "the arrow keys go from one to the next, or without pins move the first slider. Escape ends it."
)


def begin() -> None:
    """Present the page, as a click asks for it."""
    _switch("1")


def _switch(on: str) -> None:
    history.take_entries()
    st.session_state[Keys.PRESENT] = on
    st.session_state[Keys.STOP] = -1


def keys() -> None:
    """Let the keys of a presenter's hand press the buttons of the bar."""
    st.html("<script>" + KEYS_SCRIPT + "</script>", unsafe_allow_javascript=True)


def bar(question: AnyQuestion | None, get: Reader) -> None:
    """What stands at the edge of a presented page: the way through the story, its sliders, and the way out.

    A run (None) has neither story nor sliders.
    """
    if presenting():
        keys()
        with st.container(key="dpviz-bar", horizontal=True, vertical_alignment="center"):
            stops, here = history.pins() if question else [], st.session_state.get(Keys.STOP, -1)
            if stops:
                st.button("Back", key="present-back", on_click=_go, args=(here - 1,), disabled=here <= 0)
                st.html(f'<span class="dpviz-quiet">{max(here + 1, 0)} of {len(stops)}</span>')
                st.button("Next", key="present-on", on_click=_go, args=(here + 1,), disabled=here + 1 >= len(stops))
            if question:
                _chooser(question, get)
            st.button("", key="present-leave", on_click=_switch, args=("",), icon=":material/close:", help=LEAVE)


def _chooser(question: AnyQuestion, get: Reader) -> None:
    """Which sliders are on screen; the link says so too. A widget's options never change: others, another widget."""
    names = {field.key: field.label for field in sliders(question, get)}
    key = f"present.sliders.{'.'.join(names)}"
    st.session_state[key] = [field.key for field in controls(question, get)]
    with st.popover("Sliders", icon=":material/tune:", help="Which sliders are on screen."):
        st.multiselect(
            "Sliders on screen",
            list(names),
            format_func=lambda name: names[name],
            key=key,
            max_selections=MOST,
            on_change=_choose,
            args=(key,),
            help="One to three, in this order. With none, the first two of the page.",
        )


def _choose(key: str) -> None:
    history.take_entries()
    st.session_state[Keys.PRESENT] = ".".join(st.session_state[key]) or "1"


def way_out(own: Sequence[AnyField]) -> None:
    """From an embedded page to the whole one in this state; `own` are the page's fields."""
    if embedded():
        query = state.query(own, history.pins())
        address = f"{(st.context.url or '').split('?')[0]}?{query}"
        st.html(f'<a class="dpviz-open" href="{escape(address)}" target="_blank" rel="noopener">Open in dpviz</a>')


def _go(to: int) -> None:
    """To a stop of the story; named by its number, for a click may come twice."""
    stops = history.pins()
    if 0 <= to < len(stops):
        history.show_pin(stops[to])
        st.session_state[Keys.STOP] = to
