"""All addresses of the app: a page for each entry of the catalogue, and Home, Train and Runs."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from dpviz.questions.catalogue import PAGES
from dpviz.ui import render

ICON = str(Path(__file__).parent / "assets" / "icon.png")

_FILES = {
    "home": ("Home", ":material/home:"),
    "train": ("Train", ":material/play_circle:"),
    "runs": ("Runs", ":material/history:"),
}
ORDER = ("home", "compose", "orders", "attack", "noise", "budget", "langevin", "train", "runs", "leakage", "papers")


def places() -> dict[str, StreamlitPage]:
    """Key → page, in the order of the navigation; what ORDER does not name comes last."""
    found = {
        key: st.Page(f"pages/{key}.py", title=title, icon=icon, default=key == "home", url_path=key)
        for key, (title, icon) in _FILES.items()
    }
    for page in PAGES:
        shown = partial(render.show, page)
        found[page.key] = st.Page(shown, title=page.title, icon=page.icon, url_path=page.key)
    return {key: found[key] for key in dict.fromkeys([*ORDER, *found])}
