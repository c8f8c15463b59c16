"""Charts in the docs' site: a paragraph that is a link to the app becomes a frame of the same page of the gallery.

A hook of mkdocs. In the repository such a paragraph is a link to the app on the reader's machine. The site has the
folder that `dpviz site` writes beside it, at the place that `extra.gallery` of the configuration says; where it says
none, the links stay.
"""

import re
from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING

from dpviz.questions.gallery import GalleryPage, entries

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

APP = "http://localhost:8501"
PARAGRAPH = re.compile(rf"^\[[^\]]+\]\(({re.escape(APP)}/[^)\s]*)\)$", re.MULTILINE)
FRAME = """\
<figure style="margin: 1.5rem 0">
<iframe src="{file}#framed" title="{title}" loading="lazy"
 style="width: 100%; height: {height}; border: 1px solid #8884"></iframe>
<figcaption><a href="{file}">{title}</a> on a page of its own, with its assumptions, or <a href="{app}">in your app</a>,
where every setting moves.</figcaption>
</figure>"""
HEIGHT = "44rem"  # headline, chart, figures and most controls


def charts() -> Mapping[str, GalleryPage]:
    """Pages of the gallery by the links of the app that show the same."""
    return {APP + entry.link: entry for entry in entries()}


def framed(markdown: str, gallery: str) -> str:
    """The text with a frame in place of each such paragraph.

    Args:
        markdown: of a page.
        gallery: where the folder lies, seen from that page: "../../".

    Raises:
        KeyError: a link whose page is not in the gallery.
    """
    pages = charts()

    def frame(link: re.Match[str]) -> str:
        entry = pages[link[1]]
        return FRAME.format(file=gallery + entry.file, title=escape(entry.title), app=escape(link[1]), height=HEIGHT)

    return PARAGRAPH.sub(frame, markdown)


def on_page_markdown(markdown: str, page: "Page", config: "MkDocsConfig", files: "Files") -> str:
    """What mkdocs calls with the text of each page."""
    place: str = config.extra.get("gallery") or ""
    return framed(markdown, "../" * page.url.count("/") + place) if place else markdown
