"""Fetched by the browser beside Streamlit's pages: scripts, frames of charts and slow parts; and who makes them."""
