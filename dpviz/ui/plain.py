r"""Texts of a person, a link or a file shown as they are: never read as Markdown, HTML or a chart's markup.

What goes through `st.html` is escaped with `html.escape`; a button's label, a caption, a warning is Markdown to
Streamlit, and a chart reads tags: these are for them.

>>> plain("**bold** [a](https://example.com)").replace(_JOINER, "|")
'\\*\\*bold\\*\\* \\[a\\](https:|//example.com)'
>>> on_chart("<b>x</b>")
'‹b>x‹/b>'
"""

import re

# What means something anywhere in a line: code, emphasis, links, tags, entities, formulas, a line struck through.
_MARKS = re.compile(r"([\\`*_\[\]<>&$~])")
# What means something at its beginning: lists, headings, rules, quotes.
_START = re.compile(r"^([-+#=]|\d{1,9}(?=[.)]))")
# Addresses become links, and words between colons icons, in the text that is left after the marks were read: an
# invisible character (word joiner) keeps them apart.
_JOINER = "\u2060"
_LINKS = re.compile(r"(?<=:)(?=\S)|(?<=@)|(?<=[wW]{3})(?=\.)")
_BREAKS = re.compile(r"\s+")
LONGEST = 200  # characters: a label is one line


def plain(text: str, longest: int = LONGEST) -> str:
    """`text` for Streamlit's Markdown, on one line and at most `longest` characters of it."""
    line = _BREAKS.sub(" ", text).strip()
    short = line if len(line) <= longest else line[: longest - 1] + "…"
    return _LINKS.sub(_JOINER, _START.sub(_apart, _MARKS.sub(r"\\\1", short)))


def _apart(match: re.Match[str]) -> str:
    """A number's point cannot be escaped from before it: the joiner stands between."""
    mark = match.group(1)
    return f"{mark}{_JOINER}" if mark[0].isdigit() else f"\\{mark}"


def on_chart(text: str) -> str:
    """`text` for Plotly, which reads "<" as the beginning of a tag."""
    return _BREAKS.sub(" ", text).replace("<", "‹")
