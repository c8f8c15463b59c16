"""How much noise do I need?"""

from __future__ import annotations

from dpviz.questions.noise.question import ALONG_NOISE, SOLVE
from dpviz.questions.page import Page

NOISE = Page(
    key="noise",
    title="Noise",
    icon=":material/graphic_eq:",
    asks="How much noise do I need?",
    about="ε against σ, and the missing one of (ε, δ, σ, q, T) by every accountant side by side.",
    questions=(ALONG_NOISE, SOLVE),
    view="noiseview",
    help="ε against σ: one curve a method, and where it crosses the target. Solve: leave out any one of σ, T, q, δ and "
    "see what each method needs for the target.",
)
