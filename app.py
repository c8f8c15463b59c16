"""The app's router: page settings and navigation, nothing else; imported by the server, the server with its guard."""

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from dpviz.ui.server import GUARDED, lifetime

if get_script_run_ctx(suppress_warning=True) is None:
    app = st.App(__file__, middleware=GUARDED, lifespan=lifetime)
else:
    st.set_page_config(
        page_title="dpviz · see differential privacy", page_icon="dpviz/ui/assets/icon.png", layout="wide"
    )
    st.navigation(
        [
            st.Page("pages/home.py", title="Home", icon=":material/home:", default=True),
            st.Page("pages/compose.py", title="Compose", icon=":material/stacked_line_chart:"),
            st.Page("pages/orders.py", title="Orders", icon=":material/format_list_numbered:"),
            st.Page("pages/attack.py", title="Attack", icon=":material/search:"),
            st.Page("pages/noise.py", title="Noise", icon=":material/graphic_eq:"),
            st.Page("pages/budget.py", title="Budget", icon=":material/account_balance_wallet:"),
            st.Page("pages/langevin.py", title="Langevin", icon=":material/scatter_plot:"),
            st.Page("pages/train.py", title="Train", icon=":material/play_circle:", url_path="train"),
            st.Page("pages/runs.py", title="Runs", icon=":material/history:", url_path="runs"),
            st.Page("pages/leakage.py", title="Leakage", icon=":material/water_drop:"),
        ]
    ).run()
