"""The page that is handed out: small enough, safe, and with the stops it says."""

import base64
import gzip
import json
import re
from pathlib import Path

import pytest

from dpviz import ask
from dpviz.fields.field import Number
from dpviz.questions.acting import sliders
from dpviz.questions.answer import LATER
from dpviz.questions.catalogue import QUESTIONS
from dpviz.questions.handout import STOPS, stops
from dpviz.questions.layout import of_texts
from dpviz.questions.rendered import explained, paragraphs, two_levels


def test_stops_are_dense_where_the_value_stands_and_reach_the_ends() -> None:
    ticks = tuple(float(k) for k in range(100))
    field = Number(key="k", label="k", default=40.0, ticks=ticks)
    for most in STOPS:
        for here in (0.0, 0.5, 40.0, 98.0, 99.0, 200.0):
            found = stops(field, here, most)
            assert len(found) == most
            assert found == sorted(set(found))
            assert {here, ticks[0], ticks[-1]} <= set(found)
            assert {min(ticks, key=lambda t: (t == here, abs(t - here)))} <= set(found)
    assert stops(field, 40.0, 200) == list(ticks)


@pytest.mark.parametrize("key", ["success", "concentrated", "spend"])
def test_the_page_is_small_and_waits_for_nothing(key: str, tmp_path: Path) -> None:
    file = tmp_path / f"{key}.html"
    asked = ask(key)
    asked.html(file)
    text = file.read_text(encoding="utf-8")
    assert 1_500_000 < len(text.encode()) <= 5_000_000
    assert asked.question.title in text
    assert asked.link.replace("&", "&amp;") in text


@pytest.mark.parametrize(("key", "usual"), [("compose", ["sigma", "q", "steps"]), ("orders", ["sigma"])])
def test_usual_sliders_come_first_in_the_page_s_order(key: str, usual: list[str]) -> None:
    question = QUESTIONS[key]
    get = of_texts({})
    first = [field.key for field in sliders(question, get, usual=True)]
    assert first[: len(usual)] == usual
    assert [field.key for field in sliders(question, get)][: len(first)] == first
    expert = next(field for field in sliders(question, get) if field.key not in first)
    there = next(tick for tick in expert.ticks if tick != expert.default)
    moved = sliders(question, of_texts({expert.key: expert.write(there)}), usual=True)
    assert expert in moved, "an expert's one that is not at its default stays in sight"


def test_the_text_about_the_file_is_two_lines_below_the_chart(tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    ask("spend").html(file)
    text = file.read_text(encoding="utf-8")
    assert text.index('id="notes"') < text.index('id="file"') < text.index('id="controls"></div>')
    about = text[text.index('id="file"') : text.index('id="controls"')]
    assert about.count("<p>") == 2


def test_every_place_of_a_slider_has_the_caption_of_its_own_settings(tmp_path: Path) -> None:
    asked, file = ask("success"), tmp_path / "page.html"
    asked.html(file)
    packed = re.search(r'id="frames"[^>]*>([^<]+)<', file.read_text(encoding="utf-8"))
    assert packed is not None
    told = json.loads(gzip.decompress(base64.b64decode(packed[1])))
    labels = {field.key: field for field in asked.question.fields}
    for key, stops_shown in told["frames"].items():
        for written, frame in stops_shown.items():
            field = labels[key]
            assert f"{field.label}: {field.show(field.parse(written))}" in frame["caption"].split(" · ")
        keyword = next(name for name, field in asked.question.named().items() if field.key == key)
        there = ask("success", **{keyword: labels[key].parse(written)})
        assert [frame["headline"]] == explained(there.question.headline(there.answer))
    assert LATER not in json.dumps(told["frames"], ensure_ascii=False)
    text = file.read_text(encoding="utf-8")
    assert all(paragraphs(level) in text for level in two_levels(asked.question.assumed(asked.answer)))
    assert told["base"]["notes"] in text


def test_what_stands_below_a_slider_is_in_the_page_for_every_place_of_it(tmp_path: Path) -> None:
    """The picture of clipped norms and the noise in words move there, too."""
    asked, file = ask("people"), tmp_path / "page.html"
    asked.html(file)
    packed = re.search(r'id="frames"[^>]*>([^<]+)<', file.read_text(encoding="utf-8"))
    assert packed is not None
    told = json.loads(gzip.decompress(base64.b64decode(packed[1])))
    by_field = {field["field"]: field for field in told["fields"]}
    assert "dpviz-picture" in by_field["quantile"]["picture"]
    assert (by_field["quantile"]["why"], by_field["quantile"]["ends"]) == ("Noise σC: 75 × the median norm.", ["", ""])
    for key in ("quantile", "sigma", "shape"):
        frames = [told["base"], *told["frames"][key].values()]
        for part in ("captions", "pictures"):
            assert len({frame[part]["quantile"] for frame in frames}) > 0.9 * len(frames), (key, part)
