"""The app's router: page settings and navigation, nothing else; imported by the server, the server with its guard."""

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from dpviz.ui.boundary import uncaught
from dpviz.ui.browser.routes import routes
from dpviz.ui.page import ADDRESSES, APP, ICON, navigation
from dpviz.ui.server import guarded, lifetime

if get_script_run_ctx(suppress_warning=True) is None:
    app = st.App(
        __file__, middleware=guarded(ADDRESSES), lifespan=lifetime, routes=routes(ADDRESSES), on_script_error=uncaught
    )
else:
    st.set_page_config(page_icon=ICON, layout="wide")
    place = navigation()
    st.set_page_config(page_title=f"{place.title} · {APP}")
    place.run()
