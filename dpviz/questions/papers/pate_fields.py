"""Settings of the question about PATE."""

from __future__ import annotations

from dpviz.experiments.teachers import TEACHERS
from dpviz.fields.declared import choice, flag, number

VOTES = choice("pavotes")
ENSEMBLE = choice("paens", options={str(each): str(each) for each in TEACHERS})
CROWD = number("pak")
AGREEMENT = number("paagree")
RELEASE = choice("panoise")
VOTE_NOISE = number("pasigma")
THRESHOLD = number("pat")
CHECK_NOISE = number("pasig1")
LAPLACE = number("pab")
QUERIES = number("paqueries")
ONE_SIDED = flag("paone")
DRAW = number("padraw")
ORDER = number("paalpha")
SMOOTHNESS = number("pabeta")
PUBLISHED_NOISE = number("pasigss")
