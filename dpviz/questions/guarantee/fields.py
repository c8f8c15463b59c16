"""The settings of the guarantee card: whose it is, answers to pitfalls, and what its author types."""

from dpviz.fields import Text
from dpviz.fields.declared import choice, field
from dpviz.questions import LAW, TRIED, Compound, kinds
from dpviz.questions.guarantee.deployments import deployments
from dpviz.questions.guarantee.words import PITFALLS, SAMPLERS, UNKNOWN
from dpviz.questions.layout import Layout, Reader, experts

PLAN = "plan"
NOTHING = {"unknown": UNKNOWN}  # options of a link → what the library calls them
NAMES = {key: card.statements["deployment"]["name"] for key, card in deployments().items()}
OF = choice("gof", options={PLAN: "A plan"} | NAMES)
RUN_AS = choice("grun", options={"unknown": "Not known", **SAMPLERS}, means=NOTHING)
KEYS = {
    "clipping": "gclip", "scale": "gscale", "preprocessing": "gprep", "tuning": "gtune", "stopping": "gstop",
    "metrics": "gmetrics", "models": "gmodels", "pretraining": "gpre", "rows": "grows", "noise": "gnoise",
}  # fmt: skip
FIELDS = {
    name: choice(key, label=PITFALLS[name].name, help=PITFALLS[name].question, means=NOTHING)
    for name, key in KEYS.items()
}
# Pitfall and answer, of those that were answered.
ANSWERED = Compound(
    {"bounded" if name == "rows" else name: one for name, one in FIELDS.items()},  # a mechanism has rows too
    lambda get: tuple((name, get(field)) for name, field in FIELDS.items() if get(field) != field.default),
    lambda answers: {KEYS[name]: answer for name, answer in answers},
)
# Group and entry of the registry → what its author types.
TYPED = {
    ("deployment", "name"): field(Text, "gname"),
    ("deployment", "data_curators"): field(Text, "gwho"),
    ("release", "description"): field(Text, "gwhat"),
    ("deployment", "intended_use"): field(Text, "gwhy"),
}
STATED = Compound(
    {name: one for (_, name), one in TYPED.items()},
    lambda get: tuple((*entry, get(one)) for entry, one in TYPED.items() if get(one)),
    lambda stated: {TYPED[group, name].key: text for group, name, text in stated},
)


def undecided(person: bool, runs: float) -> list[str]:
    """The pitfalls that only the author can answer, where the unit is a person or not."""
    return [name for name in KEYS if not (name == "tuning" and runs > 1) and not (name == "rows" and person)]


def layout(get: Reader) -> Layout:
    if get(OF) != PLAN:
        return {"Card": (OF,)}
    return {
        "Card": (OF, RUN_AS),
        "Mechanism": (*kinds.controls(get), *experts(TRIED, *[LAW] * (get(TRIED) > 1))),
        "Pitfalls": [FIELDS[name] for name in undecided(get(kinds.ROWS) > 1, get(TRIED))],
        "About": (*TYPED.values(),),
    }
