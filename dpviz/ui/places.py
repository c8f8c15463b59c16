"""All addresses of the app, each a file of `pages/`: a page for each entry of the catalogue, and Home, Runs."""

from __future__ import annotations

from pathlib import Path

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from dpviz.questions.catalogue import PAGES

ICON = str(Path(__file__).parent / "assets" / "icon.png")

_TITLES = {
    "home": ("Home", ":material/home:"),
    "runs": ("Runs", ":material/history:"),
} | {page.key: (page.title, page.icon) for page in PAGES}
ORDER = ("home", "compose", "orders", "attack", "noise", "budget", "langevin", "train", "runs", "leakage", "papers")


def places() -> dict[str, StreamlitPage]:
    """Key → page, in the order of the navigation; what ORDER does not name comes last."""
    return {
        key: st.Page(f"pages/{key}.py", title=title, icon=icon, default=key == "home", url_path=key)
        for key in dict.fromkeys([*ORDER, *_TITLES])
        for title, icon in [_TITLES[key]]
    }
