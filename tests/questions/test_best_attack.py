"""How often the best attack is right: one number a setting wherever it is shown, on settled pages and in frames."""

import html
import re
from collections.abc import Iterator

import pytest

from dpviz.accounting.attack.best_accuracy import best_accuracy
from dpviz.fields import numbers
from dpviz.questions.answer import soon, whole
from dpviz.questions.catalogue import QUESTIONS
from dpviz.questions.layout import Reader, of_texts
from dpviz.questions.story import STOPS
from dpviz.training.accounts.claims import planned_claim
from dpviz.training.settings import RunSettings

SETTING = {"sigma": "4", "q": "0.01", "steps": "10000", "delta": "1e-5", "target": "1.0353835"}
UPPER = best_accuracy(noise_multiplier=4.0, sample_rate=0.01, steps=10_000).upper
PERCENT = re.compile(r"([\d.]+) %")


def places() -> Iterator[tuple[str, object, Reader, object]]:
    """Name, question, settings, and the words where it stands."""
    for stop in STOPS:
        yield f"Home: {stop.title}", stop.question, of_texts(SETTING | dict(stop.values)), stop.headline
    for key, name in (("compose", "Best attack is right"), ("orders", "Best attack is right"), ("roc", "Accuracy")):
        question = QUESTIONS[key]
        yield key, question, of_texts(SETTING), question.headline
        yield (
            f"{key}: {name}",
            question,
            of_texts(SETTING),
            lambda a, q=question, n=name: next(m.value for m in q.metrics(a) if m.name.startswith(n)),
        )
    # σ is solved for: the one that keeps this target is 4.
    yield "noise", QUESTIONS["noise"], of_texts(SETTING), QUESTIONS["noise"].headline


def plain(words: str) -> str:
    return html.unescape(re.sub("<[^>]+>", "", words))


SILENT = {"orders"}  # their headlines tell of something else


@pytest.mark.parametrize("place", [p for p in places() if p[0] not in SILENT], ids=lambda place: place[0])
def test_every_page_shows_the_same_number(place) -> None:  # type: ignore[no-untyped-def]
    _, question, get, words = place
    quick = question.asked(question.read(get))
    for answer, most in ((whole(quick, question.slow), 0.0), (soon(quick, question.slow), 0.01)):
        said = plain(words(answer))
        found = [float(text) for text in PERCENT.findall(said)]
        at_most = 100.0 * UPPER
        # Rounded up to the tenth that is shown.
        assert any(at_most <= share <= at_most * (1.0 + most) + 0.1 for share in found), said
    assert numbers.probability(UPPER, up=True) in html.unescape(
        re.sub("<[^>]+>", "", words(whole(quick, question.slow)))
    )


def test_a_run_claims_the_same_number() -> None:
    """Train, Runs and Report show what the claim says."""
    settings = RunSettings(noise_multiplier=4.0, batch_size=100, steps=10_000, delta=1e-5)
    assert planned_claim(settings, 10_000).guess == pytest.approx(UPPER, abs=2e-5)
