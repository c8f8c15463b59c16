"""What benchmarks tell of other libraries is what those libraries say, and a missing number is not told as one."""

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qsl

import dp_accounting
import pytest
from dp_accounting.rdp import RdpAccountant
from opacus.accountants import RDPAccountant

from benchmarks import bench_accountants as bench
from benchmarks import compare_class
from benchmarks.compare_hand import HEAD, SLIDERS, every_slider, rows
from benchmarks.hand import peers
from benchmarks.hand.pull import Felt
from benchmarks.scale import __main__ as scale
from benchmarks.scale.parts import PARTS, Row
from dpviz.fields import Number
from dpviz.questions.acting import acting
from dpviz.questions.catalogue import PAGES
from dpviz.questions.layout import of_texts

STEPS = [1, 200, 40_000]


@pytest.mark.filterwarnings("ignore:Optimal order")
def test_one_step_times_t_is_what_the_other_libraries_answer_point_by_point() -> None:
    event = dp_accounting.PoissonSampledDpEvent(bench.RATE, dp_accounting.GaussianDpEvent(bench.SIGMA))
    google = [RdpAccountant().compose(event, steps).get_epsilon(bench.DELTA) for steps in STEPS]
    assert bench.by_dp_accounting(STEPS) == pytest.approx(google, rel=1e-12)
    opacus = RDPAccountant()
    for steps, epsilon in zip(STEPS, bench.by_opacus(STEPS), strict=True):
        opacus.history = [(bench.SIGMA, bench.RATE, steps)]
        assert epsilon == pytest.approx(opacus.get_epsilon(delta=bench.DELTA), rel=1e-12)


def test_a_page_that_draws_nothing_during_a_drag_has_no_frames_and_no_ratio() -> None:
    still = Felt(drag=[693.0], drawings=[0.0], late=[1.0], settled=[177.0], messages=[6], sizes=[71], keys=[161.0])
    moving = Felt(drag=[15.0], drawings=[55.0], late=[1.0], settled=[143.0], messages=[9], sizes=[14], keys=[20.0])
    by_name = {
        row[0]: dict(zip(HEAD[1:4], row[1:4], strict=True)) for row in rows({"bare Streamlit": still, "ours": moving})
    }
    assert list(by_name["bare Streamlit"].values()) == ["0 frames", "–", "–"]
    assert list(by_name["ours"].values()) == ["15", "15", "–"]


def test_every_slider_is_pulled_at_two_places() -> None:
    places = {(page, key): links for page, _, key, *links in every_slider()}
    train = {("train", key) for key in ("t_batch_size", "t_steps", "t_target_epsilon")}
    assert places.keys() >= train | {
        *(("noise", key) for key in ("q", "shape", "batch", "epochs", "target")),
        *(("orders", key) for key in ("oc1", "oc2", "oc3", "omax")),
        ("budget", "bepochs"),
    }
    assert all(defaults.items() < near.items() for key, (defaults, near) in places.items() if key[0] == "noise")


def test_every_slider_that_a_benchmark_pulls_stands_on_its_page() -> None:
    links = [(page, query | {"units": "mechanism"}, moved) for page, query, moved, *_ in SLIDERS]
    links += [(page, dict(parse_qsl(query)), moved) for page, query, moved in compare_class.LINKS]
    by_key = {page.key: page for page in PAGES}
    for key, query, moved in links:
        page = by_key[key]
        shown = query.get(page.view) if page.view else None
        question = next((one for one in page.questions if one.asked_as == shown), page.questions[0])
        sliders = [one.key for one in acting(question, of_texts(query)) if isinstance(one, Number) and one.ticks]
        assert moved in sliders, (key, query)


def test_a_missing_peer_is_no_row_that_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with (
        pytest.raises(RuntimeError, match="Dash is not installed here: python tools/install.py bench"),
        peers.dash({}, tmp_path),
    ):
        pass


def test_a_part_of_the_page_of_scales_is_written_anew_and_the_others_stay() -> None:
    page = scale.written({"Steps": "one\n\n| a |", "Runs page": "two", "A part of before": "gone"})
    assert scale.sections(page) == {"Runs page": "two", "Steps": "one\n\n| a |"}
    again = scale.written(scale.sections(page) | {"Runs page": "three"})
    assert scale.sections(again) == {"Runs page": "three", "Steps": "one\n\n| a |"}
    assert again.startswith(scale.HEAD)
    assert again.index("Runs page") < again.index("Steps")


def test_a_part_that_fails_is_a_row_that_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> Iterator[Row]:
        yield Row("first", "–", "1 s", None)
        raise RuntimeError("no | memory")

    monkeypatch.setitem(PARTS, "broken", broken)
    text, failed = scale.measured("broken")
    assert failed
    assert text.splitlines()[-2:] == [
        "| first | – | 1 s | – |",
        "| broken | – | failed: RuntimeError: no / memory | no |",
    ]
