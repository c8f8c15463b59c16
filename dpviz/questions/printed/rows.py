"""What papers trained, and what was trained for this project, as settings of the Train page: rows.toml.

There is one for each row of a table or figure that was trained. What a paper leaves open is chosen here and said in
the note; data that dpviz does not ship are asked for by the page.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlencode

from dpviz.questions.presets import read

BY_KEY, _ = read(Path(__file__).with_name("rows.toml"))


def train(key: str) -> str:
    """The link that opens the Train page with this row's settings."""
    return f"train?{urlencode(BY_KEY[key].values)}"
