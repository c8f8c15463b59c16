"""The fields of mechanisms' parameters, for pages and the shell: a new parameter has one entry in mechanism.toml."""

from dpviz.fields import number
from dpviz.mechanisms import MECHANISMS

# Keys in links, where they are not the parameters' names.
KEYS = {
    "noise_multiplier": "sigma",
    "scale": "b",
    "sample_rate": "q",
    "size": "n",
    "batch": "drawn",
    "epochs": "passes",
    "rows": "persons",
}
KEYS |= {"largest_batch": "largest"}
_OWN = sorted((name for kind in MECHANISMS for name in kind.parameters()), key="sample_rate".__eq__)
NAMES = dict.fromkeys([*_OWN, "rows"])  # rows of a person, which any of them may have
PARAMETERS = {name: number(KEYS.get(name, name)) for name in NAMES}
