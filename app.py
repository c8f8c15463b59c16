"""The app's router: page settings and navigation, nothing else."""

import streamlit as st

st.set_page_config(page_title="dpviz", layout="wide")
st.navigation([st.Page("pages/home.py", title="Home", default=True)]).run()
