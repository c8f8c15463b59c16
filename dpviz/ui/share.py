"""The panel Share: the page's link, its QR code, the code that embeds it, and the charts as images."""

from collections.abc import Callable, Sequence
from html import escape
from urllib.parse import urlsplit

import segno
import streamlit as st

from dpviz.charts import look
from dpviz.ui import offered, page
from dpviz.ui.access import on_loopback
from dpviz.ui.browser.routes import component

FRAME_HEIGHT = 640  # pixels

# Buttons that save charts as images.
_images = component("images")


def base() -> str:
    """The page's address without its settings."""
    return (st.context.url or "").split("?")[0]


def link(address: str, instead: str) -> None:
    """The address, who can open it, and its QR code.

    Args:
        instead: what can be given to people who cannot open it.
    """
    st.code(address, language=None, wrap_lines=True)
    st.html(f'<div class="dpviz-{"caution" if is_local(address) else "note"}">{escape(reach(address, instead))}</div>')
    if image := qr_code(address):
        st.html(image)
    else:
        st.caption("The address is too long for a QR code: remove pins.")


def is_local(address: str) -> bool:
    """Whether only this computer can open it."""
    return on_loopback(urlsplit(address).hostname or "localhost")


def reach(address: str, instead: str) -> str:
    """Who can open the address."""
    if is_local(address):
        return (
            f"Only this computer can open this address. For other people, {instead}, or run the app on a server "
            "(docs/use/server.md)."
        )
    return (
        "Everybody can open this address."
        if offered.PUBLIC
        else "People who open this address need the token of the app."
    )


def qr_code(address: str) -> str:
    """The QR code of the address, as an image in HTML; empty where it is too long for one."""
    try:
        code = segno.make(address, error="l", micro=False)
    except segno.DataOverflowError:
        return ""
    source = code.svg_data_uri(omitsize=True, dark=look.INK, light=look.GROUNDS[0])
    return f'<img class="dpviz-qr" src="{escape(source)}" alt="QR code of the address">'


def embedding(address: str) -> None:
    """The code that shows the page within another one."""
    st.caption("Embed code. A site can show the app only if DPVIZ_FRAMED_BY names the site (docs/use/using.md).")
    st.code(frame(address), language="html", wrap_lines=True)


def frame(address: str) -> str:
    """The HTML of a frame with the page at this address.

    >>> frame("https://dp.example/noise?sigma=3")
    '<iframe src="https://dp.example/noise?sigma=3&amp;embed=true" title="dpviz" width="100%" height="640"></iframe>'
    """
    source = f"{address}{'&' if '?' in address else '?'}embed=true"
    return f'<iframe src="{escape(source)}" title="dpviz" width="100%" height="{FRAME_HEIGHT}"></iframe>'


def images(charts: Sequence[str]) -> None:
    """Buttons that save the charts with these keys."""
    _images(key="share.images", data={"charts": [f"{key}.chart" for key in charts]})


def hand_out(name: str, make: Callable[[], str]) -> None:
    """The button for the page as one file."""
    page.download(
        "Download as a page (HTML)",
        name,
        make,
        "draft",
        help="One file of at most 5 MB, for the web or an appendix. Its chart follows each slider without a server. "
        "Making it takes seconds, for some questions minutes.",
    )
