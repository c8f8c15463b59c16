"""Old links show the numbers that they showed; what is written now says whose defaults it leaves out."""

from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import numpy as np
import pytest

from dpviz.questions import links
from dpviz.questions.answer import Answer, whole
from dpviz.questions.asked import ask
from dpviz.questions.catalogue import PAGES
from dpviz.questions.layout import of_texts
from dpviz.questions.question import Question

# Links without a version → ε of moments, Rényi and (as printed) Bayesian accounting in the last row of their data, as
# they were shown before any link said its version; order λ + 1 where it is fixed. Certified bounds may become tighter.
OLD = {
    "compose?sigma=2": (2.735445, 2.352913, 1.65582),
    "compose?sigma=1&q=0.02&steps=1000": (4.949948, 4.323712, 2.428016),
    "compose?quantile=0.9&steps=2000": (0.577032, 0.435769, 0.433426),
    "compose?delta=1e-6&sigma=3": (1.877452, 1.618959, 1.072164),
    "compose?lam=fixed&steps=3000": (17.0, 0.885648, 0.647947, 0.785543),
    "compose?lam=fixed&lamfix=8&sigma=2": (9.0, 2.745529, 2.353093, 1.928103),
    "compose?lamfix=8&sigma=2": (2.735445, 2.352913, 1.65582),
    "compose?dmu=1e-8&quantile=0.25": (1.258575, 1.035384, 1.021455),
    "compose?source=weibull&shape=1&count=5000": (1.258575, 1.22808),
    "compose?source=lognormal&shape=0.7": (1.258575, 1.227659),
    "compose?curves=bayesian&shape=0.3": (0.844112,),
    "compose?curves=moments.bayesian&psi=printed": (1.258575, 3.584135),
    "compose?clip=dp&steps=500": (0.414092, 0.208515, 0.386126),
    "compose?reading=running&steps=800": (0.44668, 0.267489, 0.394081),
    "compose?mech=laplace&b=3&steps=200": (0.39361, 0.160219),
    "compose?mech=replace&q=0.02&steps=4000": (3.238223, 2.812791),
    "compose?preset=abadi2&steps=10000": (1.258575, 1.035384),
    "compose?preset=bdp1a": (116.782522, 246.737813),
    "compose?preset=bdp1c&quantile=0.5": (116.782522, 0.720061),
    "compose?preset=bdp1d": (116.782522, 0.719895),
    "compose?preset=abadi2replace": (5.302614, 4.728404, 4.374872),
    "compose?preset=abadi2laplace": (3.469275, 3.02824, 2.788395),
    "compose?vectors=50&pairs=all&sigma=2": (2.735445, 1.64258),
    "noise?preset=bdp3": (0.359846, 0.359807, 0.359805, 0.359796),
    "noise?preset=bdp4": (0.359846, 0.359822, 0.359809, 0.359801),
    "noise?steps=1000&q=0.02": (0.36242, 0.039925, 0.360852),
    "noise?noisecurves=moments.bayesian": (0.366381, 0.362462),
    "orders?oview=thresholds&sigma=2": (0.672815, 268070.875896),
    "budget?sigma=2": (3.520813, 2.734447),
    "papers?pview=together&dmu=1e-4": (10.0, 0.002),
}


def opened(link: str) -> tuple[Question[Any], Answer[Any]]:
    """The question and the whole answer that a link opens."""
    place = urlsplit(link)
    page = next(page for page in PAGES if page.key == place.path.strip("/"))
    get = of_texts(links.read(dict(parse_qsl(place.query, keep_blank_values=True)), page.key))
    question = page.question(get)
    return question, whole(question.asked(question.read(get)), question.slow)


@pytest.mark.parametrize("link", OLD)
@pytest.mark.one_of(4)
def test_a_link_without_a_version_shows_the_numbers_that_it_showed(link: str) -> None:
    last = opened(link)[1].plot.data().iloc[-1].to_numpy(float)
    for number in OLD[link]:
        assert np.any(np.isclose(last, number, rtol=2e-6, atol=1e-6)), number


@pytest.mark.parametrize("key", [page.key for page in PAGES])
def test_a_link_of_today_shows_what_is_asked_today(key: str) -> None:
    page = next(page for page in PAGES if page.key == key)
    texts = {field.key: field.write(field.default) for field in page.fields}
    assert links.read({}, key) == {}
    said = links.read({"logy": "1", links.VERSION: links.TODAY}, key)
    assert said == {"logy": "1"}
    assert not {field.key for field in page.fields} & {links.VERSION}
    assert {k: field.write(of_texts(said)(field)) for k, field in ((f.key, f) for f in page.fields)} == (
        texts | ({"logy": "1"} if "logy" in texts else {})
    )


def test_a_link_that_is_asked_for_opens_the_same_answer() -> None:
    for key, settings in (
        ("compose", {"noise_multiplier": 2.0, "steps": 500}),
        ("success", {"epsilon": 3.0}),
        ("stop", {"noise_multiplier": 3.0}),
    ):
        asked = ask(key, **settings)
        assert asked.link.endswith("&v=2")
        question, answer = opened(asked.link)
        assert question.key == key
        assert question.headline(answer) == asked.question.headline(asked.answer)
    assert ask("compose").link == "/compose", "defaults have no version"


def test_a_version_decides_alone_whose_defaults_are_meant(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links, "BEFORE", {"quantile": "0.25", "logy": "1", "bview": "spend"})
    old = {"quantile": "0.25", "logy": "1"}
    assert links.read({"sigma": "2"}, "compose") == {**old, "sigma": "2"}
    assert links.read({"sigma": "2", "v": "1"}, "compose") == {**old, "sigma": "2"}
    assert links.read({"v": "1"}, "compose") == old
    assert links.read({"sigma": "2", "quantile": "0.75"}, "compose") == {**old, "sigma": "2", "quantile": "0.75"}
    assert links.read({"preset": "bdpfig1"}, "compose")["quantile"] == "0.05", "a preset's own values come before"
    for odd in ("2", "", "7", "x"):
        assert links.read({"sigma": "2", "v": odd}, "compose") == {"sigma": "2"}
        assert bool(links.odd({"sigma": "2", "v": odd})) is (odd != "2")
    for bare in ({}, {"expert": "1"}, {"present": "sigma", "embed": "true"}):
        assert links.read(bare, "compose") == bare
    assert "quantile" not in links.read({"aeps": "2"}, "attack"), "its question has no quantile"
    monkeypatch.setattr(links, "BEFORE", {"ppaper": "sgm"})
    assert "ppaper" in links.read({"pview": "claims"}, "papers")
    assert "ppaper" not in links.read({"preset": "sgpate"}, "papers"), "its preset asks another question"


def test_a_preset_that_is_gone_still_sets_what_it_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links, "GONE", {"gone": {"sigma": "7", "q": "1"}})
    found = links.read({"preset": "gone", "q": "0.5"}, "compose")
    assert (found["sigma"], found["q"]) == ("7", "0.5")
    assert "preset" not in found


def test_links_are_written_with_their_version() -> None:
    assert links.written([]) == ""
    assert links.written([("sigma", "2"), ("pin", "q=1")]) == urlencode({"sigma": "2", "pin": "q=1", "v": "2"})
    assert links.address("attack?aview=town") == "attack?aview=town&v=2"
    assert links.address("attack") == "attack"
