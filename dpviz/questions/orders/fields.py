"""Settings of the questions about orders."""

from __future__ import annotations

from dpviz.fields.declared import flag, number

LARGEST = number("omax")
LOG_X = flag("ologx")
LOG_Y = flag("ology")
FIRST = number("oc1")
SECOND = number("oc2")
THIRD = number("oc3")
