"""The Streamlit code beside app.py and pages/."""
