"""Scripts and style sheet with which a browser draws a chart and moves it under the finger.

The app serves these files; a page that was handed out holds them.
"""

from pathlib import Path

HERE = Path(__file__).parent
SCRIPTS = {file.name: file for file in sorted(HERE.glob("*.js"))}
LOOK = HERE / "look.css"


def plotly() -> Path:
    """Plotly's own script, as the installed package brings it."""
    import plotly

    return Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
