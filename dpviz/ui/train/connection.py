"""A run's page while the browser has lost the app, and when it has found it again."""

from __future__ import annotations

import streamlit as st

_APP = '[data-testid="stApp"]'
_STATE = "data-test-connection-state"

# The last numbers stay on the screen: they must not pass for the present ones.
_LOST = ", ".join(
    f'{_APP}[{_STATE}="{state}"] .dpviz-sentence::before'
    for state in ("PINGING_SERVER", "CONNECTING", "DISCONNECTED_FOREVER")
)
_STYLE = f"<style>{_LOST} {{ content: 'No connection to the app; last known: '; color: #c23b3b; }}</style>"

# To an app that was started again Streamlit says the link that the page was opened with, not the one in the address
# bar: the run would be gone from the screen. Opening the address again brings it back.
_SCRIPT = f"""<script>
if (!window.__dpvizFound) {{
  const app = document.querySelector('{_APP}');
  let lost = false;
  window.__dpvizFound = new MutationObserver(() => {{
    if (app.getAttribute('{_STATE}') !== 'CONNECTED') {{ lost = true; return; }}
    if (lost && new URLSearchParams(location.search).get('run')) location.replace(location.href);
    lost = false;
  }});
  window.__dpvizFound.observe(app, {{attributes: true, attributeFilter: ['{_STATE}']}});
}}
</script>"""


def watch_it() -> None:
    """Say when the connection is lost, and show the same run once it is back."""
    st.html(_STYLE + _SCRIPT, unsafe_allow_javascript=True)
