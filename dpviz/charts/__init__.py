"""Plotly figures from plain arrays: no Streamlit, no arithmetic on privacy."""
