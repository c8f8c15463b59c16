"""In Safari's engine and Firefox: no page has an error; slider, field, presented page and handed-out page work."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image, ImageColor

import dpviz
from dpviz.fields import numbers
from dpviz.questions.gallery import chosen_files, write
from dpviz.ui.page import ENTRIES
from tests.engines.webdriver import LISTEN, Browser

pytestmark = pytest.mark.engines

SETTING = {"sample_rate": 0.01, "steps": 10_000, "delta": 1e-5}
BROKEN = """[...document.querySelectorAll('[data-testid="stException"], [data-testid="stAlertContentError"]')]
  .map(box => box.innerText)
"""
CURVES = "[...document.querySelectorAll('.js-line')].map(line => line.getAttribute('d')).join()"
KEPT = "Number(document.querySelector('.dpviz-chart').dataset.kept ?? 0) >= 12"


@pytest.fixture
def tab(browser: Browser) -> Iterator[Browser]:
    """The browser's tab; a test fails at its end if the last page held an error."""
    yield browser
    assert browser.end() == []


def slider(field: str) -> str:
    return f'.dpviz-number[data-field="{field}"] input[type="range"]'


def text(field: str) -> str:
    return f'.dpviz-number[data-field="{field}"] input[type="text"]'


def of(tab: Browser, selector: str, what: str) -> str:
    """A property of the first such element."""
    read: str = tab.script(f"return document.querySelector(arguments[0]).{what}", selector)
    return read


def value(tab: Browser, field: str) -> str:
    return of(tab, text(field), "value")


def share(tab: Browser, field: str) -> float:
    """Where the thumb stands, from 0 to 1."""
    return float(of(tab, slider(field), "style.getPropertyValue('--share')").rstrip("%")) / 100


def headline(tab: Browser) -> str:
    return of(tab, ".dpviz-headline", "innerText")


def press(tab: Browser, field: str, place: float) -> tuple[float, float]:
    """Press the button where the thumb is to stand, from 0 to 1; returns that place."""
    box = tab.box(slider(field))
    thumb = tab.script(
        "return parseFloat(getComputedStyle(document.querySelector(arguments[0])).fontSize)", slider(field)
    )
    at = round(box["x"] + thumb / 2 + place * (box["width"] - thumb)), round(box["y"] + box["height"] / 2)
    tab.mouse(at, press=True)
    return at


def height_in(picture: Image.Image, x: float, y: float, colour: str) -> int:
    """How many pixels above and below a place have a colour, "#rrggbb"."""
    pixels = [picture.getpixel((x, y + away)) for away in range(-24, 25) if y + away < picture.height]
    return pixels.count(ImageColor.getrgb(colour.strip()))


def pull(tab: Browser, field: str, by: int) -> None:
    """Pull the thumb by so many pixels until curves and words have followed; the button stays pressed."""
    before, words = tab.script(f"return {CURVES}"), headline(tab)
    x, y = press(tab, field, share(tab, field))
    tab.mouse(*[(x + by * part / 10, y) for part in range(1, 11)])
    tab.wait(f"{CURVES} !== arguments[0]", before)
    tab.wait("document.querySelector('.dpviz-headline').innerText !== arguments[0]", words)


@pytest.mark.parametrize("page", list(ENTRIES))
def test_a_page_opens_whole(tab: Browser, app_url: str, page: str) -> None:
    tab.open(f"{app_url}/{'' if page == 'home' else page}")
    assert tab.script(f"return {BROKEN}") == []
    assert of(tab, "h1" if page in ("train", "runs", "papers") else ".dpviz-headline", "innerText")


def test_the_chart_follows_while_a_slider_is_pulled(tab: Browser, app_url: str) -> None:
    tab.open(f"{app_url}/compose?curves=moments")
    box = tab.box(slider("sigma"))
    tab.mouse((box["x"] + box["width"] / 2, box["y"] + box["height"] / 2))
    tab.wait(KEPT)
    pull(tab, "sigma", -30)
    assert tab.script("return document.querySelector('.dpviz-chart').dataset.frames") is not None
    tab.mouse((box["x"] + 30, box["y"] + box["height"] / 2), release=True)
    tab.wait_idle()
    noise = float(value(tab, "sigma"))
    assert noise < 4
    expected = dpviz.epsilon("moments", noise_multiplier=noise, **SETTING)
    assert f"ε ≤ {numbers.epsilon(float(expected), up=True)}" in of(tab, ".dpviz-strip", "innerText")
    tab.keys("ArrowRight")  # the slider has the focus
    tab.wait("Number(document.querySelector(arguments[0]).value) > arguments[1]", text("sigma"), noise)
    tab.wait_idle()


def test_a_hand_that_rests_where_there_is_no_result_keeps_the_chart(tab: Browser, app_url: str) -> None:
    tab.open(f"{app_url}/check?kview=public_size&units=mechanism")
    box, y = tab.box(slider("q")), press(tab, "q", share(tab, "q"))[1]
    tab.mouse((box["x"] + box["width"] / 2, y), (box["x"] + 1, y))
    tab.wait("document.documentElement.hasAttribute('data-dpviz-unanswered')")
    time.sleep(1.0)  # longer than a hand rests before its value is sent
    assert "There is no result for this value." in of(tab, ".dpviz-why", "innerText")
    tab.mouse((box["x"] + box["width"] / 2, y), (box["x"] + box["width"] - 9, y), release=True)
    tab.wait_idle()
    assert "If N is not public" in headline(tab)


def test_terms_are_marked_the_rail_s_icons_are_whole_and_the_door_names_the_notes(tab: Browser, app_url: str) -> None:
    tab.open(f"{app_url}/noise")
    marked = "const style = getComputedStyle(document.querySelector(arguments[0])); "
    for term in (".dpviz-headline dfn", ".dpviz-number label"):
        drawn = tab.script(f"{marked} return [style.textDecorationLine, style.textDecorationStyle]", term)
        assert drawn == ["underline", "dotted"]
    door = ".st-key-dpviz-doors [role=radiogroup] > button:nth-child(2)"
    said = tab.script("return getComputedStyle(document.querySelector(arguments[0]), '::after').content", door)
    assert said == '"\u00a0· a note"'
    tab.resize(844, 390)
    try:
        tab.open(f"{app_url}/noise")
        rail = "const rail = document.querySelector('[data-testid=stSidebarContent]'); "
        icon = "rail.querySelector('[data-testid=stSidebarNavLink] [data-testid=stIconMaterial]')"
        beyond = f"{icon}.getBoundingClientRect().right - rail.getBoundingClientRect().left - rail.clientWidth"
        assert tab.script(f"{rail} return {beyond}") <= 0
    finally:
        tab.resize(1280, 800)


def test_a_click_selects_a_field_and_the_next_one_places_the_caret(tab: Browser, app_url: str) -> None:
    tab.open(f"{app_url}/compose?curves=moments&sigma=4")
    box = tab.box(text("sigma"))
    middle = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    tab.mouse(middle, press=True, release=True)
    tab.keys("7", "Enter")
    tab.wait("location.search.includes('sigma=7')")
    tab.wait_idle()
    assert value(tab, "sigma") == "7"
    tab.mouse(middle, press=True, release=True)
    tab.keys("5", "Enter")
    tab.wait("location.search.includes('sigma=75')")
    tab.wait_idle()


def test_presented_the_thumb_is_large_and_under_the_pointer(tab: Browser, app_url: str) -> None:
    tab.open(f"{app_url}/compose?present=sigma.steps&curves=moments")
    primary = tab.script(
        "return getComputedStyle(document.querySelector('.dpviz-number')).getPropertyValue('--st-primary-color')"
    )
    for place in (0.1, 0.433, 0.9):
        x, y = press(tab, "sigma", place)
        pictures = (tab.screenshot() for _ in range(20))  # it is drawn there in the end
        picture = next((one for one in pictures if height_in(one, x, y, primary) >= 20), None)
        assert picture is not None, "the thumb"
        assert 6 <= height_in(picture, x - 24, y, primary) <= 10, "the track before it"
        assert height_in(picture, x + 24, y, primary) == 0
        tab.mouse((x, y), release=True)
        tab.wait_idle()


def test_the_folder_of_pages_opens_from_disk_and_every_slider_moves_its_chart(tab: Browser, tmp_path: Path) -> None:
    write(tmp_path, app="http://localhost:8501", only=["success", "spend"])
    for name in ("success", "spend"):
        opened(tab, tmp_path / f"{name}.html")
        fields = "return [...document.querySelectorAll('#controls .dpviz-number')].map(n => n.dataset.field)"
        for field in tab.script(fields):
            curves, words = tab.script(f"return {CURVES}"), of(tab, "main", "textContent")
            x, y = press(tab, field, share(tab, field))
            way = -30 if share(tab, field) > 0.5 else 30
            tab.mouse((x + way / 2, y), (x + way, y), release=True)
            tab.wait("document.querySelector('.dpviz-chart[data-state=\"drawn\"]')")
            changed = f"{CURVES} !== arguments[0] || document.querySelector('main').textContent !== arguments[1]"
            tab.wait(changed, curves, words)


# All that a page shows of an answer.
SHOWN = """JSON.stringify([
  [...document.querySelectorAll('.dpviz-headline, .dpviz-strip, #notes')].map(place => place.textContent),
  document.querySelector('.dpviz-chart').data.map(trace => [Array.from(trace.x ?? []), Array.from(trace.y ?? [])]),
  document.querySelector('.dpviz-chart').layout.annotations.map(note => [note.text, note.x, note.y]),
])"""
AT_END = "const one = document.querySelector(arguments[0]); one.focus(); return one.value === one.max"


@pytest.fixture(scope="session")
def whole_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All pages: some ten minutes of one core."""
    place = tmp_path_factory.mktemp("whole")
    write(place, app="http://localhost:8501", jobs=2)
    return place


@pytest.mark.long
@pytest.mark.timeout(3600)  # the first one makes the folder
@pytest.mark.parametrize("name", chosen_files())
def test_every_slider_of_the_whole_folder_moves_its_chart(tab: Browser, whole_folder: Path, name: str) -> None:
    opened(tab, whole_folder / name)
    for field in tab.script(
        "return [...document.querySelectorAll('#controls .dpviz-number')].map(n => n.dataset.field)"
    ):
        before = tab.script(f"return {SHOWN}")
        tab.keys("ArrowLeft" if tab.script(AT_END, slider(field)) else "ArrowRight")
        tab.script("document.activeElement.blur()")
        tab.wait(f"{SHOWN} !== arguments[0]", before)
        tab.wait("document.querySelector('.dpviz-chart[data-state=\"drawn\"]')")


def handed_out(tab: Browser, file: Path) -> None:
    """Open the page of a question."""
    dpviz.ask("spend").html(file)
    opened(tab, file)


def opened(tab: Browser, file: Path) -> None:
    """Open a page from disk, which listens to its errors from its first line on."""
    listening = f"<head><script>(() => {{{LISTEN}}})()</script>"
    file.write_text(file.read_text(encoding="utf-8").replace("<head>", listening, 1), encoding="utf-8")
    tab.open(file.as_uri())
    tab.wait("document.querySelector('.dpviz-chart[data-state=\"drawn\"]')")


def test_a_page_that_was_handed_out_moves_without_a_server(tab: Browser, tmp_path: Path) -> None:
    handed_out(tab, tmp_path / "page.html")
    pull(tab, "sigma", 40)
    tab.mouse((1, 1), release=True)
    tab.wait("document.querySelector('.dpviz-chart[data-state=\"drawn\"]')")
    assert headline(tab) == dpviz.ask("spend", noise_multiplier=float(value(tab, "sigma"))).headline


@pytest.mark.parametrize("engine", ["firefox"], indirect=True)
def test_a_finger_pulls_the_thumb_from_wherever_it_is_put_down(tab: Browser, tmp_path: Path) -> None:
    handed_out(tab, tmp_path / "page.html")
    before = share(tab, "sigma")
    box = tab.box(slider("sigma"))
    x, y = box["x"] + 0.8 * box["width"], box["y"] + box["height"] / 2
    tab.mouse(*[(x - 4 * part, y) for part in range(11)], press=True, kind="touch")
    pulled = share(tab, "sigma")
    assert before - pulled == pytest.approx(40 / box["width"], abs=0.03)
    tab.mouse((x - 40, y), release=True, kind="touch")
    assert share(tab, "sigma") == pulled


def test_a_mark_on_the_chart_and_a_number_in_the_headline_are_pulled(tab: Browser, app_url: str) -> None:
    tab.open(f"{app_url}/compose?curves=moments")
    for thing in ('.dpviz-grip[data-axis="x"]', '.dpviz-headline [data-sets="steps"]'):
        before, words, box = float(value(tab, "steps")), headline(tab), tab.box(thing)
        x, y = round(box["x"] + box["width"] / 2), round(box["y"] + box["height"] / 2)
        tab.mouse((x, y), press=True)
        tab.mouse(*[(x - 9 * part, y) for part in range(1, 11)])
        tab.wait("document.querySelector('.dpviz-headline').innerText !== arguments[0]", words)
        tab.mouse((x - 91, y), release=True)
        tab.wait_idle()
        assert float(value(tab, "steps")) < before
        assert headline(tab) != words
