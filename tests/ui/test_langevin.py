"""The Langevin page: every view, preset and bad input in AppTest; its script against its chart."""

from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import dpviz
from dpviz.ui.fields import Field
from dpviz.ui.langevin import explain, figure, tables
from dpviz.ui.langevin.curves import compute, tight_part, with_tight
from dpviz.ui.langevin.presets import PRESETS
from dpviz.ui.langevin.script import script
from dpviz.ui.langevin.settings import FIELDS, VIEW, Settings, read
from dpviz.ui.mechanism import DELTA

APP = str(Path(__file__).parents[2] / "app.py")


def setting(**texts: str) -> Settings:
    def get(field: Field):
        return field.parse(texts[field.key]) if field.key in texts else field.default

    return read(get)


def opened(**query: str) -> AppTest:
    app = AppTest.from_file(APP, default_timeout=60)
    for key, value in query.items():
        app.query_params[key] = value
    return app.switch_page("pages/langevin.py").run()


def words(app: AppTest) -> str:
    return " ".join(element.proto.body for element in app.get("html") if "<style>" not in element.proto.body)


@pytest.mark.parametrize("view", VIEW.options)
def test_every_view_opens(view: str) -> None:
    app = opened(lview=view)
    assert not app.exception
    assert len(app.get("plotly_chart")) == 1
    assert "10\u202f000</b> steps of" in words(app)


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.key)
def test_every_preset_computes_and_is_drawn(preset) -> None:
    known = {field.key for field in (*FIELDS, DELTA)}
    assert set(preset.values) <= known
    found = compute(setting(**preset.values))
    drawing = figure.drawing(found, [], preset.points)
    assert len(drawing.figure["data"]) >= len(found.curves)
    assert not any("outside" in remark.text for remark in drawing.remarks)
    assert explain.sentence(found)
    assert len(explain.figures(found)) == 4


def test_the_page_says_that_the_mnist_claim_fails_and_the_svhn_claim_holds() -> None:
    texts = {preset.key: preset.values for preset in PRESETS}
    mnist = compute(setting(**texts["sgmnist"]))
    mnist = with_tight(mnist, tight_part(mnist))
    assert "at least 4 times too low" in explain.sentence(mnist) or "at least 3.9" in explain.sentence(mnist)
    assert mnist.epsilon() == pytest.approx(1.37, abs=0.01)
    assert mnist.tight is not None
    assert mnist.tight.lower[-1] < 0.403 < 1.01 * mnist.tight.upper[-1]
    assert (mnist.tight.lower <= mnist.tight.upper).all()
    svhn = compute(setting(**texts["sgsvhn"]))
    assert "the claimed <b>0.12</b> holds" in explain.sentence(svhn)


@pytest.mark.parametrize("view", VIEW.options)
@pytest.mark.parametrize(
    "texts",
    [{}, {"lalg": "sghmc", "lreplace": "1", "lconv": "improved", "ldecay": "fixed", "lrule": "0", "lread": "printed"}],
    ids=["plain", "options"],
)
def test_the_script_gives_the_charts_numbers(view: str, texts: dict) -> None:
    found = compute(setting(lview=view, lgam="1e-9", **texts))
    scope: dict = {"__name__": "script"}
    exec(script(found), scope)
    np.testing.assert_allclose(scope["x"], found.x, rtol=1e-12)
    assert set(scope["curves"]) == set(found.curves)
    for key, values in found.curves.items():
        np.testing.assert_allclose(scope["curves"][key], values, rtol=1e-9, err_msg=key)


@pytest.mark.parametrize("view", VIEW.options)
def test_table_and_data_hold_the_curves(view: str) -> None:
    found = compute(setting(lview=view))
    assert len(tables.data(found)) == found.x.size
    assert 1 < len(tables.table(found)) <= tables.ROWS
    assert all(latex for _, latex in explain.formulas(found))


def test_a_batch_beyond_the_data_is_told_in_place() -> None:
    app = opened(ltau="60000", lsteps="777")
    assert not app.exception
    assert "batch_size=60000 &lt;= n=50000" in words(app)
    assert app.session_state["value.lsteps"] == 777


@pytest.mark.parametrize(
    ("key", "text"), [("leta", "0"), ("leta", "abc"), ("ln", "1.5"), ("leps", "-1"), ("lclip", "0")]
)
def test_a_bad_text_is_named_and_the_rest_stays(key: str, text: str) -> None:
    app = opened(lsteps="777")
    if key in ("ln", "lclip"):
        app.session_state["langevin.group"] = "Data"
        app.run()
    app.text_input(key=f"text.{key}").set_value(text).run()
    assert not app.exception
    assert text in words(app)
    assert app.session_state["value.lsteps"] == 777
    assert "777</b> steps" in words(app)


@pytest.mark.parametrize(
    "texts",
    [
        {"leta": "1e6", "lsteps": "1e12", "ltau": "50000"},
        {"leta": "1e-300", "lsteps": "1e12"},
        {"leps": "1e-9", "delta": "1e-300"},
        {"leps": "100", "delta": "0.999", "lsteps": "1"},
        {"ln": "2", "ltau": "1e-9", "lclip": "1e6"},
        {"ln": "1e12", "ltau": "1e12", "ldecay": "fixed"},
    ],
)
@pytest.mark.parametrize("view", VIEW.options)
def test_extremes_have_a_chart(view: str, texts: dict) -> None:
    found = compute(setting(lview=view, **texts))
    assert found.epsilon() >= 0.0
    figure.drawing(found, [], ())
    explain.sentence(found)
    explain.figures(found)
    explain.formulas(found)


def test_the_largest_step_size_shown_is_the_librarys() -> None:
    found = compute(setting(lview="epsilon"))
    best = dpviz.langevin_step_size(
        "theorem3", epsilon=0.1, delta=1e-5, n=50_000, steps=10_000, clip=1, batch_size=224, refine=False
    )
    assert found.largest == pytest.approx(best, rel=1e-12)
    assert "0.0309" in explain.sentence(found)
