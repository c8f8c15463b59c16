"""Settings of the questions that choose a family of gradient norms."""

from dpviz.fields import choice, number
from dpviz.gradients.norm_families import FAMILIES

FAMILY = choice("cfam", options={key: family.name for key, family in FAMILIES.items()})
CLIPPED = choice("con")
THRESHOLD = number("cthr")
EXAMPLES = number("cbatch")
