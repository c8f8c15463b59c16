"""Plotly's own buttons and the file it saves."""

import pytest

from dpviz.charts import export_config


def test_config() -> None:
    config = export_config(filename="compose σ=4, q=0.01", image_format="svg", scale=3)
    assert config["displaylogo"] is False
    assert config["toImageButtonOptions"] == {"format": "svg", "filename": "compose-σ=4-q=0.01", "scale": 3}


@pytest.mark.parametrize("name", ["../../etc", "///", "", "a\nb"])
def test_file_names_are_clean(name: str) -> None:
    clean = export_config(filename=name)["toImageButtonOptions"]["filename"]
    assert clean
    assert not set(clean) & set("/\\\n")
    assert not clean.startswith(".")
