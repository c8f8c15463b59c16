"""What the Train page shows: which run, which charts."""

from __future__ import annotations

from dpviz.fields.field import Choice
from dpviz.ui.train.fields import FIELDS as FORM_FIELDS
from dpviz.ui.train.fields import Id

CHARTS = {
    "epsilon": "Privacy loss ε",
    "accuracy": "Accuracy",
    "loss": "Loss",
    "frontier": "Accuracy against ε",
    "norms": "Gradient norms",
    "clipped": "Share clipped",
    "sigma": "Noise σ",
    "batch": "Batch size",
    "time": "Step time",
}


RUN = Id(key="run", label="Run", default="")
CHART = Choice(key="t_chart", label="Chart", default="epsilon", options=CHARTS, help="What is drawn first.")
SECOND = Choice(
    key="t_second",
    label="Second chart",
    default="accuracy",
    options={"none": "none"} | CHARTS,
    help="One more below it; none leaves the first one all the room.",
)
FIELDS = (RUN, CHART, SECOND)
OWN = (*FORM_FIELDS, *FIELDS)  # all that the Train page shows
