"""Home."""

import streamlit as st

st.title("See differential privacy")
