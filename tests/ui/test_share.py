"""What the panel Share says of an address, and the codes that it makes of one."""

import re
from html import unescape
from urllib.parse import unquote

import pytest

from dpviz.ui import share
from tests.ui.driver import html_of, open_app, put

LOCAL = ("http://localhost:8501/noise", "http://127.0.0.1:8501/", "http://[::1]:8501/compose?sigma=3", "")


@pytest.mark.parametrize("address", LOCAL)
def test_an_address_of_this_computer_is_named_so_with_what_to_do(address: str) -> None:
    assert share.is_local(address)
    assert share.reach(address, "send them the page").startswith("Only this computer")
    assert "send them the page, or run the app on a server" in share.reach(address, "send them the page")


def test_any_other_address_needs_the_token() -> None:
    assert not share.is_local("https://dp.example/noise?sigma=3")
    assert "token" in share.reach("https://dp.example/noise", "send them the page")


def test_a_qr_code_is_square_and_grows_with_the_address_until_it_is_too_long() -> None:
    sizes = []
    for length in (10, 400, 2_000):
        drawn = re.search(
            r"viewBox='0 0 (\d+) (\d+)'", unquote(unescape(share.qr_code(f"https://dp.example/?{'x' * length}")))
        )
        assert drawn is not None
        assert drawn[1] == drawn[2]
        sizes.append(int(drawn[1]))
    assert sizes == sorted(set(sizes))
    assert share.qr_code("x" * 4_000) == ""


def test_the_embed_code_is_html_that_names_the_state() -> None:
    assert 'src="https://dp.example/noise?embed=true"' in share.frame("https://dp.example/noise")
    assert '?a=1&amp;b=2&amp;embed=true"' in share.frame("https://dp.example/noise?a=1&b=2")


@pytest.mark.usefixtures("without_slow_parts")
def test_the_panel_holds_all_of_it_once() -> None:
    at = open_app("compose", "sigma=3")
    put(at, "compose.details", "Share")
    codes = [one.value for one in at.code]
    assert len(codes) == 2
    assert "sigma=3" in codes[0]
    assert codes[1].startswith("<iframe")
    assert html_of(at).count('class="dpviz-qr"') == 1
    assert "Only this computer" in html_of(at)
    assert [button.label for button in at.get("download_button")] == ["Download as a page (HTML)"]
