"""What the Train page shows: which run, which charts."""

from __future__ import annotations

from dpviz.fields.declared import choice, field
from dpviz.questions.train import PAGE
from dpviz.training.settings import Id

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
RUN = field(Id, "run")
CHART = choice("t_chart", options=CHARTS)
SECOND = choice("t_second", options={"none": "none"} | CHARTS)
FIELDS = (RUN, CHART, SECOND)
OWN = (*PAGE.fields, *FIELDS)  # all that the Train page shows
